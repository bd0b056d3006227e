// Never let the engine meet a full disk: below the reserve, writes are refused and reads go on.
//
// Asked by the writer before each batch. The file system is asked at most every 100 ms; in between,
// what was written since is taken off the last answer.

import CumulusModel
import CumulusStorage
import CumulusWire

struct DiskGuard {
    /// Bytes that stay free.
    let reserve: UInt64
    private var free: UInt64 = .max
    private var asked: Instant?
    private var written: UInt64 = 0
    /// How many bytes of disk a byte of batch may cost before the file system is asked again: log,
    /// table, blob.
    private static let amplification: UInt64 = 4

    init(reserve: UInt64) {
        self.reserve = reserve
    }

    /// Free bytes by the last answer.
    var freeBytes: UInt64 { free }

    /// Whether a batch may be written now.
    mutating func allows(_ engine: any StorageEngine, now: Instant) -> Bool {
        if asked.map({ $0 + 100 <= now }) ?? true {
            free = engine.freeBytes() ?? .max
            asked = now
            written = 0
        }
        return free > reserve && free - reserve > written
    }

    mutating func wrote(_ byteCount: Int) {
        written += UInt64(byteCount) * DiskGuard.amplification
    }
}
