// The errors of RocksDB: refusals to open, and its messages as errors of the seam.
//
// RocksDB's C interface reports errors as text; the first words name the kind.

import CRocksDB
import CumulusStorage

/// Why a data directory wasn't opened, in one line for the operator.
package enum RocksDBError: Error, Equatable, CustomStringConvertible {
    case locked(directory: String)
    case diskFull(directory: String, free: UInt64, reserve: UInt64)
    /// The file that names the newest list of tables is gone, the tables are there.
    case currentMissing(directory: String)
    /// There are neither tables nor logs, and a store has one of them.
    case logMissing(directory: String)
    /// Batches are missing in front of a segment of the journal, or of a log.
    case logGap(file: String)
    /// The store ends before what this file of it knows to have been on the disk.
    case endMissing(directory: String, file: String)
    /// A file isn't whole, and not just at its end.
    case damaged(file: String, offset: UInt64)
    /// Files that can't be read or written, or what RocksDB itself found.
    case unusable(directory: String, reason: String)

    package var description: String {
        switch self {
        case .locked(let directory):
            "\(directory) is in use by another process"
        case .diskFull(let directory, let free, let reserve):
            """
            the disk of \(directory) is full: \(free >> 20) MB are free, and opening the store \
            takes \(reserve >> 20) MB; free some, or move the data to a larger disk
            """
        case .currentMissing(let directory):
            "\(directory) is damaged, its file CURRENT is missing: \(RocksDBError.advice)"
        case .logMissing(let directory):
            "\(directory) is damaged, its tables and logs are missing: \(RocksDBError.advice)"
        case .logGap(let file):
            "what stood before \(file) is missing: \(RocksDBError.advice)"
        case .endMissing(let directory, let file):
            """
            \(directory) is damaged, the end of its journal is missing or cut, and what was \
            acknowledged last is lost: \(RocksDBError.advice); to go on without it, delete \
            \(directory)/\(file)
            """
        case .damaged(let file, let offset):
            """
            \(file) is damaged at byte \(offset), where acknowledged data stands: \
            \(RocksDBError.advice)
            """
        case .unusable(let directory, let reason):
            reason.contains("Corruption")
                ? "can't open \(directory): \(reason): \(RocksDBError.advice)"
                : "can't open \(directory): \(reason)"
        }
    }

    private static let advice =
        "restore a backup, or let an empty node fetch the data from its peers"
}

/// The place where a call into RocksDB leaves its message.
typealias RocksDBMessage = UnsafeMutablePointer<CChar>

extension EngineError {
    /// Takes over what RocksDB said while writing.
    ///
    /// Without room it writes nothing of a batch, and accepts none until it has written the waiting
    /// tables: it tries every 5 s.
    init(writing text: String) {
        self = text.hasPrefix("IO error: No space left on device") ? .full(text) : .failed(text)
    }

    /// Takes over what RocksDB said while reading.
    init(reading message: RocksDBMessage) {
        let text = takeText(message)
        if text.hasPrefix("Result incomplete") {
            self = .notInMemory
        } else if text.hasPrefix("Corruption") {
            self = .corrupt(text)
        } else {
            self = .failed(text)
        }
    }
}

/// The text of `message`, which is freed.
func takeText(_ message: RocksDBMessage) -> String {
    defer { rocksdb_free(message) }
    return String(cString: message)
}
