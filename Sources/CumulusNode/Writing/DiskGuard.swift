// Protects the engine from a full disk. Below a first reserve of free bytes only deletes are
// written, and below a second one no deletes either. Reads go on.
//
// The writer asks `DiskWatch` before each batch, and the gate tells it how the batch ended. The
// file system is asked at most every 100 ms; in between, the bytes written since are subtracted
// from its last answer. Other programs may still take the last byte at any moment. Then the engine
// refuses the batch itself, and the guard waits a second before the writer may try again.

import CumulusModel
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

/// The kinds of writes that the disk has room for.
package enum DiskLevel: UInt8, AtomicRepresentable, Sendable {
    case all
    /// Only deletes, which make room in the end.
    case deletes
    case nothing
}

/// The free bytes that the node leaves to its engine.
struct DiskReserve: Equatable {
    /// Below this number of free bytes only deletes are written.
    var first: UInt64
    /// Below this number deletes are refused too: the rest is for flushes and merges of tables.
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
    /// When the engine last found no room for a batch; nil once a batch was written after that.
    private var failed: Instant?
    /// The bytes of disk that one byte of a batch may take in the log, a table and a blob, before
    /// the file system is asked again.
    private static let amplification: UInt64 = 4
    /// Milliseconds before the engine is tried again.
    private static let pause: Int64 = 1_000

    init(reserve: DiskReserve) {
        self.reserve = reserve
    }

    /// The free bytes by the file system's last answer, which was perhaps before the last batches.
    var freeBytes: UInt64 { free }

    /// The kinds of writes that are allowed now.
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

    /// Notes that the engine found no room for a batch.
    mutating func foundNone(now: Instant) {
        failed = now
    }

    /// Whether batches may still fail although there are free bytes again.
    ///
    /// RocksDB checks only every 5 s whether it can go on.
    func isDoubtful(_ now: Instant) -> Bool {
        failed.map { now < $0 + 6_000 } ?? false
    }
}

/// Watches a store's disk, and logs for operators when writes are refused and taken again.
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

    /// Checks which kinds of writes the disk has room for.
    @discardableResult
    func look(_ now: Instant) -> DiskLevel {
        let (level, isDoubtful) = disk.withLock { disk in
            (disk.level(engine, now: now), disk.isDoubtful(now))
        }
        if !isDoubtful { note(level) }
        return level
    }

    /// Notes that a batch of so many bytes was written.
    func wrote(_ byteCount: Int, now: Instant) {
        let hadNone = disk.withLock { disk in
            defer { disk.wrote(byteCount) }
            return disk.isDoubtful(now)
        }
        if hadNone { look(now) }
    }

    /// Notes that the engine found no room for a batch.
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
