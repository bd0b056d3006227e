// The past of both worlds: who calls, what they may see, and what only others see.
//
// Ada owns the shared data: a zone as a whole, a tree in another zone, and a zone that is open to
// all who have its URL. No caller knows of Zoe. Each caller also has data of its own.

package import Cumulus
import CumulusModel
import CumulusWire
import Foundation

package struct HiddenScene: Sendable {
    /// The callers.
    package enum Who: String, CaseIterable, Sendable {
        case anonymous
        /// Has a private zone, public records and subscriptions of its own.
        case stranger
        /// Was given a role of the schema.
        case moderator
        /// Participants of both shares: with readOnly, and with readWrite.
        case reader, writer
        /// Has not answered.
        case invited
        /// Was in, and was removed.
        case former
        /// Joined the open zone by its URL.
        case joiner
    }

    /// The values that a caller holds from the past.
    package struct Past: Sendable {
        package var feed: Bytes = []
        package var sharedZones: Bytes = []
        package var trips: Bytes = []
        package var trees: Bytes = []
        package var publicZone: Bytes = []
        package var cursor: Bytes = []

        package static let nothing = Past()
    }

    package static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Moderator;
            CREATE ROLE Auditor;
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE, "___modTime" TIMESTAMP QUERYABLE SORTABLE,
                n INT64 QUERYABLE SORTABLE, text STRING QUERYABLE SORTABLE, other REFERENCE,
                file ASSET,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            RECORD TYPE Diary (
                "___recordID" REFERENCE QUERYABLE, n INT64 QUERYABLE SORTABLE,
                text STRING QUERYABLE SORTABLE, other REFERENCE, file ASSET,
                GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator"
            );
            RECORD TYPE Report (
                "___recordID" REFERENCE QUERYABLE, n INT64 QUERYABLE SORTABLE, text STRING,
                GRANT CREATE TO "_icloud", GRANT READ, WRITE TO Moderator
            );
            RECORD TYPE Secret (
                "___recordID" REFERENCE QUERYABLE, n INT64 QUERYABLE SORTABLE, text STRING,
                GRANT CREATE TO "_icloud", GRANT READ, WRITE TO Auditor
            );
            RECORD TYPE Tally (
                "___recordID" REFERENCE QUERYABLE, n INT64 QUERYABLE, text STRING,
                GRANT CREATE, WRITE TO "_icloud", GRANT READ TO "_creator"
            );
        """

    /// Records of the tree: more than a search looks up by name.
    package static let inside = 420
    package static let zones = ["trips", "trees", "park", "lake"]
    /// The content of the asset of a public record.
    package static let shownContent = Bytes("what all may see".utf8)

    /// Record names of Ada and Zoe.
    package private(set) var (owner, hidden) = ("", "")
    /// Access tokens, and record names.
    package private(set) var tokens: [Who: String] = [:]
    package private(set) var users: [Who: String] = [:]
    package private(set) var past: [Who: Past] = [:]
    /// The URLs of the four shares, by zone.
    package private(set) var urls: [String: String] = [:]
    let (ownersToken, hiddenToken): (String, String)

    init(at server: TestServer) async throws {
        try await server.importSchema(HiddenScene.schema)
        ownersToken = try await server.makeUser("ada")
        hiddenToken = try await server.makeUser("zoe")
        for who in Who.allCases where who != .anonymous {
            tokens[who] = try await server.makeUser(who.rawValue)
        }
        let folder = try TemporaryFolder()
        let ada = server.container(token: ownersToken, assetDirectory: folder.path)
        owner = try await ada.userRecordID().recordName
        let zoe = server.container(token: hiddenToken)
        hidden = try await zoe.userRecordID().recordName
        let admin = server.nodeOperator()
        _ = try await admin.setRole(
            "Moderator",
            ofUser: "moderator",
            isGiven: true,
            in: TestServer.container,
            .development
        )
        await admin.close()
        try await makePublicRecords(ada.publicCloudDatabase, zoe.publicCloudDatabase)
        await zoe.close()
        for who in Who.allCases where who != .anonymous {
            let container = server.container(token: tokens[who])
            users[who] = try await container.userRecordID().recordName
            try await makeOwnData(of: who, container)
            await container.close()
        }
        try await share(ada.privateCloudDatabase, server)
        await ada.close()
        for who in Who.allCases { past[who] = try HiddenScene.past(of: who, self, at: server) }
    }

    // MARK: What there is

    private func makePublicRecords(_ ada: Database, _ zoe: Database) async throws {
        var photo = HiddenScene.record("photo-of-all", n: 0)
        photo["file"] = .asset(Asset(data: Data(HiddenScene.shownContent)))
        try await HiddenScene.save([photo], in: ada)
        try await HiddenScene.save(
            (0..<30).map { HiddenScene.record("note-\($0)", n: Int64($0)) }
                + (0..<3).map { HiddenScene.record("report-\($0)", "Report", n: Int64($0)) },
            in: ada
        )
        try await HiddenScene.save(
            [
                HiddenScene.record("known", "Diary", n: 1),
                HiddenScene.record("tally", "Tally", n: 1),
            ],
            in: zoe
        )
    }

    private func makeOwnData(of who: Who, _ container: Container) async throws {
        let diary = (0..<5).map { HiddenScene.record("\(who)-\($0)", "Diary", n: Int64($0)) }
        try await HiddenScene.save(diary, in: container.publicCloudDatabase)
        let zone = RecordZone.ID(zoneName: "trees")
        try await container.privateCloudDatabase.save(RecordZone(zoneID: zone))
        try await HiddenScene.save(
            [HiddenScene.record("mine", n: 1, in: zone)],
            in: container.privateCloudDatabase
        )
        for type in ["Note", "Diary", "Report", "Secret", "Tally"] {
            let kind = Subscription.Kind.query(recordType: type, predicate: .all)
            if type == "Report", who != .moderator { continue }
            _ = try? await container.publicCloudDatabase.save(
                Subscription(id: "of-\(type)", kind: kind)
            )
        }
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            try await database.save(Subscription(id: "all", kind: .database()))
        }
    }

    /// Four zones of Ada's, and who is in them.
    private mutating func share(_ database: Database, _ server: TestServer) async throws {
        for zone in HiddenScene.zones {
            try await database.save(RecordZone(zoneID: RecordZone.ID(zoneName: zone)))
        }
        for zone in ["trips", "park"] {
            let id = RecordZone.ID(zoneName: zone)
            let records = (0..<8).map { HiddenScene.record("\(zone)-\($0)", n: Int64($0), in: id) }
            try await HiddenScene.save(records, in: database)
        }
        let trees = RecordZone.ID(zoneName: "trees")
        let root = try await database.save(HiddenScene.record("root", n: 0, in: trees))
        try await HiddenScene.save([HiddenScene.record("outside", n: 0, in: trees)], in: database)
        let inside = (0..<HiddenScene.inside).map { number in
            var record = HiddenScene.record("inside-\(number)", n: Int64(number), in: trees)
            record.parent = Record.Reference(recordName: "root")
            return record
        }
        for start in stride(from: 0, to: inside.count, by: 150) {
            let records = Array(inside[start..<min(start + 150, inside.count)])
            try await HiddenScene.save(records, in: database)
        }
        var trip = Share(recordZoneID: RecordZone.ID(zoneName: "trips"))
        var tree = Share(rootRecord: root, shareID: Record.ID(recordName: "share", zoneID: trees))
        for who in [Who.reader, .writer, .invited, .former] {
            guard let user = users[who] else { continue }
            let participant = Share.Participant(
                userRecordID: Record.ID(recordName: user),
                permission: who == .writer ? .readWrite : .readOnly
            )
            trip.addParticipant(participant)
            tree.addParticipant(participant)
        }
        trip.addParticipant(HiddenScene.pending("victim"))
        tree.addParticipant(HiddenScene.pending("victim"))
        trip = try await database.save(trip)
        tree = try await database.save(tree, rootRecord: root).share
        var park = Share(recordZoneID: RecordZone.ID(zoneName: "park"))
        park.publicPermission = .readOnly
        park = try await database.save(park)
        // Only an address is invited, which somebody holds in one of the worlds.
        var lake = Share(recordZoneID: RecordZone.ID(zoneName: "lake"))
        lake.addParticipant(HiddenScene.pending("victim"))
        lake = try await database.save(lake)
        urls = ["trips": trip, "trees": tree, "park": park, "lake": lake]
            .compactMapValues { $0.url?.absoluteString }
        try await join([.reader, .writer, .former], [trip, tree], server)
        try await join([.joiner], [park], server)
        for share in [trip, tree] {
            try await HiddenScene.change(share.recordID, in: database) {
                let former = Record.ID(recordName: users[.former] ?? "")
                $0.removeParticipant(Share.Participant(userRecordID: former))
            }
        }
    }

    private func join(_ who: [Who], _ shares: [Share], _ server: TestServer) async throws {
        for who in who {
            let container = server.container(token: tokens[who])
            for share in shares {
                guard let url = share.url else { continue }
                try await container.accept(url)
            }
            await container.close()
        }
    }

    // MARK: Tokens

    private static func past(
        of who: Who,
        _ scene: HiddenScene,
        at server: TestServer
    ) throws -> Past {
        let client = try RawClient(greeting: server.endpoint, token: scene.tokens[who] ?? "")
        defer { client.close() }
        var past = Past()
        var query = QueryRecordsRequest(Query(recordType: "Note"), database: .public, zone: nil)
        query.limit = 5
        let page = try client.perform(.recordsQuery, query.encoded())
        past.cursor = try QueryRecordsResponse(wire: page[0]).cursor
        past.publicZone = try client.lastToken(
            FetchZoneChangesRequest(
                database: .public,
                zone: WireZoneID(name: Bytes(Names.defaultZone.utf8), owner: []),
                token: [],
                limit: 0
            )
        )
        if who == .anonymous { return past }
        let feed = FollowFeedRequest(token: [], untilCheckpoint: true)
        past.feed = try WireFeedPage(wire: client.perform(.feedsFollow, feed.encoded())[0]).token
        let zones = FetchDatabaseChangesRequest(database: .shared, token: [], limit: 0)
        past.sharedZones = try FetchDatabaseChangesResponse(
            wire: client.perform(.changesDatabase, zones.encoded())[0]
        ).token
        guard who == .reader || who == .writer else { return past }
        for zone in ["trips", "trees"] {
            let token = try client.lastToken(
                FetchZoneChangesRequest(
                    database: .shared,
                    zone: WireZoneID(name: Bytes(zone.utf8), owner: Bytes(scene.owner.utf8)),
                    token: [],
                    limit: 0
                )
            )
            if zone == "trips" { past.trips = token } else { past.trees = token }
        }
        return past
    }

    // MARK: Parts

    static func pending(_ name: String) -> Share.Participant {
        Share.Participant(lookupInfo: .emailAddress("\(name)@example.org"))
    }

    static func record(
        _ name: String,
        _ type: String = "Note",
        n: Int64,
        in zone: RecordZone.ID = .default
    ) -> Record {
        var record = Record(
            recordType: type,
            recordID: Record.ID(recordName: name, zoneID: zone)
        )
        record["n"] = .int64(n)
        record["text"] = .string("text of \(name)")
        return record
    }

    static func save(_ records: [Record], in database: Database) async throws {
        let results = try await database.modifyRecords(
            saving: records,
            deleting: [],
            savePolicy: .allKeys
        )
        for result in results.saveResults.values { _ = try result.get() }
    }

    static func change(
        _ share: Record.ID,
        in database: Database,
        _ change: (inout Share) -> Void
    ) async throws {
        guard var current = Share(try await database.record(for: share)) else { return }
        change(&current)
        try await database.save(current)
    }
}

extension RawClient {
    /// The token of the page with which a follower is up to date.
    fileprivate func lastToken(_ request: FetchZoneChangesRequest) throws -> Bytes {
        let call = call(.changesFollowZone, request.encoded())
        try send(call)
        try credit(1 << 20, on: call)
        while true {
            let frame = try nextFrame()
            guard frame.stream == call.stream else { continue }
            if frame.kind == .status { throw try ServiceError(wire: frame.payload) }
            guard frame.kind == .message else { continue }
            let page = try FetchZoneChangesResponse(wire: frame.payload)
            if page.moreComing { continue }
            try send(Frame(.cancel, stream: call.stream))
            return page.token
        }
    }
}
