// Subscriptions that fired once: what their registers cost their user, and when they go.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct FiredSubscriptionTests {
    private let store: TestStore
    private let phone = Caller(role: .user("_alice"), device: [1])
    private let tablet = Caller(role: .user("_alice"), device: [2])
    /// The beginning of the registers' keys.
    private let keys = StoredSubscription.key(
        "_alice",
        DatabaseID(kind: .private, owner: "_alice")
    )

    init() throws {
        store = try TestStore()
        try store.save([SaveItem("old", ["stars": 1])])
    }

    // MARK: Parts

    private func once(
        _ id: String,
        above stars: Int64 = 1,
        options: Subscription.Options = [.firesOnRecordCreation, .firesOnce]
    ) -> Subscription {
        Subscription(
            id: id,
            kind: .query(recordType: "Note", predicate: .field("stars") > stars),
            options: options
        )
    }

    /// Saves and deletes subscriptions, with a limit of two.
    private func modify(
        saving saves: [Subscription] = [],
        deleting deletes: [Subscription.ID] = []
    ) throws -> [ServiceError.Code?] {
        var modify = ModifySubscriptions(saving: saves, deleting: deletes)
        modify.limits.subscriptionsPerDatabase = 2
        return try store.modify(modify).codes
    }

    private func page(since token: FeedToken?, at store: TestStore) throws -> FetchFeed.Page {
        let fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        let number = try store.scopeNumber()
        return try fetch.run(store.scope, number, by: phone, in: store.reader)
    }

    private func row(_ id: String, at store: TestStore) throws -> RegisterRow? {
        let (scope, key) = (try store.scopeNumber(), keys + [Bytes(id.utf8)])
        return try store.reader.register(scope, StoredSubscription.namespace, key)
    }

    /// Drops old rows of feeds as the collector does; the rows of today stay.
    private func collect(_ store: TestStore) throws {
        let (scope, now) = (try store.scopeNumber(), store.now)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeFeeds(of: scope).dropRows(before: now, &transaction)
        }
    }

    // MARK: Firing

    /// Each firing is a commit of its own, and the order of firings does not depend on the process.
    @Test func severalFireInTheOrderOfTheirIDs() throws {
        let ids = (0..<8).map { "s\($0)" }
        let saves = ids.enumerated().map { once($1, above: Int64(7 - $0)) }
        #expect(try store.modify(ModifySubscriptions(saving: saves)).codes.allSatisfy { $0 == nil })
        try store.save([SaveItem("n", ["stars": 100])], by: tablet)
        #expect(try store.subscriptions().isEmpty)
        let stamps = try ids.compactMap { try row($0, at: store)?.stamp }
        #expect(stamps.count == 8 && stamps == stamps.sorted())
    }

    /// The subscription tells that the zone is gone, and tells no second change.
    @Test(
        arguments: [(.firesOnRecordDeletion, true), (.firesOnRecordCreation, false)]
            as [(Subscription.Options, Bool)]
    )
    func theDeletionOfAZoneFires(option: Subscription.Options, fires: Bool) throws {
        try store.modify(ModifyZones(saving: ["z"]), by: tablet)
        try store.save([SaveItem("n", ["stars": 3], in: ZoneAddress(name: "z"))], by: tablet)
        #expect(try modify(saving: [once("a", options: [option, .firesOnce])]) == [nil])
        let token = try page(since: nil, at: store).token
        try store.modify(ModifyZones(deleting: ["z"]), by: tablet)
        #expect(try store.subscriptions().isEmpty == fires)
        let told = try page(since: token, at: store)
        let gone = FeedNews.Change.zoneDeleted("z")
        #expect(told.news.map(\.change) == (fires ? [gone] : []))
        #expect(told.reset == nil)
        try store.save([SaveItem("m", ["stars": 3])], by: tablet)
        #expect(try page(since: told.token, at: store).news.count == (fires ? 0 : 1))
        #expect(try store.subscriptions().isEmpty)
    }

    /// There are more changes than a page holds, both before the firing and after it.
    @Test func aFiringIsFoundAmongManyChanges() throws {
        let deletion = once("a", options: [.firesOnRecordDeletion, .firesOnce])
        #expect(try modify(saving: [deletion, once("b", options: .standard)]) == [nil, nil])
        var token = try page(since: nil, at: store).token
        for batch in 0..<18 {
            if batch == 9 { try store.delete([DeleteItem("0-0")], by: tablet) }
            let items = (0..<240).map { SaveItem("\(batch)-\($0)", ["stars": 2]) }
            try store.save(items, by: tablet)
        }
        var (told, pages) = (0, 0)
        repeat {
            let page = try page(since: token, at: store)
            #expect(page.reset == nil)
            told += page.news.count { $0.subscription.id == "a" }
            (token, pages) = (page.token, pages + 1)
        } while token.progress != nil
        #expect(told == 1 && pages > 2)
    }

    // MARK: Limits

    @Test func itCountsTowardsTheLimitUntilItIsDeleted() throws {
        #expect(try modify(saving: [once("a"), once("b", above: 2)]) == [nil, nil])
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        #expect(try store.subscriptions().isEmpty, "both fired")
        #expect(try modify(saving: [once("c", above: 3)]) == [.limitExceeded])
        #expect(try modify(saving: [once("a")]) == [nil], "in the place of the one that fired")
        #expect(try modify(deleting: ["b", "b", "x"]) == [nil, .unknownItem, .unknownItem])
        #expect(try row("b", at: store)?.value == nil)
        #expect(try modify(saving: [once("c", above: 3)]) == [nil])
        #expect(try store.subscriptions().map(\.id) == ["a", "c"])
    }

    @Test func anEqualOneMayBeSavedUnderAnotherID() throws {
        #expect(try modify(saving: [once("a")]) == [nil])
        #expect(try modify(saving: [once("b")]) == [.serverRejectedRequest])
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        #expect(try modify(saving: [once("b")]) == [nil])
        #expect(try modify(deleting: ["a"]) == [nil])
        #expect(try modify(saving: [once("c")]) == [.serverRejectedRequest])
    }

    // MARK: Removal

    @Test func itGoesWithTheRowsOfItsFiring() throws {
        #expect(try modify(saving: [once("a"), once("b", above: 2)]) == [nil, nil])
        let token = try page(since: nil, at: store).token
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        try collect(store)
        let told = try page(since: token, at: store)
        #expect(told.news.map(\.subscription.id) == ["a", "b"] && told.reset == nil)
        let stamp = try row("a", at: store)?.stamp
        #expect(try since("a") != nil)
        try store.forgetFeeds()
        let removed = try row("a", at: store)
        #expect(removed != nil && removed?.value == nil && removed?.stamp == stamp)
        #expect(try store.reader.subscriptions(in: store.scopeNumber()).isEmpty)
        #expect(try since("a") == nil)
        #expect(try modify(saving: [once("c"), once("d", above: 2)]) == [nil, nil])
        #expect(try modify(deleting: ["a"]) == [.unknownItem])
        // A device that was told of the firing goes on.
        let next = try page(since: told.token, at: store)
        #expect(next.reset == .subscriptions([name("c"), name("d")]) && next.news.isEmpty)
    }

    /// The position at which the store learned of a subscription.
    private func since(_ id: String) throws -> SeqRow? {
        try store.reader.row(.subscribed(store.scopeNumber(), keys + [Bytes(id.utf8)]))
    }

    private func name(_ id: String) -> SubscriptionName {
        SubscriptionName(databaseScope: .private, subscriptionID: id)
    }

    /// The age of the firing does not matter: the device may not have seen it yet.
    @Test func aNodeThatHeardOfTheFiringLateStillTells() throws {
        #expect(try modify(saving: [once("a")]) == [nil])
        let other = try TestStore(copying: store, seed: 2)
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        try store.forgetFeeds()
        #expect(try row("a", at: store)?.value == nil)
        try other.forgetFeeds()
        let token = try page(since: nil, at: other).token
        try other.take(from: store)
        try collect(other)
        #expect(try row("a", at: other)?.value != nil)
        let told = try page(since: token, at: other)
        #expect(told.news.map(\.subscription.id) == ["a"] && told.reset == nil)
    }

    /// Nodes that remove the register at different times undo neither a later save at another node
    /// nor the removal itself.
    @Test func nodesThatRemoveAtDifferentTimesAgree() throws {
        #expect(try modify(saving: [once("a"), once("b", above: 2)]) == [nil, nil])
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        let other = try TestStore(copying: store, seed: 2)
        other.now += 5
        #expect(try other.modify(ModifySubscriptions(saving: [once("a")])).codes == [nil])
        store.now += 10
        try store.forgetFeeds()
        try store.take(from: other)
        #expect(try store.subscriptions().map(\.id) == ["a"])
        // The state holds the register of the other node, which still keeps it.
        let (kept, scope) = (try #require(try row("b", at: other)), try store.scopeNumber())
        #expect(kept.value != nil)
        let key = keys + [Bytes("b".utf8)]
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeRegisters(of: scope).join(
                kept,
                into: StoredSubscription.namespace,
                key,
                &transaction
            )
        }
        #expect(try row("b", at: store)?.value == nil)
        try other.forgetFeeds()
        for id in ["a", "b"] {
            let (one, two) = (try row(id, at: store), try row(id, at: other))
            #expect(one != nil && one == two)
        }
    }

    @Test func aRestartForgetsNothingOfIt() throws {
        #expect(try modify(saving: [once("a")]) == [nil])
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        try store.restart()
        try store.forgetFeeds()
        #expect(try row("a", at: store)?.value == nil)
    }
}
