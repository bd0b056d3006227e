// What a follower of changes is told, page by page, and why its stream ends.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct FollowChangesTests {
    private let store: TestStore
    private let zone = ZoneAddress(name: "z")

    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
    }

    private func follower(
        of zone: String = "z",
        in database: DatabaseScope = .private,
        since token: ChangeToken? = nil,
        limit: Int = 100
    ) -> FollowChanges {
        FollowChanges(
            .zone(
                FetchZoneChanges(
                    database: database,
                    zone: ZoneAddress(name: zone),
                    since: token,
                    keys: nil,
                    limit: FetchZoneChanges.PageLimit(items: limit, bytes: 1 << 20)
                )
            )
        )
    }

    /// The names on the next page; nil if the page is not sent.
    private func next(_ follower: inout FollowChanges, by caller: Caller = .alice) throws
        -> [String]?
    {
        let page: FollowChanges.Page
        do {
            page = try follower.run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            )
        } catch ReadFailure.service(let error) {
            throw error
        }
        guard follower.take(isEmpty: page.isEmpty, token: page.token, with: UserRoles())
        else { return nil }
        switch page {
        case .zone(let page): return page.records.map(\.name) + page.deletions.map { "-\($0.name)" }
        case .database(let page):
            return page.changed.map(\.name) + page.deletions.map { "-\($0.zone.name)" }
        }
    }

    private func refusal(_ follower: FollowChanges, by caller: Caller = .alice) -> ServiceError? {
        var follower = follower
        return #expect(throws: ServiceError.self) { _ = try next(&follower, by: caller) }
    }

    // MARK: Pages

    /// A follower of an empty zone is told at once that it has everything.
    @Test func thereIsAlwaysACheckpoint() throws {
        var follower = follower()
        #expect(try next(&follower) == [])
        #expect(follower.isUpToDate)
        #expect(try next(&follower) == nil)
        try store.save([SaveItem("a", in: zone)])
        #expect(try next(&follower) == ["a"])
        #expect(follower.isUpToDate)
        try store.delete([DeleteItem("a", in: zone)])
        #expect(try next(&follower) == ["-a"])
        #expect(try next(&follower) == nil)
    }

    @Test func theCheckpointIsTheLastPage() throws {
        try store.save((0..<5).map { SaveItem("n\($0)", in: zone) })
        var follower = follower(limit: 2)
        #expect(try next(&follower)?.count == 2)
        #expect(!follower.isUpToDate)
        #expect(try next(&follower)?.count == 2)
        #expect(!follower.isUpToDate)
        #expect(try next(&follower)?.count == 1)
        #expect(follower.isUpToDate)
    }

    /// A full page may be followed by an empty one, which is the checkpoint.
    @Test func aCheckpointMayBeEmpty() throws {
        var follower = follower()
        let fetched = try store.changes(in: "z")
        var half = fetched.token
        half.progress = .records(ChangeProgress(told: fetched.token.base))
        let isTold = follower.take(isEmpty: false, token: half, with: UserRoles())
        #expect(isTold)
        #expect(!follower.isUpToDate)
        #expect(try next(&follower) == [])
        #expect(follower.isUpToDate)
        #expect(try next(&follower) == nil)
    }

    @Test func aFollowerGoesOnFromAToken() throws {
        try store.save([SaveItem("a", in: zone)])
        let token = try store.changes(in: "z").token
        try store.save([SaveItem("b", in: zone)])
        var behind = follower(since: token)
        #expect(try next(&behind) == ["b"])
        var upToDate = follower(since: try store.changes(in: "z").token)
        #expect(try next(&upToDate) == [])
        #expect(try next(&upToDate) == nil)
    }

    /// Followers at the same place share the bytes of a page, once each has had a page of its own.
    @Test func followersAtTheSamePlaceAskTheSame() throws {
        var (one, other) = (follower(), follower())
        func asked(_ follower: FollowChanges) -> FollowChanges.Question? {
            follower.question(by: .alice, with: UserRoles())
        }
        #expect(asked(one) == nil)
        _ = try next(&one)
        _ = try next(&other)
        let question = try #require(asked(one))
        #expect(question == asked(other))
        var few = follower(limit: 1)
        _ = try next(&few)
        #expect(asked(few) != asked(one))
        try store.save([SaveItem("a", in: zone)])
        _ = try next(&one)
        #expect(asked(one) != asked(other))
    }

    // MARK: Zones without changes in CloudKit

    @Test func defaultZonesAreFollowed() throws {
        var follower = follower(of: Names.defaultZone)
        #expect(try next(&follower) == [])
        try store.save([SaveItem("a")])
        #expect(try next(&follower) == ["a"])
        try store.delete([DeleteItem("a")])
        #expect(try next(&follower) == ["-a"])
        // A fetch is refused, as in CloudKit.
        let fetch = #expect(throws: ServiceError.self) {
            _ = try store.changes(in: Names.defaultZone)
        }
        #expect(fetch?.code == .invalidArguments)
        #expect(fetch?.message.contains("as in CloudKit; follow the zone") == true)
    }

    @Test func aDatabaseTellsOfItsDefaultZone() throws {
        var follower = FollowChanges(
            .database(FetchDatabaseChanges(database: .private, since: nil, limit: 100))
        )
        #expect(try next(&follower) == ["z"])
        #expect(try next(&follower) == nil)
        try store.save([SaveItem("a")])
        #expect(try next(&follower) == [Names.defaultZone])
        try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        #expect(try next(&follower) == ["-z"])
    }

    @Test func thePublicDatabaseIsFollowedByEveryone() throws {
        var zones = FollowChanges(
            .database(FetchDatabaseChanges(database: .public, since: nil, limit: 100))
        )
        #expect(try next(&zones, by: .anonymous) == [])
        var records = follower(of: Names.defaultZone, in: .public)
        #expect(try next(&records, by: .anonymous) == [])
        try store.save([SaveItem("a")], in: .public)
        #expect(try next(&zones, by: .anonymous) == [Names.defaultZone])
        #expect(try next(&records, by: .anonymous) == ["a"])
        #expect(refusal(follower(), by: .anonymous)?.code == .notAuthenticated)
    }

    // MARK: Ends

    @Test func aDeletedZoneEndsItsStream() throws {
        var follower = follower()
        _ = try next(&follower)
        try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        let gone = refusal(follower)
        #expect(gone?.code == .zoneNotFound)
        #expect(gone?.message.contains("was deleted") == true)
        // A zone that was made again is another zone.
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        #expect(refusal(follower)?.code == .changeTokenExpired)
        let never = refusal(self.follower(of: "y"))
        #expect(never?.code == .zoneNotFound)
        #expect(never?.message.contains("does not exist") == true)
    }

    /// A reset of the schema purges all zones, the default zone too.
    @Test func aPurgedZoneEndsItsStream() throws {
        try store.save([SaveItem("a"), SaveItem("b", in: zone)])
        var (custom, standard) = (follower(), follower(of: Names.defaultZone))
        _ = try next(&custom)
        _ = try next(&standard)
        let reset = WriteRequest(SchemaReset(), scope: store.scope, caller: .administrator)
        _ = try store.run(reset).get()
        #expect(refusal(custom)?.code == .userDeletedZone)
        #expect(refusal(standard)?.code == .changeTokenExpired)
    }
}
