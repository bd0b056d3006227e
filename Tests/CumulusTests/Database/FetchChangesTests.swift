// Changes through the client, a real socket and a node in memory.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite struct FetchChangesTests {
    private let zoneID = RecordZone.ID(zoneName: "Notes")

    private func withDatabase(_ body: (Database, TestServer) async throws -> Void) async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let result: Result<Void, any Error>
        do {
            let database = container.privateCloudDatabase
            try await database.save(RecordZone(zoneID: zoneID))
            result = .success(try await body(database, server))
        } catch {
            result = .failure(error)
        }
        await container.close()
        try await server.stop()
        try result.get()
    }

    private func note(_ name: String, _ title: String = "") -> Record {
        var record = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: name, zoneID: zoneID)
        )
        record["title"] = .string(title)
        record["body"] = "long"
        return record
    }

    /// A copy that is kept by changes alone is what the zone is.
    @Test func aCopyFollowsItsZone() async throws {
        try await withDatabase { database, _ in
            var copy: [String: Record] = [:]
            var token: ServerChangeToken?
            for round in 0..<5 {
                // Names that this round doesn't save.
                let gone = (0..<round).map { note("n\((($0 + 30) * 7 + round) % 60)") }
                let saves = (0..<30).map { note("n\(($0 * 7 + round) % 60)", "round \(round)") }
                _ = try await database.modifyRecords(
                    saving: saves,
                    deleting: gone.map(\.recordID),
                    savePolicy: .allKeys
                )
                var moreComing = true
                while moreComing {
                    let changes = try await database.recordZoneChanges(
                        inZoneWith: zoneID,
                        since: token,
                        resultsLimit: 7
                    )
                    for (id, result) in changes.modificationResultsByID {
                        copy[id.recordName] = try result.get().record
                    }
                    for deletion in changes.deletions {
                        #expect(deletion.recordType == "Note")
                        copy[deletion.recordID.recordName] = nil
                    }
                    token = changes.changeToken
                    moreComing = changes.moreComing
                }
                var whole: [String: Record] = [:]
                for try await record in database.allRecords(inZoneWith: zoneID) {
                    whole[record.recordID.recordName] = record
                }
                #expect(copy.mapValues(\.recordChangeTag) == whole.mapValues(\.recordChangeTag))
                #expect(copy.mapValues { $0["title"] } == whole.mapValues { $0["title"] })
            }
        }
    }

    @Test func zonesAreTold() async throws {
        try await withDatabase { database, _ in
            let first = try await database.databaseChanges(since: nil)
            #expect(first.modifications.map(\.zoneID.zoneName) == ["Notes"])
            #expect(!first.moreComing)
            try await database.save(RecordZone(zoneName: "Drafts"))
            try await database.deleteRecordZone(withID: zoneID)
            let page = try await database.databaseChanges(
                since: first.changeToken,
                resultsLimit: 1
            )
            #expect(page.modifications.map(\.zoneID.zoneName) == ["Drafts"])
            #expect(page.moreComing)
            let rest = try await database.databaseChanges(since: page.changeToken)
            #expect(rest.deletions.map(\.zoneID.zoneName) == ["Notes"])
            #expect(rest.deletions.map(\.reason) == [.deleted])
            #expect(!rest.moreComing)
        }
    }

    @Test func aTokenIsKeptAsText() async throws {
        try await withDatabase { database, _ in
            try await database.save(note("a"))
            let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
                .changeToken
            #expect(ServerChangeToken(text: token.text) == token)
            #expect(ServerChangeToken(text: "no token!") == nil)
            let json = try JSONEncoder().encode(["notes": token])
            let read = try JSONDecoder().decode([String: ServerChangeToken].self, from: json)
            #expect(read == ["notes": token])
            let changes = try await database.recordZoneChanges(
                inZoneWith: zoneID,
                since: read["notes"],
                desiredKeys: ["title"]
            )
            #expect(changes.modificationResultsByID.isEmpty)
        }
    }

    @Test func onlyWantedFieldsCome() async throws {
        try await withDatabase { database, _ in
            try await database.save(note("a", "t"))
            let changes = try await database.recordZoneChanges(
                inZoneWith: zoneID,
                since: nil,
                desiredKeys: ["title"]
            )
            let record = try #require(changes.modificationResultsByID.values.first).get().record
            #expect(record.allKeys() == ["title"])
        }
    }

    @Test func anExpiredTokenSaysSo() async throws {
        try await withDatabase { database, server in
            let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
                .changeToken
            try await database.deleteRecordZone(withID: zoneID)
            try await database.save(RecordZone(zoneID: zoneID))
            let error = await #expect(throws: ServiceError.self) {
                _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            }
            #expect(error?.code == .changeTokenExpired)
            let damaged = try #require(ServerChangeToken(text: "AAAA"))
            let other = await #expect(throws: ServiceError.self) {
                _ = try await database.databaseChanges(since: damaged)
            }
            #expect(other?.code == .changeTokenExpired)
            let limit = await #expect(throws: ServiceError.self) {
                _ = try await database.databaseChanges(since: nil, resultsLimit: -1)
            }
            #expect(limit?.code == .invalidArguments)
        }
    }
}
