// Finds the disk space that dropped log entries still take, and the pieces in which it is
// reclaimed.
//
// Asked by the collector, of a log's floors and the engine's word on sizes. The engine gives the
// room back by itself when it merges its tables, which may be never where little is written any
// more. In pieces, since somebody waits while one is given back.

import CumulusModel
package import CumulusStorage

package struct DeadLog: Sendable {
    package struct Piece: Sendable {
        package let range: KeyRange
        /// Approximate bytes of disk.
        package let bytes: UInt64
    }

    /// Less than this in one place is left to the engine.
    private let least: UInt64
    /// No piece takes more, unless it is a single entry.
    private let most: UInt64

    package init(least: UInt64 = 1 << 20, most: UInt64 = 64 << 20) {
        self.least = least
        self.most = most
    }

    /// Splits the dropped part of a scope's log into pieces to reclaim.
    ///
    /// - Parameter size: About how many bytes of disk a range of the log takes.
    package func pieces(
        of scope: ScopeNumber,
        _ reader: ReadTransaction,
        _ size: (KeyRange) throws(EngineError) -> UInt64
    ) throws(EngineError) -> [Piece] {
        var pieces: [Piece] = []
        for floor in try reader.logFloors(of: scope).dots where floor.seq > 0 {
            pieces += try self.pieces(of: 1...floor.seq, floor.incarnation, scope, size)
        }
        return pieces
    }

    /// Halves a range until the pieces are small enough.
    private func pieces(
        of seqs: ClosedRange<UInt64>,
        _ run: Incarnation,
        _ scope: ScopeNumber,
        _ size: (KeyRange) throws(EngineError) -> UInt64
    ) throws(EngineError) -> [Piece] {
        let range = KeyRange.commits(scope, run, seqs)
        let bytes = try size(range)
        if bytes < least { return [] }
        if bytes <= most || seqs.count == 1 { return [Piece(range: range, bytes: bytes)] }
        let middle = seqs.lowerBound + (seqs.upperBound - seqs.lowerBound) / 2
        return try pieces(of: seqs.lowerBound...middle, run, scope, size)
            + pieces(of: middle + 1...seqs.upperBound, run, scope, size)
    }
}
