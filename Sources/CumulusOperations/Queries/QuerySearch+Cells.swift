// Searches a zone by the distance from a place: reads rows of cells, most of which are too far.
//
// This is the part of `QuerySearch` for the index of a location. hot: once per row of a cell.

import CumulusModel
import CumulusStorage

extension QuerySearch {
    /// Reads the rows of cells, and decodes the ones that may be on the page.
    mutating func take(
        _ access: IndexAccess,
        _ nearest: BoundQuery.Nearest,
        _ cells: inout ArraySlice<Cells>,
        _ part: inout Part
    ) throws -> Bool {
        describe(access)
        while let cell = cells.first {
            guard let next = try take(cell, of: access, nearest, part) else {
                cells.removeFirst()
                continue
            }
            cells[cells.startIndex].keys.start = next
            part.way = .cells(access, nearest, cells)
            return false
        }
        return true
    }

    /// Returns the key to go on with in another turn; nil if all rows were read.
    private mutating func take(
        _ cell: Cells,
        of access: IndexAccess,
        _ nearest: BoundQuery.Nearest,
        _ part: Part
    ) throws -> Bytes? {
        var failure: (any Error)?
        var next: Bytes?
        try part.reader.lendRows(.index, cell.keys) { key, value in
            if effort.isTurnOver {
                next = Bytes(key)
                return false
            }
            do {
                if let metres = IndexEntry.distance(from: nearest.place, to: value),
                    try isSettled(metres, nearest)
                {
                    return true
                }
                let (key, value) = (Bytes(key), Bytes(value))
                let entry = try IndexEntry(cell.definition, key: key, value: value)
                _ = try look(at: entry, access, part)
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return next
    }

    /// Whether the distance alone decides that a row is no result: it is too far, or after a full
    /// page.
    private mutating func isSettled(
        _ metres: Double,
        _ nearest: BoundQuery.Nearest
    ) throws -> Bool {
        let isNear = nearest.reaches(metres)
        guard !isNear || comesTooLate(metres) else { return false }
        work.rowsRead += 1
        if isNear { work.rowsKept += 1 }
        try effort.spend(QuerySearch.rowSteps)
        return true
    }

    /// Whether the page is full, and all its records are nearer.
    private func comesTooLate(_ metres: Double) -> Bool {
        guard results.isFull, case .double(let last)?? = results.lastKey else { return false }
        return metres > last
    }
}
