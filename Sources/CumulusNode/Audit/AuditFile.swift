// An audit log on the disk: a file in the node's directory, such as `audit.log`, and its
// predecessor `audit.log.1`.
//
// `AuditFiles` makes it. A thread of its own writes, and no call waits for it. When the file has
// half of the limit, it replaces the older one. A full disk loses lines, and the node goes on; a
// line tells the number of lost lines once there is room. Nothing is flushed: lines of the last
// seconds may be gone after a power cut.

import CumulusModel
import CumulusSystem
package import Logging
import Synchronization

package final class AuditFile: Sendable {
    /// Lines of about 200 bytes that wait for the disk; further ones are lost.
    private static let mostWaiting = 10_000

    private let lines = WorkQueue<Bytes>(capacity: AuditFile.mostWaiting)
    /// Lines for which there was no room in the queue.
    private let dropped = Atomic<Int>(0)
    private let worker = Mutex<Worker?>(nil)
    let path: String
    private let byteLimit: Int
    private let logger: Logger

    /// - Parameters:
    ///   - directory: The directory of the node's data.
    ///   - byteLimit: The limit for both files together.
    package init(
        directory: String,
        named name: String = "audit.log",
        byteLimit: Int,
        logger: Logger
    ) {
        path = directory + "/" + name
        self.byteLimit = byteLimit
        self.logger = logger
    }

    package func start() {
        worker.withLock {
            $0 = Worker(named: "cumulus audit") { [self] in
                var writer = AuditWriter(path: path, byteLimit: byteLimit)
                while let lines = lines.takeAll() { write(lines, with: &writer) }
                writer.close()
            }
        }
    }

    /// Writes the queued lines and ends the thread.
    package func stop() {
        lines.close()
        let ending = worker.withLock { worker in
            defer { worker = nil }
            return worker
        }
        ending?.join()
    }

    /// Queues a line, which ends with a newline; from any thread.
    package func keep(_ line: [UInt8]) {
        if !lines.append(line) { dropped.wrappingAdd(1, ordering: .relaxed) }
    }

    private func write(_ lines: [Bytes], with writer: inout AuditWriter) {
        let wasFailing = writer.isFailing
        let late = dropped.exchange(0, ordering: .relaxed)
        writer.lost += late
        for line in lines { writer.write(line) }
        if let problem = writer.problem, !wasFailing {
            logger.error(
                "lines of the audit log are lost; the node goes on",
                metadata: ["path": "\(path)", "why": "\(problem)"]
            )
        } else if wasFailing, !writer.isFailing {
            logger.warning("the audit log is written again", metadata: ["path": "\(path)"])
        }
    }
}

/// Writes lines to a file and turns it over; of one thread.
struct AuditWriter {
    private let path: String
    private let byteLimit: Int
    private var descriptor: Int32 = -1
    private var size = 0
    /// Number of lines that were not written and are not yet reported as lost.
    var lost = 0
    /// Why the last line is not in the file; nil if it is.
    private(set) var problem: FileProblem?

    init(path: String, byteLimit: Int) {
        self.path = path
        self.byteLimit = byteLimit
    }

    var isFailing: Bool { problem != nil }

    /// Writes a line, or counts it as lost.
    mutating func write(_ line: Bytes) {
        do throws(FileProblem) {
            let note = lost == 0 ? [] : Bytes("{\"lostLines\":\(lost)}\n".utf8)
            try append(note + line)
            (lost, problem) = (0, nil)
        } catch {
            lost += 1
            problem = error
        }
    }

    mutating func close() {
        if descriptor >= 0 { closeFile(descriptor) }
        descriptor = -1
    }

    private mutating func append(_ bytes: Bytes) throws(FileProblem) {
        if descriptor < 0 { try open() }
        if size > 0, size + bytes.count > byteLimit / 2 {
            close()
            guard rename(path, path + ".1") == 0 else { throw FileProblem() }
            try open()
        }
        do throws(FileProblem) {
            try writeAll(bytes[...], to: descriptor)
        } catch {
            // Half a line would spoil the next one.
            if ftruncate(descriptor, off_t(size)) != 0 { close() }
            throw error
        }
        size += bytes.count
    }

    /// Goes on at the end of the file; a line that a crash has cut is ended.
    private mutating func open() throws(FileProblem) {
        let opened = openFile(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw FileProblem() }
        guard let sizes = Files.sizes(of: opened) else {
            let problem = FileProblem()
            closeFile(opened)
            throw problem
        }
        (descriptor, size) = (opened, Int(sizes.size))
        var last: UInt8 = 0
        if size > 0, pread(opened, &last, 1, off_t(size - 1)) == 1, last != UInt8(ascii: "\n") {
            try append([UInt8(ascii: "\n")])
        }
    }
}

// The system's, for a type that has methods of these names.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    open(path, flags, mode)
}

private func closeFile(_ descriptor: Int32) {
    _ = close(descriptor)
}
