// The file of one segment: made at full length, then only overwritten.
//
// Held by `Journal`. All its bytes are on the disk before the first record: a flush then writes the
// record and nothing about the file, and a full disk can't refuse it.

import CRocksDB
import CumulusSystem

final class JournalFile: Sendable {
    let name: String
    let size: Int
    private let descriptor: Int32

    private static let ending = ".journal"
    /// Bytes that are written at once while a file is made.
    private static let step = 1 << 20

    /// The segments among these files, oldest number first.
    static func names(among files: [String]) -> [String] {
        files.filter { number(of: $0) != nil }
    }

    static func number(of name: String) -> Int? {
        name.hasSuffix(ending) ? Int(name.dropLast(ending.count)) : nil
    }

    /// Opens a segment.
    init(opening name: String, in directory: DataDirectory) throws(FileProblem) {
        let path = "\(directory.path)/\(name)"
        self.name = name
        size = Files.size(of: path).map(Int.init) ?? 0
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileProblem() }
    }

    /// Makes a segment of zeros; a failure leaves no file.
    ///
    /// - Parameter gently: Flush each piece, so that a commit that is flushed meanwhile waits for
    ///   no more than one.
    init(
        making number: Int,
        size: Int,
        in directory: DataDirectory,
        gently: Bool
    ) throws(FileProblem) {
        let digits = String(number)
        let zeros = String(repeating: "0", count: max(0, 6 - digits.count))
        name = zeros + digits + Self.ending
        self.size = size
        let path = "\(directory.path)/\(name)"
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileProblem() }
        do throws(FileProblem) {
            try fill(gently: gently)
            try Files.flush(directory.path)
        } catch {
            unlink(path)
            throw error
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Room first, so that a full disk is noticed before anything is written.
    private func fill(gently: Bool) throws(FileProblem) {
        #if os(Linux)
            // Some file systems can't allocate: writing the zeros does it too.
            if fallocate(descriptor, 0, 0, off_t(size)) != 0, errno == ENOSPC || errno == EDQUOT {
                throw FileProblem()
            }
        #endif
        let zeros = [UInt8](repeating: 0, count: min(size, Self.step))
        for place in stride(from: 0, to: size, by: zeros.count) {
            try write(zeros[..<min(zeros.count, size - place)], at: place)
            if gently { try flush() }
        }
        guard fsync(descriptor) == 0 else { throw FileProblem() }
    }

    /// Begins the segment anew: when this returned, none of its former records counts.
    func begin(_ head: JournalHead) throws(FileProblem) {
        try write(head.bytes[...], at: 0)
        try flush()
    }

    /// Makes it a segment that was never begun.
    func erase() throws(FileProblem) {
        try write([UInt8](repeating: 0, count: JournalHead.room)[...], at: 0)
        try flush()
    }

    /// Overwrites bytes; they are on the disk after `flush`.
    func write(_ bytes: ArraySlice<UInt8>, at place: Int) throws(FileProblem) {
        var (rest, place) = (bytes, place)
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(place))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileProblem() }
            rest = rest.dropFirst(count)
            place += count
        }
    }

    /// Lets the disk begin to write bytes, and doesn't wait for it.
    ///
    /// A failure shows in `flush`.
    func beginWriting(_ count: Int, at place: Int) {
        #if os(Linux)
            let writes: UInt32 = 2
            _ = sync_file_range(descriptor, off_t(place), off_t(count), writes)
        #endif
    }

    func flush() throws(FileProblem) {
        #if os(Linux)
            let result = fdatasync(descriptor)
        #else
            let result = fcntl(descriptor, F_FULLFSYNC)
        #endif
        guard result == 0 else { throw FileProblem() }
    }
}
