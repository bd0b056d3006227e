// Compares changes of records with topics, and writes the events of those that match.
//
// `ScopeFeeds.noteRecord` calls `compare` while a commit is applied. A batch takes a bounded number
// of steps for that, so that some users' subscriptions don't hold up the saves of all. A change
// beyond them is owed: `payComparisons` compares it in a later turn of the writer. The events still
// get the position of the commit, and feeds wait for them. hot: once per changed record of a
// watched type.

import CumulusModel

extension ScopeFeeds {
    /// Each change may take a 300th of a batch's steps without being charged for them.
    ///
    /// That is about what it costs to save the record.
    private static let freeShare = 300
    /// Owed changes that a turn reads, at most; each holds two records.
    private static let mostChanges = 16

    // MARK: At once

    /// Compares a change, or leaves that to a later turn if the batch has taken its steps.
    func compare(
        _ name: String,
        _ before: RecordRow?,
        _ after: RecordRow,
        _ application: CommitApplication,
        at place: ZonePlace,
        on day: Day,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let (old, new) = (try visible(before, &transaction), try visible(after, &transaction))
        var flags: TopicEvent.Flags = []
        if old == nil { flags.insert(.created) }
        if new == nil { flags.insert(.deleted) }
        let commit = application.commit
        var change = WatchedChange(
            event: TopicEvent(commit, flags, in: place.zone.name),
            isOwn: commit.stamp.dot.incarnation == transaction.state.incarnation,
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
        let types = try watchedTypes(of: change, &transaction)
        if types.isEmpty { return }
        if try follows(types, change, transaction) {
            return try owe(change, to: types, &transaction)
        }
        let steps = transaction.state.comparisonSteps
        let free = steps / ScopeFeeds.freeShare
        let left = max(0, steps - transaction.state.comparisonsDone)
        var effort = QueryEffort(limit: left + free) { nil }
        let events = try events(of: change, types, &effort, &transaction)
        transaction.state.comparisonsDone += max(0, effort.spent - free)
        guard let events else {
            transaction.state.comparisonsDone = max(transaction.state.comparisonsDone, steps)
            return try owe(change, to: types, &transaction)
        }
        try write(events, of: change, &transaction)
    }

    /// Whether an earlier part of the same commit is owed.
    private func follows(
        _ types: [String],
        _ change: WatchedChange,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        let hasSteps = transaction.state.comparisonsDone < transaction.state.comparisonSteps
        if change.isAlone || hasSteps { return false }
        for type in types {
            let known: OwedChange? = try transaction.row(owedKey(of: change, type))
            if known != nil { return true }
        }
        return false
    }

    /// The types of a change that have topics, in order.
    private func watchedTypes(
        of change: WatchedChange,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String] {
        let database = change.place.zone.database
        guard let topics = transaction.state.feeds[scope]?.topics else { return [] }
        return change.types.filter { topics.watches(.init(database: database, type: $0)) }
            .sorted()
    }

    // MARK: Later

    private func owe(
        _ change: WatchedChange,
        to types: [String],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for type in types {
            let key = owedKey(of: change, type)
            var owed = try transaction.decoding(key.bytes) { () throws(MalformedBytes) in
                try OwedChange(change)
            }
            if let earlier: OwedChange = try transaction.row(key) {
                owed.follow(earlier)
                countOwed(-key.bytes.count - earlier.rowBytes.count, &transaction)
            }
            let bytes = owed.rowBytes
            transaction.put(key, bytes)
            countOwed(key.bytes.count + bytes.count, &transaction)
        }
        transaction.state.comparisonVersion += 1
    }

    private func owedKey(of change: WatchedChange, _ type: String) -> RowKey {
        RowKey.owedChange(
            scope,
            WatchedType(database: change.place.database, name: type),
            change.position,
            change.place.number,
            change.name
        )
    }

    /// Counts bytes of owed changes.
    private func countOwed(_ bytes: Int, _ transaction: inout WriteTransaction) {
        transaction.state.feeds[scope]?.owedBytes += bytes
    }

    /// Compares changes of a type that are owed, in their order, until the steps of a turn are
    /// taken, or the bytes that it may read.
    ///
    /// If all that is owed takes too many bytes, it is dropped, and the feeds of the scope are
    /// reset.
    package func payComparisons(
        of type: WatchedType,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let feeds = try load(&transaction)
        noteCompared(type, try transaction.loadScope(scope), &transaction)
        if feeds.owedBytes > transaction.state.owedChangeBytes { return try dropOwed(&transaction) }
        var effort = QueryEffort { nil }
        let page = try transaction.page(
            .log,
            .owedChanges(of: scope, type),
            limit: ScopeFeeds.mostChanges,
            byteLimit: transaction.state.storedBytesPerTurn
        )
        for (key, value) in page.rows {
            let change = try owedChange(key, value, transaction)
            if try !bindTopics(of: type, change, &transaction) { return }
            let events = try events(of: change, [type.name], &effort, &transaction) ?? [:]
            try write(events, of: change, &transaction)
            transaction.put(RowKey(.owedChange, bytes: key), nil)
            countOwed(-key.count - value.count, &transaction)
            if !transaction.state.fired.isEmpty {
                try endFired(on: change.event.stamp.dot, &transaction)
            }
            if effort.spent >= transaction.state.comparisonSteps { return }
        }
    }

    private func owedChange(
        _ key: Bytes,
        _ value: Bytes,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> WatchedChange {
        let owed = try transaction.decoding(key) { () throws(MalformedBytes) in
            try OwedChange(row: value)
        }
        do {
            return try owed.change(at: key, in: scope)
        } catch let error as EngineError {
            throw error
        } catch {
            throw .corrupt("the row \(key.hex) is damaged: \(error)")
        }
    }

    /// Wakes the feeds that wait for the type's changes.
    private func noteCompared(
        _ type: WatchedType,
        _ known: ScopeState,
        _ transaction: inout WriteTransaction
    ) {
        var known = known
        known.isCompared = true
        transaction.replaceScope(known)
        transaction.state.touched.insert(.comparisons(of: type))
    }

    private func dropOwed(_ transaction: inout WriteTransaction) throws(EngineError) {
        var last: WatchedType?
        while let type = try transaction.owedType(of: scope, after: last) {
            transaction.state.touched.insert(.comparisons(of: type))
            last = type
        }
        transaction.deleteRange(.log, .owedChanges(of: scope))
        transaction.state.feeds[scope]?.owedBytes = 0
        try noteBreak(&transaction)
    }

    // MARK: Events

    /// The topics of some types that a record matched before or matches now, with the flags of
    /// their events; nil if that takes more steps than the effort allows.
    private func events(
        of change: WatchedChange,
        _ types: [String],
        _ effort: inout QueryEffort,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [Topic.ID: TopicEvent.Flags]? {
        var events: [Topic.ID: TopicEvent.Flags] = [:]
        var before: [Topic.ID] = []
        if let row = change.before {
            let topics = try topics(of: row, change, types, &effort, &transaction)
            guard let topics else { return nil }
            before = topics
            for topic in topics {
                events[topic, default: change.event.flags].insert(.matchedBefore)
            }
        }
        if !change.event.flags.contains(.deleted) {
            let topics = try topics(
                of: change.after,
                change,
                types,
                before: before,
                &effort,
                &transaction
            )
            guard let topics else { return nil }
            for topic in topics { events[topic, default: change.event.flags].insert(.matchesNow) }
        }
        return events
    }

    private func write(
        _ events: [Topic.ID: TopicEvent.Flags],
        of change: WatchedChange,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let place = change.place
        let mayFire = change.isOwn && transaction.state.feeds[scope]?.once.isEmpty == false
        // The events of topics that match alike have equal values.
        var values: [TopicEvent.Flags: Bytes] = [:]
        for (topic, flags) in events {
            if mayFire {
                try noteFiring(of: topic, flags, on: (change.after, place), &transaction)
            }
            transaction.state.touched.insert(.topic(topic))
            let row = RowKey.topicEvent(
                scope,
                change.day,
                topic,
                change.position,
                place.number,
                change.name
            )
            if change.isAlone, let known = values[flags] {
                transaction.put(row, known)
                continue
            }
            var event = change.event
            event.flags = flags
            let written = change.isAlone ? event : try folded(event, at: row, transaction)
            let bytes = written?.rowBytes
            values[flags] = bytes
            transaction.put(row, bytes)
        }
    }

    /// An event, together with what an earlier part of the same commit did to the record; nil if it
    /// came and went with the commit.
    private func folded(
        _ event: TopicEvent,
        at key: RowKey,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> TopicEvent? {
        guard let earlier: TopicEvent = try transaction.row(key) else { return event }
        let first: TopicEvent.Flags = [.matchedBefore, .created]
        var event = event
        event.flags = event.flags.subtracting(first).union(earlier.flags.intersection(first))
        event.key = earlier.key
        return event.flags.isDisjoint(with: [.matchedBefore, .matchesNow]) ? nil : event
    }

    /// The topics of some types that a record matches; nil if that takes more steps than the effort
    /// allows.
    ///
    /// - Parameter before: The topics that the record matched before the change, if this is about
    ///   the record after it. Most changes leave the fields alone that topics look at.
    private func topics(
        of row: RecordRow,
        _ change: WatchedChange,
        _ types: [String],
        before: [Topic.ID] = [],
        _ effort: inout QueryEffort,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [Topic.ID]? {
        let (place, name) = (change.place, change.name)
        let type = StoredName.shown(row.type)
        let watched = TopicIndex.Place(database: place.zone.database, type: type)
        guard types.contains(type), try beginTopics(watched, &transaction) else { return [] }
        let group = transaction.state.feeds[scope]?.topics.bind(watched, within: &effort)
        guard let group else { return nil }
        if !before.isEmpty, let old = change.before,
            group.agree(old, row, named: name, matching: before.count)
        {
            return before
        }
        var spent = effort
        let found = try transaction.decoding(RowKey.record(place.number, name).bytes) {
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
    private func beginTopics(
        _ place: TopicIndex.Place,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard let topics = transaction.state.feeds[scope]?.topics, topics.watches(place) else {
            return false
        }
        if topics.hasBegun(place) { return true }
        let binding = TopicGroup.Binding(
            schema: try transaction.schema(scope, place.type ?? ""),
            environment: try transaction.environment(of: scope)
        )
        transaction.state.feeds[scope]?.topics.begin(place, binding)
        return true
    }

    /// Goes on with the group of a type's topics for a turn; returns whether it is whole.
    private func bindTopics(
        of type: WatchedType,
        _ change: WatchedChange,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let database = change.place.zone.database
        let place = TopicIndex.Place(database: database, type: type.name)
        guard try beginTopics(place, &transaction) else { return true }
        var effort = QueryEffort(limit: transaction.state.comparisonSteps) { nil }
        return transaction.state.feeds[scope]?.topics.bind(place, within: &effort) != nil
    }

    /// The row, or nil if no user sees the record.
    private func visible(
        _ row: RecordRow?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> RecordRow? {
        guard let row, !row.isDead, try !transaction.lens(of: scope).hides(row.type) else {
            return nil
        }
        return row
    }
}
