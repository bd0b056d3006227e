// What devices are told when two nodes change something at the same time.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ConcurrentFeedTests {
    private let one: TestStore
    private let phone = Caller(role: .user("_alice"), device: [1])
    private let tablet = Caller(role: .user("_alice"), device: [2])

    init() throws {
        one = try TestStore()
        try one.save([SaveItem("n", ["stars": 1])])
    }

    private func subscribe(_ options: Subscription.Options, by caller: Caller = .alice) throws {
        let subscription = Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: .field("stars") > Int64(1)),
            options: options
        )
        let modify = ModifySubscriptions(saving: [subscription])
        #expect(try one.modify(modify, by: caller).codes == [nil])
    }

    private func page(
        since token: FeedToken?,
        at store: TestStore,
        by caller: Caller? = nil,
        through end: UInt64? = nil
    ) throws -> FetchFeed.Page {
        let fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        let number = try store.scopeNumber()
        let (caller, reader) = (caller ?? phone, store.reader)
        guard let end else { return try fetch.run(store.scope, number, by: caller, in: reader) }
        let head = try FeedHead(of: number, in: reader)
        var page = try fetch.begin(store.scope, number, at: head, by: caller, in: reader)
        let found = try page.read?.run(fetch, at: head, through: end, leavingOut: 0, in: reader)
        page.take(found, of: fetch, with: [])
        return page
    }

    /// The news that the device may hold this record, which does not match.
    private func miss(_ name: String) -> FeedNews.Change {
        .record(zone: "_defaultZone", name: name, .updated, .uncertainMiss)
    }

    /// Both nodes fire before they know of each other: one firing stays.
    ///
    /// Where the other one is lost, the subscription is reset.
    @Test func whereAFiringIsLostTheSubscriptionIsReset() throws {
        try subscribe([.firesOnRecordCreation, .firesOnce])
        let token = try page(since: nil, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("a", ["stars": 2])], by: tablet)
        other.now += 5
        try other.save([SaveItem("b", ["stars": 2])], by: tablet)
        try one.take(from: other)
        try other.take(from: one)
        let pages = [try page(since: token, at: one), try page(since: token, at: other)]
        let name = SubscriptionName(databaseScope: .private, subscriptionID: "s")
        // The later firing stays.
        #expect(pages[0].news.isEmpty && pages[0].reset == .subscriptions([name]))
        #expect(pages[1].news.count == 1 && pages[1].reset == nil)
        for (store, page) in zip([one, other], pages) {
            let next = try self.page(since: page.token, at: store)
            #expect(next.news.isEmpty && next.reset == nil)
        }
    }

    /// A device that was told of one copy of a creation is not told of the other.
    @Test func aRepeatedCreationIsToldOnce() throws {
        try subscribe(.standard)
        let start = try page(since: page(since: nil, at: one).token, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        let save = ModifyRecords(
            database: .private,
            policy: .ifUnchanged,
            saves: [SaveItem("x", ["stars": 2])]
        )
        let request = one.request(save, by: tablet)
        for node in [one, other] { _ = try node.run(request).get() }
        let told = try page(since: start, at: one)
        #expect(told.news.count == 1)
        try one.take(from: other)
        try other.take(from: one)
        for node in [one, other] { #expect(try page(since: told.token, at: node).news.isEmpty) }
    }

    /// At the next node another record had come and gone before a request created this one there.
    ///
    /// The device knows of the same request's creation at the first node, so it keeps the record.
    @Test func whatCameAndWentBeforeARepeatedCreationTakesNothingBack() throws {
        try subscribe(.standard)
        let other = try TestStore(copying: one, seed: 2)
        try other.save([SaveItem("x", ["stars": 2])], by: tablet)
        try other.delete([DeleteItem("x")], by: tablet)
        let save = ModifyRecords(
            database: .private,
            policy: .ifUnchanged,
            saves: [SaveItem("x", ["stars": 3])]
        )
        let request = one.request(save, by: tablet)
        _ = try one.run(request).get()
        let token = try page(since: nil, at: one).token
        _ = try other.run(request).get()
        try other.take(from: one)
        let place = try FeedHead(of: other.scopeNumber(), in: other.reader).lastPosition
        let match = FeedNews.Change.record(
            zone: "_defaultZone",
            name: "x",
            .updated,
            .uncertainMatch
        )
        #expect(try page(since: token, at: other).news.map(\.change) == [match])
        // A page that ends between them makes no difference.
        let part = try page(since: token, at: other, through: place - 2)
        #expect(part.news.count == 1 && !part.isLast)
        #expect(try page(since: part.token, at: other).news.map(\.change) == [match])
    }

    /// A change that is repeated at a node that has not heard of it is a second change.
    @Test func aRepeatedChangeIsToldAgain() throws {
        try subscribe(.standard)
        let start = try page(since: page(since: nil, at: one).token, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        other.now += 5
        let save = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [SaveItem("n", ["stars": 2])]
        )
        let request = one.request(save, by: tablet)
        for node in [one, other] { _ = try node.run(request).get() }
        let told = try page(since: start, at: one)
        #expect(told.news.count == 1)
        try one.take(from: other)
        try other.take(from: one)
        for node in [one, other] {
            let again = try page(since: told.token, at: node)
            #expect(again.news.count == 1)
            #expect(again.news.first?.identity != told.news.first?.identity)
            #expect(try page(since: again.token, at: node).news.isEmpty)
        }
    }

    /// The earlier copy of a creation makes its life older than another one, which is shown then:
    /// a device that was told of the first is told of the second.
    @Test func aCopyThatShowsAnotherLifeIsTold() throws {
        try subscribe(.standard)
        let start = try page(since: page(since: nil, at: one).token, at: one).token
        let nodes = try [2, 3].map { try TestStore(copying: one, seed: $0) }
        let hidden = ModifyRecords(
            database: .private,
            policy: .ifUnchanged,
            saves: [SaveItem("x", ["stars": 1])]
        )
        let request = one.request(hidden, by: tablet)
        _ = try one.run(request).get()
        nodes[0].now += 5
        try nodes[0].save([SaveItem("x", ["stars": 2])], by: tablet)
        nodes[1].now += 10
        _ = try nodes[1].run(request).get()
        try nodes[1].take(from: nodes[0])
        let token = try page(since: start, at: nodes[1]).token
        try nodes[1].take(from: one)
        let news = try page(since: token, at: nodes[1]).news
        #expect(news.count == 1, "\(news)")
    }

    /// Nodes apply the two changes in different orders, and make one notification.
    @Test func aNotificationHasOneNameOnAllNodes() throws {
        try subscribe(.standard)
        // The token is of a device that has asked its queries.
        let token = try page(since: page(since: nil, at: one).token, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("n", ["stars": 2])], by: tablet)
        try other.save([SaveItem("n", ["stars": 3])], by: tablet)
        try one.take(from: other)
        try other.take(from: one)
        let news = try [one, other].map { try #require(page(since: token, at: $0).news.first) }
        #expect(news[0].identity == news[1].identity)
        #expect(Set(news[0].dots) == Set(news[1].dots) && news[0].dots.count == 2)
        // A notification is read only if all of its commits are.
        let id = FeedNotification.ID(bytes: Bytes(repeating: 1, count: 16))
        var marks = ReadMarks(upTo: VersionVector())
        marks.vector[news[0].dots[0].incarnation] = news[0].dots[0].seq
        #expect(!marks.holds(id, of: news[0].dots))
        marks.vector[news[0].dots[1].incarnation] = news[0].dots[1].seq
        #expect(marks.holds(id, of: news[0].dots))
    }

    /// The device has seen one of two concurrent changes.
    ///
    /// It is told how the record is now, if the other change may be of a kind that the subscription
    /// asks for.
    @Test(
        arguments: [
            (.standard, true), (.firesOnRecordUpdate, true), (.firesOnRecordCreation, true),
            (.firesOnRecordDeletion, false),
        ] as [(Subscription.Options, Bool)]
    )
    func uncertainNewsAreAskedForToo(options: Subscription.Options, isTold: Bool) throws {
        try subscribe(options)
        let other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("n", ["stars": 2])], by: tablet)
        let token = try page(since: nil, at: one).token
        try other.save([SaveItem("n", ["stars": 3])], by: tablet)
        try other.take(from: one)
        let change = FeedNews.Change.record(
            zone: "_defaultZone",
            name: "n",
            .updated,
            .uncertainMatch
        )
        let told = try page(since: token, at: other).news.map(\.change)
        #expect(told == (isTold ? [change] : []))
    }

    /// The device asked its queries at a node where one of two concurrent changes made the record
    /// match.
    ///
    /// At the node where it goes on, the record never matched.
    @Test func aDeviceThatAskedElsewhereIsToldOfConcurrentChanges() throws {
        try subscribe(.standard)
        let token = try page(since: nil, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("n", ["stars": 2])], by: tablet)
        other.now += 5
        try other.save([SaveItem("n", ["stars": 0])], by: tablet)
        try other.take(from: one)
        let told = try page(since: token, at: other)
        let change = FeedNews.Change.record(
            zone: "_defaultZone",
            name: "n",
            .updated,
            .uncertainMiss
        )
        #expect(told.news.map(\.change) == [change])
        #expect(try page(since: told.token, at: other).news.isEmpty)
    }

    /// Records of two users have one name; the rows of release 0.1 name no database.
    @Test(arguments: [false, true])
    func concurrentChangesAreToldToTheirUserOnly(isOfOldRelease: Bool) throws {
        let bob = Caller(role: .user("_bob"), device: [3])
        let bobsTablet = Caller(role: .user("_bob"), device: [4])
        try one.save([SaveItem("n", ["stars": 1])], by: bobsTablet)
        for user in [phone, bob] { try subscribe(.standard, by: user) }
        let other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("n", ["stars": 2])], by: bobsTablet)
        let token = try page(since: nil, at: one).token
        let bobsToken = try page(since: nil, at: one, by: bob).token
        try other.save([SaveItem("n", ["stars": 3])], by: bobsTablet)
        try other.take(from: one)
        if isOfOldRelease { try forgetDatabases(at: other) }
        #expect(try page(since: token, at: other).news.isEmpty)
        let told = try page(since: bobsToken, at: other, by: bob).news.map(\.change)
        #expect(
            told == [.record(zone: "_defaultZone", name: "n", .updated, .uncertainMatch)]
        )
    }

    /// Gives mixed rows the form that release 0.1 wrote.
    private func forgetDatabases(at store: TestStore) throws {
        let range = KeyRange.rows(.mixed, of: try store.scopeNumber(), before: .max)
        let rows = try store.reader.rows(.log, range)
        #expect(rows.count == 1)
        for (key, value) in rows {
            var row = try MixedRow(row: value)
            #expect(row.database != nil)
            row.database = nil
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                transaction.put(RowKey(.mixed, bytes: key), row)
            }
        }
    }

    /// The device knows of a zone's deletion, which took a record along at one node.
    ///
    /// At the other node the record matched, and left or stayed, before the deletion came.
    @Test(arguments: [0, 2] as [Int64])
    func ofADeletedZoneNothingIsToldForSure(stars: Int64) throws {
        let zone = ZoneAddress(name: "z")
        try one.modify(ModifyZones(saving: ["z"]), by: tablet)
        try one.save([SaveItem("a", ["stars": 0], in: zone)], by: tablet)
        try subscribe(.standard)
        let token = try page(since: nil, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        try other.save([SaveItem("b", ["stars": 2], in: zone)], by: tablet)
        try one.modify(ModifyZones(deleting: ["z"]), by: tablet)
        try one.take(from: other)
        let told = try page(since: token, at: one)
        #expect(told.news.map(\.change) == [.zoneDeleted("z")])
        try other.save([SaveItem("b", ["stars": .int64(stars)], in: zone)], by: tablet)
        try other.take(from: one)
        let page = try page(since: told.token, at: other)
        #expect(
            page.news.map(\.change) == [
                .record(zone: "z", name: "b", .updated, .uncertainMiss)
            ]
        )
    }

    /// Two nodes deleted a zone at the same time, and the device has seen the deletion that leaves
    /// no row at the next node.
    ///
    /// A record had left the subscription there before the deletion. The device dropped it already.
    @Test func ofAZoneThatTwoNodesDeletedNothingIsToldForSure() throws {
        let zone = ZoneAddress(name: "z")
        try one.modify(ModifyZones(saving: ["z"]), by: tablet)
        try one.save([SaveItem("a", ["stars": 2], in: zone)], by: tablet)
        try subscribe(.standard)
        let token = try page(since: nil, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        try one.modify(ModifyZones(deleting: ["z"]), by: tablet)
        let told = try page(since: token, at: one)
        #expect(told.news.map(\.change) == [.zoneDeleted("z")])
        try other.save([SaveItem("a", ["stars": 0], in: zone)], by: tablet)
        try other.modify(ModifyZones(deleting: ["z"]), by: tablet)
        try other.take(from: one)
        let miss = FeedNews.Change.record(zone: "z", name: "a", .updated, .uncertainMiss)
        let page = try page(since: told.token, at: other)
        #expect(page.news.map(\.change) == [.zoneDeleted("z"), miss])
    }

    /// At the next node the other one of two concurrent changes came first, so there was no match.
    ///
    /// The device's token covers one of them. Its last page at the former node told of the other
    /// one.
    @Test func whatOnlyTheNodeBeforeShowedIsTakenBack() throws {
        try subscribe(.standard)
        let start = try page(since: page(since: nil, at: one).token, at: one).token
        let nodes = try [2, 3].map { try TestStore(copying: one, seed: $0) }
        try nodes[0].save([SaveItem("n", ["stars": 2])], by: tablet)
        nodes[1].now += 5
        try nodes[1].save([SaveItem("n", ["stars": 0])], by: tablet)
        let token = try page(since: start, at: nodes[1]).token

        try one.take(from: nodes[0])
        let end = try FeedHead(of: one.scopeNumber(), in: one.reader).lastPosition
        try one.take(from: nodes[1])
        let part = try page(since: token, at: one, through: end)
        #expect(part.news.count == 1 && !part.isLast)
        try nodes[1].take(from: one)
        let rest = try page(since: part.token, at: nodes[1])
        #expect(rest.news.map(\.change) == [miss("n")])
    }

    /// The device was told of a record that a record of another type hides at the next node.
    @Test func aRecordLeavesWhereAnotherTypeHidesIt() throws {
        try subscribe(.standard)
        let start = try page(since: page(since: nil, at: one).token, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        other.now += 5
        try other.save([SaveItem("x", ["size": 1], type: "Other")], by: tablet)
        try one.save([SaveItem("x", ["stars": 2])], by: tablet)
        let told = try page(since: start, at: one)
        #expect(told.news.count == 1)
        try other.take(from: one)
        #expect(try page(since: told.token, at: other).news.map(\.change) == [miss("x")])
    }

    /// The record had ended before another type took its name: a request created it at both nodes.
    @Test func aRecordLeavesWhereItEndedAndAnotherTypeFollowed() throws {
        try subscribe(.standard)
        let start = try page(since: page(since: nil, at: one).token, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        let save = ModifyRecords(
            database: .private,
            policy: .ifUnchanged,
            saves: [SaveItem("x", ["stars": 2])]
        )
        let request = one.request(save, by: tablet)
        for node in [one, other] { _ = try node.run(request).get() }
        try other.delete([DeleteItem("x")], by: tablet)
        try other.save([SaveItem("x", ["size": 1], type: "Other")], by: tablet)
        let told = try page(since: start, at: one)
        #expect(told.news.count == 1)
        try other.take(from: one)
        #expect(try page(since: told.token, at: other).news.map(\.change) == [miss("x")])
    }

    /// The state of a record with concurrent changes is told behind the deletion of its zone, with
    /// which the device drops all records there.
    @Test func aRecordOfAZoneMadeAnewIsToldBehindItsDeletion() throws {
        let zone = ZoneAddress(name: "z")
        try one.modify(ModifyZones(saving: ["z"]), by: tablet)
        try subscribe(.standard)
        let token = try page(since: nil, at: one).token
        let other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("a", ["stars": 2], in: zone)], by: tablet)
        try other.save([SaveItem("a", ["stars": 0], in: zone)], by: tablet)
        try other.take(from: one)
        try other.modify(ModifyZones(deleting: ["z"]), by: tablet)
        try other.modify(ModifyZones(saving: ["z"]), by: tablet)
        try other.save([SaveItem("a", ["stars": 3], in: zone)], by: tablet)
        let told = try page(since: token, at: other).news.map(\.change)
        let match = FeedNews.Change.record(zone: "z", name: "a", .updated, .uncertainMatch)
        #expect(told == [.zoneDeleted("z"), match])
    }
}
