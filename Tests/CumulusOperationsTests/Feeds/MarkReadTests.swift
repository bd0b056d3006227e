// Marks of what is read, and the history that shows them: to whom they belong, how many there may
// be, and where a history begins.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct MarkReadTests {
    private let store: TestStore
    private let phone = Caller(role: .user("_alice"), device: [1])
    private let tablet = Caller(role: .user("_alice"), device: [2])
    private let carol = Caller(role: .user("_carol"), device: [3])

    init() throws {
        store = try TestStore()
        try store.save([SaveItem("old", ["stars": 1])])
    }

    // MARK: Parts

    private func subscribe(
        _ id: String,
        _ kind: Subscription.Kind? = nil,
        title: String? = nil,
        in database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws {
        let all = Subscription.Kind.query(
            recordType: "Note",
            predicate: .field("stars") > Int64(1)
        )
        var subscription = Subscription(id: id, kind: kind ?? all)
        if let title {
            subscription.notificationInfo = Subscription.NotificationInfo()
            subscription.notificationInfo?.title = title
        }
        let modify = ModifySubscriptions(in: database, saving: [subscription])
        #expect(try store.modify(modify, by: caller).codes == [nil])
    }

    private func page(
        since token: FeedToken? = nil,
        by caller: Caller? = nil,
        isHistory: Bool = true,
        through end: UInt64? = nil
    ) throws -> FetchFeed.Page {
        var fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        fetch.isHistory = isHistory
        let (number, reader, caller) = (try store.scopeNumber(), store.reader, caller ?? phone)
        guard let end else { return try fetch.run(store.scope, number, by: caller, in: reader) }
        let head = try FeedHead(of: number, in: reader)
        var page = try fetch.begin(store.scope, number, at: head, by: caller, in: reader)
        let read = try #require(page.read)
        let found = try read.run(fetch, at: head, through: end, leavingOut: 0, in: reader)
        page.take(found, of: fetch, with: [])
        return page
    }

    /// Any function of the identity will do here; the nodes' function has a key.
    private func id(of news: FeedNews) -> FeedNotification.ID {
        var bytes = Bytes(repeating: 0, count: FeedNotification.ID.byteCount)
        for (index, byte) in news.identity.enumerated() {
            bytes[index % bytes.count] = bytes[index % bytes.count] &* 31 &+ byte
        }
        return FeedNotification.ID(bytes: bytes)
    }

    /// The news of a page, a word for each: the record or the zones, and a star if it is read.
    private func told(_ page: FetchFeed.Page) throws -> [String] {
        let number = try store.scopeNumber()
        let head = try FeedHead(of: number, in: store.reader)
        let marks = try head.marks(of: page.token.user, in: number, store.reader)
        return page.news.map { news in
            let name =
                switch news.change {
                case .record(_, let name, _, _): name
                case .zoneDeleted(let zone): zone
                case .zones(let zones): zones.map(\.name).joined(separator: ",")
                }
            return marks.holds(id(of: news), of: news.dots) ? name + "*" : name
        }
    }

    private func save(_ name: String, in database: DatabaseScope = .private) throws {
        let caller = database == .private ? tablet : carol
        try store.save([SaveItem(name, ["stars": 5])], in: database, by: caller)
    }

    private func someIDs(_ count: Int) -> [FeedNotification.ID] {
        (0..<count).map { number in
            let bytes = [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
            return FeedNotification.ID(bytes: bytes + Bytes(repeating: 1, count: 14))
        }
    }

    private func marks(of user: String = "_alice") throws -> ReadMarks {
        try store.reader.readMarks(of: ReadMarks.Reader(user), in: store.scopeNumber())
    }

    private func error(_ body: () throws -> Void) -> ServiceError? {
        #expect(throws: ServiceError.self) { try body() }
    }

    // MARK: Marks

    @Test func whatIsMarkedIsReadOnEachDevice() throws {
        try subscribe("s")
        try save("n")
        try save("m")
        let before = try page()
        #expect(try told(before) == ["n", "m"])
        let watch = Caller(role: .user("_alice"), device: [9])
        try store.mark(MarkRead([id(of: before.news[0])]), by: tablet)
        #expect(try told(page()) == ["n*", "m"])
        #expect(try told(page(by: watch)) == ["n*", "m"])
        // A later change is another notification.
        try store.save([SaveItem("n", ["stars": 6])], by: tablet)
        #expect(try told(page()) == ["m", "n"])
    }

    @Test func aLiveFeedTellsItToo() throws {
        try subscribe("s")
        let start = try page(isHistory: false)
        try save("n")
        let told = try page(since: start.token, isHistory: false)
        try store.mark(MarkRead([id(of: told.news[0])]), by: phone)
        #expect(try self.told(page(since: start.token, isHistory: false)) == ["n*"])
    }

    @Test func everythingUpToATokenIsRead() throws {
        try subscribe("s")
        let start = try page(isHistory: false).token
        try save("n")
        let token = try page(since: start, isHistory: false).token
        try save("m")
        try store.mark(MarkRead(upTo: token), by: phone)
        #expect(try told(page()) == ["n*", "m"])
        // An older token takes no mark back.
        try store.mark(MarkRead(upTo: start), by: phone)
        #expect(try told(page()) == ["n*", "m"])
        try store.mark(MarkRead(upTo: page().token), by: phone)
        #expect(try told(page()) == ["n*", "m*"])
    }

    /// The notifications of both users have the same ids.
    @Test func marksOfAnotherUserDoNotCount() throws {
        for user in [Caller.alice, .bob] { try subscribe("s", in: .public, by: user) }
        try save("n", in: .public)
        let (hers, his) = (try page(), try page(by: .bob))
        #expect(try told(his) == ["n"])
        #expect(hers.news.map(id) == his.news.map(id))
        try store.mark(MarkRead(hers.news.map(id), upTo: hers.token), by: .alice)
        #expect(try told(page()) == ["n*"])
        #expect(try told(page(by: .bob)) == ["n"])
    }

    /// The vector is short: it does not name the retired run that made the change.
    @Test func aTokenMarksWhatEarlierRunsMade() throws {
        try subscribe("s")
        try save("n")
        let run = store.state.incarnation
        try store.restart()
        try save("m")
        try store.mark(MarkRead(upTo: page().token), by: phone)
        #expect(try marks().vector[run] == 0)
        #expect(try told(page()) == ["n*", "m*"])
    }

    // MARK: Limits

    @Test func aRequestMarksAtMost400() throws {
        let code = error { try store.mark(MarkRead(someIDs(401))) }?.code
        #expect(code == .limitExceeded)
        var few = Limits.standard
        few.itemsPerRequest = 2
        #expect(error { try store.mark(MarkRead(someIDs(3), limits: few)) }?.code == .limitExceeded)
        #expect(try marks() == ReadMarks())
        // With a greater limit for requests, some marks would be forgotten at once.
        var many = Limits.standard
        many.itemsPerRequest = 1_000
        let refused = error { try store.mark(MarkRead(someIDs(401), limits: many)) }
        #expect(refused?.code == .limitExceeded && refused?.reason == .tooManyItems)
        try store.mark(MarkRead(someIDs(400)))
        let held = try marks()
        #expect(someIDs(400).allSatisfy { held.holds($0) })
    }

    /// The last marks stay even if the clock went back.
    @Test(arguments: [1_000, -1_000] as [Int64]) func theLastMarksStay(step: Int64) throws {
        let ids = someIDs(402)
        try store.mark(MarkRead([ids[0]]))
        store.now += step
        try store.mark(MarkRead(Array(ids[1...400])))
        #expect(try !marks().holds(ids[0]))
        store.now += step
        try store.mark(MarkRead([ids[401]]))
        #expect(try marks().holds(ids[401]))
    }

    @Test func whatWasMarkedBeforeMakesNoCommit() throws {
        let token = try page(isHistory: false).token
        #expect(try store.mark(MarkRead(someIDs(3), upTo: token)).dots.count == 1)
        let vector = try store.reader.vector(of: store.scopeNumber())
        #expect(try store.mark(MarkRead(someIDs(2), upTo: token)).dots == [])
        #expect(try store.mark(MarkRead()).dots == [])
        #expect(try store.reader.vector(of: store.scopeNumber()) == vector)
    }

    @Test func aRepeatedRequestIsAnsweredAsBefore() throws {
        let request = store.request(MarkRead(someIDs(1)), by: .alice)
        let outcomes = [try store.run(request).get(), try store.run(request).get()]
        #expect(outcomes[0].dots == outcomes[1].dots)
        #expect(!outcomes[0].isRepeated && outcomes[1].isRepeated)
    }

    @Test func onlyUsersMark() throws {
        let ids = someIDs(1)
        #expect(error { try store.mark(MarkRead(ids), by: .anonymous) }?.code == .notAuthenticated)
        let code = error { try store.mark(MarkRead(ids), by: .administrator) }?.code
        #expect(code == .permissionFailure)
        #expect(throws: ReadFailure.self) { try page(by: .administrator) }
    }

    // MARK: History

    @Test func aHistoryBeginsWithTheOldestChangeThatIsKept() throws {
        #expect(try page().isLast, "nobody has subscribed")
        try subscribe("s")
        try save("n")
        #expect(try told(page(isHistory: false)) == [])
        let first = try page()
        #expect(try told(first) == ["n"])
        #expect(first.reset == nil && first.isLast)
        // The token of a history goes on like any other.
        try save("m")
        #expect(try told(page(since: first.token, isHistory: false)) == ["m"])

        try store.forgetFeeds()
        let forgotten = try page()
        #expect(try told(forgotten) == [] && forgotten.reset == nil)
        try save("l0")
        try save("l")
        #expect(try told(page()) == ["l0", "l"])
        // After records changed without commits, the history begins behind that point.
        let number = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeFeeds(of: number).noteBreak(&transaction)
        }
        try save("k")
        let broken = try page()
        #expect(try told(broken) == ["k"] && broken.reset == nil)
    }

    @Test func aDevicesOwnChangesAreLeftOut() throws {
        try subscribe("s")
        try save("n")
        #expect(try told(page(by: tablet)) == [])
    }

    /// Another user watched the same earlier; what happened then is not told to this user.
    @Test func aSubscriptionTellsWhatHappenedSinceItWasSaved() throws {
        try subscribe("b", in: .public, by: .bob)
        try save("early", in: .public)
        try subscribe("a", in: .public)
        try save("late", in: .public)
        let hers = try page()
        #expect(try told(hers) == ["late"] && hers.reset == nil)
        #expect(try told(page(by: .bob)) == ["early", "late"])
        // A feed without history resets the subscription.
        let token = try page(by: .bob, isHistory: false).token
        try subscribe(
            "c",
            .query(recordType: "Note", predicate: .field("stars") > Int64(2)),
            in: .public,
            by: .bob
        )
        #expect(try page(since: token, by: .bob, isHistory: false).reset != nil)
        #expect(try page(since: token, by: .bob).reset == nil)
    }

    @Test func aZonesSubscriptionTellsWhatHappenedSinceItWasSaved() throws {
        try subscribe("all", .database())
        try store.modify(ModifyZones(saving: ["y"]), by: tablet)
        #expect(try told(page()) == ["y"])
        try subscribe("all", .database(), title: "News")
        #expect(try told(page()) == [])
        try store.modify(ModifyZones(saving: ["z"]), by: tablet)
        #expect(try told(page()) == ["z"])
        try store.mark(MarkRead(page().news.map(id)), by: phone)
        #expect(try told(page()) == ["z*"])
    }

    /// Each page of a history is a history, too.
    @Test func aHistoryGoesOnBehindAPage() throws {
        try subscribe("b", in: .public, by: .bob)
        try save("early", in: .public)
        try subscribe("a", in: .public)
        let place = try page().lastPosition
        try save("n", in: .public)
        try save("m", in: .public)
        let first = try page(through: place + 1)
        #expect(try told(first) == ["n"])
        #expect(!first.isLast)
        let rest = try page(since: first.token)
        #expect(try told(rest) == ["m"])
        #expect(rest.isLast && rest.reset == nil)
    }
}
