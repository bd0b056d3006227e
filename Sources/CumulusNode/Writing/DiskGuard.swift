// Keeps the engine off a full disk: below a first reserve of free bytes only deletes are written,
// below a second one not even those. Reads go on.
//
// Asked by the writer before each batch. The file system is asked at most every 100 ms; in between,
// what was written since is taken off the last answer. Other programs may still take the last byte
// at any moment: then the engine refuses the batch itself, and the guard waits a second before it
// lets the writer try again.

import CumulusModel
import CumulusStorage
import CumulusWire
import Synchronization

/// What the disk has room for.
package enum DiskLevel: UInt8, AtomicRepresentable, Sendable {
    case all
    /// Deletes only: in the end they make room.
    case deletes
    case nothing
}

/// The free bytes that the node leaves to its engine.
struct DiskReserve: Equatable {
    /// Below it only deletes are written.
    var first: UInt64
    /// Below it deletes are refused too: what is left is for flushes and merges of tables.
    var second: UInt64

    func level(free: UInt64) -> DiskLevel {
        if free > first { return .all }
        return free > second ? .deletes : .nothing
    }
}

struct DiskGuard {
    let reserve: DiskReserve
    private var free: UInt64 = .max
    private var asked: Instant?
    private var written: UInt64 = 0
    /// When the engine found no room for a batch, if none was written since.
    private var failed: Instant?
    /// How many bytes of disk a byte of batch may cost before the file system is asked again: log,
    /// table, blob.
    private static let amplification: UInt64 = 4
    /// Milliseconds before the engine is tried again.
    private static let pause: Int64 = 1_000

    init(reserve: DiskReserve) {
        self.reserve = reserve
    }

    /// Free bytes by the last answer.
    var freeBytes: UInt64 { free }

    /// What may be written now.
    mutating func level(_ engine: any StorageEngine, now: Instant) -> DiskLevel {
        if let failed, now < failed + DiskGuard.pause { return .nothing }
        if asked.map({ $0 + 100 <= now }) ?? true {
            free = engine.freeBytes() ?? .max
            asked = now
            written = 0
        }
        return reserve.level(free: free > written ? free - written : 0)
    }

    mutating func wrote(_ byteCount: Int) {
        written += UInt64(byteCount) * DiskGuard.amplification
        failed = nil
    }

    /// The engine found no room for a batch.
    mutating func foundNone(now: Instant) {
        failed = now
    }

    /// Whether there may be free bytes, and no batch goes through still: RocksDB looks every 5 s
    /// whether it can go on.
    func isDoubtful(_ now: Instant) -> Bool {
        failed.map { now < $0 + 6_000 } ?? false
    }
}
