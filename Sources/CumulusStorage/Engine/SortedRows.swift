// Sorted rows in pieces, so that inserting a row does not move all rows behind it.
//
// `Overlay` holds one per family. Nearly every batch is one piece. hot: several times per save.

package import CumulusModel

package struct SortedRows: Sendable {
    package typealias Row = (key: Bytes, value: Bytes?)

    /// A larger piece is cut in two.
    private static let pieceLimit = 1_024

    /// No piece is empty.
    private var pieces: [[Row]] = []

    package init() {}

    package var isEmpty: Bool { pieces.isEmpty }

    /// All rows; this copies if there are several pieces.
    package var all: ArraySlice<Row> {
        pieces.count == 1 ? pieces[0][...] : Array(pieces.joined())[...]
    }

    /// The value of a row, nil if it deletes; nil if there is no such row.
    package func get(_ key: Bytes) -> Bytes?? {
        let piece = piece(of: key)
        guard piece < pieces.count else { return .none }
        let index = SortedRows.firstIndex(pieces[piece], notBefore: key)
        guard index < pieces[piece].count, pieces[piece][index].key == key else { return .none }
        return .some(pieces[piece][index].value)
    }

    /// Enters a row or replaces its value, and returns the previous value.
    @discardableResult
    package mutating func put(_ key: Bytes, _ value: Bytes?) -> Bytes?? {
        guard !pieces.isEmpty else {
            pieces = [[(key, value)]]
            return .none
        }
        let piece = min(piece(of: key), pieces.count - 1)
        let index = SortedRows.firstIndex(pieces[piece], notBefore: key)
        if index < pieces[piece].count, pieces[piece][index].key == key {
            defer { pieces[piece][index].value = value }
            return .some(pieces[piece][index].value)
        }
        pieces[piece].insert((key, value), at: index)
        if pieces[piece].count > SortedRows.pieceLimit { cut(piece) }
        return .none
    }

    package mutating func remove(_ key: Bytes) {
        let piece = piece(of: key)
        guard piece < pieces.count else { return }
        let index = SortedRows.firstIndex(pieces[piece], notBefore: key)
        guard index < pieces[piece].count, pieces[piece][index].key == key else { return }
        pieces[piece].remove(at: index)
        if pieces[piece].isEmpty { pieces.remove(at: piece) }
    }

    /// The rows of a range, in their order.
    package func rows(in range: KeyRange) -> ArraySlice<Row> {
        var found: ArraySlice<Row> = []
        for piece in pieces[piece(of: range.start)...] {
            let start = SortedRows.firstIndex(piece, notBefore: range.start)
            let end = SortedRows.firstIndex(piece, notBefore: range.end)
            let rows = piece[start..<max(start, end)]
            if found.isEmpty { found = rows } else { found += rows }
            if end < piece.count { break }
        }
        return found
    }

    private mutating func cut(_ piece: Int) {
        let middle = SortedRows.pieceLimit / 2
        pieces.insert(Array(pieces[piece][middle...]), at: piece + 1)
        pieces[piece].removeSubrange(middle...)
    }

    /// The index of the first piece whose last key is not before `key`; `pieces.count` if there is
    /// none.
    private func piece(of key: Bytes) -> Int {
        var low = 0
        var high = pieces.count
        while low < high {
            let middle = (low + high) / 2
            let last = pieces[middle][pieces[middle].count - 1].key
            if precedes(last, key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func firstIndex(_ rows: [Row], notBefore key: Bytes) -> Int {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if precedes(rows[middle].key, key) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
