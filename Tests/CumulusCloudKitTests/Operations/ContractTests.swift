// What all operations promise of their blocks: how often each is called, in which order, where, and
// what a cancelled one says. And requests that are too long for a server.

import CumulusCloudKit
import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct ContractTests {
    private let zone = CKRecordZone(zoneName: "Trips")

    /// What blocks told; each call takes a moment, so that calls at the same time are seen.
    private final class Log: Sendable {
        private struct Content {
            var lines: [String] = []
            var inside = 0
            var isOverlapped = false
            var isOnMainThread = false
        }

        private let content = Mutex(Content())

        func add(_ line: String) {
            content.withLock { content in
                content.inside += 1
                content.isOverlapped = content.isOverlapped || content.inside > 1
                content.isOnMainThread = content.isOnMainThread || Thread.isMainThread
            }
            Thread.sleep(forTimeInterval: 0.000_5)
            content.withLock { content in
                content.inside -= 1
                content.lines.append(line)
            }
        }

        var lines: [String] { content.withLock(\.lines) }
        /// One call after the other, and none on the main thread.
        var isSerial: Bool { content.withLock { !$0.isOverlapped && !$0.isOnMainThread } }
    }

    private func word<Value>(_ result: Result<Value, any Error>) -> String {
        switch result {
        case .success: "ok"
        case .failure(let error): word(error)
        }
    }

    private func word(_ error: (any Error)?) -> String {
        error.map { "\(($0 as? CKError)?.code.rawValue ?? -1)" } ?? "ok"
    }

    private func log(_ save: CKModifyRecordsOperation, to log: Log) {
        save.perRecordSaveBlock = { log.add("save \($0.recordName) \(self.word($1))") }
        save.perRecordCompletionBlock = {
            log.add("old \($0.recordID.recordName) \(self.word($1))")
        }
        save.perRecordDeleteBlock = { log.add("delete \($0.recordName) \(self.word($1))") }
        save.modifyRecordsResultBlock = { log.add("result \(self.word($0))") }
        save.modifyRecordsCompletionBlock = { saved, deleted, error in
            let errors = (error as? CKError)?.partialErrorsByItemID ?? [:]
            log.add("end \(saved?.count ?? -1) \(deleted?.count ?? -1) \(errors.count)")
        }
    }

    /// Starts an operation, and returns when it has ended.
    private func run(_ operation: CKDatabaseOperation, on database: CKDatabase) async {
        await withCheckedContinuation { done in
            operation.completionBlock = { done.resume() }
            database.add(operation)
        }
    }

    private func withZone(_ body: (CKContainer) async throws -> Void) async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                try await container.privateCloudDatabase.save(zone)
                try await body(container)
            }
        }
    }

    @Test(arguments: [false, true])
    func eachItemIsToldOnceAndTheEndLast(isAtomic: Bool) async throws {
        try await withZone { container in
            let database = container.privateCloudDatabase
            let stale = record("Trip", "t0", in: zone.zoneID)
            try await database.save(stale)
            let other = try await database.record(for: stale.recordID)
            other["title"] = "elsewhere"
            try await database.save(other)
            stale["title"] = "here"

            let trips = [stale] + (1..<4).map { record("Trip", "t\($0)", in: zone.zoneID) }
            let missing = CKRecord.ID(recordName: "none", zoneID: zone.zoneID)
            let save = CKModifyRecordsOperation(recordsToSave: trips, recordIDsToDelete: [missing])
            save.isAtomic = isAtomic
            let log = Log()
            self.log(save, to: log)
            await run(save, on: database)
            let others = isAtomic ? "22" : "ok"
            let items = (0..<4).flatMap { number in
                let outcome = number == 0 ? "14" : others
                return ["save t\(number) \(outcome)", "old t\(number) \(outcome)"]
            }
            #expect(log.lines.dropLast(2).sorted() == (items + ["delete none \(others)"]).sorted())
            let end = isAtomic ? "end 0 0 5" : "end 3 1 1"
            #expect(log.lines.suffix(2) == ["result 2", end] && log.isSerial)
        }
    }

    /// An app that looks at the last block alone learns that something was not saved.
    @Test func theEndTellsWhichItemsFailed() async throws {
        try await withZone { container in
            let database = container.privateCloudDatabase
            let good = record("Trip", "good", in: zone.zoneID)
            let orphan = record("Trip", "orphan", in: zone.zoneID)
            orphan.setParent(CKRecord.ID(recordName: "none", zoneID: zone.zoneID))
            var end: Result<Void, any Error> = .success(())
            let save = CKModifyRecordsOperation(recordsToSave: [good, orphan])
            save.isAtomic = false
            save.modifyRecordsResultBlock = { end = $0 }
            await run(save, on: database)
            let errors = await failure { try end.get() }?.partialErrorsByItemID
            #expect(errors?.count == 1)
            #expect((errors?[orphan.recordID] as? CKError)?.code == .referenceViolation)

            let zones = CKModifyRecordZonesOperation(recordZoneIDsToDelete: [Self.noZone])
            zones.modifyRecordZonesResultBlock = { end = $0 }
            await run(zones, on: database)
            let missing = await failure { try end.get() }?.partialErrorsByItemID?[Self.noZone]
            #expect((missing as? CKError)?.code == .zoneNotFound)
        }
    }

    private static let noZone = CKRecordZone.ID(zoneName: "None")

    /// A request that is for zones that don't exist fails as a whole, and so does its last block.
    @Test func aRequestForAMissingZoneFails() async throws {
        try await withZone { container in
            let database = container.privateCloudDatabase
            let trips = (0..<2).map { record("Trip", "t\($0)", in: Self.noZone) }
            let old = CKRecord.ID(recordName: "old", zoneID: Self.noZone)
            let log = Log()
            let save = CKModifyRecordsOperation(recordsToSave: trips, recordIDsToDelete: [old])
            self.log(save, to: log)
            await run(save, on: database)
            #expect(
                log.lines == [
                    "save t0 26", "old t0 26", "save t1 26", "old t1 26", "delete old 26",
                    "result 26", "end 0 0 0",
                ]
            )
            let error = await failure {
                try await database.modifyRecords(saving: trips, deleting: [old])
            }
            #expect(error?.code == .zoneNotFound)

            // One item for a zone that exists, and each has its own result.
            let good = record("Trip", "good", in: zone.zoneID)
            let results = try await database.modifyRecords(saving: trips + [good], deleting: [])
            #expect((try? results.saveResults[good.recordID]?.get()) != nil)
            let refused = await failure { try results.saveResults[trips[0].recordID]?.get() }
            #expect(refused?.code == .zoneNotFound)

            // The same objects are saved once their zone is made.
            try await database.save(CKRecordZone(zoneID: Self.noZone))
            let again = try await database.modifyRecords(saving: trips, deleting: [])
            #expect(again.saveResults.values.allSatisfy { (try? $0.get()) != nil })
        }
    }

    @Test func fetchesAndQueriesTellEachRecordOnce() async throws {
        try await withZone { container in
            let database = container.privateCloudDatabase
            let trips = (0..<20).map { record("Trip", "t\($0)", in: zone.zoneID) }
            _ = try await database.modifyRecords(saving: trips, deleting: [])
            let log = Log()
            let ids = trips.map(\.recordID) + [trips[0].recordID]
            let fetch = CKFetchRecordsOperation(recordIDs: ids)
            fetch.perRecordResultBlock = { log.add("\($0.recordName) \(self.word($1))") }
            fetch.fetchRecordsResultBlock = { log.add("result \(self.word($0))") }
            fetch.fetchRecordsCompletionBlock = {
                log.add("end \($0?.count ?? 0) \(self.word($1))")
            }
            await run(fetch, on: database)
            #expect(
                log.lines.dropLast(2).sorted()
                    == trips.map { "\($0.recordID.recordName) ok" }.sorted()
            )
            #expect(log.lines.suffix(2) == ["result ok", "end 20 ok"] && log.isSerial)

            let zones = Log()
            let changes = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone.zoneID])
            changes.recordWasChangedBlock = { zones.add("\($0.recordName) \(self.word($1))") }
            changes.recordZoneFetchResultBlock = { zones.add("\($0.zoneName) \(self.word($1))") }
            changes.fetchRecordZoneChangesResultBlock = { zones.add("result \(self.word($0))") }
            await run(changes, on: database)
            #expect(zones.lines.count == 22 && zones.isSerial)
            #expect(zones.lines.suffix(2) == ["Trips ok", "result ok"])
        }
    }

    /// Records with assets tell how much of them is there, others that they are there: each before
    /// its result, and one call at a time.
    @Test func progressIsToldBeforeEachResult() async throws {
        let folder = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "photo")
        try Data(repeating: 7, count: 50_000).write(to: file)
        try await Cloud.run { cloud in
            var connection = cloud.connection(try await cloud.server.makeUser("ada"))
            connection.assetDirectory = folder.appending(path: "cache").path
            try await cloud.with(connection) { container in
                let database = container.privateCloudDatabase
                let notes = (0..<6).map { record("Note", "n\($0)", ["title": "a"]) }
                for note in notes.dropFirst(2) { note["photo"] = CKAsset(fileURL: file) }
                let names = notes.map(\.recordID.recordName)
                let saved = Log()
                let save = CKModifyRecordsOperation(recordsToSave: notes)
                save.perRecordProgressBlock = { saved.add("\($0.recordID.recordName) \($1)") }
                save.perRecordSaveBlock = { saved.add("\($0.recordName) \(self.word($1))") }
                await run(save, on: database)
                for name in names { #expect(ends(of: name, in: saved) == ["1.0", "ok"]) }
                #expect(saved.isSerial)

                let fetched = Log()
                let none = CKRecord.ID(recordName: "none")
                let fetch = CKFetchRecordsOperation(recordIDs: notes.map(\.recordID) + [none])
                fetch.perRecordProgressBlock = { fetched.add("\($0.recordName) \($1)") }
                fetch.perRecordResultBlock = { fetched.add("\($0.recordName) \(self.word($1))") }
                await run(fetch, on: database)
                for name in names { #expect(ends(of: name, in: fetched) == ["1.0", "ok"]) }
                #expect(ends(of: "none", in: fetched) == ["11"] && fetched.isSerial)
            }
        }
    }

    /// The last two things that were told of a record.
    private func ends(of name: String, in log: Log) -> [String] {
        log.lines.filter { $0.hasPrefix(name + " ") }.suffix(2).map {
            String($0.dropFirst(name.count + 1))
        }
    }

    /// A block may use what only its operation uses.
    @Test func blocksKeepWhatTheyCapture() async throws {
        try await withZone { container in
            let trips = (0..<3).map { record("Trip", "t\($0)", in: zone.zoneID) }
            var told: [String] = []
            let save = CKModifyRecordsOperation(recordsToSave: trips)
            save.perRecordSaveBlock = { id, _ in told.append(id.recordName) }
            save.modifyRecordsResultBlock = { _ in told.append("end") }
            await run(save, on: container.privateCloudDatabase)
            #expect(told == ["t0", "t1", "t2", "end"])
        }
    }

    /// Operations wait for their dependencies, in whatever queue these are.
    @Test func dependenciesReachAcrossQueues() async throws {
        try await withZone { container in
            let log = Log()
            let (own, database) = (OperationQueue(), container.privateCloudDatabase)
            let save = CKModifyRecordsOperation(
                recordsToSave: [record("Trip", "t", in: zone.zoneID)]
            )
            save.database = database
            save.modifyRecordsResultBlock = { log.add("saved \(self.word($0))") }
            let user = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
            user.fetchRecordsResultBlock = { log.add("user \(self.word($0))") }
            user.addDependency(save)
            let fetch = CKFetchRecordsOperation(
                recordIDs: [CKRecord.ID(recordName: "t", zoneID: zone.zoneID)]
            )
            fetch.perRecordResultBlock = { log.add("fetched \(self.word($1))") }
            fetch.addDependency(user)
            await withCheckedContinuation { done in
                fetch.completionBlock = { done.resume() }
                database.add(fetch)
                container.publicCloudDatabase.add(user)
                own.addOperation(save)
            }
            #expect(log.lines == ["saved ok", "user ok", "fetched ok"] && log.isSerial)
            withExtendedLifetime(own) {}
        }
    }

    /// An operation that waits for a server ends soon when it is cancelled, with all its blocks.
    @Test func aRunningOperationIsCancelled() async throws {
        // An address without a listener is tried again for as long as a call may take.
        var connection = CumulusConnection(endpoints: ["127.0.0.1:9"])
        connection.accessToken = "t"
        let container = CKContainer(identifier: "iCloud.x", connection: connection)
        let log = Log()
        let save = CKModifyRecordsOperation(
            recordsToSave: [record("Trip", "a"), record("Trip", "b")],
            recordIDsToDelete: [CKRecord.ID(recordName: "c")]
        )
        self.log(save, to: log)
        let start = ContinuousClock.now
        await withCheckedContinuation { done in
            save.completionBlock = { done.resume() }
            container.privateCloudDatabase.add(save)
            Task {
                while !save.isExecuting { try await Task.sleep(for: .milliseconds(5)) }
                try await Task.sleep(for: .milliseconds(100))
                save.cancel()
            }
        }
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(
            log.lines == [
                "save a 20", "old a 20", "save b 20", "old b 20", "delete c 20", "result 20",
                "end 0 0 0",
            ]
        )
        #expect(save.isFinished && save.isCancelled && log.isSerial)
        await container.close()
    }

    /// Where items may be cut into several requests, they are; an atomic zone's may not.
    @Test func aLongRequestIsCutOrRefused() async throws {
        try await withZone { container in
            let database = container.privateCloudDatabase
            let notes = (0..<444).map { record("Note", "n\($0)") }
            let saved = try await database.modifyRecords(saving: notes, deleting: [])
            #expect(saved.saveResults.count == 444)
            #expect(saved.saveResults.values.allSatisfy { (try? $0.get()) != nil })

            let trips = (0..<444).map { record("Trip", "t\($0)", in: zone.zoneID) }
            let log = Log()
            let save = CKModifyRecordsOperation(recordsToSave: trips)
            save.perRecordSaveBlock = { log.add("\($0.recordName) \(self.word($1))") }
            save.modifyRecordsResultBlock = { log.add("result \(self.word($0))") }
            await run(save, on: database)
            #expect(log.lines.count == 445 && log.lines.last == "result 27" && log.isSerial)
            // Apps send the halves then.
            try await self.save(trips[...], in: database)
            let found = try await database.records(for: trips.map(\.recordID), desiredKeys: [])
            #expect(found.values.allSatisfy { (try? $0.get()) != nil })
        }
    }

    /// The same holds for a request of few items whose records are stored so large that one request
    /// may not change all of them.
    @Test func aRequestThatChangesTooMuchIsCutOrRefused() async throws {
        var limits = Limits.standard
        limits.storedBytesPerRequest = 15_000
        try await Cloud.run(limits: limits) { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                try await database.save(zone)
                let text = String(repeating: "x", count: 1_000)
                func records(_ type: String, in zone: CKRecordZone.ID = .default) -> [CKRecord] {
                    (0..<40).map { record(type, "\(type)\($0)", in: zone, ["text": text]) }
                }
                let (notes, trips) = (records("Note"), records("Trip", in: zone.zoneID))
                for records in [notes, trips] {
                    _ = try await database.modifyRecords(saving: records, deleting: [])
                }
                let deleted = try await database.modifyRecords(
                    saving: [],
                    deleting: notes.map(\.recordID)
                )
                #expect(deleted.deleteResults.values.allSatisfy { (try? $0.get()) != nil })

                for isAtomic in [true, false] {
                    let log = Log()
                    let delete = CKModifyRecordsOperation(
                        recordIDsToDelete: trips.map(\.recordID)
                    )
                    delete.isAtomic = isAtomic
                    delete.modifyRecordsResultBlock = { log.add("result \(self.word($0))") }
                    await run(delete, on: database)
                    #expect(log.lines == [isAtomic ? "result 27" : "result ok"])
                    let left = try await database.records(for: trips.map(\.recordID))
                    let count = left.values.filter { (try? $0.get()) != nil }.count
                    #expect(count == (isAtomic ? 40 : 0))
                }
            }
        }
    }

    private func save(_ records: ArraySlice<CKRecord>, in database: CKDatabase) async throws {
        do {
            _ = try await database.modifyRecords(saving: Array(records), deleting: [])
        } catch CKError.limitExceeded {
            let half = records.count / 2
            try await save(records.prefix(half), in: database)
            try await save(records.dropFirst(half), in: database)
        }
    }
}
