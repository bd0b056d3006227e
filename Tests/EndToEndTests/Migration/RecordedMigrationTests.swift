// What Apple's service answers, taken over into a node: recorded answers, in the service's form.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTesting
import CumulusTransfer
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct RecordedMigrationTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let schema = """
        DEFINE SCHEMA
        RECORD TYPE Note (
            "___createdBy" REFERENCE QUERYABLE,
            title STRING QUERYABLE, stars INT64 QUERYABLE SORTABLE, rating DOUBLE, due TIMESTAMP,
            thumb BYTES, secret ENCRYPTED STRING, spot LOCATION, book REFERENCE, photo ASSET,
            pages LIST<ASSET>, tags LIST<STRING>, none LIST<STRING>
        );
        RECORD TYPE Trip (name STRING);
        """

    private func migration(
        from service: RecordedService,
        into node: NodeProcess,
        _ admin: NodeOperator
    ) async throws -> Migration {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.tls = .never
        let target = MigrationTarget(
            admin,
            configuration,
            container: NodeProcess.container,
            patience: .seconds(10)
        )
        let address = try SourceAddress(
            base: "https://api.apple-cloudkit.com",
            container: "iCloud.org.example",
            environment: .production
        )
        let client = SourceClient(
            address,
            .user(token: "+0/", api: "api"),
            over: service,
            patience: .seconds(10)
        )
        return try await Migration(
            from: client,
            into: target,
            state: "\(folder.path)/state.json",
            Migration.Options(
                isOfUser: true,
                user: "ada",
                schema: try Schema(ckdb: Self.schema),
                names: ["_fedcba9876543210fedcba9876543210": "bob"]
            ),
            progress: ProgressBar(total: nil, isShown: false)
        )
    }

    @Test func aUsersZonesComeOver() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.tls = .never
        let admin = NodeOperator(configuration, token: try node.operatorToken)
        let service = RecordedService()
        let report = try await migration(from: service, into: node, admin).copy()
        // The entry that the service refused.
        #expect(report.failed == 1)
        #expect(report.saved == 3 && report.shares == 1 && report.subscriptions == 3)
        #expect(report.assets == 3 && report.assetBytes == 14)
        try await check(node)
        // Another run does what is new, which is nothing, with the token that came last.
        let again = try await migration(from: service, into: node, admin).copy()
        #expect(again.shares == 0 && again.assets == 0)
        #expect(again.failed == 1)
        #expect(service.requests.count { $0 == "public/users/caller" } == 2)
        // Bytes are compared, since the service tells no digests.
        let same = try await migration(from: service, into: node, admin).verify()
        let place = "of type Note of the private database"
        let unread = "record 'gone' \(place) can't be read at the source: INTERNAL_ERROR: "
        #expect(same.differences == [unread + "internal error"])
        service.spoilFiles()
        let spoiled = try await migration(from: service, into: node, admin).verify()
        for field in ["pages", "photo"] {
            let text = "record 'n1' \(place) has other bytes in \(field)"
            #expect(spoiled.differences.contains(text))
        }
        #expect(spoiled.different == 3)
        await admin.close()
        try await node.end(SIGTERM)
    }

    private func check(_ node: NodeProcess) async throws {
        let ada = try await node.signIn(as: "ada")
        let note = try await ada.privateCloudDatabase.record(
            for: Record.ID(recordName: "n1"),
            downloadingAssets: true
        )
        #expect(note["title"] == "Cafe\u{301} 🌻" && note["stars"] == .int64(.max))
        #expect(note["rating"] == .double(4))
        #expect(
            note["originModified"]
                == .timestamp(Timestamp(millisecondsSince1970: 1_767_000_000_500))
        )
        guard case .asset(let photo)? = note["photo"], let file = photo.fileURL else {
            Issue.record("no photo")
            return
        }
        #expect(try Data(contentsOf: file) == Data(0..<11))
        #expect(note.encryptedValues.lockedKeys() == ["secret"])
        let zone = RecordZone.ID(zoneName: "Trips")
        let id = Record.ID(recordName: "Share-1", zoneID: zone)
        let share = try #require(Share(try await ada.privateCloudDatabase.record(for: id)))
        #expect(share.title == "Our trip" && share.rootRecordID?.recordName == "root")
        #expect(share.participants.count == 3)
        let bob = try await node.signIn(as: "bob")
        let shared = try await bob.sharedCloudDatabase.allRecordZones()
        #expect(shared.map(\.zoneID.zoneName) == ["Trips"])
        await ada.close()
        await bob.close()
    }
}
