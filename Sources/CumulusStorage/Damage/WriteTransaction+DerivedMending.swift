// Rewrites damaged derived rows, which follow from the records.
//
// Called inside the writer, by the node's `Verification`. All records of the zones that reach into
// the damage are read for it, and writes wait meanwhile.

import CumulusModel

extension WriteTransaction {
    /// Replaces damaged derived rows of the index with rows computed from the records.
    ///
    /// Returns false and changes nothing if other rows may stand there too, or if a record can't be
    /// read.
    package mutating func mendDerivedRows(_ damage: StoreDamage) throws(EngineError) -> Bool {
        guard try holdsOnlyDerivedRows(damage) else { return false }
        var rows: [Bytes: Bytes] = [:]
        do throws(EngineError) {
            for key in [damage.before, damage.after].compactMap(\.self) where !damage.isRow {
                rows[key] = try get(RowKey(.change, bytes: key))
            }
            for (_, scope) in try ScopeDirectory.all(in: self) {
                for zone in try zoneNumbers(of: scope) {
                    try addDerivedRows(of: zone, in: scope, damage, &rows)
                }
            }
        } catch .corrupt {
            return false
        }
        let start = damage.isRow ? damage.range.start : damage.before ?? damage.range.start
        let last = damage.isRow ? damage.range.start : damage.after
        let end = last.map { $0 + [0] } ?? KeyRange.behindAll
        deleteRange(.index, KeyRange(start: start, end: end))
        for (key, value) in rows { put(RowKey(.change, bytes: key), value) }
        return true
    }

    private borrowing func holdsOnlyDerivedRows(_ damage: StoreDamage) throws(EngineError) -> Bool {
        let derived: Set<Subspace> = [.change, .backReference, .indexRow, .assetUse]
        if derived.isSuperset(of: damage.subspaces) { return true }
        if damage.isRow { return false }
        // A stretch up to the end holds rows of assets only if there are any.
        for subspace in [Subspace.asset, .chunk, .pack] {
            if try !rows(.records, .all(subspace), limit: 1).isEmpty { return false }
        }
        return true
    }

    private mutating func addDerivedRows(
        of zone: ZoneNumber,
        in scope: ScopeNumber,
        _ damage: StoreDamage,
        _ found: inout [Bytes: Bytes]
    ) throws(EngineError) {
        let ranges = [
            KeyRange.changes(of: zone), .backReferences(of: zone), .indexRows(of: zone),
            KeyRange(prefix: RowKey(.assetUse) { $0.add(zone) }.bytes),
        ]
        guard ranges.contains(where: damage.touches) else { return }
        for (key, value) in try ScopeIndexes(of: scope).standingRows(of: zone, &self)
        where damage.range.contains(key.bytes) { found[key.bytes] = value }
        for all in [KeyRange.records(of: zone), .siblings(of: zone)] {
            var range = all
            while true {
                let page = try rows(.records, range, limit: WriteTransaction.pageRows)
                for (key, value) in page {
                    for (key, value) in try derivedRows(key, value, zone, scope)
                    where damage.range.contains(key.bytes) { found[key.bytes] = value }
                }
                guard page.count == WriteTransaction.pageRows, let last = page.last else { break }
                range.start = last.key + [0]
            }
        }
    }

    /// How many rows are in memory at a time.
    private static let pageRows = 500

    /// Computes the derived rows of a record's row, or of a life that is not shown.
    private mutating func derivedRows(
        _ key: Bytes,
        _ value: Bytes,
        _ zone: ZoneNumber,
        _ scope: ScopeNumber
    ) throws(EngineError) -> [(key: RowKey, value: Bytes)] {
        var parts = KeyReader(key)
        _ = try parts.number(ZoneNumber.self)
        let name = try parts.text()
        let isShown = parts.isAtEnd
        let row = try decoding(key) { () throws(MalformedBytes) in try RecordRow(value) }
        let assets = try decoding(key) { () throws(MalformedBytes) in try row.body.assets() }
        var rows = assets.map { (key: RowKey.assetUse(zone, $0, name), value: Bytes()) }
        guard isShown else { return rows }
        rows += row.frontier.map { (key: .change(zone, $0.dot, name), value: []) }
        for reference in try backReferences(of: row) {
            rows.append((key: reference.key(in: zone, child: name), value: reference.value))
        }
        let indexes = ScopeIndexes(of: scope)
        if try indexes.owesRows(of: name, in: zone, self) { return rows }
        if row.isDead { return rows }
        let candidate = Candidate(row, named: name)
        for index in try indexes.settled(row.type, &self) {
            rows += try candidate.rows(in: zone, index)
        }
        return rows
    }
}
