// Reads the records together that rows of the change index name.
//
// `FetchZoneChanges` and `TreeChanges` call it before they look at these rows one by one. hot: once
// per stretch of changes.

import CumulusModel
import CumulusStorage

extension ReadTransaction {
    /// Reads the records of the next changes of a page, and returns the number of these changes.
    ///
    /// These are no more than the page has room for: what is behind its end would be read in vain.
    ///
    /// - Parameters:
    ///   - keys: The rows of the changes. One that can't be read is left to the page.
    ///   - names: The records that the page tells already.
    mutating func readAhead<Keys: Collection<Bytes>>(
        changes keys: Keys,
        of zone: ZoneNumber,
        besides names: Set<String>,
        byteCount: Int,
        limit: FetchZoneChanges.PageLimit
    ) throws(EngineError) -> Int {
        let room = limit.items - names.count
        let next = keys.prefix(max(1, min(room, ReadTransaction.stretch)))
        let changed = next.compactMap { try? RowKey.changedRecord($0) }
        try readAhead(
            changed.filter { !names.contains($0) }.map { .record(zone, $0) },
            byteLimit: min(limit.bytes - byteCount, Limits.standard.answerBytes)
        )
        return next.count
    }
}
