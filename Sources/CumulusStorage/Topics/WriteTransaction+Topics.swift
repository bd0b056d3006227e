// What a commit means to those who watch: its topic events, written in the batch that applies it.
//
// Called by the steps of `ApplyCommit` with the record as it was and as it is, and by whatever
// changes records without a commit, which ends with a break: a feed that would cross it begins
// anew. Where nobody subscribes nothing is written. hot: once per saved record.

import CumulusModel

/// How far the feeds of a scope are.
package struct FeedState: Sendable {
    var topics = TopicIndex()
    /// Subscriptions that fire once, by their topics and the keys of their registers.
    var once: [Topic.ID: [[Bytes]: Subscription.Options]] = [:]
    /// The day of the last commit; days never go back.
    var day: Day = 0
    /// When the last milestone was written, in milliseconds since 1970 UTC.
    var milestone: Int64 = .min
    /// The batch ends with a milestone in any case.
    var needsMilestone = false

    package init() {}
}

extension WriteTransaction {
    /// Milliseconds between two milestones of a busy scope.
    private static let milestonePause: Int64 = 1_000
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// What a record's change by a commit means to its topics.
    mutating func noteTopics(
        of name: String,
        _ before: RecordRow?,
        _ after: RecordRow,
        _ application: CommitApplication,
        at place: ZonePlace
    ) throws(EngineError) {
        let feeds = try loadFeeds(of: place.scope)
        if feeds.topics.isEmpty { return }
        let (old, new) = (try visible(before, place.scope), try visible(after, place.scope))
        var events: [Topic.ID: TopicEvent.Flags] = [:]
        for topic in try topics(of: old, named: name, application, at: place) {
            events[topic, default: []].insert(.matchedBefore)
        }
        for topic in try topics(of: new, named: name, application, at: place) {
            events[topic, default: []].insert(.matchesNow)
        }
        let day = try day(of: place.scope)
        let position = application.position
        for (topic, flags) in events {
            var flags = flags
            if old == nil { flags.insert(.created) }
            if new == nil { flags.insert(.deleted) }
            try noteFiring(of: topic, flags, after, application, at: place)
            state.touched.insert(.topic(topic))
            let key = RowKey.topicEvent(
                place.scope,
                day,
                topic,
                position,
                place.number,
                name
            )
            put(key, TopicEvent(application.commit, flags, in: place.zone.name))
        }
        let types = Set([before, after].compactMap { $0 }.map { StoredName.shown($0.type) })
            .filter { feeds.topics.watches(.init(database: place.zone.database, type: $0)) }
        let unknown = (before?.frontier ?? []).map(\.dot).filter { !application.cut.covers($0) }
        if unknown.isEmpty || types.isEmpty { return }
        let row = MixedRow(
            stamp: application.commit.stamp,
            unknown: unknown,
            zone: place.zone.name,
            types: types.sorted()
        )
        put(.mixed(place.scope, day, position, place.number, name), row)
    }

    /// A commit deleted a zone with all that was in it.
    mutating func noteTopics(
        ofDeletedZone number: ZoneNumber,
        _ application: CommitApplication
    ) throws(EngineError) {
        guard let zone = application.commit.zone else { return }
        let feeds = try loadFeeds(of: application.scope)
        let topics = feeds.topics.topics(of: zone.name, in: zone.database)
        if topics.isEmpty { return }
        let day = try day(of: application.scope)
        for topic in topics {
            state.touched.insert(.topic(topic))
            let key = RowKey.topicEvent(
                application.scope,
                day,
                topic,
                application.position,
                number,
                ""
            )
            let flags: TopicEvent.Flags = [.matchedBefore, .deleted, .zoneDeleted]
            put(key, TopicEvent(application.commit, flags, in: zone.name))
        }
    }

    /// A commit touched a zone.
    mutating func noteTopics(
        of zone: Commit.Zone,
        _ commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) {
        let topics = try loadFeeds(of: scope).topics
        if topics.isEmpty { return }
        let mark = TopicEvent.deviceMark(commit.device, of: commit.user)
        let (dot, time) = (commit.stamp.dot, commit.stamp.time)
        for topic in topics.topics(ofWhole: zone.name, in: zone.database) {
            let key = RowKey.watchedHead(scope, topic, zone.name, mark, dot.incarnation)
            put(key, WatchedHead(seq: dot.seq, time: time))
            state.touched.insert(.topic(topic))
        }
    }

    private mutating func topics(
        of row: RecordRow?,
        named name: String,
        _ application: CommitApplication,
        at place: ZonePlace
    ) throws(EngineError) -> Set<Topic.ID> {
        guard let row else { return [] }
        let type = StoredName.shown(row.type)
        let watched = TopicIndex.Place(database: place.zone.database, type: type)
        guard let group = try topicGroup(watched, of: place.scope) else { return [] }
        return try decoding(RowKey.record(place.number, name).bytes) {
            () throws(MalformedBytes) in
            try group.matches(
                row,
                named: name,
                in: place.zone.name,
                now: application.commit.stamp.time.milliseconds
            )
        }
    }

    private mutating func topicGroup(
        _ place: TopicIndex.Place,
        of scope: ScopeNumber
    ) throws(EngineError) -> TopicGroup? {
        guard let topics = state.feeds[scope]?.topics, topics.watches(place) else { return nil }
        if let known = topics.group(place) { return known }
        let binding = TopicGroup.Binding(
            schema: try schema(scope, place.type ?? ""),
            environment: try environment(of: scope)
        )
        return state.feeds[scope]?.topics.bind(place, binding)
    }

    /// nil: nobody sees the record.
    private mutating func visible(
        _ row: RecordRow?,
        _ scope: ScopeNumber
    ) throws(EngineError) -> RecordRow? {
        guard let row, !row.isDead, try !lens(of: scope).hides(row.type) else { return nil }
        return row
    }

    // MARK: Subscriptions

    /// Notes which subscriptions fire for the only time: where the commit was made, so that it is
    /// once wherever nodes reach each other.
    ///
    /// One whose user may not read the record waits for another record.
    private mutating func noteFiring(
        of topic: Topic.ID,
        _ flags: TopicEvent.Flags,
        _ row: RecordRow,
        _ application: CommitApplication,
        at place: ZonePlace
    ) throws(EngineError) {
        guard let once = state.feeds[application.scope]?.once[topic],
            application.commit.stamp.dot.incarnation == state.incarnation
        else { return }
        for (key, options) in once where options.fire(on: flags) {
            guard try mayRead(row, at: place, key) else { continue }
            state.feeds[application.scope]?.once[topic]?[key] = nil
            state.fired.append(key)
        }
    }

    /// Whether the user of a subscription may read a record, dead or alive.
    private mutating func mayRead(
        _ row: RecordRow,
        at place: ZonePlace,
        _ subscription: [Bytes]
    ) throws(EngineError) -> Bool {
        guard place.zone.database.kind == .public, let user = subscription.first else {
            return true
        }
        let grants = try schema(place.scope, StoredName.shown(row.type)).grants
        let name = String(decoding: user, as: UTF8.self)
        return grants.allow(
            .read,
            to: name,
            with: try roles(of: name, in: place.scope).names,
            of: row.createdBy
        )
    }

    /// Ends the subscriptions that fired on a commit, in the same batch.
    mutating func endFired(on dot: Dot, in scope: ScopeNumber) throws(EngineError) {
        let keys = state.fired
        state.fired = []
        for key in keys {
            guard let row = try register(scope, StoredSubscription.namespace, key),
                let value = row.value,
                var stored = try? StoredSubscription(key: key, value: value)
            else { continue }
            stored.fired = dot
            let register = Commit.Register(
                namespace: StoredSubscription.namespace,
                key: key,
                value: stored.value
            )
            _ = try perform(
                [.register(register)],
                in: scope,
                zone: nil,
                author: Author(user: stored.user)
            )
        }
    }

    /// A subscription's register changes.
    ///
    /// - Parameter position: Where: feeds from before it don't have what it asks for.
    mutating func noteSubscription(
        _ key: [Bytes],
        from old: Bytes?,
        to new: Bytes?,
        at position: UInt64,
        in scope: ScopeNumber
    ) throws(EngineError) {
        _ = try loadFeeds(of: scope)
        let (before, after) = (
            StoredSubscription(read: key, old), StoredSubscription(read: key, new)
        )
        // In place: there may be 100,000 topics, and a copy would copy them all.
        if let before { state.feeds[scope]?.leave(before) }
        if let after { state.feeds[scope]?.enter(after) }
        if let topic = before.map(Topic.init), topic.recordType == nil,
            state.feeds[scope]?.topics.holds(topic) == false
        {
            // One by one, as all rows of `meta`: one for each zone, device and run of a node.
            for (key, _) in try rows(.meta, .watchedHeads(of: topic.id, in: scope)) {
                put(RowKey(.watchedHead, bytes: key), nil)
            }
        }
        state.feeds[scope]?.needsMilestone = true
        if let user = (after ?? before)?.user { state.touched.insert(.subscriptions(of: user)) }
        put(.subscribed(scope, StoredSubscription.anyKey), SeqRow(seq: position))
        // One that fired goes on to tell of that.
        if after?.fired != nil { return }
        put(.subscribed(scope, key), new.map { _ in SeqRow(seq: position).rowBytes })
    }

    // MARK: Positions

    /// Records changed otherwise than by commits: no feed goes on across this.
    package mutating func noteFeedBreak(in number: ScopeNumber) throws(EngineError) {
        var scope = try loadScope(number)
        put(.feedBreak(number), SeqRow(seq: scope.nextPosition))
        scope.nextPosition += 1
        replaceScope(scope)
        try needMilestone(in: number)
    }

    /// The batch ends with a milestone.
    mutating func needMilestone(in scope: ScopeNumber) throws(EngineError) {
        _ = try loadScope(scope)
        _ = try loadFeeds(of: scope)
        state.feeds[scope]?.needsMilestone = true
    }

    /// Today, or the last day on which something was committed, if that is later.
    private mutating func day(of scope: ScopeNumber) throws(EngineError) -> Day {
        var feeds = try loadFeeds(of: scope)
        let today = Day(clamping: now / Self.millisecondsPerDay) + state.passedDays
        guard feeds.day < today else { return feeds.day }
        feeds.day = today
        state.feeds[scope] = feeds
        let position = try loadScope(scope).nextPosition - 1
        put(.feedDay(scope, today), SeqRow(seq: position))
        return today
    }

    /// Writes how far the scopes are to which somebody subscribes, at the end of a batch.
    mutating func putMilestones() {
        for (number, scope) in state.scopes {
            guard var feeds = state.feeds[number], !feeds.topics.isEmpty || feeds.needsMilestone,
                !scope.touched.isEmpty || feeds.needsMilestone,
                feeds.needsMilestone || feeds.milestone < now - Self.milestonePause
                    || now < feeds.milestone
            else { continue }
            let row = Milestone(vector: scope.runs.shortVector, time: now)
            put(.milestone(number, scope.nextPosition - 1), row)
            feeds.milestone = now
            feeds.needsMilestone = false
            state.feeds[number] = feeds
        }
    }

    /// Reads what is watched in a scope when it is first written to.
    private mutating func loadFeeds(of scope: ScopeNumber) throws(EngineError) -> FeedState {
        if let known = state.feeds[scope] { return known }
        var feeds = FeedState()
        let registers = try registers(scope, StoredSubscription.namespace)
        for (key, value) in registers {
            if let stored = StoredSubscription(read: key, value) { feeds.enter(stored) }
        }
        if let (key, _) = try rows(.meta, .feedDays(of: scope), backwards: true, limit: 1).first {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            feeds.day = try parts.number()
        }
        state.feeds[scope] = feeds
        return feeds
    }
}

extension FeedState {
    fileprivate mutating func enter(_ stored: StoredSubscription) {
        if stored.fired != nil { return }
        let (topic, options) = (Topic(stored), stored.subscription.options)
        topics.enter(topic)
        guard topic.recordType != nil, options.contains(.firesOnce) else { return }
        once[topic.id, default: [:]][stored.key] = options
    }

    fileprivate mutating func leave(_ stored: StoredSubscription) {
        if stored.fired != nil { return }
        let topic = Topic(stored)
        topics.leave(topic)
        once[topic.id]?[stored.key] = nil
        if once[topic.id]?.isEmpty == true { once[topic.id] = nil }
    }
}

extension StoredSubscription {
    /// A damaged one is found by the comparison of nodes, and is nobody's until then.
    ///
    /// - Parameter value: nil for a register that was removed, or was never there.
    fileprivate init?(read key: [Bytes], _ value: Bytes?) {
        guard let value, let stored = try? StoredSubscription(key: key, value: value) else {
            return nil
        }
        self = stored
    }
}

extension Subscription.Options {
    /// Whether a subscription with these tells of an event.
    package func fire(on flags: TopicEvent.Flags) -> Bool {
        if flags.contains(.deleted) { return contains(.firesOnRecordDeletion) }
        return contains(flags.contains(.created) ? .firesOnRecordCreation : .firesOnRecordUpdate)
    }
}

extension TopicEvent {
    fileprivate init(_ commit: Commit, _ flags: Flags, in zone: String) {
        self.init(
            stamp: commit.stamp,
            flags: flags,
            zone: zone,
            user: commit.user,
            device: TopicEvent.deviceMark(commit.device, of: commit.user)
        )
    }
}
