// What a source does in the midst of a migration: it changes, refuses, is busy, loses tokens. In
// the end nothing is lost, and the exit code says what is left.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTesting
import CumulusTransfer
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(5))) struct MigrationFaultTests {
    private let list = "public/_defaultZone"

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    private func service(_ records: [JSON], in place: String) -> ScriptedService {
        let service = ScriptedService()
        service.change { content in for record in records { content.save(place, record) } }
        return service
    }

    private func copy(
        _ rig: MigrationRig,
        _ service: ScriptedService,
        isOfUser: Bool = false,
        until isOver: @escaping () -> Bool = { false }
    ) async throws -> MigrationReport {
        try await rig.migration(from: service, isOfUser: isOfUser).copy(until: isOver)
    }

    /// One record is read, and changes; another one changes later and is read later.
    ///
    /// The run ends between.
    @Test func whatChangesDuringAListArrives() async throws {
        let rig = try await MigrationRig()
        let names = ["a1", "b1", "y9", "z9"]
        let service = service(names.map { ScriptedService.note($0, "old") }, in: list)
        let probes = 2
        var report = try await copy(rig, service) { service.requests("records/query") > probes }
        #expect(report.saved == 2)
        service.change {
            $0.save(list, ScriptedService.note("a1", "new", modified: Self.now + 60_000))
            $0.save(list, ScriptedService.note("z9", "new", modified: Self.now + 3_600_000))
        }
        report = try await copy(rig, service)
        #expect(report.saved == 2 && report.failed == 0)
        #expect(try await rig.titles()["a1"] == "old")
        report = try await copy(rig, service)
        #expect(try await rig.titles() == ["a1": "new", "b1": "old", "y9": "old", "z9": "new"])
        try await rig.end()
    }

    @Test func whatFailsIsTriedUntilItIsThere() async throws {
        let rig = try await MigrationRig()
        let service = service(["a", "b", "c"].map { ScriptedService.note($0, "t") }, in: list)
        service.change { content in
            // The next pass begins behind all others.
            content.save(list, ScriptedService.note("d", "t", modified: 10_000_000))
            content.entries["b"] = (ScriptedService.refusal("INTERNAL_ERROR"), 100)
            // Twice, and then it comes.
            content.entries["c"] = (ScriptedService.refusal("TRY_AGAIN_LATER", after: 0.02), 2)
        }
        var report = try await copy(rig, service)
        #expect(report.failed == 1 && report.exitCode == .refused)
        #expect(try await rig.titles().keys.sorted() == ["a", "c", "d"])
        report = try await copy(rig, service)
        #expect(report.failed == 1 && report.exitCode == .refused)
        service.change { $0.entries = [:] }
        report = try await copy(rig, service)
        #expect(report.failed == 0 && report.exitCode == nil)
        #expect(try await rig.titles().keys.sorted() == ["a", "b", "c", "d"])
        try await rig.end()
    }

    @Test func aZoneThatIsBusyIsWaitedFor() async throws {
        let rig = try await MigrationRig()
        let service = service([ScriptedService.note("a", "t")], in: "private/Trips")
        service.change {
            $0.entries["Trips"] = (ScriptedService.refusal("TRY_AGAIN_LATER", after: 0.02), 2)
        }
        let report = try await copy(rig, service, isOfUser: true)
        #expect(report.saved == 1 && report.failed == 0)
        #expect(service.requests("changes/zone") >= 3)
        // Longer than the patience is: it ends, and says what to do.
        service.change {
            $0.save("private/Trips", ScriptedService.note("b", "t"))
            $0.entries["Trips"] = (ScriptedService.refusal("TRY_AGAIN_LATER", after: 60), 9)
        }
        let error = await #expect(throws: ServiceError.self) {
            try await copy(rig, service, isOfUser: true)
        }
        #expect(error?.message.contains("run it again later") == true)
        try await rig.end()
    }

    @Test func aParentGoesAfterItsChildren() async throws {
        let rig = try await MigrationRig()
        let place = "private/Trips"
        let parent = JSON.Member("parent", ["recordName": "p"])
        let service = service(
            [ScriptedService.note("p", "t")]
                + (0..<5).map { ScriptedService.note("c\($0)", "t", more: [parent]) },
            in: place
        )
        #expect(try await copy(rig, service, isOfUser: true).saved == 6)
        service.change { content in
            for name in ["p", "c0", "c1", "c2", "c3", "c4"] { content.zones[place]?.delete(name) }
        }
        let report = try await copy(rig, service, isOfUser: true)
        #expect(report.deleted == 6 && report.failed == 0)
        try await rig.end()
    }

    @Test func aTokenThatIsAlwaysRefusedEndsIt() async throws {
        let rig = try await MigrationRig()
        let service = service((0..<5).map { ScriptedService.note("n\($0)", "t") }, in: list)
        service.change { $0.refusesTokens = true }
        await #expect(throws: ServiceError.self) { try await copy(rig, service) }
        // Two probes, the first page and the refused second one, twice.
        #expect(service.requests("records/query") == 6)
        service.change { $0.refusesTokens = false }
        #expect(try await copy(rig, service).failed == 0)
        #expect(try await rig.titles().count == 5)
        try await rig.end()
    }

    @Test func aZoneThatWentWithTheTokenIsDeleted() async throws {
        let rig = try await MigrationRig()
        let service = ScriptedService()
        service.change { content in
            for zone in ["A", "B", "C"] {
                content.save("private/\(zone)", ScriptedService.note("n", "t"))
            }
        }
        #expect(try await copy(rig, service, isOfUser: true).zones == 3)
        service.change { content in
            content.zones["private/A"] = nil
            content.refusesTokens = true
            content.then = { content, path in
                if path == "private/changes/database" { content.refusesTokens = false }
            }
        }
        #expect(try await copy(rig, service, isOfUser: true).failed == 0)
        let ada = try await rig.node.signIn(as: "ada")
        let zones = try await ada.privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName)
        #expect(zones.filter { $0 != "_defaultZone" }.sorted() == ["B", "C"])
        await ada.close()
        try await rig.end()
    }

    /// The token has expired, and the list of zones that begins anew is cut off, too.
    @Test func aZoneListThatWasCutOffComparesAgain() async throws {
        let rig = try await MigrationRig()
        let service = ScriptedService()
        service.change { content in
            for zone in ["A", "B", "C"] {
                content.save("private/\(zone)", ScriptedService.note("n", "t"))
            }
        }
        #expect(try await copy(rig, service, isOfUser: true).zones == 3)
        service.change { content in
            content.zones["private/A"] = nil
            (content.refusesTokens, content.zonePageSize) = (true, 1)
            content.then = { content, path in
                guard path == "private/changes/database" else { return }
                if content.refusesTokens {
                    content.refusesTokens = false
                } else {
                    let refusal = ScriptedService.refusal("ACCESS_DENIED")
                    content.refusals["changes/database"] = refusal
                }
            }
        }
        await #expect(throws: ServiceError.self) { try await copy(rig, service, isOfUser: true) }
        service.change { content in (content.refusals, content.then) = ([:], nil) }
        #expect(try await copy(rig, service, isOfUser: true).failed == 0)
        let ada = try await rig.node.signIn(as: "ada")
        let zones = try await ada.privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName)
        #expect(zones.filter { $0 != "_defaultZone" }.sorted() == ["B", "C"])
        await ada.close()
        try await rig.end()
    }

    /// Two sources come together in one container here: each deletes its own records alone.
    @Test func aSourceDeletesWhatItBrought() async throws {
        let rig = try await MigrationRig()
        let one = service([ScriptedService.note("one", "t")], in: list)
        let records = ["two", "three"].map { ScriptedService.note($0, "t") }
        let other = service(records, in: list)
        _ = try await rig.migration(from: one, isOfUser: false).copy()
        func copyOther() async throws -> MigrationReport {
            try await rig.migration(
                from: other,
                isOfUser: false,
                state: "other",
                container: "iCloud.org.other"
            ).copy()
        }
        _ = try await copyOther()
        other.change { $0.zones[list]?.delete("two") }
        #expect(try await copyOther().deleted == 1)
        #expect(try await rig.titles().keys.sorted() == ["one", "three"])
        // Each compares what is its own.
        let report = try await rig.migration(from: one, isOfUser: false).verify()
        #expect(report.differences == [] && report.compared == 1)
        // Without the origin nothing says what came from where, and nothing is deleted.
        let plain = service(["x", "y"].map { ScriptedService.note($0, "t") }, in: list)
        for _ in 0..<2 {
            let migration = try await rig.migration(
                from: plain,
                isOfUser: false,
                state: "plain",
                container: "iCloud.org.plain",
                keepsOrigin: false
            )
            #expect(try await migration.copy().deleted == 0)
            plain.change { $0.zones[list]?.delete("x") }
        }
        #expect(try await rig.titles().keys.sorted() == ["one", "three", "x", "y"])
        try await rig.end()
    }

    @Test func twoUsersThereAreTwoUsersHere() async throws {
        let rig = try await MigrationRig()
        let service = service([ScriptedService.note("a", "t")], in: "private/Trips")
        _ = try await copy(rig, service, isOfUser: true)
        service.change { $0.caller = "_" + String(repeating: "9", count: 32) }
        for name in ["ada", "bob"] {
            let problem = await #expect(throws: InputProblem.self) {
                try await rig.migration(from: service, of: name).copy()
            }
            #expect(problem?.message.contains("'\(name)' stands for the user _") == true)
        }
        #expect(throws: InputProblem.self) {
            let lines = "\(ScriptedService.ada) ada\n\(ScriptedService.bob) ada"
            _ = try Migration.names(in: lines, of: "users")
        }
        try await rig.end()
    }

    @Test func aStateIsOfOneCluster() async throws {
        let rig = try await MigrationRig()
        let other = try await MigrationRig()
        let service = service([ScriptedService.note("a", "t")], in: list)
        _ = try await copy(rig, service)
        try FileManager.default.copyItem(atPath: rig.state(), toPath: other.state())
        let problem = await #expect(throws: InputProblem.self) { try await copy(other, service) }
        #expect(problem?.message.contains("name another --state") == true)
        try await rig.end()
        try await other.end()
    }

    /// A right that is missing, or a type that the file lacks, is found before anything is made.
    @Test func nothingIsMadeBeforeEachTypeWasAsked() async throws {
        let rig = try await MigrationRig()
        let service = service([ScriptedService.note("a", "t")], in: list)
        service.change { $0.refusals["records/query"] = ScriptedService.refusal("ACCESS_DENIED") }
        let error = await #expect(throws: ServiceError.self) { try await copy(rig, service) }
        #expect(error?.code == .permissionFailure)
        #expect(error?.message.contains("type Note of the public database") == true)
        service.change { content in
            content.refusals = [:]
            content.save(
                list,
                [
                    "recordName": "z", "recordType": "Other",
                    "modified": ["timestamp": .integer(1)],
                    "fields": ["length": ["value": .integer(1), "type": "INT64"]],
                ]
            )
        }
        let problem = await #expect(throws: InputProblem.self) { try await copy(rig, service) }
        #expect(problem?.message.contains("field 'length' of record 'z'") == true)
        let schema = try await rig.admin.schema(of: NodeProcess.container, .development)
        #expect(!schema.contains("Note"))
        try await rig.end()
    }

    @Test func aTypeThatTheFileLacksIsNamed() async throws {
        let rig = try await MigrationRig()
        let place = "private/Trips"
        let service = service(["a", "b", "c"].map { ScriptedService.note($0, "t") }, in: place)
        service.change {
            $0.save(place, ["recordName": "song", "recordType": "Song", "fields": .object([])])
        }
        let problem = await #expect(throws: InputProblem.self) {
            try await copy(rig, service, isOfUser: true)
        }
        #expect(problem?.message.contains("record 'song' has the type 'Song'") == true)
        // Nothing of its page is here.
        let ada = try await rig.node.signIn(as: "ada")
        let zone = RecordZone.ID(zoneName: "Trips")
        var names: [String] = []
        for try await record in ada.privateCloudDatabase.allRecords(inZoneWith: zone) {
            names.append(record.recordID.recordName)
        }
        #expect(names == ["a", "b"])
        await ada.close()
        try await rig.end()
    }

    @Test func followingEndsWhenItIsTold() async throws {
        let rig = try await MigrationRig()
        let service = service([ScriptedService.note("a", "t")], in: list)
        service.change { content in
            content.then = { content, path in
                // The list of the first round was asked for, after two probes.
                guard path == "public/records/query", content.requests.count == 3 else { return }
                content.save(
                    "public/_defaultZone",
                    ScriptedService.note("b", "t", modified: Self.now)
                )
            }
        }
        let report = try await rig.migration(from: service, isOfUser: false)
            .copy(following: .milliseconds(20)) { service.requests("records/query") > 12 }
        #expect(report.failed == 0)
        #expect(try await rig.titles().keys.sorted() == ["a", "b"])
        try await rig.end()
    }
}
