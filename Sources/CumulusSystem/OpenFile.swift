// A file that is open, or one of the three streams of the process.
//
// Used by the commands of `cumulus`, which read input and write output of any size in pieces. The
// file is closed when nobody holds it.

package final class OpenFile: Sendable {
    package static let standardInput = OpenFile(STDIN_FILENO, closesAtEnd: false)
    package static let standardOutput = OpenFile(STDOUT_FILENO, closesAtEnd: false)
    package static let standardError = OpenFile(STDERR_FILENO, closesAtEnd: false)

    package let descriptor: Int32
    private let closesAtEnd: Bool

    /// Takes a descriptor that is open.
    package init(_ descriptor: Int32, closesAtEnd: Bool = true) {
        self.descriptor = descriptor
        self.closesAtEnd = closesAtEnd
    }

    /// Opens a file to read it.
    package convenience init(reading path: String) throws(FileProblem) {
        try self.init(path, O_RDONLY)
    }

    /// Opens what is there under a path to write into it: a file from its beginning, a pipe, or a
    /// device.
    package convenience init(writing path: String) throws(FileProblem) {
        try self.init(path, O_WRONLY)
    }

    /// Opens an empty file to write it; what it held is gone.
    package convenience init(emptying path: String) throws(FileProblem) {
        try self.init(path, O_WRONLY | O_CREAT | O_TRUNC)
    }

    private convenience init(_ path: String, _ flags: Int32) throws(FileProblem) {
        let descriptor = open(path, flags | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw FileProblem() }
        self.init(descriptor)
    }

    deinit {
        if closesAtEnd { close(descriptor) }
    }

    /// Adds what can be read now to some bytes, up to a number; returns how many that was.
    ///
    /// 0 says that this is the end. A pipe gives what it has, and is not waited for until it has
    /// given all.
    package func take(upTo room: Int, into bytes: inout [UInt8]) throws(FileProblem) -> Int {
        let old = bytes.count
        bytes += repeatElement(0, count: room)
        var count: Int
        repeat {
            count = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress?.advanced(by: old), room)
            }
        } while count < 0 && errno == EINTR
        let problem = FileProblem()
        bytes.removeLast(room - max(0, count))
        guard count >= 0 else { throw problem }
        return count
    }

    /// All bytes up to the end.
    package func readToEnd() throws(FileProblem) -> Data {
        var bytes: [UInt8] = []
        while try take(upTo: 64 << 10, into: &bytes) > 0 {}
        return Data(bytes)
    }

    /// Waits until what was written is on the disk.
    package func flush() throws(FileProblem) {
        guard fsync(descriptor) == 0 else { throw FileProblem() }
    }

    /// Makes the file empty; what is written next stands at its beginning.
    package func empty() throws(FileProblem) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw FileProblem()
        }
    }
}
