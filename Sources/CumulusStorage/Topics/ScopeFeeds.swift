// Writes the rows of feeds: the topic events of a commit, in the batch that applies it.
//
// The steps of `ApplyCommit` call it with the record as it was and as it is;
// `ScopeFeeds+Comparisons` finds the topics of a change. Code that changes records without a commit
// ends with `noteBreak`; a feed that would cross the break is reset.
// In a scope without subscriptions nothing is written. hot: once per saved record.

import CumulusModel

/// What the writer knows of a scope's feeds.
package struct FeedState: Sendable {
    var topics = TopicIndex()
    /// Subscriptions that fire once, by their topics and the keys of their registers.
    var once: [Topic.ID: [[Bytes]: Subscription.Options]] = [:]
    /// Subscriptions that have fired once, and the commits on which they did.
    var fired: [[Bytes]: Dot] = [:]
    /// The day of the rows that were written last; it never goes back.
    var day: Day = 0
    /// When the last milestone was written, in milliseconds since 1970 UTC.
    var milestone: Int64 = .min
    /// Whether the batch must end with a milestone.
    var needsMilestone = false
    /// Bytes of the changes that are still to be compared with topics.
    var owedBytes = 0

    package init() {}
}

/// The feeds of a scope, as the writer keeps them.
package struct ScopeFeeds: Sendable {
    let scope: ScopeNumber

    package init(of scope: ScopeNumber) { self.scope = scope }

    /// Milliseconds between two milestones of a busy scope.
    private static let milestonePause: Int64 = 1_000

    // MARK: Events

    /// Writes the topic events of a record that a commit changed.
    ///
    /// - Parameter hidden: The types of the lives that waited or wait behind the shown ones.
    func noteRecord(
        _ name: String,
        _ before: RecordRow?,
        _ after: RecordRow,
        _ hidden: [String],
        _ application: CommitApplication,
        at place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if try load(&transaction).topics.isEmpty { return }
        let creation =
            transaction.state.broken.contains(.repeatRows) ? nil : application.creations[name]
        let day = try day(&transaction)
        switch creation {
        case nil: try compare(name, before, after, application, at: place, on: day, &transaction)
        case .repeated(let births):
            let dot = application.commit.stamp.dot
            transaction.put(
                .repeated(scope, day, place.number, name, dot),
                RepeatedRow(births: births)
            )
            // It made the life the earlier one of two, and the other one is shown now.
            if before?.isSameLife(as: after) != true {
                try compare(name, before, after, application, at: place, on: day, &transaction)
            }
        case .late: break
        }
        let unknown = unknown(to: application, before, creation)
        if unknown.isEmpty { return }
        var types = [before?.type, after.type].compactMap { $0 } + hidden
        if case .late(let type) = creation { types.append(type) }
        guard let mix = try mix(unknown, types, application, at: place, &transaction) else {
            return
        }
        transaction.put(.mixed(scope, day, application.position, place.number, name), mix)
    }

    /// The latest changes of a record that a commit's maker did not know.
    private func unknown(
        to application: CommitApplication,
        _ before: RecordRow?,
        _ creation: CommitApplication.Creation?
    ) -> [Dot] {
        var unknown = (before?.frontier ?? []).map(\.dot).filter { !application.cut.covers($0) }
        // Other creations by the same request say the same.
        if case .repeated(let births) = creation { unknown.removeAll(where: births.contains) }
        return unknown
    }

    /// The mixed row of a record; nil if nobody watches its types.
    ///
    /// - Parameter types: The types of all its lives, not only of the shown one. Another node may
    ///   have shown a life that is hidden or gone here, and devices may hold it.
    private func mix(
        _ unknown: [Dot],
        _ types: [String],
        _ application: CommitApplication,
        at place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> MixedRow? {
        let topics = try load(&transaction).topics
        let types = Set(types.map(StoredName.shown))
            .filter { topics.watches(.init(database: place.zone.database, type: $0)) }
        if types.isEmpty { return nil }
        return MixedRow(
            stamp: application.commit.stamp,
            unknown: unknown,
            zone: place.zone.name,
            types: types.sorted(),
            database: place.zone.database
        )
    }

    /// Writes the topic events of a zone that a commit deleted.
    func noteDeletedZone(
        _ number: ZoneNumber,
        _ application: CommitApplication,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let zone = application.commit.zone else { return }
        let feeds = try load(&transaction)
        let topics = feeds.topics.topics(of: zone.name, in: zone.database)
        if topics.isEmpty { return }
        let day = try day(&transaction)
        for topic in topics {
            transaction.state.touched.insert(.topic(topic))
            let key = RowKey.topicEvent(
                scope,
                day,
                topic,
                application.position,
                number,
                ""
            )
            let flags: TopicEvent.Flags = [.matchedBefore, .deleted, .zoneDeleted]
            let event = TopicEvent(application.commit, flags, in: zone.name)
            if application.commit.stamp.dot.incarnation == transaction.state.incarnation {
                try noteFiring(of: topic, flags, &transaction)
            }
            transaction.put(key, event)
        }
    }

    /// Writes the watched heads of a zone that a commit touched.
    func noteZone(
        _ zone: Commit.Zone,
        _ commit: Commit,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let topics = try load(&transaction).topics
        if topics.isEmpty { return }
        let device = TopicEvent.deviceDigest(commit.device, of: commit.user)
        let (dot, time) = (commit.stamp.dot, commit.stamp.time)
        let watching = topics.topics(ofWhole: zone.name, in: zone.database)
        if watching.isEmpty { return }
        // Old heads and milestones are dropped with old days.
        _ = try day(&transaction)
        for topic in watching {
            let key = RowKey.watchedHead(scope, topic, zone.name, device, dot.incarnation)
            transaction.put(key, WatchedHead(seq: dot.seq, time: time))
            transaction.state.touched.insert(.topic(topic))
        }
    }

    // MARK: Subscriptions

    /// Notes which subscriptions with `firesOnce` fire on a change.
    ///
    /// Only the node that made the commit does so: a subscription fires once as long as nodes reach
    /// each other. A subscription does not fire on a record that its user may not read.
    ///
    /// - Parameter record: nil means that a zone was deleted.
    func noteFiring(
        of topic: Topic.ID,
        _ flags: TopicEvent.Flags,
        on record: (row: RecordRow, place: ZonePlace)? = nil,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let once = transaction.state.feeds[scope]?.once[topic] else { return }
        for (key, options) in once where options.fire(on: flags) {
            if let record, try !mayRead(record.row, at: record.place, key, &transaction) {
                continue
            }
            transaction.state.feeds[scope]?.once[topic]?[key] = nil
            transaction.state.fired.append(key)
        }
    }

    /// Whether the user of a subscription may read a record, or might before it was deleted.
    private func mayRead(
        _ row: RecordRow,
        at place: ZonePlace,
        _ subscription: [Bytes],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard place.zone.database.kind == .public, let user = subscription.first else {
            return true
        }
        let grants = try transaction.schema(scope, StoredName.shown(row.type)).grants
        let name = String(decoding: user, as: UTF8.self)
        return grants.allow(
            .read,
            to: name,
            with: try transaction.roles(of: name, in: scope).names,
            of: row.createdBy
        )
    }

    /// Ends the subscriptions that fired on a commit, in the same batch.
    func endFired(on dot: Dot, _ transaction: inout WriteTransaction) throws(EngineError) {
        // By their ids: the order of a dictionary differs from run to run.
        let keys = transaction.state.fired.sorted {
            $0.reversed().lexicographicallyPrecedes($1.reversed()) {
                $0.lexicographicallyPrecedes($1)
            }
        }
        transaction.state.fired = []
        for key in keys {
            guard let row = try transaction.register(scope, StoredSubscription.namespace, key),
                let value = row.value,
                var stored = try? StoredSubscription(key: key, value: value)
            else { continue }
            stored.fired = dot
            let register = Commit.Register(
                namespace: StoredSubscription.namespace,
                key: key,
                value: stored.value
            )
            _ = try transaction.perform(
                [.register(register)],
                in: scope,
                zone: nil,
                author: Author(user: stored.user)
            )
        }
    }

    /// Follows a change of a subscription's register.
    ///
    /// - Parameter position: The position of the change. A feed that begins before it is reset.
    func noteSubscription(
        _ key: [Bytes],
        from old: Bytes?,
        to new: Bytes?,
        at position: UInt64,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        _ = try load(&transaction)
        let (before, after) = (
            StoredSubscription(read: key, old), StoredSubscription(read: key, new)
        )
        // Change the index in place: a copy of 100,000 topics is slow.
        if let before { transaction.state.feeds[scope]?.leave(before) }
        if let after { transaction.state.feeds[scope]?.enter(after) }
        if let topic = before.map(Topic.init), topic.recordType == nil,
            transaction.state.feeds[scope]?.topics.holds(topic) == false
        {
            // Ranges can't be deleted in `meta`. There is a row for each zone, device and run.
            for (key, _) in try transaction.rows(.meta, .watchedHeads(of: topic.id, in: scope)) {
                transaction.put(RowKey(.watchedHead, bytes: key), nil)
            }
        }
        transaction.state.feeds[scope]?.needsMilestone = true
        if let user = (after ?? before)?.user {
            transaction.state.touched.insert(.subscriptions(of: user))
        }
        transaction.put(.subscribed(scope, StoredSubscription.anyKey), SeqRow(seq: position))
        // A subscription that fired still tells of that.
        if after?.fired != nil { return }
        transaction.put(.subscribed(scope, key), new.map { _ in SeqRow(seq: position).rowBytes })
    }

    // MARK: Positions

    /// Writes a break: records changed without a commit, so no feed goes on across this position.
    package func noteBreak(_ transaction: inout WriteTransaction) throws(EngineError) {
        var known = try transaction.loadScope(scope)
        transaction.put(.feedBreak(scope), SeqRow(seq: known.nextPosition))
        known.nextPosition += 1
        transaction.replaceScope(known)
        try needMilestone(&transaction)
    }

    /// Makes the batch end with a milestone.
    func needMilestone(_ transaction: inout WriteTransaction) throws(EngineError) {
        // Only scopes of the batch get milestones; nothing else of this one may have changed.
        transaction.replaceScope(try transaction.loadScope(scope))
        _ = try load(&transaction)
        transaction.state.feeds[scope]?.needsMilestone = true
    }

    /// The day for new rows: today, or the day of the last rows if that is later.
    private func day(_ transaction: inout WriteTransaction) throws(EngineError) -> Day {
        var feeds = try load(&transaction)
        let today = day(at: transaction.now, transaction)
        guard feeds.day < today else { return feeds.day }
        feeds.day = today
        transaction.state.feeds[scope] = feeds
        let position = try transaction.loadScope(scope).nextPosition - 1
        transaction.put(.feedDay(scope, today), SeqRow(seq: position))
        return today
    }

    /// Writes the milestones that are due, at the end of a batch.
    ///
    /// A scope gets one if it was written to and has subscriptions, at most one a second; and in
    /// any case if `needMilestone` was called.
    static func putMilestones(_ transaction: inout WriteTransaction) {
        let now = transaction.now
        for (number, scope) in transaction.state.scopes {
            guard var feeds = transaction.state.feeds[number],
                !feeds.topics.isEmpty || feeds.needsMilestone,
                !scope.touched.isEmpty || feeds.needsMilestone,
                feeds.needsMilestone || feeds.milestone < now - milestonePause
                    || now < feeds.milestone
            else { continue }
            let row = Milestone(vector: scope.runs.shortVector, time: now)
            transaction.put(.milestone(number, scope.nextPosition - 1), row)
            feeds.milestone = now
            feeds.needsMilestone = false
            transaction.state.feeds[number] = feeds
        }
    }

    /// The state of a scope's feeds; read from the store when it is first needed.
    func load(_ transaction: inout WriteTransaction) throws(EngineError) -> FeedState {
        if let known = transaction.state.feeds[scope] { return known }
        var feeds = FeedState()
        let registers = try transaction.registers(scope, StoredSubscription.namespace)
        for (key, value) in registers {
            if let stored = StoredSubscription(read: key, value) { feeds.enter(stored) }
        }
        let days = try transaction.rows(.meta, .feedDays(of: scope), backwards: true, limit: 1)
        if let (key, _) = days.first {
            feeds.day = try RowKey.feedDay(key)
        }
        feeds.owedBytes = try transaction.rows(.log, .owedChanges(of: scope)).reduce(0) {
            $0 + $1.key.count + $1.value.count
        }
        transaction.state.feeds[scope] = feeds
        return feeds
    }
}

extension FeedState {
    fileprivate mutating func enter(_ stored: StoredSubscription) {
        if let dot = stored.fired {
            fired[stored.key] = dot
            return
        }
        let (topic, options) = (Topic(stored), stored.subscription.options)
        topics.enter(topic)
        guard topic.recordType != nil, options.contains(.firesOnce) else { return }
        once[topic.id, default: [:]][stored.key] = options
    }

    fileprivate mutating func leave(_ stored: StoredSubscription) {
        if stored.fired != nil {
            fired[stored.key] = nil
            return
        }
        let topic = Topic(stored)
        topics.leave(topic)
        once[topic.id]?[stored.key] = nil
        if once[topic.id]?.isEmpty == true { once[topic.id] = nil }
    }
}

extension StoredSubscription {
    /// Decodes a register; nil if it has no value or is damaged.
    ///
    /// The comparison of nodes finds damaged registers.
    fileprivate init?(read key: [Bytes], _ value: Bytes?) {
        guard let value, let stored = try? StoredSubscription(key: key, value: value) else {
            return nil
        }
        self = stored
    }
}

extension Subscription.Options {
    /// Whether a subscription with these options tells of an event.
    package func fire(on flags: TopicEvent.Flags) -> Bool {
        if flags.contains(.deleted) { return contains(.firesOnRecordDeletion) }
        return contains(flags.contains(.created) ? .firesOnRecordCreation : .firesOnRecordUpdate)
    }
}

extension TopicEvent {
    init(_ commit: Commit, _ flags: Flags, in zone: String) {
        self.init(
            stamp: commit.stamp,
            flags: flags,
            zone: zone,
            user: commit.user,
            device: TopicEvent.deviceDigest(commit.device, of: commit.user)
        )
    }
}
