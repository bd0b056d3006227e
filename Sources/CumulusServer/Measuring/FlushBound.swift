// `cumulusd bound flush`: how often the disk can make 4 KB durable, one after the other: bytes of a
// file that has its length, as the journal's segments have.
//
// It is the bound of saves that wait for each other: none can be faster than one flush.

import ArgumentParser
import CumulusSystem

struct FlushBound: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flush",
        abstract: "Overwrite 4 KB of a file and flush it, again and again."
    )

    @Option(help: "Directory for the file, which is removed at the end.") var data: String
    @Option(help: "How long to measure.") var seconds = 10.0

    func run() throws {
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let path = data + "/flush"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { throw failure("open") }
        defer {
            close(file)
            unlink(path)
        }
        let page = [UInt8](repeating: 0x5A, count: 4_096)
        let pages = 4_096
        for _ in 0..<pages { _ = write(file, page, page.count) }
        guard fsync(file) == 0 else { throw failure("fsync") }
        var written = 0
        let figure = try BoundFigure.measure(seconds: seconds) {
            if written % pages == 0 { lseek(file, 0, SEEK_SET) }
            written += 1
            guard write(file, page, page.count) == page.count else { throw failure("write") }
            guard flush(file) == 0 else { throw failure("flush") }
            return 1
        }
        try figure.printLine()
    }

    private func flush(_ file: Int32) -> Int32 {
        #if os(Linux)
            fdatasync(file)
        #else
            fcntl(file, F_FULLFSYNC)
        #endif
    }

    private func failure(_ call: String) -> StartProblem {
        StartProblem("\(data): \(call): \(String(cString: strerror(errno)))")
    }
}
