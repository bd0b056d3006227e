// Reads rows of an index one by one. The ranges of an access are merged by name or read one after
// the other, forwards or backwards.
//
// Queries use it; they stop when they have enough, and count how long a way is before they take it.
// Memory is bounded by the ranges of a plan, 1,000 with a few rows each. hot: once per index row
// that a query reads.

import CumulusModel

/// The rows of an access in its order, of one zone.
package struct IndexRows: Sendable {
    private var ranges: [RangeRows]
    private let merges: Bool
    /// For merged ranges: true if only ranges with a next row are left, the lowest name last.
    private var isArranged = false
    private var last: ArraySlice<UInt8>?

    /// - Parameter start: Rows before it are skipped: a place in the order of the access.
    package init(_ access: IndexAccess, in zone: ZoneNumber, from start: Start? = nil) {
        let backwards = access.order == .valueDescending
        merges = access.order == .name && access.ranges.count > 1
        // Each merged range is read a few rows at a time.
        let chunk = merges ? max(4, RangeRows.firstChunk / access.ranges.count) : nil
        ranges = access.ranges.map { range in
            var keys = range.keys(in: zone)
            start?.cut(&keys, range, access.order, zone)
            return RangeRows(range.index.definition, keys, backwards: backwards, chunk: chunk)
        }
        // The next one is taken from the end.
        if !merges { ranges.reverse() }
    }

    /// The next row; where ranges are merged, each record comes once.
    ///
    /// Throws `EngineError`, or the error that `effort` stops with.
    package mutating func next(
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws -> IndexEntry? {
        try merges ? nextMerged(reader, &effort) : nextInTurn(reader, &effort)
    }

    private mutating func nextInTurn(
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws -> IndexEntry? {
        while let range = ranges.indices.last {
            if let entry = try ranges[range].next(reader, &effort) { return entry }
            ranges.removeLast()
        }
        return nil
    }

    /// Returns the row with the lowest name; records in several ranges come one after the other.
    private mutating func nextMerged(
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws -> IndexEntry? {
        if !isArranged {
            let all = ranges
            ranges = []
            for range in all { try arrange(range, reader, &effort) }
            isArranged = true
        }
        while var range = ranges.popLast() {
            try effort.spend(1)
            let entry = try range.next(reader, &effort)
            try arrange(range, reader, &effort)
            guard let entry, entry.nameBytes != last else { continue }
            last = entry.nameBytes
            return entry
        }
        return nil
    }

    /// Inserts a range by its next name; drops a range without a next row.
    private mutating func arrange(
        _ range: RangeRows,
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws {
        var range = range
        guard let name = try range.peek(reader, &effort) else { return }
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].comesBehind(name) { low = middle + 1 } else { high = middle }
        }
        ranges.insert(range, at: low)
    }
}

extension IndexRows {
    /// The place where a later page begins.
    package struct Start: Hashable, Sendable {
        /// Value of the first sort key; nil if the last result had none.
        package var value: ComparableValue?
        package var name: String
        /// Whether names decide between equal values.
        package var isExact: Bool

        package init(value: ComparableValue?, name: String, isExact: Bool) {
            self.value = value
            self.name = name
            self.isExact = isExact
        }

        /// Cuts off the part of a range before the start.
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
            let tag = value.map(IndexRange.value) ?? IndexRange.bytes(.absent)
            return KeyRange.indexRows(of: zone, range.index.number).start + tag
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
private struct RangeRows: Sendable {
    private let definition: IndexDefinition
    private var range: KeyRange
    private let backwards: Bool
    private var entries: ArraySlice<IndexEntry> = []
    private var isAtEnd = false
    /// Rows that are read at once; it begins small, since most pages need few.
    private var chunk: Int
    static let firstChunk = 64
    private static let longestChunk = 512

    init(_ definition: IndexDefinition, _ range: KeyRange, backwards: Bool, chunk: Int?) {
        self.definition = definition
        self.range = range
        self.backwards = backwards
        self.chunk = chunk ?? RangeRows.firstChunk
    }

    /// Whether the next row, already read, has a later name.
    func comesBehind(_ name: ArraySlice<UInt8>) -> Bool {
        entries.first.map { precedes(name, $0.nameBytes) } ?? false
    }

    mutating func next(
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws -> IndexEntry? {
        if entries.isEmpty { try fill(reader, &effort) }
        return entries.popFirst()
    }

    /// The name of the next row.
    mutating func peek(
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws -> ArraySlice<UInt8>? {
        if entries.isEmpty { try fill(reader, &effort) }
        return entries.first?.nameBytes
    }

    private mutating func fill(
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws {
        if isAtEnd { return }
        var read: [IndexEntry] = []
        read.reserveCapacity(chunk)
        var last: Bytes?
        var damage: EngineError?
        try reader.scan(.index, range, backwards: backwards) { key, value in
            do throws(EngineError) {
                read.append(try IndexEntry(definition, key: key, value: value))
            } catch {
                damage = error
            }
            last = key
            return damage == nil && read.count < chunk
        }
        if let damage { throw damage }
        try effort.spend(IndexRows.rangeSteps + read.count)
        isAtEnd = read.count < chunk
        if let last {
            if backwards { range.end = last } else { range.start = last + [0] }
        }
        chunk = min(2 * chunk, RangeRows.longestChunk)
        entries = read[...]
    }
}

extension IndexRows {
    /// Cost of seeking to a range, in steps of a comparison.
    fileprivate static let rangeSteps = 20
}

/// Counts the rows of an access up to a bound.
package struct IndexCount: Sendable {
    private var ranges: ArraySlice<KeyRange>
    /// Rows so far.
    package private(set) var count = 0
    /// Rows between two checks whether the client still waits.
    private static let chunk = 1_000

    package init(_ access: IndexAccess, in zone: ZoneNumber) {
        ranges = access.ranges.map { $0.keys(in: zone) }[...]
    }

    /// Whether there are at most this many rows; false also if the turn ended before that is known.
    ///
    /// Throws `EngineError`, or the error that `effort` stops with.
    package mutating func isWithin(
        _ limit: Int,
        _ reader: ReadTransaction,
        _ effort: inout QueryEffort
    ) throws -> Bool {
        while let range = ranges.first, count <= limit, !effort.isTurnOver {
            var found = 0
            var last: Bytes = []
            let room = min(IndexCount.chunk, limit + 1 - count)
            try reader.lendRows(.index, range) { key, _ in
                found += 1
                if found == room { last = Bytes(key) }
                return found < room
            }
            count += found
            try effort.spend(IndexRows.rangeSteps + found)
            if found < room {
                ranges.removeFirst()
            } else {
                ranges[ranges.startIndex].start = last + [0]
            }
        }
        return ranges.isEmpty && count <= limit
    }
}
