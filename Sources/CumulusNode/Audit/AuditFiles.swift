// The two audit logs of a node on the disk: `audit.log` for acts, `refusals.log` for refusals.
//
// Made by `cumulusd`. Each has its own thread, its own queue and its own room on the disk, so
// strangers who are refused push no act of an operator out. Readers get both as one log.

package import CumulusModel
package import Logging

package final class AuditFiles: Sendable {
    private let acts: AuditFile
    private let refusals: AuditFile

    /// - Parameters:
    ///   - directory: The directory of the node's data.
    ///   - byteLimit: The limit of each of the two logs.
    package init(directory: String, byteLimit: Int, logger: Logger) {
        acts = AuditFile(directory: directory, byteLimit: byteLimit, logger: logger)
        refusals = AuditFile(
            directory: directory,
            named: "refusals.log",
            byteLimit: byteLimit,
            logger: logger
        )
    }

    package func start() {
        acts.start()
        refusals.start()
    }

    /// Writes the queued lines and ends the threads.
    package func stop() {
        acts.stop()
        refusals.stop()
    }

    /// Keeps the lines of a node that is opened in this environment.
    package func keepLines(of environment: inout NodeEnvironment) {
        environment.audit = { [acts] in acts.keep($0) }
        environment.auditRefusal = { [refusals] in refusals.keep($0) }
        environment.auditLines = { [acts] in acts.newestLines(byteLimit: 4 << 20) }
    }

    /// The newest lines of both logs in the order of their times, oldest first, of at most so many
    /// bytes; without their ends.
    ///
    /// Each log has half of the bytes, so that neither hides the other.
    package func newestLines(byteLimit: Int) -> [Bytes] {
        let lines = [acts, refusals].flatMap {
            AuditFiles.timed($0.newestLines(byteLimit: byteLimit / 2))
        }
        // Lines with equal times are ordered by position.
        return lines.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element.line)
    }

    /// The lines with their times; a line without a time, such as a report of lost lines, gets the
    /// time of the line before it.
    private static func timed(_ lines: [Bytes]) -> [(time: Int64, line: Bytes)] {
        var time: Int64 = 0
        return lines.map { line in
            time = AuditLine.time(of: line) ?? time
            return (time, line)
        }
    }
}

extension AuditLine {
    /// The time of a line that was written; nil if it does not begin with one.
    fileprivate static func time(of line: Bytes) -> Int64? {
        let key = Bytes("{\"time\":".utf8)
        guard line.starts(with: key) else { return nil }
        let digits = line.dropFirst(key.count).prefix { (0x30...0x39).contains($0) }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
