// Keeps the engine off a full disk: below a first reserve of free bytes only deletes are written,
// below a second one not even those. Reads go on.
//
// `DiskWatch` is asked by the writer before each batch, and told by the gate what became of it. The
// file system is asked at most every 100 ms; in between, what was written since is taken off the
// last answer. Other programs may still take the last byte at any moment: then the engine refuses
// the batch itself, and the guard waits a second before it lets the writer try again.

import CumulusModel
import CumulusStorage
import CumulusWire
import Logging
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

/// The guard of a store's disk; what is refused, and that all is taken again, is told to operators.
final class DiskWatch: Sendable {
    private let engine: any StorageEngine
    private let stops: WriteStops
    private let logger: Logger
    private let disk: Mutex<DiskGuard>

    init(
        _ engine: any StorageEngine,
        _ reserve: DiskReserve,
        _ stops: WriteStops,
        _ logger: Logger
    ) {
        self.engine = engine
        self.stops = stops
        self.logger = logger
        disk = Mutex(DiskGuard(reserve: reserve))
    }

    /// What the disk has room for.
    @discardableResult
    func look(_ now: Instant) -> DiskLevel {
        let (level, isDoubtful) = disk.withLock { disk in
            (disk.level(engine, now: now), disk.isDoubtful(now))
        }
        if !isDoubtful { note(level) }
        return level
    }

    /// A batch of so many bytes was written.
    func wrote(_ byteCount: Int, now: Instant) {
        let hadNone = disk.withLock { disk in
            defer { disk.wrote(byteCount) }
            return disk.isDoubtful(now)
        }
        if hadNone { look(now) }
    }

    /// The engine found no room for a batch.
    func foundNone(_ why: String, now: Instant) {
        disk.withLock { $0.foundNone(now: now) }
        note(.nothing, why)
    }

    private func note(_ level: DiskLevel, _ why: String? = nil) {
        guard stops.noteDisk(level) != level else { return }
        let (free, reserve) = disk.withLock { ($0.freeBytes, $0.reserve) }
        var details: Logger.Metadata = [
            "free": "\(free)", "reserve": "\(reserve.first)",
            "deleteReserve": "\(reserve.second)",
        ]
        if let why { details["why"] = "\(why)" }
        let until = "until there is room"
        switch level {
        case .all: logger.notice("the disk has room again", metadata: details)
        case .deletes:
            logger.error(
                "the disk is nearly full: writes are refused \(until), deletes are taken",
                metadata: details
            )
        case .nothing:
            logger.error(
                "the disk is nearly full: writes are refused \(until), and deletes too",
                metadata: details
            )
        }
    }
}
