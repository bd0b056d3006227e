// Reads rows of an index one by one, some at a time: the ranges of an access merged by name or one
// after the other, forwards or backwards.
//
// Used by queries, which stop where they have enough and count how long a way is before they take
// it. hot: once per index row that a query reads.

import CumulusModel

/// The rows of an access in its order, of one zone.
package struct IndexRows {
    private var ranges: [RangeRows]
    private let merges: Bool
    private var last: Bytes?
    private var seen: Set<Bytes>?

    /// - Parameter start: Nothing before it is wanted: a place in the order of the access.
    package init(_ access: IndexAccess, in zone: ZoneNumber, from start: Start? = nil) {
        let backwards = access.order == .valueDescending
        merges = access.order == .name && access.ranges.count > 1
        // Of ranges that are merged each gives a few of the first rows.
        let chunk = merges ? max(4, RangeRows.firstChunk / access.ranges.count) : nil
        seen = access.repeats ? [] : nil
        ranges = access.ranges.map { range in
            var keys = range.keys(in: zone)
            start?.cut(&keys, range, access.order, zone)
            return RangeRows(range.index.definition, keys, backwards: backwards, chunk: chunk)
        }
    }

    /// The next row; each record comes once.
    package mutating func next(_ reader: ReadTransaction) throws(EngineError) -> IndexEntry? {
        while let entry = try merges ? nextMerged(reader) : nextInTurn(reader) {
            if seen != nil, seen?.insert(entry.nameBytes).inserted == false { continue }
            return entry
        }
        return nil
    }

    private mutating func nextInTurn(
        _ reader: ReadTransaction
    ) throws(EngineError) -> IndexEntry? {
        while !ranges.isEmpty {
            if let entry = try ranges[0].next(reader) { return entry }
            ranges.removeFirst()
        }
        return nil
    }

    /// The lowest name; records that stand in several ranges come one behind the other.
    private mutating func nextMerged(
        _ reader: ReadTransaction
    ) throws(EngineError) -> IndexEntry? {
        while true {
            var lowest: (index: Int, name: Bytes)?
            for index in ranges.indices {
                guard let name = try ranges[index].peek(reader) else { continue }
                if let known = lowest, !precedes(name, known.name) { continue }
                lowest = (index, name)
            }
            guard let lowest, let entry = try ranges[lowest.index].next(reader) else { return nil }
            if lowest.name == last { continue }
            last = lowest.name
            return entry
        }
    }
}

extension IndexRows {
    /// Where a later page begins.
    package struct Start: Hashable, Sendable {
        /// Of the first sort key; nil where the last result had no value.
        package var value: ComparableValue?
        package var name: String
        /// Whether names decide among equal values.
        package var isExact: Bool

        package init(value: ComparableValue?, name: String, isExact: Bool) {
            self.value = value
            self.name = name
            self.isExact = isExact
        }

        /// Leaves out of a range what comes before.
        fileprivate func cut(
            _ keys: inout KeyRange,
            _ range: IndexRange,
            _ order: IndexAccess.Order,
            _ zone: ZoneNumber
        ) {
            switch order {
            case .name:
                let first = keys.start + IndexRange.text(name)
                if precedes(keys.start, first) { keys.start = first }
            case .value:
                let first = prefix(range, zone) + (isExact ? IndexRange.text(name) : [])
                if precedes(keys.start, first) { keys.start = first }
            case .valueDescending:
                let end =
                    isExact
                    ? prefix(range, zone) + IndexRange.text(name) + [0]
                    : KeyRange(prefix: prefix(range, zone)).end
                if precedes(end, keys.end) { keys.end = end }
            case .none: break
            }
            if precedes(keys.end, keys.start) { keys.start = keys.end }
        }

        private func prefix(_ range: IndexRange, _ zone: ZoneNumber) -> Bytes {
            let mark = value.map(IndexRange.value) ?? IndexRange.bytes(.absent)
            return KeyRange.indexRows(of: zone, range.index.number).start + mark
        }
    }
}

extension IndexRange {
    fileprivate static func text(_ text: String) -> Bytes {
        var writer = KeyWriter(.indexRow)
        writer.add(text)
        return Bytes(writer.bytes.dropFirst())
    }
}

/// The rows of one range.
private struct RangeRows {
    private let definition: IndexDefinition
    private var range: KeyRange
    private let backwards: Bool
    private var entries: ArraySlice<IndexEntry> = []
    private var isAtEnd = false
    /// Rows that are read at once: few at first, since most pages need few.
    private var chunk: Int
    static let firstChunk = 64
    private static let longestChunk = 512

    init(_ definition: IndexDefinition, _ range: KeyRange, backwards: Bool, chunk: Int?) {
        self.definition = definition
        self.range = range
        self.backwards = backwards
        self.chunk = chunk ?? RangeRows.firstChunk
    }

    mutating func next(_ reader: ReadTransaction) throws(EngineError) -> IndexEntry? {
        if entries.isEmpty { try fill(reader) }
        return entries.popFirst()
    }

    /// The name of the next row.
    mutating func peek(_ reader: ReadTransaction) throws(EngineError) -> Bytes? {
        if entries.isEmpty { try fill(reader) }
        return entries.first?.nameBytes
    }

    private mutating func fill(_ reader: ReadTransaction) throws(EngineError) {
        if isAtEnd { return }
        let rows = try reader.rows(.index, range, backwards: backwards, limit: chunk)
        isAtEnd = rows.count < chunk
        if let last = rows.last {
            if backwards { range.end = last.key } else { range.start = last.key + [0] }
        }
        chunk = min(2 * chunk, RangeRows.longestChunk)
        var read: [IndexEntry] = []
        read.reserveCapacity(rows.count)
        for row in rows { read.append(try IndexEntry(definition, key: row.key, value: row.value)) }
        entries = read[...]
    }
}

/// Counts the rows of an access, as far as somebody wants to know.
package struct IndexCount {
    private var ranges: ArraySlice<KeyRange>
    /// Rows so far.
    package private(set) var count = 0

    package init(_ access: IndexAccess, in zone: ZoneNumber) {
        ranges = access.ranges.map { $0.keys(in: zone) }[...]
    }

    /// Whether there are at most so many rows.
    package mutating func isWithin(
        _ limit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        while let range = ranges.first, count <= limit {
            var found = 0
            var last: Bytes = []
            let room = limit + 1 - count
            try reader.scan(.index, range, backwards: false) { key, _ in
                found += 1
                last = key
                return found < room
            }
            count += found
            if found < room {
                ranges.removeFirst()
            } else {
                ranges[ranges.startIndex].start = last + [0]
            }
        }
        return ranges.isEmpty && count <= limit
    }
}
