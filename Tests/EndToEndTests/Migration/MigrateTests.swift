// `cumulus migrate` from one node over its web services into another: equal at the end, also if
// everything is killed on the way.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct MigrateTests {
    private let world: MigrationWorld

    init() throws { world = try MigrationWorld() }

    private static let all: [String?] = ["ada", "bob", nil]

    /// Compares all that the callers reach; nothing differs.
    private func verify(into target: NodeProcess) async throws {
        var compared: Int64 = 0
        for user in Self.all {
            let report = try await world.migrate(user, into: target, "--verify")
            #expect(report["different"] == .integer(0), "\(user ?? "public"): \(report)")
            if case .integer(let count)? = report["compared"] { compared += count }
        }
        let least =
            MigrationSize.cities + MigrationSize.files
            + MigrationSize.zones * MigrationSize.recordsOfZone
        #expect(compared >= Int64(least))
    }

    @Test func aContainerMovesAndFollows() async throws {
        let source = try await world.startSource()
        let target = try await world.startTarget()
        try await world.fill(source)
        for user in Self.all {
            let report = try await world.migrate(user, into: target)
            #expect(report["failed"] == .integer(0), "\(report)")
        }
        try await verify(into: target)
        try await checkTarget(target)
        // What differs is found, whichever side has it.
        try await change(source)
        let run = try await CommandLineRun(
            try world.words(nil) + ["--verify"],
            variables: try world.operators(target)
        )
        #expect(run.code == 1)
        #expect(run.errors.contains("record 'city-0' of type City of the public database differs"))
        #expect(run.errors.contains("differs in code, name, originModified"))
        #expect(run.errors.contains("record 'city-1' of zone"))
        #expect(run.errors.contains("is not at the source"))
        #expect(run.errors.contains("'new' of type City of the public database is missing here"))
        let ofAda = try await CommandLineRun(
            try world.words("ada") + ["--verify"],
            variables: try world.operators(target)
        )
        #expect(ofAda.code == 1)
        #expect(
            ofAda.errors.contains("zone zone-1 of the private database is not at the source")
        )
        #expect(
            ofAda.errors.contains(
                "record 'city-2' of zone zone-0 of the private database is not at the source"
            )
        )
        // Then it is taken over.
        for user in Self.all { _ = try await world.migrate(user, into: target) }
        try await verify(into: target)
        let ada = try await target.signIn(as: "ada")
        let zones = try await ada.privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName)
        #expect(zones.contains("zone-0") && !zones.contains("zone-1"))
        await ada.close()
        try await target.end(SIGTERM)
        try await source.end(SIGTERM)
    }

    /// Saves, changes and deletes something everywhere.
    private func change(_ node: NodeProcess) async throws {
        let ada = try await world.signIn("ada", node)
        let database = ada.publicCloudDatabase
        var city = try await database.record(for: Record.ID(recordName: "city-0"))
        city["name"] = "Other"
        city["code"] = nil
        try await database.save(city)
        try await database.deleteRecord(withID: Record.ID(recordName: "city-1"))
        try await database.save(
            Record(recordType: "City", recordID: Record.ID(recordName: "new"))
        )
        let own = ada.privateCloudDatabase
        let zone = RecordZone.ID(zoneName: "zone-0")
        try await own.deleteRecord(withID: Record.ID(recordName: "city-2", zoneID: zone))
        try await own.deleteRecordZone(withID: RecordZone.ID(zoneName: "zone-1"))
        await ada.close()
    }

    /// The target has users, rights, times, shares and subscriptions.
    private func checkTarget(_ node: NodeProcess) async throws {
        let ada = try await node.signIn(as: "ada")
        let record = try await ada.publicCloudDatabase.record(
            for: Record.ID(recordName: "file-1"),
            downloadingAssets: true
        )
        let ours = try await ada.userRecordID().recordName
        #expect(record.creatorUserRecordName == ours)
        #expect(record["originCreatedBy"] == .string(ours))
        #expect(record["originCreated"]?.timestamp != nil)
        guard case .asset(let photo)? = record["photo"], let file = photo.fileURL else {
            Issue.record("no file in \(record.allKeys())")
            return
        }
        #expect(try Data(contentsOf: file).count == 2_001)
        #expect(try await ada.privateCloudDatabase.allSubscriptions().map(\.id) == ["all"])
        #expect(try await ada.publicCloudDatabase.allSubscriptions().map(\.id) == ["large"])
        let bob = try await node.signIn(as: "bob")
        let zones = try await bob.sharedCloudDatabase.allRecordZones().map(\.zoneID)
        #expect(zones.count == (MigrationSize.zones + 1) / 2)
        let zone = try #require(zones.first)
        let seen = try await bob.sharedCloudDatabase.record(
            for: Record.ID(recordName: "city-3", zoneID: zone)
        )
        #expect(seen.encryptedValues.lockedKeys() == ["secret"])
        // Somebody else's right to change a public record has not come along.
        await #expect(throws: ServiceError.self) {
            try await bob.publicCloudDatabase.deleteRecord(
                withID: Record.ID(recordName: "city-0")
            )
            _ = try await bob.publicCloudDatabase.modifyRecords(
                saving: [],
                deleting: [Record.ID(recordName: "city-0")]
            ).deleteResults[Record.ID(recordName: "city-0")]?.get()
        }
        await ada.close()
        await bob.close()
        // The tokens that it made have ended: each user has the one of this test.
        let sessions = try await CommandLineRun(
            ["session", "list", "--user", "ada", "--json"],
            variables: try world.operators(node)
        )
        #expect(sessions.output.components(separatedBy: "\"id\"").count <= 2)
    }

    /// Each side and the migration are killed as often as is asked while a migration is at work.
    ///
    /// A city changes before each kill.
    ///
    /// It takes as long as all that is copied takes, and a start of each side for each kill.
    @Test func killsOnBothSidesLoseNothing() async throws {
        var dice = SeededGenerator(seed: Chaos.seed)
        var source = try await world.startSource()
        var target = try await world.startTarget()
        try await world.fill(source)
        // How often the migration, the source and the target were killed.
        var kills = [0, 0, 0]
        var turn = 0
        while turn < 20 * MigrationSize.kills,
            let kind = kills.firstIndex(where: { $0 < MigrationSize.kills })
        {
            turn += 1
            let run = try start(Self.all[turn % Self.all.count], turn, target)
            try await world.change(turn, source)
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...900, using: &dice)))
            // A run that ended by itself was not killed.
            if run.ending == nil { kills[kind] += 1 }
            switch kind {
            case 0: run.kill(SIGKILL)
            case 1:
                try await source.end(SIGKILL)
                source = try await world.startSource()
            default:
                try await target.end(SIGKILL)
                target = try await world.startTarget()
            }
            let ending = try await run.waitForEnd(seconds: 1_800)
            // A side that is not there at the start is not waited for.
            let isExpected = [.signal(SIGKILL), .exit(69), .exit(0)].contains(ending)
            #expect(isExpected, "turn \(turn): \(ending) \(world.errors(turn))")
        }
        #expect(kills == [Int](repeating: MigrationSize.kills, count: 3))
        let changes = turn
        for user in Self.all {
            turn += 1
            let run = try start(user, turn, target)
            let ending = try await run.waitForEnd(seconds: 1_800)
            #expect(ending == .exit(0), "\(user ?? "public"): \(world.errors(turn))")
        }
        try await verify(into: target)
        // The changes were made while it was at work.
        let bob = try await target.signIn(as: "bob")
        for number in max(1, changes - 199)...changes {
            let id = Record.ID(recordName: MigrationWorld.changed(number))
            let record = try await bob.publicCloudDatabase.record(for: id)
            #expect(record["name"] == .string("Changed \(number)"))
        }
        await bob.close()
        try await target.end(SIGTERM)
        try await source.end(SIGTERM)
    }

    private func start(_ user: String?, _ turn: Int, _ target: NodeProcess) throws -> ChildProcess {
        try ChildProcess(
            [try ChildProcess.builtProgram("cumulus")] + world.words(user),
            variables: try world.operators(target),
            output: world.path("output-\(turn)"),
            errors: world.path("errors-\(turn)")
        )
    }

    @Test func followingCopiesWhatChangesUntilItIsInterrupted() async throws {
        let source = try await world.startSource()
        let target = try await world.startTarget()
        try await world.fill(source)
        _ = try await world.migrate(nil, into: target)
        let run = try ChildProcess(
            [try ChildProcess.builtProgram("cumulus")] + world.words(nil)
                + ["--follow", "--every", "1"],
            variables: try world.operators(target),
            output: world.path("output"),
            errors: world.path("errors")
        )
        try await Task.sleep(for: .milliseconds(500))
        try await world.change(1, source)
        let bob = try await target.signIn(as: "bob")
        let id = Record.ID(recordName: MigrationWorld.changed(1))
        var name: FieldValue?
        // In the deep form a comparison of all names comes before the next look.
        for _ in 0..<1_200 where name != "Changed 1" {
            try await Task.sleep(for: .milliseconds(50))
            name = try await bob.publicCloudDatabase.record(for: id)["name"]
        }
        #expect(name == "Changed 1" && run.ending == nil)
        run.kill(SIGINT)
        #expect(try await run.waitForEnd(seconds: 30) == .exit(0))
        await bob.close()
        try await target.end(SIGTERM)
        try await source.end(SIGTERM)
    }

    @Test func whatCannotBeIsSaidBeforeAnythingIsDone() async throws {
        let source = try await world.startSource()
        let target = try await world.startTarget()
        try await world.fill(source)
        let variables = try world.operators(target)
        func refused(_ words: [String], _ code: Int32, _ text: String) async throws {
            let run = try await CommandLineRun(words, variables: variables)
            #expect(run.code == code && run.errors.contains(text), "\(run.code) \(run.errors)")
        }
        let words = try world.words(nil)
        let none = words.map { $0.hasPrefix("http://") ? "http://127.0.0.1:1" : $0 }
        try await refused(none + ["--timeout", "1"], 69, "can't be reached")
        let id = try #require(words.last)
        let other = words.map { $0 == id ? String(repeating: "0", count: 64) : $0 }
        try await refused(other, 1, "check the key and its id")
        try await refused(words + ["--user", "ada"], 64, "--user belongs to")
        // A schema that lacks a field: named, and nothing of the page is saved.
        let column = ", population INT64 QUERYABLE SORTABLE"
        let poor = MigrationWorld.schema.replacing(column, with: "")
        try Data(poor.utf8).write(to: URL(filePath: world.path("poor.ckdb")))
        let lacking = words.map { $0.hasSuffix("app.ckdb") ? world.path("poor.ckdb") : $0 }
        try await refused(lacking, 65, "field 'population' of record 'city-")
        let listed = try await CommandLineRun(
            ["record", "list", "--database", "public", "--json"],
            variables: variables
        )
        #expect(!listed.output.contains("city-"))
        try await refused(["migrate", "--schema", "x.ckdb"], 64, "name --source-key")
        try Data("{}".utf8).write(to: URL(filePath: world.path("state.json")))
        try await refused(words, 65, "the state of the migration is damaged")
        try await target.end(SIGTERM)
        try await source.end(SIGTERM)
    }
}
