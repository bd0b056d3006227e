// The rows of some topics between two positions of this node, read from one snapshot.
//
// Made by `FeedRead` for each page.

import CumulusModel
import CumulusStorage

struct FeedWindow {
    /// A commit changed a record of a topic.
    struct Event {
        let position: UInt64
        let zone: ZoneNumber
        let name: String
        let row: TopicEvent
    }

    /// A commit changed a record, and its maker did not know other changes.
    struct Mix {
        let position: UInt64
        let zone: ZoneNumber
        let name: String
        let row: MixedRow
    }

    /// The most rows of a topic that are read; no commit leaves so many for one topic.
    static let mostRows = 2_000
    /// The most rows of all topics that are kept, unless one commit left more.
    private static let mostRowsOfAll = 4_000
    /// The most rows of one commit that are kept.
    private static let mostRowsOfCommit = 20_000

    /// The window holds everything from here on.
    let first: UInt64
    private(set) var events: [Topic.ID: [Event]] = [:]
    private(set) var mixes: [Mix] = []
    /// The window holds everything up to here.
    private(set) var end: UInt64
    /// Whether nothing is left after the window.
    private(set) var isLast: Bool
    /// Whether one commit left more rows than the window may hold.
    private(set) var isTooLarge = false
    /// Days from the first position on on which creations were repeated.
    private var repeatDays: [Day] = []
    /// The number of events.
    private var count = 0

    /// - Parameters:
    ///   - first: The first position.
    ///   - last: The last position; the window may end before.
    ///   - isLast: Whether nothing is after the last position.
    init<Reader: RowReader & ~Copyable>(
        of topics: some Sequence<Topic.ID>,
        from first: UInt64,
        through last: UInt64,
        isLast: Bool,
        in scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) {
        self.first = first
        end = last
        self.isLast = isLast
        let days = try FeedWindow.days(from: first, in: scope, reader)
        for topic in topics {
            try readEvents(of: topic, on: days, from: first, in: scope, reader)
            if isTooLarge { return }
        }
        try readMixes(on: days, from: first, in: scope, reader)
        for day in days where try !reader.rows(.log, .repeated(scope, day), limit: 1).isEmpty {
            repeatDays.append(day)
        }
        let end = end
        events = events.mapValues { $0.filter { $0.position <= end } }
        mixes.removeAll { $0.position > end }
    }

    private mutating func readEvents<Reader: RowReader & ~Copyable>(
        of topic: Topic.ID,
        on days: [Day],
        from first: UInt64,
        in scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) {
        var found: [Event] = []
        let ranges = days.map { KeyRange.topicEvents(scope, $0, topic, from: first) }
        for (key, value) in try FeedWindow.rows(of: ranges, reader) {
            let (position, zone, name) = try RowKey.topicEvent(key)
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try TopicEvent(row: value)
            }
            found.append(Event(position: position, zone: zone, name: name, row: row))
        }
        // The commit of the last row may have left more.
        if found.count == FeedWindow.mostRows { cut(before: found[found.count - 1].position) }
        events[topic] = found
        count += found.count
        if count > FeedWindow.mostRowsOfAll { shrink() }
        isTooLarge = count > FeedWindow.mostRowsOfCommit
    }

    /// Whether a commit left an event of a topic between two positions, however many are there.
    static func holds<Reader: RowReader & ~Copyable>(
        _ dot: Dot,
        of topic: Topic.ID,
        from first: UInt64,
        before end: UInt64,
        in scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        for day in try days(from: first, in: scope, reader) {
            var range = KeyRange.topicEvents(scope, day, topic, from: first)
            while true {
                let page = try reader.rows(.log, range, limit: mostRows)
                for (key, value) in page {
                    if try RowKey.topicEvent(key).position >= end { return false }
                    let row = try reader.decoding(key) { () throws(MalformedBytes) in
                        try TopicEvent(row: value)
                    }
                    if row.stamp.dot == dot { return true }
                }
                guard page.count == mostRows, let last = page.last else { break }
                range.start = last.key + [0]
            }
        }
        return false
    }

    /// Whether no creation was repeated since the window's first day.
    var isWithoutRepeats: Bool { repeatDays.isEmpty }

    /// The births of a record's life for each time that the request which created it was repeated
    /// since the window's first day.
    func repeats<Reader: RowReader & ~Copyable>(
        of name: String,
        in zone: ZoneNumber,
        of scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) -> [[Dot]] {
        var repeats: [[Dot]] = []
        for day in repeatDays {
            let rows = try reader.rows(.log, .repeated(scope, day, zone, name))
            for (key, value) in rows {
                let row = try reader.decoding(key) { () throws(MalformedBytes) in
                    try RepeatedRow(row: value)
                }
                repeats.append(try row.births + [RowKey.repeatedBirth(key)])
            }
        }
        return repeats
    }

    private mutating func readMixes<Reader: RowReader & ~Copyable>(
        on days: [Day],
        from first: UInt64,
        in scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) {
        let ranges = days.map { KeyRange.mixed(scope, $0, from: first) }
        for (key, value) in try FeedWindow.rows(of: ranges, reader) {
            let (position, zone, name) = try RowKey.mixed(key)
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try MixedRow(row: value)
            }
            mixes.append(Mix(position: position, zone: zone, name: name, row: row))
        }
        if mixes.count == FeedWindow.mostRows { cut(before: mixes[mixes.count - 1].position) }
    }

    /// The rows of one day after the other, `mostRows` at most.
    private static func rows<Reader: RowReader & ~Copyable>(
        of days: [KeyRange],
        _ reader: borrowing Reader
    ) throws(EngineError) -> [(key: Bytes, value: Bytes)] {
        var found: [(key: Bytes, value: Bytes)] = []
        for range in days where found.count < mostRows {
            found += try reader.rows(.log, range, limit: mostRows - found.count)
        }
        return found
    }

    /// Ends the window earlier, so that it holds fewer rows; it never ends within a commit.
    private mutating func shrink() {
        var last = end
        let positions = events.values.joined().map(\.position).filter { $0 <= last }.sorted()
        if positions.count > FeedWindow.mostRows { last = positions[FeedWindow.mostRows] }
        if last < end { (end, isLast) = (last, false) }
        events = events.mapValues { $0.filter { $0.position <= last } }
        count = events.values.reduce(0) { $0 + $1.count }
    }

    /// Ends the window before a position.
    private mutating func cut(before position: UInt64) {
        end = min(end, position - 1)
        isLast = false
    }

    /// The days that have rows from a position on.
    private static func days<Reader: RowReader & ~Copyable>(
        from first: UInt64,
        in scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) -> [Day] {
        var days: [Day] = []
        for (key, value) in try reader.rows(.meta, .feedDays(of: scope), backwards: true) {
            days.append(try RowKey.feedDay(key))
            let begin = try reader.decoding(key) { () throws(MalformedBytes) in
                try SeqRow(row: value).seq
            }
            if begin <= first { break }
        }
        return days.reversed()
    }
}
