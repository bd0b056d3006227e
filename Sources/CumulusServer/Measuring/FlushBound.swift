// `cumulusd bound flush`: how often the disk can make 4 KB durable, one after the other.
//
// It is the bound of saves that wait for each other: none can be faster than one flush.

import ArgumentParser
import CumulusSystem

struct FlushBound: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flush",
        abstract: "Append 4 KB to a file and flush it, again and again."
    )

    @Option(help: "Directory for the file, which is removed at the end.") var data: String
    @Option(help: "How long to measure.") var seconds = 10.0

    func run() throws {
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let path = data + "/flush"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600)
        guard file >= 0 else { throw failure("open") }
        defer {
            close(file)
            unlink(path)
        }
        let page = [UInt8](repeating: 0x5A, count: 4_096)
        let figure = try BoundFigure.measure(seconds: seconds) {
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
