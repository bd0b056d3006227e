// Rewrites damaged derived rows, which follow from the records.
//
// Called inside the writer, by the node's `Verification`. All records of the zones that reach into
// the damage are read for it, and writes wait meanwhile.

import CumulusModel

extension StoreDamage {
    /// Replaces damaged derived rows of the index with rows computed from the records.
    ///
    /// Returns false and changes nothing if other rows may stand there too, or if a record can't be
    /// read.
    package func mendDerivedRows(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard try holdsOnlyDerivedRows(transaction) else { return false }
        var rows: [Bytes: Bytes] = [:]
        do throws(EngineError) {
            for key in [before, after].compactMap(\.self) where !isRow {
                rows[key] = try transaction.get(RowKey(.change, bytes: key))
            }
            for (_, scope) in try ScopeDirectory.all(in: transaction) {
                for zone in try transaction.zoneNumbers(of: scope) {
                    try addDerivedRows(of: zone, in: scope, &rows, &transaction)
                }
            }
        } catch .corrupt {
            return false
        }
        let start = isRow ? range.start : before ?? range.start
        let last = isRow ? range.start : after
        let end = last.map { $0 + [0] } ?? KeyRange.behindAll
        transaction.deleteRange(.index, KeyRange(start: start, end: end))
        for (key, value) in rows { transaction.put(RowKey(.change, bytes: key), value) }
        return true
    }

    private func holdsOnlyDerivedRows(
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        let derived: Set<Subspace> = [.change, .backReference, .indexRow, .assetUse]
        if derived.isSuperset(of: subspaces) { return true }
        if isRow { return false }
        // A stretch up to the end holds rows of assets only if there are any.
        for subspace in [Subspace.asset, .chunk, .pack] {
            if try !transaction.rows(.records, .all(subspace), limit: 1).isEmpty { return false }
        }
        return true
    }

    private func addDerivedRows(
        of zone: ZoneNumber,
        in scope: ScopeNumber,
        _ found: inout [Bytes: Bytes],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let ranges = [
            KeyRange.changes(of: zone), .backReferences(of: zone), .indexRows(of: zone),
            KeyRange(prefix: RowKey(.assetUse) { $0.add(zone) }.bytes),
        ]
        guard ranges.contains(where: touches) else { return }
        for (key, value) in try ScopeIndexes(of: scope).standingRows(of: zone, &transaction)
        where self.range.contains(key.bytes) { found[key.bytes] = value }
        for all in [KeyRange.records(of: zone), .siblings(of: zone)] {
            var range = all
            while true {
                let page = try transaction.rows(.records, range, limit: StoreDamage.pageRows)
                for (key, value) in page {
                    for (key, value) in try derivedRows(key, value, zone, scope, &transaction)
                    where self.range.contains(key.bytes) { found[key.bytes] = value }
                }
                guard page.count == StoreDamage.pageRows, let last = page.last else { break }
                range.start = last.key + [0]
            }
        }
    }

    /// How many rows are in memory at a time.
    private static let pageRows = 500

    /// Computes the derived rows of a record's row, or of a life that is not shown.
    private func derivedRows(
        _ key: Bytes,
        _ value: Bytes,
        _ zone: ZoneNumber,
        _ scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [(key: RowKey, value: Bytes)] {
        var parts = KeyReader(key)
        _ = try parts.number(ZoneNumber.self)
        let name = try parts.text()
        let isShown = parts.isAtEnd
        let row = try transaction.decoding(key) { () throws(MalformedBytes) in
            try RecordRow(value)
        }
        let assets = try transaction.decoding(key) { () throws(MalformedBytes) in
            try row.body.assets()
        }
        var rows = assets.map { (key: RowKey.assetUse(zone, $0, name), value: Bytes()) }
        guard isShown else { return rows }
        rows += row.frontier.map { (key: .change(zone, $0.dot, name), value: []) }
        for reference in try transaction.backReferences(of: row) {
            rows.append((key: reference.key(in: zone, child: name), value: reference.value))
        }
        let indexes = ScopeIndexes(of: scope)
        if try indexes.owesRows(of: name, in: zone, transaction) { return rows }
        if row.isDead { return rows }
        let candidate = Candidate(row, named: name)
        for index in try indexes.settled(row.type, &transaction) {
            rows += try candidate.rows(in: zone, index)
        }
        return rows
    }
}
