// A device that follows its user's subscriptions at one node after the other, page by page, and
// keeps which records match, as an application does.
//
// `SimulatedCluster` drives it. The device makes the queries that a first page or a reset calls for
// later, at any node that has read the page's token, and then goes on; the page behind may come
// before that. After a last page, the device must hold for each subscription exactly the results of
// a query on that node. No notification may come twice, no record may leave that was not there, and
// tokens may not go back. A difference is a fault, which the checkers report. A mark that the user
// sets at one node must reach all nodes, see `RoamingMarks`.

import Crypto
import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage

package struct RoamingFeed {
    private let caller: Caller
    private let broken: BrokenRules
    private var dice: SeededGenerator
    /// Decides the lengths of pages, and nothing else.
    private var cuts: SeededGenerator
    private var token: CumulusOperations.FeedToken?
    /// The state that a node keeps for a device that it follows; nil if the device is not up to
    /// date.
    private var stay: (run: Incarnation, position: UInt64, watches: FeedWatches)?
    /// Leaves out what a feed tells again, as the client does.
    private var repeats = FeedRepeats()
    private var sinceCheckpoint: Set<FeedNotification.ID> = []
    /// The node's run that made the last page.
    private var run: Incarnation?
    /// The queries of the subscriptions, by their ids.
    private var queries: [String: Query] = [:]
    /// The records that match.
    private var copy: FeedCopy<Dot>
    /// Whether the device watches which zones change, and how far it has fetched that.
    private var zones: (isWatched: Bool, token: ChangeToken?) = (false, nil)
    /// The zones with notifications since then.
    private var toldZones: Set<String> = []
    /// The subscriptions that it has yet to ask anew.
    private var unasked: Set<String> = []
    /// A page that came before it has asked.
    private var early: FetchFeed.Page?
    /// The vector of the last node that it asked: its session goes on at no node that lacks it.
    private var asked = VersionVector()
    private var marks: RoamingMarks

    /// The events of the last step, in words.
    private(set) var story: [String] = []
    /// Broken promises, in words.
    var faults: [String] { copy.faults }
    /// How often each kind of event happened.
    var counts: [String: Int] { copy.counts }

    /// - Parameter seed: Seeds dice of its own, so that the rest of the history does not change.
    init(_ user: String, device: Bytes, seed: UInt64, breaking broken: BrokenRules) {
        caller = Caller(role: .user(user), device: device)
        copy = FeedCopy(of: user)
        self.broken = broken
        dice = SeededGenerator(seed: seed)
        cuts = SeededGenerator(seed: seed &+ 0xC07)
        marks = RoamingMarks(seed: seed)
    }

    // MARK: Marks

    /// Marks some notifications as read, and checks that earlier marks are there.
    ///
    /// - Parameter isSettling: Whether nothing more is marked.
    mutating func mark(at store: TestStore, isSettling: Bool) throws {
        if !isSettling, try marks.step(upTo: token, by: caller, at: store) {
            copy.counts["feeds: marks", default: 0] += 1
        }
        copy.faults += try marks.missing(of: caller.user, at: store)
    }

    // MARK: Subscriptions

    /// Now and then saves another subscription at a node, up to three.
    mutating func subscribe(at store: TestStore) throws {
        guard queries.count < 3, Int.random(in: 0..<3, using: &dice) == 0 else { return }
        if !zones.isWatched {
            zones.isWatched = true
            try save(Subscription(id: zonesID, kind: .database()), at: store)
        }
        let schema = try store.reader.typeSchema(store.scopeNumber(), RandomRequests.recordType)
        let predicate = self.predicate().canonical(in: schema, for: caller.user)
        let id = "\(caller.device.hex)-\(queries.count)"
        let kind = Subscription.Kind.query(
            recordType: RandomRequests.recordType,
            predicate: predicate
        )
        try save(Subscription(id: id, kind: kind), at: store)
        queries[id] = Query(recordType: RandomRequests.recordType, predicate: predicate)
    }

    private var zonesID: String { "\(caller.device.hex)-zones" }

    private mutating func save(_ subscription: Subscription, at store: TestStore) throws {
        let stored = StoredSubscription(
            user: caller.user,
            database: DatabaseID(kind: .private, owner: caller.user),
            subscription
        )
        let register = Commit.Register(
            namespace: StoredSubscription.namespace,
            key: stored.key,
            value: stored.subscription.storedBytes
        )
        let (scope, author) = (try store.scopeNumber(), Author(user: caller.user))
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.perform([.register(register)], in: scope, zone: nil, author: author)
        }
        copy.counts["feeds: subscriptions", default: 0] += 1
    }

    private mutating func predicate() -> Query.Predicate {
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: .field("title") == (Bool.random(using: &dice) ? "one" : "two")
        case 1: .field("votes") == Int64.random(in: -2...2, using: &dice)
        case 2: .field("votes") > Int64.random(in: -3...3, using: &dice)
        default: .field("title") == "one" && .field("votes") > 0
        }
    }

    // MARK: Pages

    /// Fetches a page at a node, or asks what an earlier page calls for.
    ///
    /// - Parameter isSettling: Whether nothing more is written.
    mutating func step(on store: TestStore, isSettling: Bool) throws {
        story = []
        let runs = try store.reader.runs(of: store.scopeNumber())
        if unasked.isEmpty {
            guard runs.covers(asked) else { return }
            if let page = try fetch(from: store) { try take(page, from: store) }
        } else if early == nil, isFollowed(by: store), Bool.random(using: &dice) {
            early = try fetch(from: store)
            copy.counts["feeds: early pages", default: 0] += early == nil ? 0 : 1
        } else {
            try askAnew(at: store, runs, hasGuest: !isSettling && Bool.random(using: &dice))
        }
    }

    /// Whether a node makes pages for the device on a connection that is open.
    private func isFollowed(by store: TestStore) -> Bool {
        stay?.run == store.state.incarnation
    }

    /// Asks at a node, and then takes the page that came before.
    private mutating func askAnew(
        at store: TestStore,
        _ runs: Runs,
        hasGuest: Bool
    ) throws {
        // A session goes on at no node that lacks what the session has seen.
        guard let last = early?.token ?? token, runs.covers(last.needed), runs.covers(asked)
        else { return }
        if hasGuest { try save("guest", at: store) }
        let runs = try store.reader.runs(of: store.scopeNumber())
        for id in unasked.sorted() where queries[id] != nil {
            let found = try ask(id, store)
            story.append("  finds \(found.sorted()) for \(id)")
            copy.hold(found, of: id, isAhead: true)
        }
        if unasked.contains(zonesID) { _ = try fetchZones(at: store) }
        if hasGuest { try store.delete([DeleteItem("guest")], by: Caller(role: caller.role)) }
        (unasked, asked) = ([], runs.shortVector)
        guard let page = early else { return }
        early = nil
        try take(page, from: store, isEarly: true)
    }

    /// Saves a record that matches most subscriptions, and is there only while the device asks.
    private func save(_ name: String, at store: TestStore) throws {
        let item = SaveItem(name, ["title": "one", "votes": 2], type: RandomRequests.recordType)
        try store.save([item], by: Caller(role: caller.role))
    }

    /// The next page at a node; nil if it refuses.
    private mutating func fetch(from store: TestStore) throws -> FetchFeed.Page? {
        var fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        fetch.broken = broken
        // Every second page comes over a new connection; a page that comes early does not.
        let isEven = counts["feeds: pages", default: 0].isMultiple(of: 2)
        let isConnected = run == fetch.run && (isEven || !unasked.isEmpty)
        if let stay, stay.run == fetch.run, isConnected {
            (fetch.position, fetch.watches) = (stay.position, (stay.watches, stay.position))
            fetch.isAsking = token?.isAsking ?? false
            copy.counts["feeds: followed", default: 0] += 1
        }
        if !isConnected { repeats.begin() }
        do {
            let page = try page(of: fetch, from: store)
            run = fetch.run
            stay = page.isLast ? (fetch.run, page.lastPosition, page.watches) : nil
            return page
        } catch ReadFailure.service(let error) {
            copy.counts["feeds: \(error.code)", default: 0] += 1
            switch error.code {
            case .serviceUnavailable where error.reason == .nodeBehind: break
            case .changeTokenExpired: (token, stay, unasked) = (nil, nil, [])
            default: copy.faults.append("a feed failed: \(error)")
            }
            return nil
        }
    }

    /// A page; about one in three ends before it must.
    private mutating func page(
        of fetch: FetchFeed,
        from store: TestStore
    ) throws -> FetchFeed.Page {
        let (number, reader) = (try store.scopeNumber(), store.reader)
        let head = try FeedHead(of: number, in: reader)
        var page = try fetch.begin(store.scope, number, at: head, by: caller, in: reader)
        guard let read = page.read else { return page }
        var end = head.lastPosition
        if Int.random(in: 0..<3, using: &cuts) == 0, head.lastPosition > read.from {
            end = UInt64.random(in: read.from..<head.lastPosition, using: &cuts)
            copy.counts["feeds: cut pages", default: 0] += 1
        }
        let ownDevice = TopicEvent.deviceDigest(caller.device, of: caller.user)
        let found = try read.run(fetch, at: head, through: end, leavingOut: ownDevice, in: reader)
        page.take(found, of: fetch, with: [])
        return page
    }

    /// - Parameters:
    ///   - store: The node that made the page, or the node that the device asked if the page came
    ///     early.
    ///   - isEarly: Whether the device asked after the page was made.
    private mutating func take(
        _ page: FetchFeed.Page,
        from store: TestStore,
        isEarly: Bool = false
    ) throws {
        copy.counts["feeds: pages", default: 0] += 1
        let isNew = token == nil
        if let token {
            let runs = try store.reader.runs(of: store.scopeNumber())
            if !runs.whole(page.token.base).covers(runs.whole(token.base)) {
                copy.faults.append("a feed's token of \(caller.user) went back")
            }
        }
        token = page.token
        story.append("  takes a page: \(page.reset.map { "\($0)" } ?? "no reset")")
        let first = story.count
        for news in page.news { note(news) }
        // A page's news have no order.
        story[first...].sort()
        switch page.reset {
        case nil where !isNew: break
        case nil, .all:
            copy.counts["feeds: resets", default: 0] += 1
            for id in queries.keys { copy.forget(id) }
            unasked = Set(try known(at: store) + [zonesID])
        case .subscriptions(let anew):
            copy.counts["feeds: subscriptions reset", default: 0] += 1
            for id in anew.map(\.subscriptionID) where queries[id] != nil || id == zonesID {
                copy.forget(id)
                unasked.insert(id)
            }
        }
        guard page.isLast else { return }
        (repeats, sinceCheckpoint) = (FeedRepeats(), [])
        if isEarly { return }
        copy.settle()
        try checkZones(at: store)
        for id in try known(at: store) where !unasked.contains(id) {
            copy.compare(try ask(id, store), of: id)
        }
    }

    /// Checks that the device was told of each zone that changed.
    private mutating func checkZones(at store: TestStore) throws {
        let isKnown = try store.reader.subscriptions(in: store.scopeNumber(), of: caller.user)
            .contains { $0.subscription.id == zonesID }
        guard isKnown, !unasked.contains(zonesID) else { return }
        let told = toldZones
        toldZones = []
        if !told.isEmpty { copy.counts["feeds: zones told", default: 0] += 1 }
        guard let changed = try fetchZones(at: store) else { return }
        let missing = changed.subtracting(told)
        if !missing.isEmpty {
            copy.faults.append("\(caller.user) was not told that \(missing.sorted()) changed")
        }
    }

    /// The zones that changed since the last fetch; nil if that is no longer known.
    private mutating func fetchZones(at store: TestStore) throws -> Set<String>? {
        var changed: Set<String>? = zones.token == nil ? nil : []
        while true {
            let fetch = FetchDatabaseChanges(
                database: .private,
                since: zones.token,
                limit: 100
            )
            do {
                let number = try store.scopeNumber()
                let page = try fetch.run(store.scope, number, by: caller, in: store.reader)
                zones.token = page.token
                changed?.formUnion(page.changed.map(\.name))
                changed?.formUnion(page.deletions.map(\.zone.name))
                if !page.moreComing { return changed }
            } catch ReadFailure.service(let error) where error.reason == .nodeBehind {
                // It fetched them last at a node that had read more, and begins anew here.
                zones.token = nil
                return nil
            } catch ReadFailure.service(let error) where error.code == .changeTokenExpired {
                // The device then fetches everything anew.
                (zones.token, changed) = (nil, nil)
            }
        }
    }

    private mutating func note(_ news: FeedNews) {
        let id = news.subscription.id
        if id == zonesID, case .zones(let zones) = news.change {
            toldZones.formUnion(zones.map(\.name))
        }
        guard queries[id] != nil else { return }
        let notification = self.notification(news)
        guard repeats.isNews(notification) else {
            copy.counts["feeds: left out", default: 0] += 1
            return
        }
        let isNew = sinceCheckpoint.insert(notification.id).inserted
        switch news.change {
        case .record(let zone, let name, _, let transition):
            let record = "\(zone)/\(name)"
            let change = "\(transition.matches ? "enters" : "leaves") \(id), \(news.stamp.dot)"
            story.append("  \(record) \(change)\(transition.isUncertain ? ", uncertain" : "")")
            if isNew {
                copy.note(transition, of: record, id, news.stamp.dot)
            } else {
                copy.apply(transition, of: record, id)
            }
        case .zoneDeleted(let zone): copy.note(deletedZone: zone, id)
        case .zones: break
        }
    }

    /// The notification of news, as the client gets it.
    private func notification(_ news: FeedNews) -> FeedNotification {
        let name = SHA256.hash(data: news.identity).prefix(FeedNotification.ID.byteCount)
        let change: FeedNotification.News =
            switch news.change {
            case .record(let zone, let name, let reason, let transition):
                .record(
                    FeedNotification.RecordNews(
                        recordID: Record.ID(recordName: name, zoneID: .init(zoneName: zone)),
                        recordType: RandomRequests.recordType,
                        reason: reason,
                        transition: transition
                    )
                )
            case .zoneDeleted(let zone): .zoneDeleted(RecordZone.ID(zoneName: zone))
            case .zones(let zones):
                .zones(zones.map { RecordZone.ID(zoneName: $0.name) }, more: false)
            }
        return FeedNotification(
            id: FeedNotification.ID(bytes: Bytes(name)),
            subscriptionID: news.subscription.id,
            databaseScope: news.database.kind,
            news: change,
            changedAt: Timestamp(millisecondsSince1970: news.stamp.time.milliseconds)
        )
    }

    /// The followed subscriptions that a node knows.
    private func known(at store: TestStore) throws -> [String] {
        try store.reader.subscriptions(in: store.scopeNumber(), of: caller.user)
            .map(\.subscription.id).filter { queries[$0] != nil }
    }

    /// The records that the query of a subscription finds on a node.
    private func ask(_ id: String, _ store: TestStore) throws -> Set<String> {
        guard let query = queries[id] else { return [] }
        do {
            let page = try store.query(query, zone: nil, limit: 10_000, by: caller)
            return Set(page.records.map { "\($0.zone.name)/\($0.record.name)" })
        } catch let error as ServiceError where error.code == .invalidArguments {
            // A field has another type by now, so the query is invalid and no record matches.
            return []
        }
    }
}

/// The devices of a history; only every fourth history has devices.
package struct RoamingFeeds {
    package private(set) var devices: [RoamingFeed] = []
    /// Devices that follow public records; only some histories have them, since these write more.
    package private(set) var readers: [RoamingReader] = []
    private var dice: SeededGenerator

    init(seed: UInt64, breaking broken: BrokenRules) {
        dice = SeededGenerator(seed: seed &+ 0xFEED)
        guard seed % 4 == 3 else { return }
        devices = ["_alice", "_bob"].enumerated().map { number, user in
            RoamingFeed(
                user,
                device: [UInt8(number)],
                seed: seed &+ UInt64(number),
                breaking: broken
            )
        }
        guard seed % 28 == 11 else { return }
        readers = RoamingReader.users.enumerated().map { number, user in
            RoamingReader(user, seed: seed &+ UInt64(number), breaking: broken)
        }
    }

    package var isEmpty: Bool { devices.isEmpty }

    /// The nodes at which devices go on at the end of a history, in order.
    func settlingTurns(_ nodes: Int) -> [Int] {
        isEmpty ? [] : (0..<20).flatMap { _ in Array(0..<nodes) }
    }

    /// Now and then lets a device fetch a page of its feed.
    ///
    /// The device may save a subscription before, and the node may forget old feed rows. Returns
    /// what happened, in words.
    mutating func step(on store: TestStore, isSettling: Bool) throws -> [String] {
        guard Int.random(in: 0..<3, using: &dice) == 0 else { return [] }
        let device = Int.random(in: devices.indices, using: &dice)
        var lines = ["device \(device) fetches its feed"]
        if !isSettling { try devices[device].subscribe(at: store) }
        if Int.random(in: 0..<20, using: &dice) == 0 {
            lines.append("what feeds would tell is forgotten")
            try store.forgetFeeds()
        }
        try devices[device].step(on: store, isSettling: isSettling)
        lines += devices[device].story
        try devices[device].mark(at: store, isSettling: isSettling)
        if let reader = readers.indices.randomElement(using: &dice) {
            lines.append("reader \(reader) fetches its feed")
            try readers[reader].step(on: store, isSettling: isSettling)
        }
        return lines
    }
}
