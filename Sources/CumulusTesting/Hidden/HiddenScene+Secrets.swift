// The differences between the worlds that no caller may see: numbers and contents of records,
// zones, shares, addresses of other invited people, users with their handles and roles, assets.

package import Cumulus
import CumulusModel
import Foundation

extension HiddenScene {
    /// Hidden records of each kind: in the other world more than fill a page.
    private static func count(in world: HiddenWorlds.Name) -> Int { world == .one ? 3 : 100 }
    /// Their values: above or below what callers compare with.
    private static func value(in world: HiddenWorlds.Name) -> Int64 { world == .one ? 1 : 5_000 }
    /// Commits that all see, in both worlds: a token is a byte longer once the number of commits of
    /// a run has more than seven bits.
    private static let commits: Int64 = 130
    /// The content of an asset that only the other world has.
    package static let hiddenContent = Bytes("what only Zoe has".utf8)

    func hide(in world: HiddenWorlds.Name, at server: TestServer) async throws {
        let ada = server.container(token: ownersToken)
        let folder = try TemporaryFolder()
        let zoe = server.container(token: hiddenToken, assetDirectory: folder.path)
        for number in 0..<HiddenScene.commits {
            let note = HiddenScene.record("note-of-many", n: number)
            try await HiddenScene.save([note], in: ada.publicCloudDatabase)
        }
        try await hidePublicRecords(world, zoe.publicCloudDatabase)
        try await hideInTrees(world, ada.privateCloudDatabase)
        try await invite(world, ada.privateCloudDatabase)
        if world == .other {
            try await hidePeople(server)
            try await hideZones(ada.privateCloudDatabase, zoe)
        }
        await ada.close()
        await zoe.close()
    }

    /// Changes that happen while callers follow, only in the other world.
    package func hideMore(at server: TestServer) async throws {
        let ada = server.container(token: ownersToken)
        let zoe = server.container(token: hiddenToken)
        try await HiddenScene.save(
            [HiddenScene.record("diary-more", "Diary", n: 5_000)],
            in: zoe.publicCloudDatabase
        )
        let trees = RecordZone.ID(zoneName: "trees")
        try await HiddenScene.save(
            [HiddenScene.record("outside-more", n: 5_000, in: trees)],
            in: ada.privateCloudDatabase
        )
        await ada.close()
        await zoe.close()
    }

    /// Changes that happen while callers follow and that some may see: the beginning of each name.
    package enum Sight: String, CaseIterable, Sendable { case trips, park, note }

    package func show(_ sight: Sight, at server: TestServer) async throws {
        let ada = server.container(token: ownersToken)
        let zone = sight == .note ? .default : RecordZone.ID(zoneName: sight.rawValue)
        try await HiddenScene.save(
            [HiddenScene.record("\(sight.rawValue)-more", n: 1, in: zone)],
            in: sight == .note ? ada.publicCloudDatabase : ada.privateCloudDatabase
        )
        await ada.close()
    }

    private func hidePublicRecords(
        _ world: HiddenWorlds.Name,
        _ database: Database
    ) async throws {
        let (count, value) = (HiddenScene.count(in: world), HiddenScene.value(in: world))
        var records: [Record] = []
        for number in 0..<count {
            for type in ["Diary", "Secret"] {
                var record = HiddenScene.record("\(type.lowercased())-\(number)", type, n: value)
                record["text"] = .string("text of \(world)")
                records.append(record)
            }
        }
        var known = HiddenScene.record("known", "Diary", n: value)
        known["text"] = .string(String(repeating: "known in \(world) ", count: count))
        records.append(known)
        let most = Int64.max - 3
        records.append(HiddenScene.record("tally", "Tally", n: world == .one ? 10 : most))
        try await HiddenScene.save(records, in: database)
        let last = Record.ID(recordName: "diary-\(count - 1)")
        try await database.deleteRecord(withID: last)
    }

    private func hideInTrees(
        _ world: HiddenWorlds.Name,
        _ database: Database
    ) async throws {
        let trees = RecordZone.ID(zoneName: "trees")
        let (count, value) = (HiddenScene.count(in: world), HiddenScene.value(in: world))
        let records =
            [HiddenScene.record("outside", n: value, in: trees)]
            + (0..<count).map { number in
                var record = HiddenScene.record("outside-\(number)", n: value, in: trees)
                record.parent = Record.Reference(recordName: "outside")
                return record
            }
        try await HiddenScene.save(records, in: database)
        try await database.deleteRecord(
            withID: Record.ID(recordName: "outside-\(count - 1)", zoneID: trees)
        )
        guard world == .other else { return }
        let root = try await database.save(HiddenScene.record("root-2", n: value, in: trees))
        var share = Share(
            rootRecord: root,
            shareID: Record.ID(recordName: "share-2", zoneID: trees)
        )
        share.addParticipant(Share.Participant(userRecordID: Record.ID(recordName: hidden)))
        try await database.save(share, rootRecord: root)
    }

    /// Others who have not answered: as many in both worlds.
    private func invite(_ world: HiddenWorlds.Name, _ database: Database) async throws {
        let shares = [
            Record.ID(
                recordName: Share.zoneWideRecordName,
                zoneID: RecordZone.ID(zoneName: "trips")
            ),
            Record.ID(recordName: "share", zoneID: RecordZone.ID(zoneName: "trees")),
        ]
        for share in shares {
            try await HiddenScene.change(share, in: database) {
                $0.addParticipant(HiddenScene.pending(world == .one ? "quentin" : "rosamunde"))
            }
        }
    }

    private func hidePeople(_ server: TestServer) async throws {
        let admin = server.nodeOperator()
        _ = try await admin.addUser("victim", in: TestServer.container)
        _ = try await admin.setHandle(
            .emailAddress("victim@example.org"),
            of: "victim",
            isHeld: true
        )
        _ = try await admin.setRole(
            "Auditor",
            ofUser: "zoe",
            isGiven: true,
            in: TestServer.container,
            .development
        )
        await admin.close()
    }

    private func hideZones(_ ada: Database, _ zoe: Container) async throws {
        let vault = RecordZone.ID(zoneName: "vault")
        try await ada.save(RecordZone(zoneID: vault))
        try await HiddenScene.save([HiddenScene.record("gold", n: 1, in: vault)], in: ada)
        var share = Share(recordZoneID: vault)
        share.addParticipant(Share.Participant(userRecordID: Record.ID(recordName: hidden)))
        share = try await ada.save(share)
        if let url = share.url { try await zoe.accept(url) }
        if let url = urls["park"].flatMap(URL.init(string:)) { try await zoe.accept(url) }
        let own = RecordZone.ID(zoneName: "own")
        try await zoe.privateCloudDatabase.save(RecordZone(zoneID: own))
        var photo = HiddenScene.record("photo", n: 1, in: own)
        photo["file"] = .asset(Asset(data: Data(HiddenScene.hiddenContent)))
        try await zoe.privateCloudDatabase.save(photo)
        let kind = Subscription.Kind.query(recordType: "Note", predicate: .all)
        try await zoe.publicCloudDatabase.save(Subscription(id: "zoes", kind: kind))
    }
}
