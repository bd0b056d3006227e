// The access matrix of sharing: what each method answers to each kind of caller, row by row.
//
// `SharingMatrixTests` checks it on a node with real sockets. Ada shares a zone with people whom
// she invites, a tree of another zone with the same people, and a third zone with all who have its
// URL. She names the zones as her own; all others name them with their owner.

import CumulusAssets
import CumulusModel
import CumulusTesting
import CumulusWire

struct SharingMatrix {
    /// The callers; the words of a row are in this order.
    enum Who: String, CaseIterable {
        /// Ada.
        case owner
        /// Three who are in: with readOnly, with readWrite, and as an administrator.
        case reader, writer, administrator
        /// Somebody who was in, and was removed.
        case former
        /// Somebody who has not accepted.
        case invited
        /// Somebody who joined the open zone by its URL.
        case joiner
        case stranger
    }

    /// A record or a zone; its name is also what shows it in an answer.
    enum Target: String, CaseIterable {
        /// A record of the zone that is shared as a whole.
        case member = "target-member"
        /// What hangs below the root of the tree, and what doesn't.
        case inside = "target-inside"
        case outside = "target-outside"
        case root = "target-root"
        /// The record of the tree's share.
        case share = "target-share"
        /// A record of the zone that everybody may join and read.
        case open = "target-open"
        /// The three zones.
        case trips = "zone-of-trips"
        case trees = "zone-of-trees"
        case park = "zone-of-park"

        var zone: Target {
            switch self {
            case .member, .trips: .trips
            case .inside, .outside, .root, .share, .trees: .trees
            case .open, .park: .park
            }
        }
    }

    /// The expectations of a method.
    struct Row {
        let method: Method
        let target: Target
        /// For each of `Who`: an error's number; `ok`; `told`, an answer that shows the target;
        /// `-`, not asked.
        let expected: [String]
        let why: String
        let message: @Sendable (SharingMatrix, Who) throws -> Bytes

        init(
            _ method: Method,
            _ target: Target,
            _ expected: String,
            _ why: String = "",
            _ message: @escaping @Sendable (SharingMatrix, Who) throws -> Bytes
        ) {
            self.method = method
            self.target = target
            self.expected = expected.split(separator: " ").map(String.init)
            self.why = why
            self.message = message
        }
    }

    /// Ada's record name.
    let owner: String
    /// The URLs of the three shares, by their zones.
    let urls: [Target: String]

    static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE, text STRING,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
        """

    // MARK: Rows

    /// Rows that end something of somebody's come last.
    static let rows: [Row] = fetchRows + saveRows + deleteRows + listRows + zoneRows + otherRows

    private static let fetchRows: [Row] = [
        .init(.recordsFetch, .member, "told told told told 26 26 26 26") { $0.fetch(.member, $1) },
        .init(.recordsFetch, .inside, "told told told told 26 26 26 26") { $0.fetch(.inside, $1) },
        .init(.recordsFetch, .outside, "told 11 11 11 26 26 26 26") { $0.fetch(.outside, $1) },
        .init(.recordsFetch, .root, "told told told told 26 26 26 26") { $0.fetch(.root, $1) },
        .init(.recordsFetch, .share, "told told told told 26 26 26 26") { $0.fetch(.share, $1) },
        .init(.recordsFetch, .open, "told 26 26 26 26 26 told 26") { $0.fetch(.open, $1) },
        .init(.recordsFetch, .trees, "11 11 11 11 26 26 26 26", "what is not there") {
            let id = WireRecordID(name: Bytes("nothing".utf8), zone: $0.zone(of: .trees, $1))
            return FetchRecordsRequest(database: $1.database, ids: [id]).encoded()
        },
        .init(.recordsQuery, .trees, "- 12 12 12 12 12 12 12", "without a zone") { _, who in
            let query = Query(recordType: "Note")
            return QueryRecordsRequest(query, database: who.database, zone: nil).encoded()
        },
    ]

    private static let saveRows: [Row] = [
        .init(.recordsModify, .member, "ok 10 ok ok 26 26 26 26") { $0.save(.member, $1) },
        .init(.recordsModify, .inside, "ok 10 ok ok 26 26 26 26") { $0.save(.inside, $1) },
        .init(.recordsModify, .outside, "ok 10 10 10 26 26 26 26") { $0.save(.outside, $1) },
        .init(.recordsModify, .root, "ok 10 ok ok 26 26 26 26") { $0.save(.root, $1) },
        .init(.recordsModify, .share, "14 10 10 14 26 26 26 26", "without its tag") {
            $0.save(.share, $1)
        },
        .init(.recordsModify, .open, "ok 26 26 26 26 26 10 26") { $0.save(.open, $1) },
        .init(.recordsModify, .trips, "ok 10 ok ok 26 26 26 26", "a new record") {
            $0.create(in: .trips, below: nil, $1)
        },
        .init(.recordsModify, .trees, "ok 10 10 10 26 26 26 26", "an orphan") {
            $0.create(in: .trees, below: nil, $1)
        },
        .init(.recordsModify, .trees, "ok 10 ok ok 26 26 26 26", "a new one inside") {
            $0.create(in: .trees, below: .inside, $1)
        },
        .init(.recordsModify, .trees, "ok 10 10 10 26 26 26 26", "a new one outside") {
            $0.create(in: .trees, below: .outside, $1)
        },
        .init(.recordsModify, .inside, "- 10 10 10 26 26 26 26", "moved out") {
            $0.move(.inside, below: .outside, $1)
        },
        .init(.recordsModify, .root, "- 10 10 10 26 26 26 26", "the root moved") {
            $0.move(.root, below: .inside, $1)
        },
    ]

    private static let deleteRows: [Row] = [
        // As if it were not there.
        .init(.recordsModify, .outside, "- ok ok ok 26 26 26 26", "deleted") {
            $0.delete(.outside, $1)
        },
        .init(.recordsFetch, .outside, "told 11 11 11 26 26 26 26", "after that") {
            $0.fetch(.outside, $1)
        },
        .init(.recordsModify, .root, "- 10 10 10 26 26 26 26", "deleted") { $0.delete(.root, $1) },
        .init(.recordsModify, .inside, "- 10 - - 26 26 26 26", "deleted") {
            $0.delete(.inside, $1)
        },
        .init(.recordsModify, .open, "- 26 26 26 26 26 10 26", "deleted") { $0.delete(.open, $1) },
    ]

    private static let listRows: [Row] = [
        (.member, "told told told told 26 26 26 26"), (.inside, "told told told told 26 26 26 26"),
        (.outside, "told ok ok ok 26 26 26 26"), (.open, "told 26 26 26 26 26 told 26"),
    ].flatMap { (target: Target, expected: String) -> [Row] in
        [
            .init(.recordsList, target, expected) { $0.list(target, $1) },
            .init(.recordsQuery, target, expected) { $0.query(target, $1) },
            .init(.changesZone, target, expected) { $0.changes(target, $1) },
            .init(.changesFollowZone, target, expected) { $0.changes(target, $1) },
        ]
    }

    private static let zoneRows: [Row] = [
        (.trips, "told told told told ok ok ok ok"), (.trees, "told told told told ok ok ok ok"),
        (.park, "told ok ok ok ok ok told ok"),
    ].flatMap { (target: Target, expected: String) -> [Row] in
        let named = expected.replacing("ok", with: "26")
        return [
            .init(.zonesFetch, target, named) { matrix, who in
                FetchZonesRequest(
                    database: who.database,
                    ids: [matrix.zone(of: target, who)]
                ).encoded()
            },
            .init(.zonesList, target, expected) { _, who in
                ListZonesRequest(database: who.database).encoded()
            },
            .init(.changesDatabase, target, expected) { _, who in databaseChanges(who) },
            .init(.changesFollowDatabase, target, expected) { _, who in databaseChanges(who) },
        ]
    }

    private static let otherRows: [Row] = [
        .init(.zonesModify, .trips, "ok 24 24 24 24 24 24 24", "made") { matrix, who in
            let zone = matrix.zone(of: .trips, who)
            return ModifyZonesRequest(database: who.database, saves: [zone], deletes: []).encoded()
        },
        .init(.subscriptionsModify, .trips, "- ok ok ok ok ok ok ok", "to the database") { _, _ in
            subscribing("all", .database())
        },
        .init(.subscriptionsModify, .trips, "- 24 24 24 24 24 24 24", "to a zone") { matrix, who in
            let zone = RecordZone.ID(zoneName: Target.trips.rawValue, ownerName: matrix.owner)
            return subscribing("zone", .zone(zone))
        },
        .init(.assetsPrepare, .trips, "ok 10 ok ok 26 26 26 26") { $0.prepare(.trips, $1) },
        .init(.assetsPrepare, .park, "ok 26 26 26 26 26 10 26") { $0.prepare(.park, $1) },
        .init(.sharingMetadata, .trips, "told told told told 10 told 10 10") { matrix, _ in
            try matrix.metadata(.trips)
        },
        .init(.sharingMetadata, .share, "told told told told 10 told 10 10") { matrix, _ in
            try matrix.metadata(.trees)
        },
        .init(.sharingMetadata, .park, "told told told told told told told told") { matrix, _ in
            try matrix.metadata(.park)
        },
        .init(.sharingMetadata, .trips, "11 11 11 11 11 11 11 11", "a guess") { _, _ in
            ShareMetadataRequest(url: Bytes("cumulus:\(guess)".utf8)).encoded()
        },
        .init(.sharingAccept, .trips, "11 11 11 11 11 11 11 11", "a guess") { _, _ in
            AcceptShareRequest(Bytes("cumulus:\(guess)".utf8)).encoded()
        },
        .init(.sharingAccept, .trips, "12 12 12 12 12 12 12 12", "a URL that was cut") { _, _ in
            AcceptShareRequest(Bytes("cumulus:\(guess.dropLast())".utf8)).encoded()
        },
        .init(.sharingAccept, .trips, "12 told told told 10 - 10 10") { matrix, _ in
            try matrix.accept(.trips)
        },
        .init(.sharingAccept, .park, "12 - - - - - told -") { matrix, _ in
            try matrix.accept(.park)
        },
        .init(.sharingLookUp, .trips, "ok ok ok ok ok ok ok ok") { _, _ in
            let handle = WireHandle(kind: 1, value: Bytes("somebody@example.org".utf8))
            return LookUpParticipantsRequest(handles: [handle]).encoded()
        },
    ]

    // MARK: Messages

    private static let guess = "/share/AAAAAAAAAAAAAAAAAAAAAA"

    private func zone(of target: Target, _ who: Who) -> WireZoneID {
        WireZoneID(
            name: Bytes(target.zone.rawValue.utf8),
            owner: who == .owner ? [] : Bytes(owner.utf8)
        )
    }

    private func wireID(_ target: Target, _ who: Who) -> WireRecordID {
        WireRecordID(name: Bytes(target.rawValue.utf8), zone: zone(of: target, who))
    }

    private func record(_ name: String, in target: Target, _ who: Who) -> Record {
        let zone =
            who == .owner
            ? RecordZone.ID(zoneName: target.zone.rawValue)
            : RecordZone.ID(zoneName: target.zone.rawValue, ownerName: owner)
        var record = Record(
            recordType: target == .share ? Names.shareType : "Note",
            recordID: Record.ID(recordName: name, zoneID: zone)
        )
        record["text"] = .string("by \(who)")
        return record
    }

    private func fetch(_ target: Target, _ who: Who) -> Bytes {
        FetchRecordsRequest(database: who.database, ids: [wireID(target, who)]).encoded()
    }

    /// A save that compares no tags.
    private func save(_ record: Record, _ who: Who) -> Bytes {
        RawRequest.save(
            encoded: [record.encodedSave(allKeys: true)],
            in: who.database,
            policy: 1
        )
    }

    private func save(_ target: Target, _ who: Who) -> Bytes {
        save(record(target.rawValue, in: target, who), who)
    }

    private func create(in zone: Target, below parent: Target?, _ who: Who) -> Bytes {
        var record = record("new-\(who)-\(parent?.rawValue ?? "")", in: zone, who)
        if let parent { record.parent = Record.Reference(recordName: parent.rawValue) }
        return save(record, who)
    }

    private func move(_ target: Target, below parent: Target, _ who: Who) -> Bytes {
        var record = record(target.rawValue, in: target, who)
        record.parent = Record.Reference(recordName: parent.rawValue)
        return save(record, who)
    }

    private func delete(_ target: Target, _ who: Who) -> Bytes {
        ModifyRecordsRequest(
            database: who.database,
            policy: 1,
            isAtomic: true,
            saves: [],
            deletes: [wireID(target, who)]
        ).encoded()
    }

    private func list(_ target: Target, _ who: Who) -> Bytes {
        ListRecordsRequest(database: who.database, zone: zone(of: target, who)).encoded()
    }

    private func query(_ target: Target, _ who: Who) -> Bytes {
        QueryRecordsRequest(
            Query(recordType: "Note"),
            database: who.database,
            zone: zone(of: target, who)
        ).encoded()
    }

    private func changes(_ target: Target, _ who: Who) -> Bytes {
        FetchZoneChangesRequest(
            database: who.database,
            zone: zone(of: target, who),
            token: [],
            limit: 0
        ).encoded()
    }

    private static func databaseChanges(_ who: Who) -> Bytes {
        FetchDatabaseChangesRequest(database: who.database, token: [], limit: 0).encoded()
    }

    private static func subscribing(_ id: String, _ kind: Subscription.Kind) -> Bytes {
        ModifySubscriptionsRequest(
            database: .shared,
            saves: [WireSubscription(Subscription(id: id, kind: kind))],
            deletes: []
        ).encoded()
    }

    private func prepare(_ target: Target, _ who: Who) -> Bytes {
        let zone = who == .owner ? nil : zone(of: target, who)
        let list = SampleAsset.list(of: [1_000]).bytes
        return PrepareAssetsRequest(database: who.database, lists: [list], zone: zone).encoded()
    }

    private func metadata(_ zone: Target) throws -> Bytes {
        ShareMetadataRequest(url: Bytes((urls[zone] ?? "").utf8)).encoded()
    }

    private func accept(_ zone: Target) throws -> Bytes {
        AcceptShareRequest(Bytes((urls[zone] ?? "").utf8)).encoded()
    }
}

extension SharingMatrix.Who {
    /// Where the caller finds what Ada shares.
    var database: DatabaseScope { self == .owner ? .private : .shared }
}
