// The writes of a batch that are not yet committed, in order, over the engine's newest state.
//
// `WriteTransaction` owns it. Reads see the overlay first. A refused request rolls back to a save
// point and leaves nothing behind. While the previous batch is on its way to the engine, its
// overlay is read between this one and the engine, so it makes no difference whether the engine has
// those rows yet. hot: several times per save.

package import CumulusModel

package struct Overlay: Sendable {
    /// Rows by family, without rows of indexes; nil deletes.
    private var rows: [SortedRows]
    /// Rows of indexes, unordered: a text has hundreds at scattered places, and they are rarely
    /// read here.
    private var indexRows: [HashedKey: Bytes?] = [:]
    /// Deleted ranges by family; rows of `meta`, which are read most, are never deleted by range.
    private var deletedRanges: [[KeyRange]]
    private var journal: [Undo] = []
    package private(set) var byteCount = 0

    private enum Undo {
        case remove(Family, Bytes)
        case restore(Family, Bytes, Bytes?)
        case dropRange(Family)
    }

    /// A place to roll back to.
    package struct SavePoint: Sendable {
        fileprivate let journalCount: Int
        fileprivate let byteCount: Int
    }

    package enum Lookup {
        case value(Bytes)
        case deleted
        /// The overlay says nothing of the key: the engine decides.
        case unknown
    }

    package init() {
        rows = Array(repeating: SortedRows(), count: Family.allCases.count)
        deletedRanges = Array(repeating: [], count: Family.allCases.count)
    }

    package var isEmpty: Bool {
        deletedRanges.allSatisfy(\.isEmpty) && rows.allSatisfy(\.isEmpty) && indexRows.isEmpty
    }

    /// Whether a zone was made or deleted in this batch.
    package var holdsZones: Bool {
        let zones = KeyRange.all(.zone)
        return !rows(Subspace.zone.family, in: zones).isEmpty
    }

    /// The rows in no order; ranges that can't hold rows of indexes, as most can't, cost nothing.
    private func indexRows(in range: KeyRange) -> [(key: Bytes, value: Bytes?)] {
        let all = KeyRange.all(.indexRow)
        guard !indexRows.isEmpty, precedes(range.start, all.end), precedes(all.start, range.end)
        else { return [] }
        return indexRows.filter { range.contains($0.key.bytes) }.map { ($0.key.bytes, $0.value) }
    }

    private static func isIndexRow(_ key: Bytes) -> Bool {
        key.first == Subspace.indexRow.rawValue
    }

    package func get(_ family: Family, _ key: Bytes) -> Lookup {
        if Overlay.isIndexRow(key) {
            if let known = indexRows[HashedKey(key)] { return known.map(Lookup.value) ?? .deleted }
            return isInDeletedRange(family, key) ? .deleted : .unknown
        }
        if let known = rows[Int(family.rawValue)].get(key) {
            return known.map(Lookup.value) ?? .deleted
        }
        return isInDeletedRange(family, key) ? .deleted : .unknown
    }

    /// Looks up a key here, and then in the overlay of the previous batch.
    package func get(_ family: Family, _ key: Bytes, over earlier: Overlay?) -> Lookup {
        let own = get(family, key)
        guard case .unknown = own, let earlier else { return own }
        return earlier.get(family, key)
    }

    package mutating func put(_ family: Family, _ key: Bytes, _ value: Bytes?) {
        byteCount += key.count + (value?.count ?? 0)
        if Overlay.isIndexRow(key) {
            let before = indexRows.updateValue(value, forKey: HashedKey(key))
            journal.append(before.map { .restore(family, key, $0) } ?? .remove(family, key))
            return
        }
        let before = rows[Int(family.rawValue)].put(key, value)
        journal.append(before.map { .restore(family, key, $0) } ?? .remove(family, key))
    }

    package mutating func deleteRange(_ family: Family, _ range: KeyRange) {
        let slot = Int(family.rawValue)
        for (key, value) in rows[slot].rows(in: range) {
            journal.append(.restore(family, key, value))
            rows[slot].put(key, nil)
        }
        for (key, value) in indexRows(in: range) {
            journal.append(.restore(family, key, value))
            indexRows[HashedKey(key)] = .some(nil)
        }
        deletedRanges[slot].append(range)
        journal.append(.dropRange(family))
    }

    /// The overlay's rows of a range; the caller merges them with the engine's.
    package func rows(
        _ family: Family,
        in range: KeyRange
    ) -> ArraySlice<(key: Bytes, value: Bytes?)> {
        let found = rows[Int(family.rawValue)].rows(in: range)
        let others = indexRows(in: range)
        return others.isEmpty
            ? found : (found + others).sorted { precedes($0.key, $1.key) }[...]
    }

    /// The rows of a range from here and from the previous batch; a row here hides an earlier one.
    package func rows(
        _ family: Family,
        in range: KeyRange,
        over earlier: Overlay?
    ) -> ArraySlice<(key: Bytes, value: Bytes?)> {
        let own = rows(family, in: range)
        guard let earlier else { return own }
        let others = earlier.rows(family, in: range).filter {
            if case .unknown = get(family, $0.key) { true } else { false }
        }
        return others.isEmpty ? own : (own + others).sorted { precedes($0.key, $1.key) }[...]
    }

    private func isInDeletedRange(_ family: Family, _ key: Bytes) -> Bool {
        deletedRanges[Int(family.rawValue)].contains { $0.contains(key) }
    }

    package func isInDeletedRange(
        _ family: Family,
        _ key: Bytes,
        over earlier: Overlay?
    ) -> Bool {
        isInDeletedRange(family, key) || earlier?.isInDeletedRange(family, key) == true
    }

    // MARK: Save points

    package var savePoint: SavePoint {
        SavePoint(journalCount: journal.count, byteCount: byteCount)
    }

    package mutating func rollBack(to point: SavePoint) {
        while journal.count > point.journalCount {
            guard let undo = journal.popLast() else { break }
            self.undo(undo)
        }
        byteCount = point.byteCount
    }

    private mutating func undo(_ undo: Undo) {
        switch undo {
        case .remove(_, let key) where Overlay.isIndexRow(key): indexRows[HashedKey(key)] = nil
        case .restore(_, let key, let value) where Overlay.isIndexRow(key):
            indexRows[HashedKey(key)] = .some(value)
        case .remove(let family, let key):
            rows[Int(family.rawValue)].remove(key)
        case .restore(let family, let key, let value):
            rows[Int(family.rawValue)].put(key, value)
        case .dropRange(let family):
            deletedRanges[Int(family.rawValue)].removeLast()
        }
    }

    // MARK: Batch

    /// The batch for the engine: range deletions first, then the rows.
    package func batch() -> EngineBatch {
        var batch = EngineBatch()
        for family in Family.allCases {
            batch.deletedRanges += deletedRanges[Int(family.rawValue)].map { (family, $0) }
        }
        for family in Family.allCases {
            for row in rows[Int(family.rawValue)].all {
                batch.writes.append(.init(family: family, key: row.key, value: row.value))
            }
        }
        let family = Subspace.indexRow.family
        for (key, value) in indexRows.sorted(by: { precedes($0.key.bytes, $1.key.bytes) }) {
            batch.writes.append(.init(family: family, key: key.bytes, value: value))
        }
        return batch
    }
}
