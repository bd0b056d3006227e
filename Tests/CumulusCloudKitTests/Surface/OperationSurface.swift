// Each class of operations with its inputs and blocks, as apps set them.
//
// Compiled, never run: see `DatabaseSurface`.

import CloudKit
import Foundation

private typealias ID = CKRecord.ID
private typealias Failure = any Error

enum OperationSurface {
    static func common(_ operation: CKDatabaseOperation, _ database: CKDatabase) {
        let _: Operation = operation
        let _: CKOperation.ID = operation.operationID
        operation.configuration = CKOperation.Configuration()
        operation.configuration.container = CKContainer.default()
        operation.configuration.qualityOfService = .utility
        operation.configuration.allowsCellularAccess = false
        operation.configuration.isLongLived = true
        operation.configuration.timeoutIntervalForRequest = 10
        operation.configuration.timeoutIntervalForResource = 20
        operation.longLivedOperationWasPersistedBlock = {}
        operation.database = database
        operation.group = CKOperationGroup()
        operation.group?.name = "first sync"
        operation.group?.quantity = 3
        operation.group?.expectedSendSize = .megabytes
        operation.group?.expectedReceiveSize = .unknown
        operation.group?.defaultConfiguration = CKOperation.Configuration()
        let _: String? = operation.group?.operationGroupID
        let _: (any NSSecureCoding & NSCopying)? = operation.group
        operation.addDependency(CKFetchRecordsOperation(recordIDs: []))
        operation.completionBlock = {}
        operation.queuePriority = .high
        // The places of the first years.
        operation.container = nil
        operation.allowsCellularAccess = true
        operation.isLongLived = false
        operation.timeoutIntervalForRequest = 10
        operation.timeoutIntervalForResource = 20
    }

    static func records(_ record: CKRecord, _ query: CKQuery) {
        let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
        fetch.recordIDs = []
        fetch.desiredKeys = ["title"]
        fetch.perRecordProgressBlock = { (_: ID, _: Double) in }
        fetch.perRecordResultBlock = { (_: ID, _: Result<CKRecord, Failure>) in }
        fetch.fetchRecordsResultBlock = { (_: Result<Void, Failure>) in }
        fetch.perRecordCompletionBlock = { (_: CKRecord?, _: ID?, _: Failure?) in }
        fetch.fetchRecordsCompletionBlock = { (_: [ID: CKRecord]?, _: Failure?) in }
        let _: CKFetchRecordsOperation = .fetchCurrentUserRecordOperation()

        let modify = CKModifyRecordsOperation()
        modify.recordsToSave = [record]
        modify.recordIDsToDelete = [record.recordID]
        modify.savePolicy = .ifServerRecordUnchanged
        modify.isAtomic = false
        modify.clientChangeTokenData = Data()
        modify.perRecordProgressBlock = { (_: CKRecord, _: Double) in }
        modify.perRecordSaveBlock = { (_: ID, _: Result<CKRecord, Failure>) in }
        modify.perRecordDeleteBlock = { (_: ID, _: Result<Void, Failure>) in }
        modify.modifyRecordsResultBlock = { (_: Result<Void, Failure>) in }
        modify.perRecordCompletionBlock = { (_: CKRecord, _: Failure?) in }
        modify.modifyRecordsCompletionBlock = { (_: [CKRecord]?, _: [ID]?, _: Failure?) in }
        _ = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: nil)
        _ = CKModifyRecordsOperation(recordsToSave: [record])

        let find = CKQueryOperation(query: query)
        find.query = query
        find.cursor = nil
        find.zoneID = .default
        find.resultsLimit = CKQueryOperation.maximumResults
        find.resultsLimit = CKQueryOperationMaximumResults
        find.desiredKeys = nil
        find.recordMatchedBlock = { (_: ID, _: Result<CKRecord, Failure>) in }
        find.queryResultBlock = { (result: Result<CKQueryOperation.Cursor?, Failure>) in
            if case .success(.some(let cursor)) = result { _ = CKQueryOperation(cursor: cursor) }
        }
        find.recordFetchedBlock = { (_: CKRecord) in }
        find.queryCompletionBlock = { (_: CKQueryOperation.Cursor?, _: Failure?) in }
    }

    static func zones(_ zone: CKRecordZone) {
        let fetch = CKFetchRecordZonesOperation(recordZoneIDs: [zone.zoneID])
        fetch.recordZoneIDs = nil
        fetch.perRecordZoneResultBlock = { (_: CKRecordZone.ID, _: Result<CKRecordZone, Failure>) in
        }
        fetch.fetchRecordZonesResultBlock = { (_: Result<Void, Failure>) in }
        fetch.fetchRecordZonesCompletionBlock = {
            (_: [CKRecordZone.ID: CKRecordZone]?, _: Failure?) in
        }
        let _: CKFetchRecordZonesOperation = .fetchAllRecordZonesOperation()

        let modify = CKModifyRecordZonesOperation(recordZonesToSave: [zone])
        modify.recordZonesToSave = [zone]
        modify.recordZoneIDsToDelete = [zone.zoneID]
        modify.perRecordZoneSaveBlock = { (_: CKRecordZone.ID, _: Result<CKRecordZone, Failure>) in
        }
        modify.perRecordZoneDeleteBlock = { (_: CKRecordZone.ID, _: Result<Void, Failure>) in }
        modify.modifyRecordZonesResultBlock = { (_: Result<Void, Failure>) in }
        modify.modifyRecordZonesCompletionBlock = {
            (_: [CKRecordZone]?, _: [CKRecordZone.ID]?, _: Failure?) in
        }
    }

    static func changes(_ zone: CKRecordZone.ID) {
        let database = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        database.previousServerChangeToken = nil
        database.resultsLimit = 10
        database.fetchAllChanges = false
        database.recordZoneWithIDChangedBlock = { (_: CKRecordZone.ID) in }
        database.recordZoneWithIDWasDeletedBlock = { (_: CKRecordZone.ID) in }
        database.recordZoneWithIDWasPurgedBlock = { (_: CKRecordZone.ID) in }
        database.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = {
            (_: CKRecordZone.ID) in
        }
        database.changeTokenUpdatedBlock = { (_: CKServerChangeToken) in }
        database.fetchDatabaseChangesResultBlock = { result in
            let _: CKServerChangeToken? = try? result.get().serverChangeToken
            let _: Bool? = try? result.get().moreComing
        }
        database.fetchDatabaseChangesCompletionBlock = {
            (_: CKServerChangeToken?, _: Bool, _: Failure?) in
        }

        let settings = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        settings.previousServerChangeToken = nil
        settings.resultsLimit = 10
        settings.desiredKeys = ["title"]
        let _: any NSSecureCoding & NSCopying = settings
        let records = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zone],
            configurationsByRecordZoneID: [zone: settings]
        )
        records.recordZoneIDs = [zone]
        records.configurationsByRecordZoneID = [zone: settings]
        records.fetchAllChanges = true
        records.recordWasChangedBlock = { (_: ID, _: Result<CKRecord, Failure>) in }
        records.recordWithIDWasDeletedBlock = { (_: ID, _: CKRecord.RecordType) in }
        records.recordZoneChangeTokensUpdatedBlock = {
            (_: CKRecordZone.ID, _: CKServerChangeToken?, _: Data?) in
        }
        records.recordZoneFetchResultBlock = { (_: CKRecordZone.ID, result) in
            let _: CKServerChangeToken? = try? result.get().serverChangeToken
            let _: Data? = try? result.get().clientChangeTokenData
            let _: Bool? = try? result.get().moreComing
        }
        records.fetchRecordZoneChangesResultBlock = { (_: Result<Void, Failure>) in }
        records.recordChangedBlock = { (_: CKRecord) in }
        records.recordZoneFetchCompletionBlock = {
            (_: CKRecordZone.ID, _: CKServerChangeToken?, _: Data?, _: Bool, _: Failure?) in
        }
        records.fetchRecordZoneChangesCompletionBlock = { (_: Failure?) in }
        let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
        _ = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zone],
            optionsByRecordZoneID: [zone: options]
        )

        let old = CKFetchRecordChangesOperation(recordZoneID: zone, previousServerChangeToken: nil)
        old.recordChangedBlock = { (_: CKRecord) in }
        old.recordWithIDWasDeletedBlock = { (_: ID) in }
        old.fetchRecordChangesCompletionBlock = {
            (_: CKServerChangeToken?, _: Data?, _: Failure?) in
        }
        let _: Bool = old.moreComing
    }

    static func subscriptions(_ watch: CKSubscription) {
        let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: ["id"])
        fetch.perSubscriptionResultBlock = { (_: String, _: Result<CKSubscription, Failure>) in }
        fetch.fetchSubscriptionsResultBlock = { (_: Result<Void, Failure>) in }
        fetch.fetchSubscriptionCompletionBlock = { (_: [String: CKSubscription]?, _: Failure?) in }
        let _: CKFetchSubscriptionsOperation = .fetchAllSubscriptionsOperation()

        let modify = CKModifySubscriptionsOperation(
            subscriptionsToSave: [watch],
            subscriptionIDsToDelete: nil
        )
        modify.subscriptionsToSave = [watch]
        modify.subscriptionIDsToDelete = ["id"]
        modify.perSubscriptionSaveBlock = { (_: String, _: Result<CKSubscription, Failure>) in }
        modify.perSubscriptionDeleteBlock = { (_: String, _: Result<Void, Failure>) in }
        modify.modifySubscriptionsResultBlock = { (_: Result<Void, Failure>) in }
        modify.modifySubscriptionsCompletionBlock = {
            (_: [CKSubscription]?, _: [String]?, _: Failure?) in
        }
    }

    static func users() {
        let discover = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: [])
        discover.userIdentityLookupInfos =
            CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["a@b.c"])
            + CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: ["1"])
            + CKUserIdentity.LookupInfo.lookupInfos(with: [ID()])
        discover.userIdentityDiscoveredBlock = {
            (_: CKUserIdentity, _: CKUserIdentity.LookupInfo) in
        }
        discover.discoverUserIdentitiesResultBlock = { (_: Result<Void, Failure>) in }
        discover.discoverUserIdentitiesCompletionBlock = { (_: Failure?) in }
        let all = CKDiscoverAllUserIdentitiesOperation()
        all.userIdentityDiscoveredBlock = { (_: CKUserIdentity) in }
        all.discoverAllUserIdentitiesResultBlock = { (_: Result<Void, Failure>) in }
        all.discoverAllUserIdentitiesCompletionBlock = { (_: Failure?) in }
        let token = CKFetchWebAuthTokenOperation(apiToken: "t")
        token.fetchWebAuthTokenResultBlock = { (_: Result<String, Failure>) in }
        token.fetchWebAuthTokenCompletionBlock = { (_: String?, _: Failure?) in }
    }

    static func notifications() {
        let history = CKFetchNotificationChangesOperation(previousServerChangeToken: nil)
        history.resultsLimit = 10
        history.notificationChangedBlock = { (_: CKNotification) in }
        history.fetchNotificationChangesCompletionBlock = {
            (_: CKServerChangeToken?, _: Failure?) in
        }
        let _: Bool = history.moreComing
        let _: CKServerChangeToken? = CKNotificationReceiver(since: nil).token
        let mark = CKMarkNotificationsReadOperation(notificationIDsToMarkRead: [])
        mark.notificationIDs = []
        mark.markNotificationsReadCompletionBlock = { (_: [CKNotification.ID]?, _: Failure?) in }
        let badge = CKModifyBadgeOperation(badgeValue: 1)
        badge.badgeValue = 2
        badge.modifyBadgeCompletionBlock = { (_: Failure?) in }
    }
}
