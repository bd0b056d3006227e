// The cases, keys and protocols that no call of the other lists names.
//
// Compiled, never run: see `DatabaseSurface`.

import CloudKit
import Foundation

enum CaseSurface {
    static func accounts(_ status: CKAccountStatus, _ identity: CKUserIdentity) {
        switch status {
        case .couldNotDetermine, .available, .restricted, .noAccount, .temporarilyUnavailable: break
        }
        let _: [String] = identity.contactIdentifiers
        let permission: CKContainer.ApplicationPermissionStatus = .initialState
        switch permission {
        case .initialState, .couldNotComplete, .denied, .granted: break
        }
        let _: CKContainer.ApplicationPermissions = [.userDiscoverability]
    }

    static func errors(_ error: CKError) -> Bool {
        let _: [String] = [
            CKPartialErrorsByItemIDKey, CKRecordChangedErrorAncestorRecordKey,
            CKRecordChangedErrorClientRecordKey, CKRecordChangedErrorServerRecordKey,
            CKErrorRetryAfterKey, CKErrorUserDidResetEncryptedDataKey, CKErrorDomain,
        ]
        switch error.code {
        case .internalError, .partialFailure, .networkUnavailable, .networkFailure, .badContainer,
            .serviceUnavailable, .requestRateLimited, .missingEntitlement, .notAuthenticated,
            .permissionFailure, .unknownItem, .invalidArguments, .resultsTruncated,
            .serverRecordChanged, .serverRejectedRequest, .assetFileNotFound, .assetFileModified,
            .incompatibleVersion, .constraintViolation, .operationCancelled, .changeTokenExpired,
            .batchRequestFailed, .zoneBusy, .badDatabase, .quotaExceeded, .zoneNotFound,
            .limitExceeded, .userDeletedZone, .tooManyParticipants, .alreadyShared,
            .referenceViolation, .managedAccountRestricted, .participantMayNeedVerification,
            .serverResponseLost, .assetNotAvailable, .accountTemporarilyUnavailable,
            .participantAlreadyInvited:
            return true
        }
    }

    static func values(_ fields: any CKRecordKeyValueSetting, _ zone: CKRecordZone) {
        let _: (any CKRecordValueProtocol)? = fields.object(forKey: "title")
        fields.setObject("title", forKey: "title")
        let _: ([CKRecord.FieldKey], [CKRecord.FieldKey]) = (
            fields.allKeys(), fields.changedKeys()
        )
        let _: CKRecordZone.Capabilities = [
            .atomic, .fetchChanges, .sharing, .zoneWideSharing,
        ]
        let _: CKRecordZone.Capabilities = zone.capabilities
        let _: CKRecord.Reference? = zone.share
        let _: [CKModifyRecordsOperation.RecordSavePolicy] = [
            .ifServerRecordUnchanged, .changedKeys, .allKeys,
        ]
        let _: [CKDatabase.DatabaseChange.Deletion.Reason] = [
            .deleted, .purged, .encryptedDataReset,
        ]
        let _: [CKOperationGroup.TransferSize] = [
            .unknown, .kilobytes, .megabytes, .tensOfMegabytes, .hundredsOfMegabytes, .gigabytes,
            .tensOfGigabytes, .hundredsOfGigabytes,
        ]
        let _: [CKSubscription.SubscriptionType] = [.query, .recordZone, .database]
        let _: [CKNotification.NotificationType] = [
            .query, .recordZone, .readNotification, .database,
        ]
        let _: [CKQueryNotification.Reason] = [.recordCreated, .recordUpdated, .recordDeleted]
        let _: CKQuerySubscription.Options = [.firesOnce]
    }

    /// What apps hand to functions of their own.
    static func events(
        _ state: CKSyncEngine.Event.StateUpdate,
        _ account: CKSyncEngine.Event.AccountChange,
        _ zones: CKSyncEngine.Event.FetchedDatabaseChanges,
        _ records: CKSyncEngine.Event.FetchedRecordZoneChanges,
        _ sentZones: CKSyncEngine.Event.SentDatabaseChanges,
        _ sentRecords: CKSyncEngine.Event.SentRecordZoneChanges,
        _ fetches: (CKSyncEngine.Event.WillFetchChanges, CKSyncEngine.Event.DidFetchChanges),
        _ zoneFetches: (
            CKSyncEngine.Event.WillFetchRecordZoneChanges,
            CKSyncEngine.Event.DidFetchRecordZoneChanges
        ),
        _ sends: (CKSyncEngine.Event.WillSendChanges, CKSyncEngine.Event.DidSendChanges)
    ) -> [CKSyncEngine.Event] {
        let _: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave] = sentZones.failedZoneSaves
        let _: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] =
            sentRecords.failedRecordSaves
        let _: [any CustomStringConvertible] = [
            state, account, zones, records, sentZones, sentRecords, fetches.0, fetches.1,
            zoneFetches.0, zoneFetches.1, sends.0, sends.1,
        ]
        let _: [any CustomStringConvertible] = sentZones.failedZoneSaves
        let _: [any CustomStringConvertible] = sentRecords.failedRecordSaves
        return [
            .stateUpdate(state), .accountChange(account), .fetchedDatabaseChanges(zones),
            .fetchedRecordZoneChanges(records), .sentDatabaseChanges(sentZones),
            .sentRecordZoneChanges(sentRecords), .willFetchChanges(fetches.0),
            .didFetchChanges(fetches.1), .willFetchRecordZoneChanges(zoneFetches.0),
            .didFetchRecordZoneChanges(zoneFetches.1), .willSendChanges(sends.0),
            .didSendChanges(sends.1),
        ]
    }

    static func engine(_ engine: CKSyncEngine, _ zone: CKRecordZone.ID) async throws {
        let _: CKSyncEngine.FetchChangesOptions = .init(scope: .allExcluding([zone]))
        let _: CKSyncEngine.FetchChangesOptions = .init(scope: .all)
        var options = CKSyncEngine.FetchChangesOptions()
        options.prioritizedZoneIDs = [zone]
        options.operationGroup = CKOperationGroup()
        try await engine.fetchChanges(options)
        let _: CKSyncEngine.SendChangesOptions = .init(scope: .allExcluding([zone]))
        try await engine.sendChanges(.init(scope: .zoneIDs([zone])))
        let scope: CKSyncEngine.SendChangesOptions.Scope = .zoneIDs([zone])
        let _: Bool = scope.contains(CKRecord.ID(zoneID: zone))
        let _: [CKSyncEngine.SyncReason] = [.scheduled, .manual]
        let batch = CKSyncEngine.RecordZoneChangeBatch(
            recordsToSave: [],
            recordIDsToDelete: [],
            atomicByZone: true
        )
        let _: ([CKRecord], [CKRecord.ID], Bool) = (
            batch.recordsToSave, batch.recordIDsToDelete, batch.atomicByZone
        )
        let _: CKSyncEngine.RecordZoneChangeBatch? = await .init(
            pendingChanges: [.saveRecord(CKRecord.ID())],
            recordProvider: { CKRecord(recordType: "A", recordID: $0) }
        )
        let _: CKSyncEngine.Event.AccountChange.ChangeType = .signIn(currentUser: CKRecord.ID())
        let _: CKSyncEngine.Event.AccountChange.ChangeType = .signOut(previousUser: CKRecord.ID())
    }

    static func equality(
        _ fetch: CKSyncEngine.FetchChangesOptions,
        _ send: CKSyncEngine.SendChangesOptions,
        _ change: CKSyncEngine.Event.AccountChange,
        _ records: [CKDatabase.RecordZoneChange.Modification]
    ) -> Bool {
        let _: Set<CKDatabase.RecordZoneChange.Modification> = Set(records)
        return fetch.scope == .all && send.scope == .all
            && change.changeType == .signIn(currentUser: CKRecord.ID())
    }

    static func texts(
        _ engine: CKSyncEngine,
        _ configuration: CKSyncEngine.Configuration,
        _ event: CKSyncEngine.Event,
        _ contexts: (CKSyncEngine.FetchChangesContext, CKSyncEngine.SendChangesContext),
        _ batch: CKSyncEngine.RecordZoneChangeBatch
    ) -> [any CustomStringConvertible] {
        [
            engine, configuration, event, contexts.0, contexts.1, batch, contexts.0.options,
            contexts.1.options, contexts.0.options.scope, contexts.1.options.scope,
            contexts.0.reason, CKSyncEngine.PendingRecordZoneChange.saveRecord(CKRecord.ID()),
            CKSyncEngine.PendingDatabaseChange.deleteZone(.default),
        ]
    }
}

extension SyncSurface {
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        let _: CKSyncEngine.SyncReason = context.reason
        return context.options
    }
}
