// The directory that holds the engine's files, locked for as long as this lives.
//
// The engine opens it before RocksDB sees it: every check reads files that nobody else may change.

import CumulusSystem

final class DataDirectory: Sendable {
    let path: String
    private let descriptor: Int32

    /// Creates the directory if it is missing (its parent must be there) and locks it.
    init(locking path: String) throws(RocksDBError) {
        self.path = path
        if mkdir(path, 0o700) == 0 {
            // A directory survives a power cut once its parent was flushed.
            do { try Files.flush("\(path)/..") } catch { throw Self.unusable(path, error.code) }
        } else if errno != EEXIST {
            throw Self.unusable(path)
        }
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unusable(path) }
        // The kernel lets go of this lock when the process ends, however it ends.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            // Everything is set: `deinit` closes what was opened.
            let reason = errno
            throw reason == EWOULDBLOCK ? .locked(directory: path) : Self.unusable(path, reason)
        }
    }

    deinit { close(descriptor) }

    /// Free bytes of its file system, as far as we may use them.
    func freeBytes() -> UInt64? {
        var state = statvfs()
        guard fstatvfs(descriptor, &state) == 0 else { return nil }
        return UInt64(state.f_bavail) * UInt64(state.f_frsize)
    }

    /// The names of its files, in order: RocksDB pads its numbers.
    func files() throws(RocksDBError) -> [String] {
        do {
            return try Files.names(in: path)
        } catch {
            throw .unusable(directory: path, reason: "\(error)")
        }
    }

    /// The content of a file, mapped and not read.
    func contents(of file: String) throws(RocksDBError) -> Data {
        do {
            return try Data(contentsOf: URL(filePath: "\(path)/\(file)"), options: .alwaysMapped)
        } catch {
            throw .unusable(directory: path, reason: "\(error)")
        }
    }

    /// Gives a file this content durably: a crash leaves it, or what was there before.
    func replace(_ file: String, with content: [UInt8]) throws(RocksDBError) {
        do {
            try Files.replace("\(path)/\(file)", with: content)
        } catch {
            throw Self.unusable(path, error.code)
        }
    }

    private static func unusable(_ path: String, _ code: Int32 = errno) -> RocksDBError {
        .unusable(directory: path, reason: systemText(code))
    }
}
