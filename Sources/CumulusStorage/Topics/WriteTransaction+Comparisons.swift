// Compares changes of records with topics, and writes the events of those that match.
//
// `noteTopics` calls `compare` while a commit is applied. A batch takes a bounded number of steps
// for that, so that some users' subscriptions don't hold up the saves of all. A change beyond them
// is owed: `payComparisons` compares it in a later turn of the writer. The events still get the
// position of the commit, and feeds wait for them. hot: once per changed record of a watched type.

import CumulusModel

extension WriteTransaction {
    /// Each change may take a 300th of a batch's steps without being charged for them.
    ///
    /// That is about what it costs to save the record.
    private static let freeShare = 300
    /// Owed changes that a turn reads, at most; each holds two records.
    private static let mostChanges = 16

    // MARK: At once

    /// Compares a change, or leaves that to a later turn if the batch has taken its steps.
    mutating func compare(
        _ name: String,
        _ before: RecordRow?,
        _ after: RecordRow,
        _ application: CommitApplication,
        at place: ZonePlace,
        on day: Day
    ) throws(EngineError) {
        let (old, new) = (try visible(before, place.scope), try visible(after, place.scope))
        var flags: TopicEvent.Flags = []
        if old == nil { flags.insert(.created) }
        if new == nil { flags.insert(.deleted) }
        let commit = application.commit
        var change = WatchedChange(
            event: TopicEvent(commit, flags, in: place.zone.name),
            isOwn: commit.stamp.dot.incarnation == state.incarnation,
            isAlone: commit.operations.count == 1,
            position: application.position,
            day: day,
            place: place,
            name: name,
            before: old,
            after: after
        )
        // The key of the life names a creation by a request, and also the same request's creation
        // at another node.
        if after.births.contains(commit.stamp.dot) { change.event.key = after.requestKey }
        let types = try watchedTypes(of: change)
        if types.isEmpty { return }
        if try follows(types, change) { return try owe(change, to: types) }
        let free = state.comparisonSteps / WriteTransaction.freeShare
        let left = max(0, state.comparisonSteps - state.comparisonsDone)
        var effort = QueryEffort(limit: left + free) { nil }
        let events = try events(of: change, types, &effort)
        state.comparisonsDone += max(0, effort.spent - free)
        guard let events else {
            state.comparisonsDone = max(state.comparisonsDone, state.comparisonSteps)
            return try owe(change, to: types)
        }
        try put(events, of: change)
    }

    /// Whether an earlier part of the same commit is owed.
    private borrowing func follows(
        _ types: [String],
        _ change: WatchedChange
    ) throws(EngineError) -> Bool {
        if change.isAlone || state.comparisonsDone < state.comparisonSteps { return false }
        for type in types {
            let known: OwedChange? = try row(owedKey(of: change, type))
            if known != nil { return true }
        }
        return false
    }

    /// The types of a change that have topics, in order.
    private mutating func watchedTypes(
        of change: WatchedChange
    ) throws(EngineError) -> [String] {
        let (scope, database) = (change.place.scope, change.place.zone.database)
        guard let topics = state.feeds[scope]?.topics else { return [] }
        return change.types.filter { topics.watches(.init(database: database, type: $0)) }
            .sorted()
    }

    // MARK: Later

    private mutating func owe(
        _ change: WatchedChange,
        to types: [String]
    ) throws(EngineError) {
        for type in types {
            let key = owedKey(of: change, type)
            var owed = try decoding(key.bytes) { () throws(MalformedBytes) in
                try OwedChange(change)
            }
            if let earlier: OwedChange = try row(key) {
                owed.follow(earlier)
                count(-key.bytes.count - earlier.rowBytes.count, in: change.place.scope)
            }
            let bytes = owed.rowBytes
            put(key, bytes)
            count(key.bytes.count + bytes.count, in: change.place.scope)
        }
        state.comparisonVersion += 1
    }

    private borrowing func owedKey(of change: WatchedChange, _ type: String) -> RowKey {
        RowKey.owedChange(
            change.place.scope,
            WatchedType(database: change.place.database, name: type),
            change.position,
            change.place.number,
            change.name
        )
    }

    /// Counts bytes of owed changes.
    private mutating func count(_ bytes: Int, in scope: ScopeNumber) {
        state.feeds[scope]?.owedBytes += bytes
    }

    /// Compares changes of a type that are owed, in their order, until the steps of a turn are
    /// taken, or the bytes that it may read.
    ///
    /// If all that is owed takes too many bytes, it is dropped, and the feeds of the scope are
    /// reset.
    package mutating func payComparisons(
        of type: WatchedType,
        in scope: ScopeNumber
    ) throws(EngineError) {
        let feeds = try loadFeeds(of: scope)
        noteCompared(type, in: scope, try loadScope(scope))
        if feeds.owedBytes > state.owedChangeBytes { return try dropOwed(in: scope) }
        var effort = QueryEffort { nil }
        let page = try page(
            .log,
            .owedChanges(of: scope, type),
            limit: WriteTransaction.mostChanges,
            byteLimit: state.storedBytesPerTurn
        )
        for (key, value) in page.rows {
            let change = try owedChange(key, value, in: scope)
            if try !bindTopics(of: type, change) { return }
            let events = try events(of: change, [type.name], &effort) ?? [:]
            try put(events, of: change)
            put(RowKey(.owedChange, bytes: key), nil)
            count(-key.count - value.count, in: scope)
            if !state.fired.isEmpty { try endFired(on: change.event.stamp.dot, in: scope) }
            if effort.spent >= state.comparisonSteps { return }
        }
    }

    private borrowing func owedChange(
        _ key: Bytes,
        _ value: Bytes,
        in scope: ScopeNumber
    ) throws(EngineError) -> WatchedChange {
        let owed = try decoding(key) { () throws(MalformedBytes) in try OwedChange(row: value) }
        do {
            return try owed.change(at: key, in: scope)
        } catch let error as EngineError {
            throw error
        } catch {
            throw .corrupt("the row \(key.hex) is damaged: \(error)")
        }
    }

    /// Wakes the feeds that wait for the type's changes.
    private mutating func noteCompared(
        _ type: WatchedType,
        in number: ScopeNumber,
        _ scope: ScopeState
    ) {
        var scope = scope
        scope.isCompared = true
        replaceScope(scope)
        state.touched.insert(.comparisons(of: type))
    }

    private mutating func dropOwed(in scope: ScopeNumber) throws(EngineError) {
        var last: WatchedType?
        while let type = try owedType(of: scope, after: last) {
            state.touched.insert(.comparisons(of: type))
            last = type
        }
        deleteRange(.log, .owedChanges(of: scope))
        state.feeds[scope]?.owedBytes = 0
        try noteFeedBreak(in: scope)
    }

    // MARK: Events

    /// The topics of some types that a record matched before or matches now, with the flags of
    /// their events; nil if that takes more steps than the effort allows.
    private mutating func events(
        of change: WatchedChange,
        _ types: [String],
        _ effort: inout QueryEffort
    ) throws(EngineError) -> [Topic.ID: TopicEvent.Flags]? {
        var events: [Topic.ID: TopicEvent.Flags] = [:]
        if let row = change.before {
            guard let topics = try topics(of: row, change, types, &effort) else { return nil }
            for topic in topics {
                events[topic, default: change.event.flags].insert(.matchedBefore)
            }
        }
        if !change.event.flags.contains(.deleted) {
            guard let topics = try topics(of: change.after, change, types, &effort) else {
                return nil
            }
            for topic in topics { events[topic, default: change.event.flags].insert(.matchesNow) }
        }
        return events
    }

    private mutating func put(
        _ events: [Topic.ID: TopicEvent.Flags],
        of change: WatchedChange
    ) throws(EngineError) {
        let place = change.place
        for (topic, flags) in events {
            if change.isOwn {
                try noteFiring(of: topic, flags, in: place.scope, (change.after, place))
            }
            state.touched.insert(.topic(topic))
            let row = RowKey.topicEvent(
                place.scope,
                change.day,
                topic,
                change.position,
                place.number,
                change.name
            )
            var event = change.event
            event.flags = flags
            put(row, change.isAlone ? event.rowBytes : try folded(event, at: row)?.rowBytes)
        }
    }

    /// An event, together with what an earlier part of the same commit did to the record; nil if it
    /// came and went with the commit.
    private func folded(
        _ event: TopicEvent,
        at key: RowKey
    ) throws(EngineError) -> TopicEvent? {
        guard let earlier: TopicEvent = try row(key) else { return event }
        let first: TopicEvent.Flags = [.matchedBefore, .created]
        var event = event
        event.flags = event.flags.subtracting(first).union(earlier.flags.intersection(first))
        event.key = earlier.key
        return event.flags.isDisjoint(with: [.matchedBefore, .matchesNow]) ? nil : event
    }

    /// The topics of some types that a record matches; nil if that takes more steps than the effort
    /// allows.
    private mutating func topics(
        of row: RecordRow,
        _ change: WatchedChange,
        _ types: [String],
        _ effort: inout QueryEffort
    ) throws(EngineError) -> Set<Topic.ID>? {
        let (place, name) = (change.place, change.name)
        let type = StoredName.shown(row.type)
        let watched = TopicIndex.Place(database: place.zone.database, type: type)
        guard types.contains(type), try beginTopics(watched, of: place.scope) else { return [] }
        let group = state.feeds[place.scope]?.topics.bind(watched, within: &effort)
        guard let group else { return nil }
        var spent = effort
        let found = try decoding(RowKey.record(place.number, name).bytes) {
            () throws(MalformedBytes) in
            try group.matches(
                row,
                named: name,
                in: place.zone.name,
                now: change.event.stamp.time.milliseconds,
                &spent
            )
        }
        effort = spent
        return found
    }

    /// Begins the group of a type's topics, unless it was begun; returns whether it has topics.
    private mutating func beginTopics(
        _ place: TopicIndex.Place,
        of scope: ScopeNumber
    ) throws(EngineError) -> Bool {
        guard let topics = state.feeds[scope]?.topics, topics.watches(place) else { return false }
        if topics.hasBegun(place) { return true }
        let binding = TopicGroup.Binding(
            schema: try schema(scope, place.type ?? ""),
            environment: try environment(of: scope)
        )
        state.feeds[scope]?.topics.begin(place, binding)
        return true
    }

    /// Goes on with the group of a type's topics for a turn; returns whether it is whole.
    private mutating func bindTopics(
        of type: WatchedType,
        _ change: WatchedChange
    ) throws(EngineError) -> Bool {
        let (scope, database) = (change.place.scope, change.place.zone.database)
        let place = TopicIndex.Place(database: database, type: type.name)
        guard try beginTopics(place, of: scope) else { return true }
        var effort = QueryEffort(limit: state.comparisonSteps) { nil }
        return state.feeds[scope]?.topics.bind(place, within: &effort) != nil
    }

    /// The row, or nil if no user sees the record.
    private mutating func visible(
        _ row: RecordRow?,
        _ scope: ScopeNumber
    ) throws(EngineError) -> RecordRow? {
        guard let row, !row.isDead, try !lens(of: scope).hides(row.type) else { return nil }
        return row
    }
}
