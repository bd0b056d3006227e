// Reads the records that a search is about to look at in stretches: several together take less time
// than one by one.
//
// This is the part of `QuerySearch` for records that rows of an index or names lead to. hot: once
// per such record.

import CumulusModel
import CumulusStorage

extension QuerySearch {
    /// The rows of an access, and the ones of the current stretch that were not looked at.
    struct Stretches: Sendable {
        var rows: IndexRows
        var current: ArraySlice<IndexEntry> = []
    }

    /// The next row of an access; if it begins a stretch, the records of the stretch are read.
    ///
    /// - Parameter most: The rows of a stretch, within the usual bounds.
    mutating func next(
        of access: IndexAccess,
        _ rows: inout Stretches,
        _ most: Int,
        _ part: inout Part
    ) throws -> IndexEntry? {
        if let entry = rows.current.popFirst() { return entry }
        // Few rows of a covering index lead to records.
        let count = access.isCovering ? 1 : max(1, min(most, ReadTransaction.stretch))
        while rows.current.count < count, let entry = try rows.rows.next(part.reader, &effort) {
            rows.current.append(entry)
        }
        if rows.current.count > 1 {
            let (number, owed) = (part.number, part.owed)
            let names = rows.current.map(\.name).filter { !owed.contains($0) }
            try part.reader.readAhead(names.map { .record(number, $0) })
        }
        return rows.current.popFirst()
    }

    /// Reads the next records of a list of names, if the ones that were read ahead are used up.
    func readAhead(_ names: ArraySlice<String>, _ part: inout Part) throws(EngineError) {
        if part.namesAhead == 0 {
            let next = names.prefix(ReadTransaction.stretch)
            let number = part.number
            try part.reader.readAhead(next.map { .record(number, $0) })
            part.namesAhead = next.count
        }
        part.namesAhead -= 1
    }
}
