// A difference of each kind makes `--verify` say so: also of what a migration takes over besides
// records, which is shares, subscriptions and the user's record.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTesting
import CumulusTransfer
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(5))) struct MigrationVerifyTests {
    private let trips = "private/Trips"

    private static func participant(
        _ user: String,
        _ permission: String,
        type: String = "USER",
        status: String = "ACCEPTED"
    ) -> JSON {
        [
            "type": .string(type), "permission": .string(permission),
            "acceptanceStatus": .string(status),
            "userIdentity": ["userRecordName": .string(user)],
        ]
    }

    private static func share(_ title: String, public permission: String, _ people: JSON...) -> JSON
    {
        [
            "recordName": "share", "recordType": "cloudkit.share",
            "fields": ["cloudkit.title": ["value": .string(title), "type": "STRING"]],
            "publicPermission": .string(permission), "participants": .array(people),
            "forRecord": ["recordName": "root"],
        ]
    }

    private static func user(_ nick: String, _ photo: [UInt8]) -> JSON {
        [
            "recordName": .string(ScriptedService.ada), "recordType": "Users",
            "fields": [
                "nick": ["value": .string(nick), "type": "STRING"],
                "photo": [
                    "value": [
                        "fileChecksum": "AQ==", "size": .integer(Int64(photo.count)),
                        "downloadURL": "https://files/me",
                    ],
                    "type": "ASSETID",
                ],
            ],
        ]
    }

    private static func subscription(_ id: String, _ zone: String) -> JSON {
        [
            "subscriptionID": .string(id), "subscriptionType": "zone",
            "zoneID": ["zoneName": .string(zone)],
        ]
    }

    /// A user with a zone that is shared with Bob, an empty zone, a subscription and a photo.
    private func filled() -> ScriptedService {
        let service = ScriptedService()
        service.change { content in
            content.save(trips, ScriptedService.note("root", "t"))
            content.save(trips, ScriptedService.note("other", "t"))
            content.save(
                trips,
                Self.share(
                    "Ours",
                    public: "READ_ONLY",
                    Self.participant(ScriptedService.bob, "READ_WRITE")
                )
            )
            content.zones["private/Empty"] = ScriptedZone()
            content.save("public/_defaultZone", Self.user("Ada", [1, 2, 3]))
            content.files["https://files/me"] = [1, 2, 3]
            content.subscriptions["private"] = [Self.subscription("s", "Trips")]
        }
        return service
    }

    private func verify(_ rig: MigrationRig, _ service: ScriptedService) async throws -> [String] {
        let report = try await rig.migration(from: service).verify()
        #expect(report.different == report.differences.count)
        #expect((report.exitCode == nil) == report.differences.isEmpty)
        return report.differences
    }

    @Test func eachDifferenceIsTold() async throws {
        let rig = try await MigrationRig()
        let service = filled()
        let report = try await rig.migration(from: service).copy()
        #expect(report.failed == 0 && report.zones == 2 && report.subscriptions == 1)
        #expect(try await verify(rig, service) == [])
        try await checkShare(rig)

        let zone = "zone Trips of the private database"
        func expect(
            _ texts: String...,
            change: (inout ScriptedService.Content) -> Void
        ) async throws {
            var before: ScriptedService.Content?
            service.change { content in
                before = content
                change(&content)
            }
            #expect(try await verify(rig, service) == texts)
            if let before { service.change { $0 = before } }
        }
        try await expect(
            "record 'other' of \(zone) can't be read at the source: INTERNAL_ERROR: no"
        ) {
            $0.entries["other"] = (ScriptedService.refusal("INTERNAL_ERROR"), 1)
        }
        try await expect("record 'other' of \(zone) is not at the source") {
            $0.zones[trips]?.delete("other")
        }
        try await expect("record 'new' of \(zone) is missing here") {
            $0.save(trips, ScriptedService.note("new", "t"))
        }
        try await expect("record 'other' of \(zone) differs in title") {
            $0.save(trips, ScriptedService.note("other", "changed"))
        }
        try await expect("record 'share' of \(zone) is not at the source") {
            $0.zones[trips]?.delete("share")
        }
        try await expect("zone More of the private database is missing here") {
            $0.zones["private/More"] = ScriptedZone()
        }
        try await expect("zone Empty of the private database is not at the source") {
            $0.zones["private/Empty"] = nil
        }
        try await expect(
            "type Note of the private database can't be listed at the source: no",
            "type Other of the private database can't be listed at the source: no"
        ) {
            $0.refusals["private/records/query"] = ScriptedService.refusal("BAD_REQUEST")
        }
        try await expect("subscription 's' of the private database differs") {
            $0.subscriptions["private"] = [Self.subscription("s", "Empty")]
        }
        try await expect(
            "subscription 't' of the private database is missing here",
            "subscription 's' of the private database is not at the source"
        ) {
            $0.subscriptions["private"] = [Self.subscription("t", "Trips")]
        }
        let bob = Self.participant(ScriptedService.bob, "READ_WRITE")
        try await expect("record 'share' of \(zone) is open to others than at the source") {
            $0.save(trips, Self.share("Ours", public: "NONE", bob))
        }
        try await expect("record 'share' of \(zone) differs in cloudkit.title") {
            $0.save(trips, Self.share("Mine", public: "READ_ONLY", bob))
        }
        let ada = try await rig.admin.addUser("ada", in: NodeProcess.container).user.recordName
        let me = "record '\(ada)'"
        try await expect("\(me) of zone _defaultZone of the public database differs in nick") {
            $0.save("public/_defaultZone", Self.user("Adele", [1, 2, 3]))
        }
        // Sizes are equal: the bytes tell.
        try await expect(
            "\(me) of zone _defaultZone of the public database has other bytes in photo"
        ) {
            $0.files["https://files/me"] = [1, 2, 4]
        }
        try await rig.end()
    }

    /// Bob may write though the share is open to read: he is not one of those who came by its URL.
    private func checkShare(_ rig: MigrationRig) async throws {
        let ada = try await rig.node.signIn(as: "ada")
        let id = Record.ID(recordName: "share", zoneID: RecordZone.ID(zoneName: "Trips"))
        let share = try #require(Share(try await ada.privateCloudDatabase.record(for: id)))
        #expect(share.publicPermission == .readOnly)
        let others = share.participants.filter { $0.role != .owner }
        #expect(others.map(\.permission) == [.readWrite])
        #expect(others.map(\.acceptanceStatus) == [.accepted])
        #expect(others.map(\.role) == [.privateUser])
        await ada.close()
    }

    @Test func aPublicRecordIsItsCreators() async throws {
        let rig = try await MigrationRig()
        let service = ScriptedService()
        let list = "public/_defaultZone"
        service.change { $0.save(list, ScriptedService.note("a", "t")) }
        _ = try await rig.migration(from: service, isOfUser: false).copy()
        func verify() async throws -> [String] {
            try await rig.migration(from: service, isOfUser: false).verify().differences
        }
        #expect(try await verify() == [])
        service.change { $0.save(list, ScriptedService.note("a", "t", by: ScriptedService.bob)) }
        let users = try await rig.admin.users(in: nil).count
        let texts = try await verify()
        #expect(
            texts.first == "record 'a' of type Note of the public database has another creator here"
        )
        // It makes no users.
        #expect(try await rig.admin.users(in: nil).count == users)
        try await rig.end()
    }

    @Test func subscriptionsAreSavedOnce() async throws {
        let rig = try await MigrationRig()
        let service = filled()
        _ = try await rig.migration(from: service).copy()
        let ada = try await rig.node.signIn(as: "ada")
        let database = ada.privateCloudDatabase
        try await database.deleteSubscription(withID: "s")
        // What was ended here stays ended.
        var report = try await rig.migration(from: service).copy()
        #expect(report.subscriptions == 0)
        #expect(try await database.allSubscriptions().isEmpty)
        // What is another one there is another one here, and what was ended there ends.
        service.change { $0.subscriptions["private"] = [Self.subscription("s", "Empty")] }
        report = try await rig.migration(from: service).copy()
        #expect(report.subscriptions == 1)
        service.change { $0.subscriptions["private"] = [] }
        _ = try await rig.migration(from: service).copy()
        #expect(try await database.allSubscriptions().isEmpty)
        await ada.close()
        try await rig.end()
    }
}
