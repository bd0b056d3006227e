// Operations in queues, with a real socket and a node in memory.

import CumulusCloudKit
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct OperationTests {
    /// What blocks told, in their order.
    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    private func word<Value>(_ result: Result<Value, any Error>) -> String {
        switch result {
        case .success: "ok"
        case .failure(let error): "\((error as? CKError)?.code.rawValue ?? -1)"
        }
    }

    /// Runs an operation on a database, and returns when it has ended.
    private func run(_ operation: CKDatabaseOperation, on database: CKDatabase) async {
        await withCheckedContinuation { done in
            operation.completionBlock = { done.resume() }
            database.add(operation)
        }
    }

    private func archived<Value: NSObject & NSCoding>(_ value: Value) throws -> Value {
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: value,
            requiringSecureCoding: true
        )
        return try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data)
        )
    }

    @Test func groupsAreCopiedAndArchived() throws {
        let group = CKOperationGroup()
        group.name = "first sync"
        group.quantity = 3
        group.expectedSendSize = .megabytes
        group.defaultConfiguration.qualityOfService = .utility
        group.defaultConfiguration.isLongLived = true
        group.defaultConfiguration.timeoutIntervalForRequest = 7
        let copy = try #require(group.copy() as? CKOperationGroup)
        for other in [copy, try archived(group)] {
            #expect(other.operationGroupID == group.operationGroupID)
            #expect(other.name == "first sync" && other.quantity == 3)
            #expect(other.expectedSendSize == .megabytes && other.expectedReceiveSize == .unknown)
            let configuration = try #require(other.defaultConfiguration)
            #expect(configuration.qualityOfService == .utility && configuration.isLongLived)
            #expect(configuration.timeoutIntervalForRequest == 7)
            #expect(configuration.timeoutIntervalForResource == 604_800)
        }
        copy.defaultConfiguration.isLongLived = false
        #expect(group.defaultConfiguration.isLongLived)
    }

    @Test func configurationsOfZonesAreCopiedAndArchived() throws {
        let settings = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            resultsLimit: 5,
            desiredKeys: ["title"]
        )
        let copy = try #require(
            settings.copy() as? CKFetchRecordZoneChangesOperation.ZoneConfiguration
        )
        for other in [copy, try archived(settings)] {
            #expect(other.resultsLimit == 5 && other.desiredKeys == ["title"])
            #expect(other.previousServerChangeToken == nil)
        }
        copy.desiredKeys = []
        #expect(try archived(copy).desiredKeys == [] && settings.desiredKeys == ["title"])
        let empty = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        #expect(try archived(empty).desiredKeys == nil)
    }

    @Test func recordsAreModifiedFetchedAndFound() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let (database, log) = (container.privateCloudDatabase, Log())
                let notes = (0..<3).map { record("Note", "n\($0)", ["votes": $0]) }
                let save = CKModifyRecordsOperation(
                    recordsToSave: notes,
                    recordIDsToDelete: [CKRecord.ID(recordName: "none")]
                )
                save.savePolicy = .changedKeys
                save.qualityOfService = .userInitiated
                save.perRecordSaveBlock = { log.add("\($0.recordName) \(word($1))") }
                save.perRecordDeleteBlock = { log.add("\($0.recordName) \(word($1))") }
                save.modifyRecordsResultBlock = { log.add("all \(word($0))") }
                save.modifyRecordsCompletionBlock = { saved, deleted, error in
                    log.add("\(saved?.count ?? 0) \(deleted?.count ?? 0) \(error == nil)")
                }
                await run(save, on: database)
                #expect(log.all == ["n0 ok", "n1 ok", "n2 ok", "none ok", "all ok", "3 1 true"])
                #expect(save.isFinished && !save.isExecuting)

                let (fetched, missing) = (Log(), CKRecord.ID(recordName: "none"))
                let fetch = CKFetchRecordsOperation(recordIDs: [notes[0].recordID, missing])
                fetch.perRecordResultBlock = { fetched.add("\($0.recordName) \(word($1))") }
                fetch.fetchRecordsCompletionBlock = { records, error in
                    let errors = (error as? CKError)?.partialErrorsByItemID
                    fetched.add("\(records?.count ?? 0) \(errors?.count ?? 0)")
                }
                await run(fetch, on: database)
                #expect(Set(fetched.all.dropLast()) == ["n0 ok", "none 11"])
                #expect(fetched.all.last == "1 1")

                let found = Log()
                let cursor = Mutex<CKQueryOperation.Cursor?>(nil)
                let predicate = NSPredicate(format: "votes >= 0")
                let query = CKQuery(recordType: "Note", predicate: predicate)
                query.sortDescriptors = [NSSortDescriptor(key: "votes", ascending: true)]
                let first = CKQueryOperation(query: query)
                first.resultsLimit = 2
                first.recordMatchedBlock = { id, _ in found.add(id.recordName) }
                first.queryResultBlock = { result in
                    cursor.withLock { $0 = (try? result.get()) ?? nil }
                }
                await run(first, on: database)
                let next = CKQueryOperation(cursor: try #require(cursor.withLock { $0 }))
                next.recordFetchedBlock = { found.add($0.recordID.recordName) }
                next.queryCompletionBlock = { found.add($0 == nil && $1 == nil ? "end" : "?") }
                await run(next, on: database)
                #expect(found.all == ["n0", "n1", "n2", "end"])

                let me = Mutex<CKRecord.ID?>(nil)
                let own = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
                own.perRecordResultBlock = { id, _ in me.withLock { $0 = id } }
                await run(own, on: database)
                let user = try await container.userRecordID()
                #expect(me.withLock { $0 } == user)
            }
        }
    }

    @Test func changesAreFetchedZoneByZone() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let (database, log) = (container.privateCloudDatabase, Log())
                let zone = CKRecordZone(zoneName: "Trips")
                let make = CKModifyRecordZonesOperation(recordZonesToSave: [zone])
                make.modifyRecordZonesResultBlock = { log.add("made \(word($0))") }
                await run(make, on: database)
                let trips = (0..<3).map { record("Trip", "t\($0)", in: zone.zoneID) }
                _ = try await database.modifyRecords(saving: trips, deleting: [])

                let token = Mutex<CKServerChangeToken?>(nil)
                let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
                zones.recordZoneWithIDChangedBlock = { log.add("changed \($0.zoneName)") }
                zones.changeTokenUpdatedBlock = { new in token.withLock { $0 = new } }
                zones.fetchDatabaseChangesResultBlock = { log.add("zones \(word($0))") }
                await run(zones, on: database)
                #expect(token.withLock { $0 } != nil)

                let unknown = CKRecordZone.ID(zoneName: "None")
                let settings = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
                settings.resultsLimit = 2
                let fetch = CKFetchRecordZoneChangesOperation(
                    recordZoneIDs: [unknown, zone.zoneID, unknown, zone.zoneID],
                    configurationsByRecordZoneID: [zone.zoneID: settings]
                )
                let names = Log()
                fetch.recordWasChangedBlock = { id, _ in names.add(id.recordName) }
                fetch.recordZoneChangeTokensUpdatedBlock = { zone, _, _ in
                    log.add("token \(zone.zoneName)")
                }
                fetch.recordZoneFetchResultBlock = { log.add("\($0.zoneName) \(word($1))") }
                fetch.fetchRecordZoneChangesResultBlock = { log.add("end \(word($0))") }
                await run(fetch, on: database)
                #expect(names.all.sorted() == ["t0", "t1", "t2"])
                #expect(
                    log.all == [
                        "made ok", "changed Trips", "zones ok", "None 26", "token Trips",
                        "token Trips", "Trips ok", "end 2",
                    ]
                )
            }
        }
    }

    @Test func dependenciesWaitAndCancelledOperationsEnd() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let (database, log) = (container.privateCloudDatabase, Log())
                let save = CKModifyRecordsOperation(recordsToSave: [record("Note", "n")])
                save.modifyRecordsResultBlock = { _ in log.add("saved") }
                let fetch = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "n")])
                fetch.perRecordResultBlock = { log.add("fetched \(word($1))") }
                fetch.addDependency(save)
                let cancelled = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "n")])
                cancelled.fetchRecordsResultBlock = { log.add("cancelled \(word($0))") }
                cancelled.addDependency(fetch)
                cancelled.cancel()
                let unsent = CKModifyRecordsOperation(
                    recordsToSave: [record("Note", "u")],
                    recordIDsToDelete: [CKRecord.ID(recordName: "n")]
                )
                unsent.modifyRecordsCompletionBlock = { saved, deleted, error in
                    let code = (error as? CKError)?.code
                    log.add("unsent \(saved == [] && deleted == [] && code == .operationCancelled)")
                }
                unsent.cancel()
                await withCheckedContinuation { done in
                    fetch.completionBlock = { done.resume() }
                    database.add(fetch)
                    database.add(save)
                }
                await run(cancelled, on: database)
                await run(unsent, on: database)
                #expect(log.all == ["saved", "fetched ok", "cancelled 20", "unsent true"])
            }
        }
    }

    @Test func aFailureReachesEveryItem() async throws {
        try await Cloud.run { cloud in
            try await cloud.with(cloud.connection(nil)) { container in
                let log = Log()
                let notes = (0..<2).map { record("Note", "n\($0)") }
                let save = CKModifyRecordsOperation(recordsToSave: notes)
                save.perRecordSaveBlock = { log.add("\($0.recordName) \(word($1))") }
                save.perRecordCompletionBlock = { _, error in log.add("\(error != nil)") }
                save.modifyRecordsResultBlock = { log.add("all \(word($0))") }
                await run(save, on: container.privateCloudDatabase)
                #expect(log.all == ["n0 9", "true", "n1 9", "true", "all 9"])
            }
        }
    }

    @Test func aLongLivedOperationIsFoundWhileItRuns() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let (operation, ids) = (CKFetchRecordsOperation(recordIDs: []), Log())
                operation.configuration.isLongLived = true
                operation.longLivedOperationWasPersistedBlock = { ids.add(operation.operationID) }
                await run(operation, on: container.privateCloudDatabase)
                #expect(ids.all == [operation.operationID])
                #expect(try await container.allLongLivedOperationIDs().isEmpty)
                let gone = try await container.longLivedOperation(for: operation.operationID)
                #expect(gone == nil)
            }
        }
    }

    @Test func aGroupFillsWhatOperationsLeaveOpen() {
        let (own, group) = (CKOperation.Configuration(), CKOperationGroup())
        own.timeoutIntervalForRequest = 5
        group.defaultConfiguration.timeoutIntervalForRequest = 7
        group.defaultConfiguration.qualityOfService = .background
        let operation = CKFetchRecordsOperation(recordIDs: [])
        operation.configuration = own
        operation.group = group
        #expect(operation.timeoutIntervalForRequest == 5)
        let copy = own.copy() as? CKOperation.Configuration
        #expect(copy?.timeoutIntervalForRequest == 5 && copy !== own)
    }
}
