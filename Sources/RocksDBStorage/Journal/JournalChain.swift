// Which segments of a journal a start has to read, and in what order: without I/O.
//
// Asked by `JournalReplay`. A segment is begun anew only once tables hold all its records and the
// next segment is there. So whatever stands before the last segment that begins at or before the
// first record that tables lack is of no use any more.

struct JournalChain: Equatable {
    struct Segment: Equatable {
        var file: String
        var head: JournalHead
    }

    /// Segments with records that tables may lack, oldest first.
    private(set) var live: [Segment] = []
    /// Files that may be begun anew.
    private(set) var spare: [String]

    /// The file before which records are missing.
    struct Gap: Error, Equatable {
        var file: String
    }

    /// - Parameters:
    ///   - files: All segments with their heads; a head is nil if the segment was never begun.
    ///   - flushed: The number of the last record that is in tables, with all records before it.
    init(_ files: [(name: String, head: JournalHead?)], flushed: UInt64) throws(Gap) {
        spare = files.filter { $0.head == nil }.map(\.name)
        let begun = files.compactMap { name, head in head.map { Segment(file: name, head: $0) } }
            .sorted { ($0.head.first, $0.file) < ($1.head.first, $1.file) }
        guard let oldest = begun.first else { return }
        guard let start = begun.lastIndex(where: { $0.head.first <= flushed + 1 }) else {
            throw Gap(file: oldest.file)
        }
        live = Array(begun[start...])
        spare += begun[..<start].map(\.file)
    }
}
