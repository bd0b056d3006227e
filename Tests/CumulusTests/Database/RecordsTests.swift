// Records through the client, a real socket and a node in memory.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite struct RecordsTests {
    @Test func aSavedRecordComesBack() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        var other = Record(recordType: "Note", recordID: Record.ID(recordName: "other"))
        other["none"] = ["an element that gives the field its type"]
        try await database.save(other)
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "first"))
        record["title"] = "Hello"
        record["votes"] = 3
        record["tags"] = ["a", "b", "a"]
        record["none"] = []
        record["place"] = .location(Location(latitude: 48.2, longitude: 16.4))
        let saved = try await database.save(record)
        #expect(saved.recordChangeTag != nil)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched["title"] == "Hello")
        #expect(fetched["votes"] == 3)
        #expect(fetched["tags"] == ["a", "b", "a"])
        #expect(fetched["none"] == [])
        #expect(fetched["place"]?.location?.latitude == 48.2)
        #expect(fetched.recordChangeTag == saved.recordChangeTag)
        await container.close()
        try await server.stop()
    }

    @Test(.timeLimit(.minutes(5))) func theProgressOfAnUploadAheadEnds() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "first"))
        record["file"] = .asset(Asset(data: Data(repeating: 7, count: 1_000)))
        let progress = AssetProgress()
        _ = try await container.privateCloudDatabase.uploadAssets(of: [record], progress: progress)
        for await step in progress { #expect(step.completedBytes <= 1_000) }
        #expect(progress.latest.completedBytes == 1_000)
        await container.close()
        try await server.stop()
    }

    @Test func aUserChangesTheirOwnRecord() async throws {
        let server = try await TestServer()
        let ada = try await server.container(user: "ada")
        let bob = try await server.container(user: "bob")
        let id = try await ada.userRecordID()
        for database in [ada.publicCloudDatabase, ada.privateCloudDatabase] {
            var record = try await database.record(for: id)
            #expect(record.recordType == "Users" && record.recordChangeTag == nil)
            #expect(record.creatorUserRecordName == id.recordName)
            record["nick"] = "Ada"
            record = try await database.save(record)
            record["nick"] = "A."
            try await database.save(record)
        }
        #expect(try await bob.publicCloudDatabase.record(for: id)["nick"] == "A.")
        await #expect(throws: ServiceError.self) {
            try await bob.privateCloudDatabase.record(for: id)
        }
        await ada.close()
        await bob.close()
        try await server.stop()
    }

    @Test func aStaleSaveCarriesTheServersRecord() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "first"))
        record["title"] = "one"
        let first = try await database.save(record)
        var second = first
        second["title"] = "two"
        try await database.save(second)
        var stale = first
        stale["title"] = "three"
        do {
            try await database.save(stale)
            Issue.record("a stale save was accepted")
        } catch let error as ServiceError {
            #expect(error.code == .serverRecordChanged)
            #expect(error.serverRecord?["title"] == "two")
        }
        await container.close()
        try await server.stop()
    }

    /// The server leaves out what there is no room for; the client fetches it.
    @Test func everyStaleSaveOfManyCarriesTheServersRecord() async throws {
        var limits = Limits.standard
        limits.batchBytes = 3_000
        let server = try await TestServer(limits: limits)
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        let records = (0..<20).map { number in
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "n\(number)")
            )
            record["text"] = .string(String(repeating: "x", count: 1_000))
            return record
        }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        let raw = try RawClient(
            greeting: server.endpoint,
            token: try await server.makeUser("ada")
        )
        let shown = try raw.save(records).filter {
            if case .failure(let error) = $0 { error.serverRecord != nil } else { false }
        }
        #expect(shown.count == 2)
        let again = try await database.modifyRecords(saving: records, deleting: [])
        for (id, result) in again.saveResults {
            let error = #expect(throws: ServiceError.self) { try result.get() }
            #expect(error?.code == .serverRecordChanged)
            #expect(error?.serverRecord?.recordID == id)
            #expect(error?.serverRecord?["text"] == records[0]["text"])
        }
        await container.close()
        try await server.stop()
    }

    // MARK: Requests that change too much at once

    private static func large(_ name: String, in zone: RecordZone.ID = .default) -> Record {
        let id = Record.ID(recordName: name, zoneID: zone)
        var record = Record(recordType: "Note", recordID: id)
        record["text"] = .string(String(repeating: "x", count: 1_000))
        return record
    }

    /// A node that changes only so many bytes of stored records at once: about a dozen of these.
    private func withSmallBound(_ body: (Database) async throws -> Void) async throws {
        var limits = Limits.standard
        limits.storedBytesPerRequest = 15_000
        let server = try await TestServer(limits: limits)
        let container = try await server.container(user: "ada")
        try await body(container.privateCloudDatabase)
        await container.close()
        try await server.stop()
    }

    @Test func manyLargeRecordsAreChangedInParts() async throws {
        try await withSmallBound { database in
            let records = (0..<400).map { Self.large("n\($0)") }
            let saved = try await database.modifyRecords(saving: records, deleting: [])
            #expect(saved.saveResults.values.allSatisfy { (try? $0.get()) != nil })
            var changed: [Record] = []
            for record in records.prefix(100) {
                var record = try #require(saved.saveResults[record.recordID]).get()
                record["stars"] = 5
                changed.append(record)
            }
            // Some are saved and others deleted by the same call.
            let results = try await database.modifyRecords(
                saving: changed,
                deleting: records.dropFirst(100).map(\.recordID)
            )
            #expect(results.saveResults.count == 100 && results.deleteResults.count == 300)
            #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil })
            #expect(results.deleteResults.values.allSatisfy { (try? $0.get()) != nil })
            let left = try await database.records(for: records.map(\.recordID))
            #expect(left.values.filter { (try? $0.get())?["stars"] == 5 }.count == 100)
            #expect(left.values.filter { (try? $0.get()) == nil }.count == 300)
        }
    }

    /// What is atomic is done as a whole or not at all; the app sends less of it.
    @Test func anAtomicRequestIsNotDivided() async throws {
        try await withSmallBound { database in
            let zone = try await database.save(RecordZone(zoneName: "z")).zoneID
            let records = (0..<40).map { Self.large("n\($0)", in: zone) }
            _ = try await database.modifyRecords(saving: records, deleting: [])
            let ids = records.map(\.recordID)
            let error = await #expect(throws: ServiceError.self) {
                try await database.modifyRecords(saving: [], deleting: ids)
            }
            #expect(error?.code == .limitExceeded && error?.reason == .tooLarge)
            let left = try await database.records(for: ids)
            #expect(left.values.allSatisfy { (try? $0.get()) != nil })
            let few = try await database.modifyRecords(saving: [], deleting: Array(ids.prefix(10)))
            #expect(few.deleteResults.values.allSatisfy { (try? $0.get()) != nil })
            let rest = try await database.modifyRecords(
                saving: [],
                deleting: Array(ids.dropFirst(10)),
                atomically: false
            )
            #expect(rest.deleteResults.count == 30)
            #expect(rest.deleteResults.values.allSatisfy { (try? $0.get()) != nil })
        }
    }

    @Test func aListHoldsEveryRecordInOrder() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        let records = (0..<1_000).map { index in
            var record = Record(
                recordType: "Item",
                recordID: Record.ID(recordName: "item-\(10_000 + index)")
            )
            record["text"] = .string(String(repeating: "x", count: 500))
            return record
        }
        let results = try await database.modifyRecords(saving: records, deleting: [])
        #expect(results.saveResults.values.filter { (try? $0.get()) != nil }.count == 1_000)
        var names: [String] = []
        for try await record in database.allRecords(desiredKeys: ["text"]) {
            names.append(record.recordID.recordName)
        }
        #expect(names == records.map(\.recordID.recordName))
        await container.close()
        try await server.stop()
    }

    @Test func aListShowsTheMomentInWhichItBegan() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        let text = FieldValue.string(String(repeating: "x", count: 20_000))
        let records = (0..<100).map { index in
            var record = Record(
                recordType: "Item",
                recordID: Record.ID(recordName: "item-\(100 + index)")
            )
            record["text"] = text
            return record
        }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        var names: [String] = []
        for try await record in database.allRecords() {
            if names.isEmpty {
                // Far beyond what the node has read ahead: 2 MB in pages of 128 KB.
                try await database.deleteRecord(withID: records[99].recordID)
                let late = Record.ID(recordName: "item-150-late")
                try await database.save(Record(recordType: "Item", recordID: late))
            }
            names.append(record.recordID.recordName)
        }
        #expect(names == records.map(\.recordID.recordName))
        await container.close()
        try await server.stop()
    }

    @Test func incrementsThatDoNotFitAreRefused() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        var record = Record(recordType: "Counter", recordID: Record.ID(recordName: "counter"))
        for _ in 0..<2 { record.increment("hits", by: .min) }
        let error = await #expect(throws: ServiceError.self) { try await database.save(record) }
        #expect(error?.code == .invalidArguments)
        await container.close()
        try await server.stop()
    }

    @Test func incrementsAddUpUnderConcurrency() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada", connections: 4)
        let database = container.publicCloudDatabase
        let id = Record.ID(recordName: "counter")
        try await database.save(Record(recordType: "Counter", recordID: id))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    var record = Record(recordType: "Counter", recordID: id)
                    record.increment("hits")
                    _ = try await database.modifyRecords(
                        saving: [record],
                        deleting: [],
                        savePolicy: .changedKeys
                    ).saveResults[id]?.get()
                }
            }
            try await group.waitForAll()
        }
        let record = try await database.record(for: id)
        #expect(record["hits"] == 64)
        await container.close()
        try await server.stop()
    }
}
