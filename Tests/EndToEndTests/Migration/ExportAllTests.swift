// `cumulus export --all` and `cumulus import --all`: a database into another container, by a file.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct ExportAllTests {
    @Test func aDatabaseComesBackFromItsFile() async throws {
        let folder = try TestFolder()
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        try Data(token.utf8).write(to: URL(filePath: "\(folder.path)/token"))
        let ada = try await node.signIn(token: token)
        let database = ada.privateCloudDatabase
        try await database.save(RecordZone(zoneName: "Empty"))
        let zone = try await database.save(RecordZone(zoneName: "Trips")).zoneID
        var trip = Record(
            recordType: "Trip",
            recordID: Record.ID(recordName: "t", zoneID: zone)
        )
        trip["name"] = "Sea"
        trip["photo"] = .asset(Asset(data: Data([1, 2, 3])))
        try await database.save(trip)
        var note = Record(recordType: "Note", recordID: Record.ID(recordName: "n"))
        // Another type than the one of that field elsewhere.
        note["name"] = 7
        try await database.save(note)
        try await database.save(Subscription(id: "all", kind: .zone(zone)))
        try await database.save(Share(recordZoneID: zone))
        await ada.close()

        func run(_ container: String, _ words: String...) async throws -> CommandLineRun {
            let run = try await CommandLineRun(
                words + ["--database", "private", "--assets", "\(folder.path)/files", "--json"],
                variables: [
                    "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_CONTAINER": container,
                    "CUMULUS_TOKEN": token,
                ]
            )
            #expect(run.code == 0, "\(words): \(run.errors)")
            return run
        }
        let file = "\(folder.path)/ada.jsonl"
        let out = try await run(NodeProcess.container, "export", "--all", "--output", file)
        #expect(try JSONReader.read(out.output.utf8)["exported"] == .integer(3))
        let other = "iCloud.org.other"
        let admin = NodeOperator(
            Container.Configuration(endpoints: [try node.endpoint]),
            token: try node.operatorToken
        )
        _ = try await admin.createContainer(other)
        await admin.close()
        let back = try await run(other, "import", "--all", file)
        let summary = try JSONReader.read(back.output.utf8)
        #expect(summary["saved"] == .integer(2) && summary["passedOver"] == .integer(1))

        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.accessToken = token
        let copy = Container(identifier: other, configuration: configuration)
        let found = copy.privateCloudDatabase
        let names = try await found.allRecordZones().map(\.zoneID.zoneName)
        #expect(names.contains("Empty") && names.contains("Trips"))
        let same = try await found.record(
            for: Record.ID(recordName: "t", zoneID: zone),
            downloadingAssets: true
        )
        #expect(same.recordType == "Trip" && same["name"] == "Sea")
        guard case .asset(let photo)? = same["photo"], let path = photo.fileURL else {
            Issue.record("no photo")
            return
        }
        #expect(try Data(contentsOf: path) == Data([1, 2, 3]))
        #expect(try await found.record(for: Record.ID(recordName: "n"))["name"] == 7)
        #expect(try await found.allSubscriptions().map(\.id) == ["all"])
        await copy.close()
        try await node.end(SIGTERM)
    }
}
