// Packs as files of a directory: a thousand to a folder, named by their numbers; beside them a file
// that says whose they are.
//
// Opened once by `cumulusd`. A file is flushed, and then the folder that names it; nothing is ever
// changed in place, so a copy is a directory of hard links.

package import CumulusModel
import CumulusSystem
import Synchronization

package final class PackDirectory: PackFiles {
    package let path: String
    /// The folders that are known to outlast a power cut.
    private let durable = Mutex<Set<String>>([])

    /// Makes the directory if it is missing; its parent is there.
    package init(_ path: String) throws(PackError) {
        self.path = path
        try makeFolder(path)
    }

    // MARK: PackFiles

    package func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError) {
        try makeFolder(folder(of: pack))
        try PackDirectory.write(pieces, to: file(of: pack))
        try PackDirectory.flush(folder(of: pack))
    }

    package func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes? {
        let file = file(of: pack)
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw PackDirectory.problem(file)
        }
        defer { close(descriptor) }
        var problem: PackError?
        let bytes = Bytes(unsafeUninitializedCapacity: range.count) { room, filled in
            while filled < range.count {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(room)[filled...]
                )
                let place = off_t(range.lowerBound + filled)
                let count = pread(descriptor, rest.baseAddress, range.count - filled, place)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno != EIO { problem = PackDirectory.problem(file) }
                guard count > 0 else { return }
                filled += count
            }
        }
        if let problem { throw problem }
        return bytes.count == range.count ? bytes : nil
    }

    @discardableResult package func remove(_ pack: PackNumber) -> Int {
        var status = stat()
        guard stat(file(of: pack), &status) == 0, unlink(file(of: pack)) == 0 else { return 0 }
        return Int(status.st_size)
    }

    package func all() throws(PackError) -> [PackNumber: Int] {
        var found: [PackNumber: Int] = [:]
        for folder in try names(in: path) where PackNumber(folder) != nil {
            for name in try names(in: "\(path)/\(folder)") {
                var status = stat()
                guard let pack = PackDirectory.number(name),
                    stat("\(path)/\(folder)/\(name)", &status) == 0
                else { continue }
                found[pack] = Int(status.st_size)
            }
        }
        return found
    }

    package func origin() throws(PackError) -> Incarnation? {
        guard let text = FileManager.default.contents(atPath: originFile) else { return nil }
        let digits = String(decoding: text, as: UTF8.self).trimmed
        return UInt64(digits, radix: 16).map(Incarnation.init)
    }

    package func setOrigin(_ run: Incarnation) throws(PackError) {
        let text = String(run.value, radix: 16) + "\n"
        try PackDirectory.write([Bytes(text.utf8)[...]], to: originFile)
        try PackDirectory.flush(path)
    }

    package func copy(to directory: String) throws(PackError) {
        let copy = try PackDirectory(directory)
        if let run = try origin() { try copy.setOrigin(run) }
        for pack in try all().keys.sorted() {
            let (file, target) = (file(of: pack), copy.file(of: pack))
            try copy.makeFolder(copy.folder(of: pack))
            // One that goes meanwhile is one that no row names.
            if link(file, target) == 0 || errno == ENOENT { continue }
            do {
                // Another file system.
                try FileManager.default.copyItem(atPath: file, toPath: target)
            } catch let error as CocoaError where error.code == .fileWriteOutOfSpace {
                throw .full
            } catch {
                throw .failed("\(file) can't be copied: \(error)")
            }
        }
    }

    // MARK: Parts

    private func folder(of pack: PackNumber) -> String { "\(path)/\(pack / 1_000)" }

    private func file(of pack: PackNumber) -> String { "\(folder(of: pack))/\(pack).pack" }

    private var originFile: String { "\(path)/origin" }

    private static func number(_ name: String) -> PackNumber? {
        name.hasSuffix(".pack") ? PackNumber(name.dropLast(5)) : nil
    }

    private func names(in folder: String) throws(PackError) -> [String] {
        do {
            return try Files.names(in: folder)
        } catch {
            throw .failed("\(folder) can't be read: \(error)")
        }
    }

    /// A folder that is there already may have been made by another thread a moment ago, or right
    /// before the process was killed: its entry may not be on the disk yet.
    private func makeFolder(_ path: String) throws(PackError) {
        if durable.withLock({ $0.contains(path) }) { return }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw PackDirectory.problem(path) }
        try PackDirectory.flush("\(path)/..")
        durable.withLock { _ = $0.insert(path) }
    }

    private static func flush(_ folder: String) throws(PackError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw problem(folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw problem(folder) }
    }

    /// A file with these pieces, on the disk but for its name; none where that fails.
    private static func write(
        _ pieces: [ArraySlice<UInt8>],
        to file: String
    ) throws(PackError) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw problem(file) }
        do throws(PackError) {
            defer { close(descriptor) }
            for piece in pieces { try write(piece, to: descriptor, file) }
            guard fdatasync(descriptor) == 0 else { throw problem(file) }
        } catch {
            unlink(file)
            throw error
        }
    }

    private static func write(
        _ piece: ArraySlice<UInt8>,
        to descriptor: Int32,
        _ file: String
    ) throws(PackError) {
        var written = 0
        while written < piece.count {
            let count = piece.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return writeBytes(descriptor, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw problem(file) }
            written += count
        }
    }

    private static func problem(_ path: String, _ code: Int32 = errno) -> PackError {
        if code == ENOSPC || code == EDQUOT { return .full }
        return .failed("\(path): \(String(cString: strerror(code)))")
    }
}
