// Holds room on the disk for a batch before RocksDB sees it: a full disk refuses the batch, and
// leaves no piece of it in the log.
//
// `RocksDBEngine` owns it and its one writer uses it. RocksDB itself survives a failed write to its
// log, but bytes that it writes there again when it goes on may be read after a crash. So the bytes
// of a batch are allocated in the newest log first, in the log's own file, where no other program
// can take them. The disk must also have room for a next log and for a table. hot: two system calls
// per batch.

import CRocksDB
import CumulusStorage
import CumulusSystem

final class LogRoom: @unchecked Sendable {
    // Only the thread that writes batches touches it.

    private let directory: DataDirectory
    /// Free bytes without which nothing is written.
    private let least: UInt64
    /// The newest log, as far as it is known; -1: none.
    private var file: Int32 = -1
    private var size: UInt64 = 0
    /// How many bytes are allocated at once.
    private static let step = 1 << 20

    init(_ directory: DataDirectory, least: UInt64) {
        self.directory = directory
        self.least = least
    }

    deinit { if file >= 0 { close(file) } }

    /// Makes sure that the newest log has room for so many more bytes, or throws `.full`.
    func hold(_ count: Int) throws(EngineError) {
        if let free = directory.freeBytes(), free < least {
            throw .full("\(free) bytes are free, and the engine needs \(least)")
        }
        guard let log = findLog() else { return }
        if log.allocated >= log.size + UInt64(count) { return }
        // Other failures, as on file systems that can't allocate, are no reason to refuse.
        guard
            allocate(max(count, LogRoom.step), after: log.size) == ENOSPC,
            allocate(count, after: log.size) == ENOSPC
        else { return }
        throw .full("the newest log can't be made larger")
    }

    /// Takes room for bytes beyond the end of the log, which stays where it is.
    ///
    /// Returns 0, or the number of the error.
    private func allocate(_ count: Int, after size: UInt64) -> Int32 {
        #if os(Linux)
            let keepsSize: Int32 = 1
            return fallocate(file, keepsSize, off_t(size), off_t(count)) == 0 ? 0 : errno
        #else
            return ENOTSUP
        #endif
    }

    /// The sizes of the newest log; nil where it isn't found.
    ///
    /// One that didn't grow since the batch before has a successor.
    private func findLog() -> (size: UInt64, allocated: UInt64)? {
        if let sizes = Files.sizes(of: file), sizes.size > size {
            size = sizes.size
            return sizes
        }
        if file >= 0 { close(file) }
        file = -1
        guard
            let files = try? directory.files(),
            let newest = LogScan.logs(among: files).last
        else { return nil }
        file = open("\(directory.path)/\(newest.file)", O_WRONLY | O_CLOEXEC)
        let sizes = Files.sizes(of: file)
        size = sizes?.size ?? 0
        return sizes
    }
}
