// How much memory the engine may take, by name.
//
// The node's configuration picks one; `RocksDBOptions` turns it into settings.

/// The memory that the engine is bounded to; the rest of the process comes on top.
package enum MemoryProfile: String, CaseIterable, Sendable {
    /// A node of 256 MB.
    case small
    /// A node of 1 GB.
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

    /// The length of all logs that makes the oldest one go: this is what a start has to replay.
    var logBytes: UInt64 {
        switch self {
        case .small: 64 << 20
        case .standard: 256 << 20
        }
    }

    /// Free bytes below which the disk counts as full.
    ///
    /// Room for the rows in memory and in the log, and for tables that are being merged: eight new
    /// ones, each of half the rows in memory, and the level below.
    package var reserveBytes: UInt64 {
        max(512 << 20, 8 * UInt64(writeBufferBytes))
    }
}
