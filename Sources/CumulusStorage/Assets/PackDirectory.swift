// Keeps packs as files of a directory: a thousand to a folder, named by their numbers. A file
// beside them names the run that created them.
//
// `cumulusd` opens it once. Each file is flushed, and then its folder. Nothing is ever changed in
// place, so a copy is a directory of hard links.

package import CumulusModel
import CumulusSystem
import Synchronization

package final class PackDirectory: PackFiles {
    package let path: String
    /// Folders whose entries are known to survive a power cut.
    private let durable = Mutex<Set<String>>([])

    /// Makes the directory if it is missing; its parent must exist.
    package init(_ path: String) throws(PackError) {
        self.path = path
        try makeFolder(path)
    }

    // MARK: PackFiles

    package func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError) {
        try makeFolder(folder(of: pack))
        try work(on: file(of: pack)) { file throws(FileProblem) in
            try Files.write(pieces, to: file)
        }
        try work(on: folder(of: pack), Files.flush)
    }

    package func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes? {
        let file = file(of: pack)
        do throws(FileProblem) {
            let bytes = try Files.bytes(of: file, in: range)
            return bytes.count == range.count ? bytes : nil
        } catch {
            if error.code == ENOENT || error.code == EIO { return nil }
            throw PackDirectory.problem(file, error.code)
        }
    }

    @discardableResult package func remove(_ pack: PackNumber) -> Int {
        guard let size = Files.size(of: file(of: pack)), unlink(file(of: pack)) == 0 else {
            return 0
        }
        return Int(size)
    }

    package func all() throws(PackError) -> [PackNumber: Int] {
        var found: [PackNumber: Int] = [:]
        for folder in try names(in: path) where PackNumber(folder) != nil {
            for name in try names(in: "\(path)/\(folder)") {
                guard let pack = PackDirectory.number(name),
                    let size = Files.size(of: "\(path)/\(folder)/\(name)")
                else { continue }
                found[pack] = Int(size)
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
        try work(on: originFile) { file throws(FileProblem) in
            try Files.replace(file, with: Bytes(text.utf8))
        }
    }

    package func copy(to directory: String) throws(PackError) {
        let copy = try PackDirectory(directory)
        if let run = try origin() { try copy.setOrigin(run) }
        for pack in try all().keys.sorted() {
            let (file, target) = (file(of: pack), copy.file(of: pack))
            try copy.makeFolder(copy.folder(of: pack))
            // A file that vanishes meanwhile belongs to no row.
            if link(file, target) == 0 || errno == ENOENT { continue }
            do {
                // A hard link fails across file systems: copy instead.
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
        try work(on: "\(path)/..", Files.flush)
        durable.withLock { _ = $0.insert(path) }
    }

    /// Works on a file or a folder, whose problem becomes one of packs.
    private func work(
        on path: String,
        _ body: (String) throws(FileProblem) -> Void
    ) throws(PackError) {
        do throws(FileProblem) { try body(path) } catch {
            throw PackDirectory.problem(path, error.code)
        }
    }

    private static func problem(_ path: String, _ code: Int32 = errno) -> PackError {
        if code == ENOSPC || code == EDQUOT { return .full }
        return .failed("\(path): \(systemText(code))")
    }
}
