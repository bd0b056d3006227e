// Two nodes cut apart, the same records changed on both, healed: both hold what the article on
// replication says, and each value that was lost is in `cumulus conflicts list`.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct ConflictsTests {
    private let folder: TestFolder
    private static let key = [UInt8](repeating: 0x5A, count: 32)

    init() throws {
        folder = try TestFolder()
    }

    /// Records of Ada's private database, at one node.
    private struct Side {
        let server: TestServer
        let container: Container
        let zoneID = RecordZone.ID(zoneName: "Notes")
        var database: Database { container.privateCloudDatabase }

        func save(
            _ name: String,
            _ fields: [String: FieldValue?],
            adding: [String: Int64] = [:],
            type: String = "Note"
        ) async throws {
            try await save([(name, fields)], adding: adding, type: type)
        }

        /// Saves records in one batch.
        func save(
            _ items: [(name: String, fields: [String: FieldValue?])],
            adding: [String: Int64] = [:],
            type: String = "Note"
        ) async throws {
            let records = items.map { name, fields in
                var record = Record(recordType: type, recordID: id(name))
                for (key, value) in fields { record[key] = value }
                for (key, delta) in adding { record.increment(key, by: delta) }
                return record
            }
            let results = try await database.modifyRecords(
                saving: records,
                deleting: [],
                savePolicy: .changedKeys
            )
            for result in results.saveResults.values { _ = try result.get() }
        }

        func delete(_ name: String) async throws {
            try await database.deleteRecord(withID: id(name))
        }

        func id(_ name: String) -> Record.ID { Record.ID(recordName: name, zoneID: zoneID) }

        /// All records, by name and field.
        func all() async throws -> [String: [String: FieldValue]] {
            var found: [String: [String: FieldValue]] = [:]
            for try await record in database.allRecords(inZoneWith: zoneID) {
                var fields: [String: FieldValue] = [:]
                for key in record.allKeys() { fields[key] = record[key] }
                found[record.recordID.recordName] = fields
            }
            return found
        }
    }

    /// "record field lost" of each conflict that the command line shows.
    private func conflicts(
        at side: Side,
        _ words: [String],
        _ variables: [String: String]
    ) async throws -> [String] {
        let run = try await CommandLineRun(
            ["conflicts", "list", "--json", "--endpoint", side.server.endpoint] + words,
            variables: variables
        )
        #expect(run.code == 0, "\(run.errors)")
        guard case .array(let items) = try JSONReader.read(run.output.utf8) else { return [] }
        return items.map { item in
            [item["recordName"], item["field"], item["lost"]].map { $0?.text ?? "" }
                .joined(separator: " ").replacing("\"", with: "")
        }.sorted()
    }

    @Test func whatWasLostIsShown() async throws {
        let servers = [
            try await TestServer(clusterKey: Self.key), try await TestServer(clusterKey: Self.key),
        ]
        let token = try await servers[0].makeUser("ada")
        let sides = servers.map { Side(server: $0, container: $0.container(token: token)) }
        servers[0].follow([servers[1]])
        servers[1].follow([servers[0]])
        let (one, other) = (sides[0], sides[1])
        try await one.database.save(RecordZone(zoneID: one.zoneID))
        for name in ["field", "fields", "deleted", "counted", "first", "second"] {
            try await one.save(name, ["a": 0, "b": 0, "n": 10])
        }
        while await (try? other.all())?.count != 6 {}

        // Cut apart.
        for server in servers { await server.unfollow() }
        try await one.save("field", ["a": 1])
        try await one.save("fields", ["a": 1])
        try await one.delete("deleted")
        try await one.save("made", ["a": 1])
        try await one.save("counted", [:], adding: ["n": 1])
        try await one.save([("first", ["a": 1]), ("second", ["a": 1])])
        // Clocks count milliseconds: of two saves in the same one either may stand.
        try await Task.sleep(for: .milliseconds(2))
        try await other.save("field", ["a": 2])
        try await other.save("fields", ["b": 2])
        try await other.save("deleted", ["a": 2])
        try await other.save("made", ["b": 2])
        try await other.save("counted", [:], adding: ["n": 5])
        try await other.save([("first", ["a": 2]), ("second", ["a": 2])])

        // Healed.
        servers[0].follow([servers[1]])
        servers[1].follow([servers[0]])
        let wanted: [String: [String: FieldValue]] = [
            "field": ["a": 2, "b": 0, "n": 10], "fields": ["a": 1, "b": 2, "n": 10],
            "made": ["b": 2], "counted": ["a": 0, "b": 0, "n": 16],
            "first": ["a": 2, "b": 0, "n": 10], "second": ["a": 2, "b": 0, "n": 10],
        ]
        for side in sides {
            for _ in 0..<500 where try await side.all() != wanted {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try await side.all() == wanted)
            // The record was edited and deleted, and each node met another half.
            let found = try await conflicts(
                at: side,
                ["--mine"],
                ["CUMULUS_TOKEN": token]
            )
            let common = [
                "field a {a: 1}", "first a {a: 1}", "made null {a: 1}", "second a {a: 1}",
            ]
            #expect(found.filter { !$0.hasPrefix("deleted") } == common)
            #expect(found.filter { $0.hasPrefix("deleted") }.count == 1)
            #expect(found.first { $0.hasPrefix("deleted") }?.contains("a: 2") == true, "\(found)")
        }

        let listed = try await CommandLineRun(
            ["conflicts", "list", "--mine", "--json", "--endpoint", one.server.endpoint],
            variables: ["CUMULUS_TOKEN": token]
        )
        guard case .array(let all) = try JSONReader.read(listed.output.utf8) else {
            Issue.record("no list: \(listed.output)")
            return
        }
        let id = try #require(all.first?["id"]?.text.replacing("\"", with: ""))
        let whole = try await CommandLineRun(
            ["conflicts", "show", id, "--mine", "--json", "--endpoint", one.server.endpoint],
            variables: ["CUMULUS_TOKEN": token]
        )
        #expect(whole.code == 0, "\(whole.errors)")
        #expect(try JSONReader.read(whole.output.utf8) == all.first)

        // An operator sees that something was lost, and not what.
        let file = "\(folder.path)/operator.token"
        try Data(TestServer.operatorToken.utf8).write(to: URL(filePath: file))
        let seen = try await conflicts(
            at: one,
            ["--record", "field"],
            ["CUMULUS_OPERATOR_TOKEN_FILE": file]
        )
        #expect(seen == ["field a null"])
        let stranger = try await servers[0].makeUser("eve")
        #expect(
            try await conflicts(at: one, ["--mine"], ["CUMULUS_TOKEN": stranger]) == []
        )
        let shown = try await CommandLineRun(
            ["conflicts", "show", "ffff", "--mine", "--endpoint", one.server.endpoint],
            variables: ["CUMULUS_TOKEN": token]
        )
        #expect(shown.code == 1)
        for side in sides { await side.container.close() }
        for server in servers { try await server.stop() }
    }

    /// The same by policies: a page is of one save, and so are an invoice's amount and currency.
    @Test func policiesSayWhatChangesAsOne() async throws {
        let servers = [
            try await TestServer(clusterKey: Self.key), try await TestServer(clusterKey: Self.key),
        ]
        let token = try await servers[0].makeUser("ada")
        let (one, other) = (
            Side(server: servers[0], container: servers[0].container(token: token)),
            Side(server: servers[1], container: servers[1].container(token: token))
        )
        let file = "\(folder.path)/operator.token"
        try Data(TestServer.operatorToken.utf8).write(to: URL(filePath: file))
        for words in [["Page", "--merge", "record"], ["Invoice", "--group", "amount,currency"]] {
            let run = try await policy(["set"] + words, at: one, file)
            #expect(run.code == 0, "\(run.errors)")
        }
        servers[0].follow([servers[1]])
        servers[1].follow([servers[0]])
        try await one.database.save(RecordZone(zoneID: one.zoneID))
        try await one.save("page", ["title": "Oslo", "text": "A city"], type: "Page")
        try await one.save("bill", ["amount": 10, "currency": "NOK", "paid": 0], type: "Invoice")
        while await (try? other.all())?.count != 2 {}
        let listed = try await policy(["list"], at: other, file)
        #expect(listed.output.contains("Invoice  amount+currency"), "\(listed.output)")
        #expect(listed.output.contains("Page     record"), "\(listed.output)")

        // Cut apart.
        for server in servers { await server.unfollow() }
        try await one.save("page", ["title": "Oslo, Norway"], type: "Page")
        try await one.save("bill", ["amount": 12, "paid": 1], type: "Invoice")
        // Clocks count milliseconds: of two saves in the same one either may stand.
        try await Task.sleep(for: .milliseconds(2))
        try await other.save("page", ["text": "A capital"], type: "Page")
        try await other.save("bill", ["currency": "EUR"], type: "Invoice")

        // Healed.
        servers[0].follow([servers[1]])
        servers[1].follow([servers[0]])
        let wanted: [String: [String: FieldValue]] = [
            "page": ["title": "Oslo", "text": "A capital"],
            "bill": ["amount": 10, "currency": "EUR", "paid": 1],
        ]
        for side in [one, other] {
            for _ in 0..<500 where try await side.all() != wanted {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try await side.all() == wanted)
            let found = try await conflicts(at: side, ["--mine"], ["CUMULUS_TOKEN": token])
            #expect(
                found == [
                    "bill amount {amount: 12}", "bill currency {currency: NOK}",
                    "page null {text: A city, title: Oslo, Norway}",
                ]
            )
        }
        for side in [one, other] { await side.container.close() }
        for server in servers { try await server.stop() }
    }

    private func policy(
        _ words: [String],
        at side: Side,
        _ tokenFile: String
    ) async throws -> CommandLineRun {
        try await CommandLineRun(
            ["policy"] + words
                + ["--endpoint", side.server.endpoint, "--container", TestServer.container],
            variables: ["CUMULUS_OPERATOR_TOKEN_FILE": tokenFile]
        )
    }
}
