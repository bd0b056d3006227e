// Each member of containers and databases, called as apps call it.
//
// Compiled, never run: a member that is missing, or that has another type than CloudKit's, does not
// compile here.
//
// Folder: CloudKit's members, one by one. `NumbersTests` runs; the other files are only compiled.
// All are compiled twice, here in Swift 6 and through a link in `CloudKitTests` in Swift 5.

import CloudKit
import Foundation

private typealias ID = CKRecord.ID
private typealias Results<Key: Hashable, Value> = [Key: Result<Value, any Error>]
private typealias Page = (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
    queryCursor: CKQueryOperation.Cursor?
)
private typealias Changes<Saved, Deleted> = (saveResults: Saved, deleteResults: Deleted)
private typealias DatabaseChanges = (
    modifications: [CKDatabase.DatabaseChange.Modification],
    deletions: [CKDatabase.DatabaseChange.Deletion],
    changeToken: CKServerChangeToken, moreComing: Bool
)
private typealias ZoneChanges = (
    modificationResultsByID: Results<ID, CKDatabase.RecordZoneChange.Modification>,
    deletions: [CKDatabase.RecordZoneChange.Deletion],
    changeToken: CKServerChangeToken, moreComing: Bool
)

enum DatabaseSurface {
    static func container() async throws {
        var container = CKContainer.default()
        container = CKContainer(identifier: "iCloud.x")
        let _: String? = container.containerIdentifier
        let _: CKDatabase = container.publicCloudDatabase
        let _: CKDatabase = container.privateCloudDatabase
        let _: CKDatabase = container.sharedCloudDatabase
        let _: CKDatabase = container.database(with: .private)
        container.add(CKOperation())
        let _: Int = container.configuredWith(configuration: CKOperation.Configuration()) { _ in 1 }
        let _: Int = try await container.configuredWith(group: CKOperationGroup()) { container in
            _ = try await container.userRecordID()
            return 1
        }
        let _: CKAccountStatus = try await container.accountStatus()
        let _: ID = try await container.userRecordID()
        let _: [CKOperation.ID] = try await container.allLongLivedOperationIDs()
        let _: CKOperation? = try await container.longLivedOperation(for: "id")
        let _: Notification.Name = .CKAccountChanged

        let _: CKUserIdentity? = try await container.userIdentity(forEmailAddress: "a@b.c")
        let _: CKUserIdentity? = try await container.userIdentity(forPhoneNumber: "1")
        let user: CKUserIdentity? = try await container.userIdentity(forUserRecordID: ID())
        let _: [String: CKUserIdentity] = try await container.userIdentities(
            forEmailAddresses: ["a@b.c"]
        )
        let _: [String: CKUserIdentity] = try await container.userIdentities(forPhoneNumbers: ["1"])
        let _: [ID: CKUserIdentity] = try await container.userIdentities(forUserRecordIDs: [ID()])
        let _: [CKUserIdentity] = try await container.allUserIdentitiesFromContacts()
        let _: CKContainer.ApplicationPermissionStatus =
            try await container.requestApplicationPermission(.userDiscoverability)
        let _: CKContainer.ApplicationPermissionStatus =
            try await container.applicationPermissionStatus(for: .userDiscoverability)
        let _: ID? = user?.userRecordID
        let info: CKUserIdentity.LookupInfo? = user?.lookupInfo
        let _: PersonNameComponents? = user?.nameComponents
        let _: Bool? = user?.hasiCloudAccount
        let _: (String?, String?, ID?) = (
            info?.emailAddress, info?.phoneNumber, info?.userRecordID
        )
    }

    /// Calls that come from Objective-C, whose results may be passed over.
    static func results(_ container: CKContainer, _ database: CKDatabase) async throws {
        try await container.accountStatus()
        try await container.userRecordID()
        try await container.requestApplicationPermission(.userDiscoverability)
        try await container.applicationPermissionStatus(for: .userDiscoverability)
        try await container.userIdentity(forEmailAddress: "a@b.c")
        try await container.userIdentity(forPhoneNumber: "1")
        try await container.userIdentity(forUserRecordID: ID())
        try await container.allUserIdentitiesFromContacts()
        try await database.record(for: ID())
        try await database.allRecordZones()
        try await database.recordZone(for: .default)
        try await database.allSubscriptions()
    }

    @available(*, deprecated)
    static func oldNames(_ status: CKContainer.ApplicationPermissionStatus) {
        let permissions: CKContainer.Application.Permissions = [.userDiscoverability]
        let _: CKContainer_Application_Permissions = permissions
        let _: CKContainer.Application.PermissionStatus = status
        let _: CKContainer_Application_PermissionStatus = status
        let block: CKContainer.Application.PermissionBlock = { _, _ in }
        let _: CKContainer_Application_PermissionBlock = block
        let _: CKContainer.ApplicationPermissionBlock = block
    }

    static func containerHandlers(_ container: CKContainer) {
        container.accountStatus { (_: CKAccountStatus, _: (any Error)?) in }
        container.fetchUserRecordID { (_: ID?, _: (any Error)?) in }
        container.fetchAllLongLivedOperationIDs { (_: [CKOperation.ID]?, _: (any Error)?) in }
        container.fetchLongLivedOperation(withID: "id") { (_: CKOperation?, _: (any Error)?) in }
        container.discoverAllIdentities { (_: [CKUserIdentity]?, _: (any Error)?) in }
        container.discoverUserIdentity(withEmailAddress: "a@b.c") { (_: CKUserIdentity?, _) in }
        container.discoverUserIdentity(withPhoneNumber: "1") { (_: CKUserIdentity?, _) in }
        container.discoverUserIdentity(withUserRecordID: ID()) { (_: CKUserIdentity?, _) in }
        container.discoverUserIdentities(forEmailAddresses: []) {
            (_: Result<[String: CKUserIdentity], any Error>) in
        }
        container.discoverUserIdentities(forPhoneNumbers: []) {
            (_: Result<[String: CKUserIdentity], any Error>) in
        }
        container.discoverUserIdentities(forUserRecordIDs: []) {
            (_: Result<[ID: CKUserIdentity], any Error>) in
        }
        container.requestApplicationPermission(.userDiscoverability) {
            (_: CKContainer.ApplicationPermissionStatus, _: (any Error)?) in
        }
        container.status(forApplicationPermission: .userDiscoverability) {
            (_: CKContainer.ApplicationPermissionStatus, _: (any Error)?) in
        }
    }

    static func records(_ database: CKDatabase, _ record: CKRecord, _ query: CKQuery) async throws {
        let _: CKDatabase.Scope = database.databaseScope
        database.add(CKDatabaseOperation())
        let _: Int = database.configuredWith(configuration: nil) { _ in 1 }
        let _: CKRecord = try await database.configuredWith(group: nil) { database in
            try await database.save(record)
        }
        let id = record.recordID
        let _: CKRecord = try await database.record(for: id)
        let _: Results<ID, CKRecord> = try await database.records(for: [id])
        let _: Results<ID, CKRecord> = try await database.records(for: [id], desiredKeys: ["a"])
        let first: Page = try await database.records(matching: query)
        let _: Page = try await database.records(
            matching: query,
            inZoneWith: .default,
            desiredKeys: ["a"],
            resultsLimit: 10
        )
        // Without an expected type, the compiler takes the form with a cursor, not the old one.
        let (results, cursor) = try await database.records(matching: query, inZoneWith: .default)
        for (_, result) in results { _ = try result.get() }
        let page = try await database.records(matching: query, inZoneWith: nil)
        _ = (page.matchResults, page.queryCursor)
        if let cursor = cursor ?? first.queryCursor {
            let _: Page = try await database.records(continuingMatchFrom: cursor)
            let _: Page = try await database.records(
                continuingMatchFrom: cursor,
                desiredKeys: nil,
                resultsLimit: CKQueryOperation.maximumResults
            )
        }
        let _: Changes<Results<ID, CKRecord>, Results<ID, Void>> =
            try await database.modifyRecords(saving: [record], deleting: [id])
        let (saved, deleted) = try await database.modifyRecords(
            saving: [record],
            deleting: [],
            savePolicy: .changedKeys,
            atomically: false
        )
        _ = (saved, deleted)
        let _: CKRecord = try await database.save(record)
        let _: ID = try await database.deleteRecord(withID: id)
        try await database.deleteRecord(withID: id)
    }

    @available(*, deprecated)
    static func oldForms(_ database: CKDatabase, _ query: CKQuery) async throws {
        let _: [CKRecord] = try await database.records(matching: query, inZoneWith: nil)
        let _: [CKRecord] = try await database.perform(query, inZoneWith: nil)
        try await database.perform(query, inZoneWith: nil)
    }

    static func recordHandlers(_ database: CKDatabase, _ record: CKRecord, _ query: CKQuery) {
        let id = record.recordID
        database.fetch(withRecordID: id) { (_: CKRecord?, _: (any Error)?) in }
        database.fetch(withRecordIDs: [id]) { (_: Result<Results<ID, CKRecord>, any Error>) in }
        database.fetch(withRecordIDs: [id], desiredKeys: []) { _ in }
        database.fetch(withQuery: query) { (_: Result<Page, any Error>) in }
        database.fetch(withQuery: query, inZoneWith: .default, desiredKeys: [], resultsLimit: 1) {
            (result: Result<Page, any Error>) in
            guard let cursor = try? result.get().queryCursor else { return }
            database.fetch(withCursor: cursor) { (_: Result<Page, any Error>) in }
            database.fetch(withCursor: cursor, desiredKeys: [], resultsLimit: 1) { _ in }
        }
        database.perform(query, inZoneWith: nil) { (_: [CKRecord]?, _: (any Error)?) in }
        database.modifyRecords(saving: [record], deleting: [id]) {
            (_: Result<Changes<Results<ID, CKRecord>, Results<ID, Void>>, any Error>) in
        }
        database.modifyRecords(
            saving: [record],
            deleting: [id],
            savePolicy: .allKeys,
            atomically: true
        ) { _ in }
        database.save(record) { (_: CKRecord?, _: (any Error)?) in }
        database.delete(withRecordID: id) { (_: ID?, _: (any Error)?) in }
    }

    static func zones(_ database: CKDatabase) async throws {
        let zone = CKRecordZone(zoneName: "Trips")
        let id: CKRecordZone.ID = zone.zoneID
        let _: [CKRecordZone] = try await database.allRecordZones()
        let _: CKRecordZone = try await database.recordZone(for: id)
        let _: Results<CKRecordZone.ID, CKRecordZone> = try await database.recordZones(for: [id])
        let _: Changes<Results<CKRecordZone.ID, CKRecordZone>, Results<CKRecordZone.ID, Void>> =
            try await database.modifyRecordZones(saving: [zone], deleting: [id])
        let _: CKRecordZone = try await database.save(zone)
        let _: CKRecordZone.ID = try await database.deleteRecordZone(withID: id)

        database.fetchAllRecordZones { (_: [CKRecordZone]?, _: (any Error)?) in }
        database.fetch(withRecordZoneID: id) { (_: CKRecordZone?, _: (any Error)?) in }
        database.fetch(withRecordZoneIDs: [id]) {
            (_: Result<Results<CKRecordZone.ID, CKRecordZone>, any Error>) in
        }
        database.save(zone) { (_: CKRecordZone?, _: (any Error)?) in }
        database.delete(withRecordZoneID: id) { (_: CKRecordZone.ID?, _: (any Error)?) in }
        database.modifyRecordZones(saving: [zone], deleting: [id]) { result in
            let _: Results<CKRecordZone.ID, Void>? = try? result.get().deleteResults
        }
    }

    static func subscriptions(_ database: CKDatabase) async throws {
        let watch = CKDatabaseSubscription(subscriptionID: "all")
        let id: CKSubscription.ID = watch.subscriptionID
        let _: [CKSubscription] = try await database.allSubscriptions()
        let _: CKSubscription = try await database.subscription(for: id)
        let _: Results<String, CKSubscription> = try await database.subscriptions(for: [id])
        let _: Changes<Results<String, CKSubscription>, Results<String, Void>> =
            try await database.modifySubscriptions(saving: [watch], deleting: [id])
        let _: CKSubscription = try await database.save(watch)
        let _: CKSubscription.ID = try await database.deleteSubscription(withID: id)

        database.fetchAllSubscriptions { (_: [CKSubscription]?, _: (any Error)?) in }
        database.fetch(withSubscriptionID: id) { (_: CKSubscription?, _: (any Error)?) in }
        database.fetch(withSubscriptionIDs: [id]) {
            (_: Result<Results<String, CKSubscription>, any Error>) in
        }
        database.save(watch) { (_: CKSubscription?, _: (any Error)?) in }
        database.delete(withSubscriptionID: id) { (_: CKSubscription.ID?, _: (any Error)?) in }
        database.modifySubscriptions(saving: [watch], deleting: [id]) { result in
            let _: Results<String, CKSubscription>? = try? result.get().saveResults
        }
    }

    static func changes(_ database: CKDatabase, _ zone: CKRecordZone.ID) async throws {
        let zones: DatabaseChanges = try await database.databaseChanges(since: nil)
        let _: DatabaseChanges = try await database.databaseChanges(
            since: zones.changeToken,
            resultsLimit: 5
        )
        for change in zones.deletions {
            let _: (CKRecordZone.ID, Bool) = (change.zoneID, change.purged)
            let _: CKDatabase.DatabaseChange.Deletion.Reason = change.reason
        }
        let records: ZoneChanges = try await database.recordZoneChanges(
            inZoneWith: zone,
            since: nil
        )
        let _: ZoneChanges = try await database.recordZoneChanges(
            inZoneWith: zone,
            since: records.changeToken,
            desiredKeys: [],
            resultsLimit: 5
        )
        for change in records.deletions {
            let _: (ID, CKRecord.RecordType) = (change.recordID, change.recordType)
        }
        let _: CKRecord? = try records.modificationResultsByID.values.first?.get().record
        database.fetchDatabaseChanges(since: nil) { (_: Result<DatabaseChanges, any Error>) in }
        database.fetchDatabaseChanges(since: nil, resultsLimit: 5) { _ in }
        database.fetchRecordZoneChanges(inZoneWith: zone, since: nil) {
            (_: Result<ZoneChanges, any Error>) in
        }
        database.fetchRecordZoneChanges(
            inZoneWith: zone,
            since: nil,
            desiredKeys: nil,
            resultsLimit: 5
        ) { _ in }
    }
}
