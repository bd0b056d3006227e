// What a feed keeps between two pages on one node, and what feeds with equal reads share.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct FeedReadTests {
    private let store: TestStore
    private let phone = Caller(role: .user("_alice"), device: [1])
    private let bob = Caller(role: .user("_bob"), device: [1])
    private let tablet = Caller(role: .user("_alice"), device: [2])

    init() throws {
        store = try TestStore()
        try store.save([SaveItem("old", ["stars": 1])], in: .public)
    }

    private func subscribe(
        _ id: String,
        above stars: Int64 = 0,
        options: Subscription.Options = .standard,
        by caller: Caller
    ) throws {
        let subscription = Subscription(
            id: id,
            kind: .query(recordType: "Note", predicate: .field("stars") > stars),
            options: options
        )
        let modify = ModifySubscriptions(in: .public, saving: [subscription])
        #expect(try store.modify(modify, by: caller).codes == [nil])
    }

    private func save(_ name: String, stars: Int64, by caller: Caller) throws {
        try store.save([SaveItem(name, ["stars": .int64(stars)])], in: .public, by: caller)
    }

    /// A feed as a node follows it: each page begins where the last one ended.
    private struct Feed {
        let caller: Caller
        var fetch: FetchFeed
        var read: FeedRead?

        init(of caller: Caller, in store: TestStore) throws {
            self.caller = caller
            fetch = FetchFeed(
                since: nil,
                run: store.state.incarnation,
                environment: store.scope.environment
            )
            _ = try next(in: store)
        }

        /// The ids of the subscriptions that tell something, and of the ones that are reset.
        mutating func next(in store: TestStore) throws -> (told: [String], reset: FeedReset?) {
            let number = try store.scopeNumber()
            let page = try fetch.run(store.scope, number, by: caller, in: store.reader)
            read = page.read
            (fetch.token, fetch.position) = (page.token, page.lastPosition)
            fetch.watches = (page.watches, page.lastPosition)
            return (page.news.map(\.subscription.id), page.reset)
        }
    }

    @Test func aFeedLearnsOfItsOwnSubscriptions() throws {
        var feed = try Feed(of: phone, in: store)
        try subscribe("a", by: phone)
        #expect(try feed.next(in: store).reset != nil)
        try save("n", stars: 1, by: tablet)
        #expect(try feed.next(in: store).told == ["a"])
        // A subscription of another user changes nothing.
        try subscribe("c", by: bob)
        try subscribe("b", above: 1, by: phone)
        try save("n", stars: 2, by: tablet)
        let page = try feed.next(in: store)
        #expect(page.told == ["a"])
        let name = SubscriptionName(databaseScope: .public, subscriptionID: "b")
        #expect(page.reset == .subscriptions([name]))
        try save("n", stars: 3, by: tablet)
        #expect(try feed.next(in: store).told == ["a", "b"])
        let delete = ModifySubscriptions(in: .public, deleting: ["a"])
        #expect(try store.modify(delete, by: phone).codes == [nil])
        try save("n", stars: 4, by: tablet)
        #expect(try feed.next(in: store).told == ["b"])
    }

    @Test func aSubscriptionThatFiredIsNotToldAgain() throws {
        try subscribe("a", options: [.firesOnRecordUpdate, .firesOnce], by: phone)
        var feed = try Feed(of: phone, in: store)
        try save("old", stars: 2, by: tablet)
        #expect(try feed.next(in: store).told == ["a"])
        try save("old", stars: 3, by: tablet)
        #expect(try feed.next(in: store).told == [])
    }

    @Test func usersWithEqualSubscriptionsReadTheSame() throws {
        try subscribe("a", by: phone)
        try subscribe("a", by: bob)
        var feeds = [try Feed(of: phone, in: store), try Feed(of: bob, in: store)]
        try save("n", stars: 1, by: tablet)
        for index in feeds.indices { #expect(try feeds[index].next(in: store).told == ["a"]) }
        #expect(feeds[0].read == feeds[1].read)
        #expect(feeds[0].read?.hashValue == feeds[1].read?.hashValue)
        // One of the two users watches something else from then on.
        try subscribe("b", above: 5, by: bob)
        for index in feeds.indices { _ = try feeds[index].next(in: store) }
        try save("n", stars: 2, by: tablet)
        for index in feeds.indices { #expect(try feeds[index].next(in: store).told == ["a"]) }
        #expect(feeds[0].read != feeds[1].read)
    }

    /// An event loop begins a page only if little is to be read for it.
    @Test func aPageThatAnEventLoopBeginsIsShort() throws {
        try subscribe("a", by: phone)
        var feed = try Feed(of: phone, in: store)
        let number = try store.scopeNumber()
        for index in 0..<3 { try save("n\(index)", stars: 1, by: tablet) }
        #expect(feed.fetch.isShort(at: try FeedHead(of: number, in: store.reader)))
        // Somebody's subscriptions changed: this user's are read again.
        try subscribe("b", by: bob)
        #expect(!feed.fetch.isShort(at: try FeedHead(of: number, in: store.reader)))
        _ = try feed.next(in: store)
        #expect(feed.fetch.isShort(at: try FeedHead(of: number, in: store.reader)))
        // A subscription to zones asks what changed in each of them.
        let zones = Subscription(id: "z", kind: .database(recordType: nil))
        #expect(try store.modify(ModifySubscriptions(saving: [zones]), by: phone).codes == [nil])
        _ = try feed.next(in: store)
        #expect(!feed.fetch.isShort(at: try FeedHead(of: number, in: store.reader)))
    }

    /// Imports the type with these grants and no others.
    private func grant(_ grants: String) throws {
        try store.importType("Note", "stars INT64 QUERYABLE SORTABLE, \(grants)")
    }

    /// Rights are not part of what is shared: each user is told what it may read.
    @Test func aFeedTellsOnlyOfRecordsThatItsUserMayRead() throws {
        try grant(#"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
        try subscribe("a", by: phone)
        try subscribe("a", by: bob)
        var feeds = [try Feed(of: phone, in: store), try Feed(of: bob, in: store)]
        func told() throws -> [Int] {
            try feeds.indices.map { try feeds[$0].next(in: store).told.count }
        }
        try save("hers", stars: 1, by: tablet)
        #expect(try told() == [1, 0])
        #expect(feeds[0].read == feeds[1].read)
        try store.delete([DeleteItem("hers")], in: .public, by: tablet)
        #expect(try told() == [1, 0])
        try grant(#"GRANT READ, WRITE TO "_world", GRANT CREATE TO "_icloud""#)
        try save("hers", stars: 1, by: tablet)
        #expect(try told() == [1, 1])
        try grant(#"GRANT CREATE, WRITE TO "_icloud""#)
        try save("hers", stars: 2, by: tablet)
        #expect(try told() == [0, 0])
    }

    /// A record of another type may have the name by now, with fields that not everybody may read.
    @Test func aRecordOfAnotherTypeShowsNoFields() throws {
        var info = Subscription.NotificationInfo()
        info.desiredKeys = ["stars"]
        let subscription = Subscription(
            id: "a",
            kind: .query(recordType: "Note", predicate: .field("stars") > Int64(0)),
            notificationInfo: info
        )
        let modify = ModifySubscriptions(in: .public, saving: [subscription])
        #expect(try store.modify(modify, by: bob).codes == [nil])
        var feed = try Feed(of: bob, in: store)
        func fields() throws -> [[String: FieldValue]] {
            let (fetch, number) = (feed.fetch, try store.scopeNumber())
            let page = try fetch.run(store.scope, number, by: bob, in: store.reader)
            return try page.news.map { news in
                let id = FeedNotification.ID(bytes: Bytes(repeating: 1, count: 16))
                let told = try news.notification(id, in: number, byteLimit: 1_000, store.reader)
                guard case .record(let record) = told.news else { return [:] }
                return record.fields
            }
        }
        try save("n", stars: 1, by: tablet)
        #expect(try fields() == [["stars": 1]])
        #expect(try feed.next(in: store).told == ["a"])
        try store.delete([DeleteItem("n")], in: .public, by: tablet)
        let grants = #"GRANT READ TO "_creator", GRANT CREATE TO "_icloud""#
        try store.importType("Secret", "stars INT64, \(grants)")
        let item = SaveItem("n", ["stars": 9], type: "Secret")
        #expect(try store.save([item], in: .public, by: tablet).codes == [nil])
        // The record that the subscription knew is gone.
        #expect(try fields() == [[:]])
    }

    /// Otherwise the firing would be lost with a change that nobody is told of.
    @Test func aSubscriptionFiresOnceOnWhatItsUserMayRead() throws {
        try grant(#"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
        try subscribe("a", options: [.firesOnRecordCreation, .firesOnce], by: bob)
        var feed = try Feed(of: bob, in: store)
        try save("hers", stars: 1, by: tablet)
        #expect(try feed.next(in: store).told == [])
        let other = Caller(role: .user("_bob"), device: [2])
        try save("his", stars: 1, by: other)
        #expect(try feed.next(in: store).told == ["a"])
        try save("his2", stars: 1, by: other)
        #expect(try feed.next(in: store).told == [])
    }

    @Test func feedsOfDifferentPlacesReadSomethingElse() throws {
        try subscribe("a", by: phone)
        try subscribe("a", by: bob)
        var feeds = [try Feed(of: phone, in: store)]
        try save("n", stars: 1, by: tablet)
        feeds.append(try Feed(of: bob, in: store))
        try save("m", stars: 1, by: tablet)
        #expect(try feeds[0].next(in: store).told == ["a", "a"])
        #expect(try feeds[1].next(in: store).told == ["a"])
        #expect(feeds[0].read != feeds[1].read)
    }

    /// The read names the authors of its changes, so that no device is told of its own.
    @Test func theAuthorsOfChangesAreNamed() throws {
        try subscribe("a", by: phone)
        var feed = try Feed(of: phone, in: store)
        let fetch = feed.fetch
        try save("n", stars: 1, by: tablet)
        try save("m", stars: 1, by: phone)
        #expect(try feed.next(in: store).told == ["a"])
        let (number, reader) = (try store.scopeNumber(), store.reader)
        let head = try FeedHead(of: number, in: reader)
        let read = try #require(feed.read)
        let all = try read.run(fetch, at: head, through: nil, leavingOut: 0, in: reader)
        #expect(all?.news.count == 2)
        let authors = [phone, tablet].map { TopicEvent.deviceDigest($0.device, of: $0.user) }
        #expect(all?.authors == Set(authors))
    }
}
