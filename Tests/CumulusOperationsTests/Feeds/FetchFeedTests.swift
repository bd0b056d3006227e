// Pages of feeds: what a device is told since its token, what it is not told, and what is reset.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct FetchFeedTests {
    private let store: TestStore
    private let phone = Caller(role: .user("_alice"), device: [1])
    private let tablet = Caller(role: .user("_alice"), device: [2])

    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        try store.save([SaveItem("old", ["stars": 1, "title": "a"])])
    }

    // MARK: Parts

    private func subscribe(
        _ id: String,
        _ kind: Subscription.Kind,
        options: Subscription.Options = .standard,
        info: Subscription.NotificationInfo? = nil,
        in database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws {
        let subscription = Subscription(
            id: id,
            kind: kind,
            options: options,
            notificationInfo: info
        )
        let modify = ModifySubscriptions(in: database, saving: [subscription])
        #expect(try store.modify(modify, by: caller).codes == [nil])
    }

    private var many: Subscription.Kind {
        .query(recordType: "Note", predicate: .field("stars") > Int64(1))
    }

    private func page(
        since token: FeedToken?,
        by caller: Caller? = nil,
        through end: UInt64? = nil,
        change: (inout FetchFeed) -> Void = { _ in }
    ) throws -> FetchFeed.Page {
        var fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        change(&fetch)
        let number = try store.scopeNumber()
        let (caller, reader) = (caller ?? phone, store.reader)
        guard let end else { return try fetch.run(store.scope, number, by: caller, in: reader) }
        let head = try FeedHead(of: number, in: reader)
        var page = try fetch.begin(store.scope, number, at: head, by: caller, in: reader)
        let read = try #require(page.read)
        let found = try read.run(fetch, at: head, through: end, leavingOut: 0, in: reader)
        page.take(found, of: fetch, with: [])
        return page
    }

    /// The token of a device that has asked its queries.
    private func start(by caller: Caller? = nil) throws -> FeedToken {
        try page(since: page(since: nil, by: caller).token, by: caller).token
    }

    /// The news of a page, with one line for each.
    private func lines(_ page: FetchFeed.Page) -> [String] {
        page.news.map { news in
            switch news.change {
            case .record(let zone, let name, let reason, let transition):
                "\(news.subscription.id) \(zone)/\(name) \(reason) \(transition)"
            case .zoneDeleted(let zone): "\(news.subscription.id) \(zone) is gone"
            case .zones(let zones): "\(news.subscription.id) \(zones.map(\.name))"
            }
        }
    }

    private let zone = "_defaultZone"
    private let custom = ZoneAddress(name: "z")

    // MARK: Records

    @Test func aRecordsWayThroughAPredicateIsTold() throws {
        try subscribe("s", many)
        var token = try start()
        func told() throws -> [String] {
            let page = try page(since: token)
            token = page.token
            #expect(page.isLast && page.reset == nil)
            return lines(page)
        }
        try store.save([SaveItem("n", ["stars": 1])], by: tablet)
        #expect(try told() == [])
        try store.save([SaveItem("n", ["stars": 2])], by: tablet)
        #expect(try told() == ["s \(zone)/n updated entered"])
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        #expect(try told() == ["s \(zone)/n updated stayed"])
        try store.save([SaveItem("m", ["stars": 3])], by: tablet)
        #expect(try told() == ["s \(zone)/m created entered"])
        try store.save([SaveItem("n", ["stars": 0])], by: tablet)
        #expect(try told() == ["s \(zone)/n updated left"])
        try store.delete([DeleteItem("m"), DeleteItem("n")], by: tablet)
        #expect(try told() == ["s \(zone)/m deleted left"])
        #expect(try told() == [])
    }

    @Test func severalChangesOfARecordAreToldAsOne() throws {
        try subscribe("s", many)
        let token = try start()
        try store.save([SaveItem("n", ["stars": 2])], by: tablet)
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        try store.save([SaveItem("m", ["stars": 2])], by: tablet)
        try store.save([SaveItem("m", ["stars": 1])], by: tablet)
        #expect(lines(try page(since: token)) == ["s \(zone)/n created entered"])
    }

    /// A device that asks its queries after a page may have found what disappeared before the next
    /// one.
    @Test func whatCameAndWentIsToldToADeviceThatAsked() throws {
        func comeAndGo(_ name: String) throws {
            try store.save([SaveItem(name, ["stars": 2])], by: tablet)
            try store.save([SaveItem(name, ["stars": 1])], by: tablet)
        }
        func told(_ page: FetchFeed.Page) -> [String] {
            lines(page).filter { $0.hasPrefix("s ") }
        }
        try subscribe("s", many)
        var first = try page(since: nil)
        for name in ["a", "b"] {
            try comeAndGo(name)
            let next = try page(since: first.token)
            #expect(told(next) == ["s \(zone)/\(name) updated uncertainMiss"])
            // Records that come and go after that are not told.
            try comeAndGo("later")
            #expect(told(try page(since: next.token)) == [])
            // A device that is told to ask again may hold later records again.
            let other = Query.Predicate.field("title") == name
            try subscribe("s\(name)", .query(recordType: "Note", predicate: other))
            first = try page(since: next.token)
            #expect(first.reset != nil)
        }
        // The pages of one call may be made before the device has asked.
        try comeAndGo("c")
        let second = try page(since: first.token) { $0.isAsking = true }
        #expect(told(second) == ["s \(zone)/c updated uncertainMiss"])
        try comeAndGo("d")
        let third = try page(since: second.token)
        #expect(told(third) == ["s \(zone)/d updated uncertainMiss"])
        // A page in the middle of a read makes no difference.
        try comeAndGo("e")
        try comeAndGo("f")
        let head = try FeedHead(of: store.scopeNumber(), in: store.reader)
        let cut = try page(since: second.token, through: head.lastPosition - 1)
        #expect(!cut.isLast && cut.token.isAsking)
        #expect(try !page(since: cut.token).token.isAsking)
    }

    @Test func theDeviceThatMadeAChangeIsNotToldOfIt() throws {
        try subscribe("s", many)
        let tokens = (phone: try start(), tablet: try start(by: tablet))
        try store.save([SaveItem("n", ["stars": 2])], by: phone)
        #expect(lines(try page(since: tokens.phone)) == [])
        #expect(lines(try page(since: tokens.tablet, by: tablet)).count == 1)
        // The device is told of its own change once another device changes the record, too.
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        #expect(lines(try page(since: tokens.phone)) == ["s \(zone)/n created entered"])
    }

    @Test func onlyWhatASubscriptionAsksForIsTold() throws {
        try subscribe("c", many, options: .firesOnRecordCreation)
        try subscribe("d", many, options: .firesOnRecordDeletion)
        try subscribe("u", many, options: .firesOnRecordUpdate)
        var token = try start()
        try store.save([SaveItem("n", ["stars": 2])], by: tablet)
        let created = try page(since: token)
        #expect(lines(created) == ["c \(zone)/n created entered"])
        token = created.token
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        let updated = try page(since: token)
        #expect(lines(updated) == ["u \(zone)/n updated stayed"])
        try store.delete([DeleteItem("n")], by: tablet)
        #expect(lines(try page(since: updated.token)) == ["d \(zone)/n deleted left"])
    }

    /// The subscription tells of the commit on which it fired, even later, and can be saved again.
    @Test func aSubscriptionThatFiresOnceIsGoneThen() throws {
        let options: Subscription.Options = [.firesOnRecordUpdate, .firesOnce]
        try subscribe("s", many, options: options)
        let token = try start()
        try store.save([SaveItem("n", ["stars": 2])], by: tablet)
        #expect(lines(try page(since: token)) == [], "a creation is no update")
        #expect(try store.subscriptions().map(\.id) == ["s"])
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        #expect(try store.subscriptions().isEmpty)
        try store.save([SaveItem("n", ["stars": 4])], by: tablet)
        try store.save([SaveItem("old", ["stars": 4])], by: tablet)
        let first = try page(since: token)
        #expect(first.reset == nil)
        #expect(lines(first) == ["s \(zone)/n updated stayed"])
        #expect(lines(try page(since: first.token)) == [])
        let delete = ModifySubscriptions(in: .private, deleting: ["s", "s"])
        #expect(try store.modify(delete).codes == [nil, .unknownItem])
        try subscribe("s", many, options: options)
        #expect(try store.subscriptions().map(\.id) == ["s"])
        let second = try page(since: first.token)
        #expect(second.reset != nil)
        try store.save([SaveItem("n", ["stars": 5])], by: tablet)
        #expect(lines(try page(since: second.token)) == ["s \(zone)/n updated stayed"])
    }

    @Test func subscriptionsOfOthersAreNotTold() throws {
        try subscribe("s", many, in: .public)
        let bob = Caller(role: .user("_bob"), device: [3])
        let token = try start(by: bob)
        try store.save([SaveItem("n", ["stars": 2])], in: .public, by: tablet)
        #expect(lines(try page(since: token, by: bob)) == [])
        #expect(throws: ReadFailure.self) { try page(since: token, by: phone) }
        #expect(throws: ReadFailure.self) { try start(by: Caller(role: .anonymous)) }
    }

    // MARK: Zones

    @Test func zonesAreToldAsAWhole() throws {
        try subscribe("all", .database())
        try subscribe("z", .zone(RecordZone.ID(zoneName: "z")))
        let token = try start()
        try store.save([SaveItem("n", ["stars": 2])], by: tablet)
        #expect(lines(try page(since: token)) == [], "the default zone is none of them")
        try store.modify(ModifyZones(saving: ["y"]), by: tablet)
        let one = try page(since: token)
        #expect(lines(one) == ["all [\"y\"]"])
        try store.save([SaveItem("n", ["stars": 2], in: custom)], by: tablet)
        try store.save([SaveItem("n", ["stars": 3], in: custom)], by: tablet)
        #expect(lines(try page(since: one.token)) == ["all [\"z\"]", "z [\"z\"]"])
        #expect(lines(try page(since: one.token, by: tablet)) == [])
        #expect(lines(try page(since: token)) == ["all [\"y\", \"z\"]", "z [\"z\"]"])
    }

    /// Nothing is left of the former watch; when the zone is watched again, the feed begins there.
    @Test func zonesAreWatchedAgain() throws {
        let kinds: [Subscription.Kind] = [.database(), .zone(RecordZone.ID(zoneName: "z"))]
        for (number, kind) in kinds.enumerated() {
            try subscribe("s", kind)
            let token = try start()
            try store.save([SaveItem("n\(number)", ["stars": 2], in: custom)], by: tablet)
            #expect(lines(try page(since: token)) == ["s [\"z\"]"])
            #expect(try store.modify(ModifySubscriptions(deleting: ["s"])).codes == [nil])
            #expect(try store.reader.rows(.meta, .all(.watchedHead)).isEmpty)
            #expect(lines(try page(since: token)) == [])
            try subscribe("s", kind)
            let again = try page(since: token)
            let name = SubscriptionName(databaseScope: .private, subscriptionID: "s")
            #expect(again.reset == .subscriptions([name]) && lines(again) == [])
            try store.save([SaveItem("n\(number)", ["stars": 3], in: custom)], by: tablet)
            #expect(lines(try page(since: again.token)) == ["s [\"z\"]"])
            #expect(try store.modify(ModifySubscriptions(deleting: ["s"])).codes == [nil])
        }
    }

    /// Each device leaves a head in each run of a node, which no feed tells after the retention.
    @Test func oldHeadsOfWatchedZonesAreDropped() throws {
        try subscribe("all", .database())
        let token = try start()
        for number in 0..<3 as Range<Int64> {
            try store.restart()
            try store.save([SaveItem("n", ["stars": .int64(number)], in: custom)], by: tablet)
        }
        func heads() throws -> Int { try store.reader.rows(.meta, .all(.watchedHead)).count }
        #expect(try heads() == 3)
        let told = try page(since: token)
        #expect(lines(told) == ["all [\"z\"]"])
        try store.forgetFeeds()
        #expect(try heads() == 0)
        #expect(try page(since: token).reset == .all)
        let next = try page(since: told.token)
        #expect(next.reset == nil && lines(next) == [])
        try store.save([SaveItem("n", ["stars": 7], in: custom)], by: tablet)
        #expect(lines(try page(since: next.token)) == ["all [\"z\"]"])
    }

    @Test func aDeletedZoneIsToldOnce() throws {
        try store.save([SaveItem("n", ["stars": 2], in: custom)], by: tablet)
        try subscribe("s", many)
        let token = try start()
        try store.modify(ModifyZones(deleting: ["z"]), by: tablet)
        #expect(lines(try page(since: token)) == ["s z is gone"])
    }

    // MARK: Resets

    @Test func aSubscriptionThatIsNewerThanTheTokenIsReset() throws {
        try subscribe("s", many)
        let token = try start()
        try subscribe("t", .query(recordType: "Note", predicate: .field("stars") > Int64(2)))
        try store.save([SaveItem("n", ["stars": 5])], by: tablet)
        let page = try page(since: token)
        let name = SubscriptionName(databaseScope: .private, subscriptionID: "t")
        #expect(page.reset == .subscriptions([name]))
        #expect(lines(page) == ["s \(zone)/n created entered"])
        try store.save([SaveItem("n", ["stars": 6])], by: tablet)
        let next = try self.page(since: page.token)
        #expect(next.reset == nil)
        #expect(lines(next).count == 2)
    }

    /// Only the last page of a read says that a subscription is newer than the token.
    @Test func aLongReadResetsASubscriptionOnce() throws {
        try subscribe("s", many)
        var token = try start()
        try subscribe("t", .query(recordType: "Note", predicate: .field("stars") > Int64(2)))
        for batch in 0..<10 {
            let items = (0..<240).map { SaveItem("\(batch)-\($0)", ["stars": 2]) }
            try store.save(items, by: tablet)
        }
        var resets: [FeedReset?] = []
        repeat {
            let page = try page(since: token)
            resets.append(page.reset)
            token = page.token
        } while token.progress != nil
        let name = SubscriptionName(databaseScope: .private, subscriptionID: "t")
        #expect(resets.count > 1)
        let last = resets.removeLast()
        #expect(last == .subscriptions([name]))
        #expect(resets.allSatisfy { $0 == nil })
    }

    @Test func whatIsNoLongerKnownIsReset() throws {
        try subscribe("s", many)
        let token = try start()
        try store.save([SaveItem("n", ["stars": 5])], by: tablet)
        try store.forgetFeeds()
        try store.save([SaveItem("n", ["stars": 6])], by: tablet)
        let page = try page(since: token)
        #expect(page.reset == .all)
        #expect(try self.page(since: token) { $0.isLost = true }.reset == .all)
        try store.save([SaveItem("n", ["stars": 7])], by: tablet)
        #expect(lines(try self.page(since: page.token)) == ["s \(zone)/n updated stayed"])
    }

    // MARK: Pages

    /// There are more changes than a page holds.
    ///
    /// Each record is told once, also from the place that a follower keeps.
    @Test func pagesFollowEachOther() throws {
        try subscribe("s", many)
        let first = try start()
        let (total, batch) = (5_000, 250)
        for begin in stride(from: 0, to: total, by: batch) {
            let items = (begin..<begin + batch).map { SaveItem("n\($0)", ["stars": 2]) }
            try store.save(items, by: tablet)
        }
        var (token, told, pages) = (first, Set<String>(), 0)
        while true {
            let page = try page(since: token)
            for line in lines(page) { #expect(told.insert(line).inserted) }
            (token, pages) = (page.token, pages + 1)
            if page.isLast { break }
        }
        #expect(told.count == total)
        #expect(pages > 1)
        // Only this run of the node goes on in the middle of a read.
        let part = try page(since: first)
        #expect(!part.isLast)
        let elsewhere = try page(since: part.token) { $0.run = Incarnation(1) }
        #expect(lines(elsewhere) == lines(part))
    }

    /// A page that ends earlier tells a record as it was there, and the next page goes on.
    @Test func aPageEndsWhereItIsTold() throws {
        try subscribe("s", many)
        let start = try page(since: nil)
        try store.save([SaveItem("n", ["stars": 2])], by: tablet)
        try store.save([SaveItem("m", ["stars": 2])], by: tablet)
        try store.save([SaveItem("n", ["stars": 3])], by: tablet)
        let part = try page(since: start.token, through: start.lastPosition + 1)
        #expect(lines(part) == ["s \(zone)/n created entered"])
        #expect(!part.isLast)
        let rest = try page(since: part.token)
        #expect(lines(rest) == ["s \(zone)/m created entered", "s \(zone)/n updated stayed"])
        #expect(rest.isLast)
    }

    /// A page that is not the last one tells a record of a custom zone as it is now.
    ///
    /// The change that brought it there comes with a later page, and counts as entering although
    /// the device has the record.
    @Test func whatWasToldAsItIsEntersWithALaterPage() throws {
        try subscribe("s", many)
        let start = try page(since: start())
        for stars: Int64 in [2, 0, 3] {
            try store.save([SaveItem("n", ["stars": .int64(stars)], in: custom)], by: tablet)
        }
        let part = try page(since: start.token, through: start.lastPosition + 2)
        #expect(lines(part) == ["s z/n updated uncertainMatch"] && !part.isLast)
        let rest = try page(since: part.token)
        #expect(lines(rest) == ["s z/n updated entered"] && rest.isLast)
    }

    /// A device that goes on at another node in the middle may hold records that came and went.
    ///
    /// It is told of these, even by later pages there.
    @Test func whatCameBeforeACutIsTakenBack() throws {
        try subscribe("s", many)
        let start = try page(since: start())
        let other = try TestStore(copying: store, seed: 2)
        for name in ["n", "m"] { try store.save([SaveItem(name, ["stars": 2])], by: tablet) }
        try store.save([SaveItem("o", ["stars": 2])], by: tablet)
        let early = try page(since: start.token, through: start.lastPosition + 2)
        #expect(lines(early).count == 2 && !early.isLast)
        try store.save([SaveItem("n", ["stars": 0])], by: tablet)
        try store.delete([DeleteItem("m")], by: tablet)

        // A node that lacks changes that the device was told of can't go on.
        func behind(_ other: TestStore) throws -> FetchFeed.Page {
            let fetch = FetchFeed(
                since: early.token,
                run: other.state.incarnation,
                environment: other.scope.environment
            )
            let number = try other.scopeNumber()
            return try fetch.run(other.scope, number, by: phone, in: other.reader)
        }
        let failure = #expect(throws: ReadFailure.self) { try behind(other) }
        guard case .service(let refusal)? = failure else {
            Issue.record("it was not refused: \(String(describing: failure))")
            return
        }
        #expect(refusal.reason == .nodeBehind)

        func elsewhere(_ token: FeedToken, end: UInt64? = nil) throws -> FetchFeed.Page {
            try page(since: token, through: end) { $0.run = Incarnation(1) }
        }
        let told = ["o created entered", "n updated uncertainMiss", "m deleted uncertainMiss"]
            .map { "s \(zone)/\($0)" }
        #expect(lines(try elsewhere(early.token)) == told)
        // A later window of the same run tells the same: an earlier one may have told the state
        // after concurrent changes.
        #expect(lines(try page(since: early.token)) == told)
        // A device that begins at the same place, and was told nothing, has nothing to drop.
        #expect(lines(try elsewhere(start.token)) == [told[0]])

        // The first page there ends before all changes.
        let first = try elsewhere(early.token, end: start.lastPosition)
        #expect(lines(first) == [] && first.token.progress?.isCut == true)
        let second = try elsewhere(first.token)
        #expect(lines(second) == told && second.isLast)

        // A record that left in a window that is not the last may have come again.
        try store.save([SaveItem("o", ["stars": 0])], by: tablet)
        let half = try page(since: second.token, through: second.lastPosition)
        let last = try elsewhere(try elsewhere(half.token, end: second.lastPosition).token)
        #expect(lines(last) == ["s \(zone)/o updated uncertainMiss"])
        #expect(lines(try elsewhere(half.token)) == ["s \(zone)/o updated uncertainMiss"])
        let token = first.token
        #expect(try FeedToken(content: token.content) == token)
    }

    /// The device stays within pages, or connected, until the rows behind its place are dropped.
    @Test func aPlaceWhoseRowsAreGoneIsReset() throws {
        try subscribe("s", many)
        let start = try page(since: nil)
        for name in ["n", "m"] { try store.save([SaveItem(name, ["stars": 2])], by: tablet) }
        let part = try page(since: start.token, through: start.lastPosition + 1)
        #expect(!part.isLast)
        try store.forgetFeeds()
        #expect(try page(since: part.token).reset == .all)
        #expect(try page(since: start.token) { $0.position = start.lastPosition }.reset == .all)
        store.now += 2_000
        try store.save([SaveItem("o", ["stars": 2])], by: tablet)
        #expect(try page(since: part.token).reset == .all)
        #expect(try page(since: start.token) { $0.position = start.lastPosition }.reset == .all)
    }

    /// Nothing happened since the device was told last, and there is no milestone at that place
    /// yet.
    @Test func aDeviceThatIsUpToDateOutlastsTheRows() throws {
        try subscribe("s", many)
        for name in ["n", "m"] { try store.save([SaveItem(name, ["stars": 2])], by: tablet) }
        let token = try start()
        try store.forgetFeeds()
        #expect(try page(since: token).reset == nil)
        try store.save([SaveItem("o", ["stars": 2])], by: tablet)
        let next = try page(since: token)
        #expect(next.reset == nil && lines(next) == ["s \(zone)/o created entered"])
    }

    /// Even with very many topics, no more rows are read than a page holds.
    @Test func pagesOfManyTopicsAreBounded() throws {
        for number in 0..<40 {
            let predicate: Query.Predicate = .field("stars") > Int64(number)
            try subscribe("s\(number)", .query(recordType: "Note", predicate: predicate))
        }
        var token = try start()
        for begin in stride(from: 0, to: 600, by: 100) {
            let items = (begin..<begin + 100).map { SaveItem("n\($0)", ["stars": 100]) }
            try store.save(items, by: tablet)
        }
        var (told, pages) = (0, 0)
        repeat {
            let page = try page(since: token)
            // One commit has 4,000 changes.
            #expect(page.news.count <= 8_000)
            (told, pages, token) = (told + page.news.count, pages + 1, page.token)
            if page.isLast { break }
        } while pages < 100
        #expect(told == 40 * 600)
        #expect(pages > 2)
    }

    @Test func aFollowerGoesOnFromItsPlace() throws {
        try subscribe("s", many)
        let start = try page(since: nil)
        try store.save([SaveItem("n", ["stars": 2])], by: tablet)
        let page = try page(since: start.token) { $0.position = start.lastPosition }
        #expect(lines(page) == ["s \(zone)/n created entered"])
        #expect(lines(try self.page(since: page.token) { $0.position = page.lastPosition }) == [])
    }

    // MARK: What is shown

    @Test func aNotificationShowsTheRecordAsItIsNow() throws {
        var info = Subscription.NotificationInfo()
        (info.alertLocalizationKey, info.alertLocalizationArgs) = ("NEW", ["title", "stars"])
        info.desiredKeys = ["title", "stars"]
        try subscribe("s", many, info: info)
        let token = try start()
        let title = String(repeating: "ä", count: 150)
        try store.save([SaveItem("n", ["stars": 2, "title": .string(title)])], by: tablet)
        let notification = try #require(try notifications(since: token).first)
        guard case .record(let record) = notification.news else {
            Issue.record("\(notification)")
            return
        }
        let short = String(repeating: "ä", count: 100)
        #expect(record.fields == ["stars": 2, "title": .string(short)])
        #expect(notification.notificationInfo?.alertLocalizationArgs == [short, "2"])
        #expect(notification.notificationInfo?.desiredKeys == [])
        #expect(notification.changedBy?.recordName == "_alice")
        #expect(!notification.isPruned)
        try store.delete([DeleteItem("n")], by: tablet)
        #expect(try notifications(since: token).isEmpty, "it came and went")
    }

    /// Parts are dropped in CloudKit's order, and no more than necessary.
    @Test func aLargeNotificationIsPruned() throws {
        var info = Subscription.NotificationInfo()
        info.desiredKeys = ["title"]
        info.soundName = String(repeating: "s", count: 300)
        info.alertLaunchImage = String(repeating: "i", count: 300)
        info.title = String(repeating: "t", count: 300)
        try subscribe("s", many, info: info)
        let token = try start()
        try store.save([SaveItem("n", ["stars": 2, "title": "a"])], by: tablet)
        func parts(_ limit: Int) throws -> [Bool] {
            let told = try #require(try notifications(since: token, byteLimit: limit).first)
            guard case .record(let record) = told.news else { return [] }
            let info = told.notificationInfo
            return [
                !record.fields.isEmpty, info?.soundName != nil, info?.alertLaunchImage != nil,
                info?.title != nil, told.isPruned,
            ]
        }
        #expect(try parts(4_096) == [true, true, true, true, false])
        #expect(try parts(1_000) == [false, true, true, true, true])
        #expect(try parts(800) == [false, false, true, true, true])
        #expect(try parts(500) == [false, false, false, true, true])
        #expect(try parts(10) == [false, false, false, false, true])
    }

    private func notifications(
        since token: FeedToken,
        byteLimit: Int = 4_096
    ) throws -> [FeedNotification] {
        let number = try store.scopeNumber()
        return try page(since: token).news.map { news in
            try news.notification(
                FeedNotification.ID(bytes: news.identity),
                in: number,
                byteLimit: byteLimit,
                store.reader
            )
        }
    }

    // MARK: Tokens

    @Test func tokensAreReadAsTheyWereWritten() throws {
        try subscribe("s", many)
        var token = try start()
        #expect(try FeedToken(content: token.content) == token)
        token.isAsking = true
        #expect(try FeedToken(content: token.content) == token)
        token.progress = FeedToken.Progress(run: Incarnation(7), first: 3, position: 9)
        #expect(try FeedToken(content: token.content) == token)
        let content = token.content
        for end in content.indices {
            #expect(throws: MalformedBytes.self) { try FeedToken(content: Bytes(content[..<end])) }
        }
        #expect(throws: MalformedBytes.self) { try FeedToken(content: content + [0]) }
        var dice = SeededGenerator(seed: 5)
        for _ in 0..<2_000 {
            var bytes = content
            bytes[Int.random(in: bytes.indices, using: &dice)] = UInt8.random(
                in: 0...255,
                using: &dice
            )
            _ = try? FeedToken(content: bytes)
        }
    }
}
