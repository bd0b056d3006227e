// Each member of records, zones, queries, subscriptions, notifications, errors and the sync engine.
//
// Compiled, never run: see `DatabaseSurface`.

import CloudKit
import Foundation

private typealias ID = CKRecord.ID

enum ValueSurface {
    static func records(_ zone: CKRecordZone.ID, _ file: URL, _ coder: NSCoder) {
        _ = (CKRecord(recordType: "A"), CKRecord(recordType: "A", zoneID: zone))
        let record = CKRecord(recordType: "A", recordID: ID(recordName: "a", zoneID: zone))
        let _: (CKRecord.RecordType, ID, String?) = (
            record.recordType, record.recordID, record.recordChangeTag
        )
        let _: (Date?, Date?, ID?, ID?) = (
            record.creationDate, record.modificationDate, record.creatorUserRecordID,
            record.lastModifiedUserRecordID
        )
        let asset = CKAsset(fileURL: file)
        let _: URL? = asset.fileURL
        record["asset"] = asset
        record["assets"] = [asset]
        record["number"] = 1
        record["numbers"] = [1.5]
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["old"] = "text" as any CKRecordValue
        record["reference"] = CKRecord.Reference(record: record, action: .none)
        record["reference"] = CKRecord.Reference(recordID: record.recordID, action: .deleteSelf)
        let _: String? = record["text"]
        let _: [CKAsset]? = record["assets"]
        let _: (any CKRecordValueProtocol)? = record.object(forKey: "text")
        record.setObject(1 as NSNumber, forKey: "number")
        record.encryptedValues["secret"] = "text"
        let _: String? = record.encryptedValues["secret"]
        let _: [CKRecord.FieldKey] = record.encryptedValues.allKeys()
        let _: ([CKRecord.FieldKey], [CKRecord.FieldKey], [String]) = (
            record.allKeys(), record.changedKeys(), record.allTokens()
        )
        for (key, value) in record { _ = (key as String, value as any CKRecordValueProtocol) }
        let _: CKRecord.Reference? = record.parent
        record.parent = nil
        record.setParent(record)
        record.setParent(record.recordID)
        let _: Any? = record.value(forKey: "text")
        record.setValue(1, forKey: "number")
        record.setValuesForKeys(["number": 1])
        record.encodeSystemFields(with: coder)
        record.increment("number")
        record.increment("number", by: -2)
        _ = CKRecord(coder: coder)
        let _: (ID, String, CKRecordZone.ID) = (
            ID(), record.recordID.recordName, record.recordID.zoneID
        )
        let _: [CKRecord.FieldKey] = [
            CKRecord.SystemFieldKey.recordID, CKRecord.SystemFieldKey.creationDate,
            CKRecord.SystemFieldKey.creatorUserRecordID, CKRecord.SystemFieldKey.modificationDate,
            CKRecord.SystemFieldKey.lastModifiedUserRecordID, CKRecord.SystemFieldKey.parent,
            CKRecord.SystemFieldKey.share,
        ]
    }

    @available(*, deprecated)
    static func oldNames(_ reference: CKRecord.Reference) {
        let _: CKRecord.Reference.Action = reference.action
        let _: CKRecord_Reference_Action = .deleteSelf
        let _: CKRecordZone.ID = CKRecordZone.ID(zoneName: "Trips", ownerName: nil)
    }

    static func queries(_ place: CLLocation) {
        let query = CKQuery(recordType: "A", predicate: NSPredicate(format: "x == %@", "y"))
        query.sortDescriptors = [
            NSSortDescriptor(key: "x", ascending: true),
            CKLocationSortDescriptor(key: "place", relativeLocation: place),
        ]
        let _: (CKRecord.RecordType, NSPredicate) = (query.recordType, query.predicate)
    }

    static func subscriptions(_ zone: CKRecordZone.ID) {
        let query = CKQuerySubscription(
            recordType: "A",
            predicate: NSPredicate(value: true),
            subscriptionID: "a",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
        )
        query.zoneID = zone
        if let type = query.recordType { let _: CKRecord.RecordType = type }
        let _: Int? = query.recordType?.count
        let _: CKQuerySubscription.Options = query.querySubscriptionOptions
        let zoneWatch = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "z")
        zoneWatch.recordType = "A"
        let all = CKDatabaseSubscription(subscriptionID: "d")
        all.recordType = "A"
        let _: CKSubscription.SubscriptionType = all.subscriptionType
        let info = CKSubscription.NotificationInfo(alertBody: "new", shouldBadge: true)
        info.alertLocalizationKey = "key"
        info.alertLocalizationArgs = ["title"]
        info.title = "title"
        info.titleLocalizationKey = "key"
        info.titleLocalizationArgs = []
        info.subtitle = "subtitle"
        info.subtitleLocalizationKey = "key"
        info.subtitleLocalizationArgs = []
        info.alertActionLocalizationKey = "key"
        info.alertLaunchImage = "image"
        info.soundName = "default"
        info.desiredKeys = ["title"]
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        info.category = "category"
        info.collapseIDKey = "key"
        all.notificationInfo = info
    }

    static func notifications(_ userInfo: [AnyHashable: Any]) {
        guard let note = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return }
        let _: (CKNotification.NotificationType, CKNotification.ID?) = (
            note.notificationType, note.notificationID
        )
        let _: (String?, CKSubscription.ID?, ID?, Bool) = (
            note.containerIdentifier, note.subscriptionID, note.subscriptionOwnerUserRecordID,
            note.isPruned
        )
        let _: (String?, String?, String?, NSNumber?) = (
            note.alertBody, note.title, note.subtitle, note.badge
        )
        switch note {
        case let note as CKQueryNotification:
            let _: CKQueryNotification.Reason = note.queryNotificationReason
            let _: ([String: Any]?, ID?) = (note.recordFields, note.recordID)
            let _: CKDatabase.Scope = note.databaseScope
        case let note as CKRecordZoneNotification:
            let _: (CKRecordZone.ID?, CKDatabase.Scope) = (note.recordZoneID, note.databaseScope)
        case let note as CKDatabaseNotification:
            let _: CKDatabase.Scope = note.databaseScope
        default: break
        }
        _ = CKQueryNotification(fromRemoteNotificationDictionary: userInfo)
    }

    static func errors(_ error: any Error) -> CKRecord? {
        guard let error = error as? CKError else { return nil }
        let _: ([AnyHashable: any Error]?, Double?) = (
            error.partialErrorsByItemID, error.retryAfterSeconds
        )
        switch error.code {
        case .serverRecordChanged: return error.serverRecord
        case .zoneNotFound where error.userInfo[CKErrorUserDidResetEncryptedDataKey] != nil:
            return error.ancestorRecord
        case .partialFailure, .limitExceeded: return error.clientRecord
        default: return nil
        }
    }
}

final class SyncSurface: CKSyncEngineDelegate {
    func engine(_ database: CKDatabase, _ saved: CKSyncEngine.State.Serialization?) async throws {
        var configuration = CKSyncEngine.Configuration(
            database: database,
            stateSerialization: saved,
            delegate: self
        )
        configuration.automaticallySync = false
        configuration.subscriptionID = "all"
        let engine = CKSyncEngine(configuration)
        let _: CKDatabase = engine.database
        let state: CKSyncEngine.State = engine.state
        state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID())])
        state.remove(pendingRecordZoneChanges: [.deleteRecord(CKRecord.ID())])
        state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Trips"))])
        state.remove(pendingDatabaseChanges: [.deleteZone(CKRecordZone.ID(zoneName: "Trips"))])
        state.hasPendingUntrackedChanges = true
        let _: [CKSyncEngine.PendingRecordZoneChange] = state.pendingRecordZoneChanges
        let _: [CKSyncEngine.PendingDatabaseChange] = state.pendingDatabaseChanges
        let _: [CKRecordZone.ID] = state.zoneIDsWithUnfetchedServerChanges
        try await engine.fetchChanges()
        try await engine.fetchChanges(.init(scope: .zoneIDs([.default])))
        try await engine.sendChanges()
        try await engine.sendChanges(.init(scope: .recordIDs([CKRecord.ID()])))
        await engine.cancelOperations()
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update): _ = try? JSONEncoder().encode(update.stateSerialization)
        case .accountChange(let change):
            switch change.changeType {
            case .signIn(let user): _ = user.recordName
            case .signOut(let user): _ = user.recordName
            case .switchAccounts(let before, let now): _ = (before.recordName, now.recordName)
            }
        case .fetchedDatabaseChanges(let changes):
            for deletion in changes.deletions where deletion.reason == .purged {}
        case .fetchedRecordZoneChanges(let changes):
            for change in changes.modifications { _ = change.record.recordID }
            for change in changes.deletions { _ = (change.recordID, change.recordType) }
        case .sentDatabaseChanges(let changes):
            for failure in changes.failedZoneSaves { _ = (failure.zone, failure.error.code) }
            _ = (changes.savedZones, changes.deletedZoneIDs, changes.failedZoneDeletes)
        case .sentRecordZoneChanges(let changes):
            for failure in changes.failedRecordSaves {
                guard failure.error.code == .serverRecordChanged else { continue }
                syncEngine.state.add(
                    pendingRecordZoneChanges: [.saveRecord(failure.record.recordID)]
                )
            }
            _ = (changes.savedRecords, changes.deletedRecordIDs, changes.failedRecordDeletes)
        case .willFetchChanges(let fetch): _ = fetch.context.reason
        case .didFetchChanges(let fetch): _ = fetch.context.options.prioritizedZoneIDs
        case .willFetchRecordZoneChanges(let fetch): _ = fetch.zoneID
        case .didFetchRecordZoneChanges(let fetch): _ = (fetch.zoneID, fetch.error)
        case .willSendChanges(let send): _ = send.context.reason
        case .didSendChanges(let send): _ = send.context.options.operationGroup
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            CKRecord(recordType: "A", recordID: id)
        }
    }
}
