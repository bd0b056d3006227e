// How much memory the engine may take, by name.
//
// The node's configuration picks one; `RocksDBOptions` turns it into settings.

/// The memory that the engine is bounded to; the rest of the process comes on top.
package enum MemoryProfile: String, CaseIterable, Sendable {
    /// A node of 256 MB, on a disk of 500 MB or more.
    case small
    /// A node of 1 GB, on a disk of 2 GB or more.
    case standard

    /// Rows of all families that aren't in a table yet; when it is full, tables are written.
    package var writeBufferBytes: Int {
        switch self {
        case .small: 24 << 20
        case .standard: 96 << 20
        }
    }

    /// Blocks of tables: rows, indexes and filters.
    package var blockCacheBytes: Int {
        switch self {
        case .small: 48 << 20
        case .standard: 384 << 20
        }
    }

    /// The cache is cut into two to that power parts, each with a lock of its own: of 12 and 6 MB.
    var cachePartBits: Int32 {
        switch self {
        case .small: 2
        case .standard: 6
        }
    }

    /// Tables held open; each costs a few kilobytes.
    package var openTables: Int32 {
        switch self {
        case .small: 64
        case .standard: 512
        }
    }

    /// Bytes of segments with rows that aren't in tables; at more, tables are written.
    ///
    /// This is what a start has to replay.
    var journalBytes: Int {
        switch self {
        case .small: 64 << 20
        case .standard: 256 << 20
        }
    }

    /// The size of the journal's segments.
    var segmentBytes: Int {
        switch self {
        case .small: 4 << 20
        case .standard: 16 << 20
        }
    }

    /// The size that the upper level of tables may have: new tables are merged into it.
    var levelBytes: Int {
        switch self {
        case .small: 64 << 20
        case .standard: 256 << 20
        }
    }

    /// The size of a table; one is merged with about ten of the level below.
    var tableBytes: Int {
        switch self {
        case .small: 16 << 20
        case .standard: 64 << 20
        }
    }

    /// The most bytes that a merge may write before it deletes its input: eight new tables, each of
    /// half the rows in memory, and the upper level.
    var mergeBytes: Int { 8 * writeBufferBytes / 2 + levelBytes }

    /// Free bytes below which deletes are refused too.
    ///
    /// Deletes make room only if rows in memory become tables and tables are merged, which takes
    /// this much.
    package var deleteReserveBytes: UInt64 { UInt64(writeBufferBytes + mergeBytes) }

    /// The least free bytes to keep from saves: above what the engine needs, deletes fill a log and
    /// tables of their own, and are flushed.
    package var reserveBytes: UInt64 { deleteReserveBytes + 3 * UInt64(writeBufferBytes) }

    /// The smallest file system that a node is started on: about half of it is for data.
    package var smallestDiskBytes: UInt64 {
        switch self {
        case .small: 500_000_000
        case .standard: 2_000_000_000
        }
    }
}
