// Collects assets that nothing has named for the time of grace.
//
// It walks through all assets of a database, in steps. Each step looks at some assets on a
// snapshot, and hands what it found to the writer, which looks again. So nothing goes that was
// named or prepared in between. Before that, the leases of users that are older than the time of
// grace end: so an asset never goes before the leases of the users who prepared it.

import CumulusAssets
package import CumulusModel
package import CumulusStorage

package struct AssetCollection: Sendable {
    /// What a step found about an asset that its row doesn't say.
    package struct Finding: Hashable, Sendable {
        package var asset: Bytes
        package var isNamed: Bool
        /// The most rows that the writer looks at for it: one for each chunk, and for each zone.
        package var cost: Int
    }

    /// Assets that have been idle since before this time go, in milliseconds since 1970 UTC.
    package var idleBefore: Int64

    package init(idleBefore: Int64) {
        self.idleBefore = idleBefore
    }

    /// - Parameter limit: About how many rows are looked at: one for each zone of each asset.
    /// - Returns: What is to be done about the next assets, and the last asset that was looked at;
    ///   nil if there are no more.
    package func find(
        in database: DatabaseNumber,
        after asset: Bytes,
        limit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (findings: [Finding], last: Bytes?) {
        let zones = try reader.rows(.meta, .zones(of: database)).count
        let limit = max(1, limit / max(1, zones))
        let range = KeyRange.assets(of: database, after: asset)
        let rows = try reader.rows(.records, range, limit: limit)
        var findings: [Finding] = []
        var last: Bytes?
        for (key, value) in rows {
            let digest = Bytes(key.suffix(32))
            last = digest
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try AssetRow(row: value)
            }
            let isNamed = try reader.isNamed(digest, inDatabase: database)
            if isNamed == (row.idleSince == nil), !isDue(row) { continue }
            let chunks = Int(clamping: row.size / UInt64(ContentCutter.smallest)) + 1
            findings.append(Finding(asset: digest, isNamed: isNamed, cost: zones + chunks))
        }
        return (findings, rows.count < limit ? nil : last)
    }

    /// Finds leases that are to end, in steps like `find`.
    ///
    /// - Returns: The keys of their rows, and the key of the last row that was looked at; nil if
    ///   there are no more.
    package func findLeases(
        in database: DatabaseNumber,
        after key: Bytes,
        limit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (ended: [Bytes], last: Bytes?) {
        let rows = try reader.rows(.log, .leases(of: database, after: key), limit: limit)
        var ended: [Bytes] = []
        for (key, value) in rows {
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try LeaseRow(row: value)
            }
            if row.since < idleBefore { ended.append(key) }
        }
        return (ended, rows.count < limit ? nil : rows.last?.key)
    }

    /// Ends leases, in the writer, unless they were renewed.
    package func end(
        _ leases: [Bytes],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for key in leases { try Leaseholder.endLease(key, before: idleBefore, &transaction) }
    }

    private func isDue(_ row: AssetRow) -> Bool {
        row.idleSince.map { $0 < idleBefore } ?? false
    }

    /// Applies what `find` found, in the writer, after looking again.
    ///
    /// - Returns: Packs whose files may go once the batch is durable, and how many assets went.
    package func settle(
        _ findings: [Finding],
        in database: DatabaseNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (freed: Set<PackNumber>, assets: Int) {
        var freed: Set<PackNumber> = []
        var count = 0
        for finding in findings {
            guard let row = try transaction.asset(finding.asset, in: database) else { continue }
            let isNamed = try transaction.isNamed(finding.asset, inDatabase: database)
            if !isNamed, isDue(row) {
                freed.formUnion(
                    try DatabaseAssets(of: database).forget(finding.asset, &transaction)
                )
                count += 1
            } else {
                try DatabaseAssets(of: database).note(finding.asset, isNamed: isNamed, &transaction)
            }
        }
        return (freed, count)
    }
}
