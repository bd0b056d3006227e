// The rows of some topics between two positions of this node, read from one snapshot.
//
// Made by `FetchFeed` for each page.

import CumulusModel
import CumulusStorage

struct FeedWindow {
    /// A commit changed a record of a topic.
    struct Event {
        let position: UInt64
        let name: String
        let row: TopicEvent
    }

    /// A commit changed a record without knowledge of other changes.
    struct Mix {
        let position: UInt64
        let name: String
        let row: MixedRow
    }

    /// Rows of a topic that are read at most; more than one commit can leave.
    static let mostRows = 2_000
    /// Rows of all topics that are kept, unless one commit left more.
    private static let mostRowsOfAll = 4_000
    /// Rows of one commit that are kept at most.
    private static let mostRowsOfCommit = 20_000

    private(set) var events: [Topic.ID: [Event]] = [:]
    private(set) var mixes: [Mix] = []
    /// The window holds everything up to here.
    private(set) var end: UInt64
    /// Nothing is left behind the window.
    private(set) var isLast: Bool
    /// One commit left more than can be told.
    private(set) var isTooLarge = false
    private var count = 0

    /// - Parameters:
    ///   - first: Where the window begins.
    ///   - last: Where it ends, if not before.
    ///   - isLast: Whether nothing is behind that.
    init<Reader: RowReader & ~Copyable>(
        of topics: some Sequence<Topic.ID>,
        from first: UInt64,
        through last: UInt64,
        isLast: Bool,
        in scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) {
        end = last
        self.isLast = isLast
        let days = try FeedWindow.days(from: first, in: scope, reader)
        for topic in topics {
            var found: [Event] = []
            for day in days where found.count < FeedWindow.mostRows {
                let range = KeyRange.topicEvents(scope, day, topic, from: first)
                let rows = try reader.rows(
                    .log,
                    range,
                    limit: FeedWindow.mostRows - found.count
                )
                for (key, value) in rows {
                    let (position, _, name) = try RowKey.topicEvent(key)
                    let row = try reader.decoding(key) { () throws(MalformedBytes) in
                        try TopicEvent(row: value)
                    }
                    found.append(Event(position: position, name: name, row: row))
                }
            }
            // The commit of the last row may have left more.
            if found.count == FeedWindow.mostRows { cut(before: found[found.count - 1].position) }
            events[topic] = found
            count += found.count
            if count > FeedWindow.mostRowsOfAll { shrink() }
            if count > FeedWindow.mostRowsOfCommit {
                isTooLarge = true
                return
            }
        }
        for day in days where mixes.count < FeedWindow.mostRows {
            let range = KeyRange.mixed(scope, day, from: first)
            let rows = try reader.rows(.log, range, limit: FeedWindow.mostRows - mixes.count)
            for (key, value) in rows {
                let (position, _, name) = try RowKey.mixed(key)
                let row = try reader.decoding(key) { () throws(MalformedBytes) in
                    try MixedRow(row: value)
                }
                mixes.append(Mix(position: position, name: name, row: row))
            }
        }
        if mixes.count == FeedWindow.mostRows { cut(before: mixes[mixes.count - 1].position) }
        let end = end
        events = events.mapValues { $0.filter { $0.position <= end } }
        mixes.removeAll { $0.position > end }
    }

    /// Ends the window earlier, so that it holds fewer rows, but all of a commit or none.
    private mutating func shrink() {
        var last = end
        let positions = events.values.joined().map(\.position).filter { $0 <= last }.sorted()
        if positions.count > FeedWindow.mostRows { last = positions[FeedWindow.mostRows] }
        if last < end { (end, isLast) = (last, false) }
        events = events.mapValues { $0.filter { $0.position <= last } }
        count = events.values.reduce(0) { $0 + $1.count }
    }

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
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            days.append(try parts.number())
            let begin = try reader.decoding(key) { () throws(MalformedBytes) in
                try SeqRow(row: value).seq
            }
            if begin <= first { break }
        }
        return days.reversed()
    }
}
