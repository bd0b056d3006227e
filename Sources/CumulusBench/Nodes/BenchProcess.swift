// A process that the bench starts from the folder of its own executable: the private node, or a
// bound.
//
// Whatever happens to the bench, `Cleanup` ends it.

import CumulusTerminal
import Foundation

final class BenchProcess: Sendable {
    private let process: Process
    private let output: FileHandle
    private let cleanup: Cleanup

    /// Starts `cumulusd` with these arguments.
    init(_ arguments: [String], log: String? = nil, _ cleanup: Cleanup) throws {
        let program = try BenchProcess.node()
        let pipe = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        if let log {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
            process.standardError = FileHandle(forWritingAtPath: log)
        }
        do {
            try process.run()
        } catch {
            throw BenchProblem(message: "\(program) can't be started: \(error)")
        }
        self.process = process
        output = pipe.fileHandleForReading
        self.cleanup = cleanup
        cleanup.add(process: process.processIdentifier)
    }

    var id: Int32 { process.processIdentifier }

    /// `cumulusd` beside this executable.
    private static func node() throws -> String {
        guard let own = Bundle.main.executablePath else {
            throw BenchProblem(message: "the folder of this program can't be found")
        }
        let program = URL(fileURLWithPath: own).resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("cumulusd").path
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw BenchProblem(
                message: "\(program) is missing; build it, or name a node with --endpoint"
            )
        }
        return program
    }

    /// The address in its line 'cumulusd ready on ADDRESS'; nil if it ends before.
    func readyAddress() -> String? { readyAddresses()?.address }

    /// The address, and the address of HTTP if it is served.
    func readyAddresses() -> (address: String, http: String?)? {
        var text = Data()
        while true {
            let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
            func address(after start: String) -> String? {
                lines.first { $0.hasPrefix(start) }?.split(separator: " ").last.map(String.init)
            }
            if text.last == UInt8(ascii: "\n"), let ready = address(after: "cumulusd ready on ") {
                return (ready, address(after: "cumulusd serves HTTP on "))
            }
            let more = output.availableData
            if more.isEmpty { return nil }
            text += more
        }
    }

    /// All that it prints, when it has ended well; nil if it has not.
    func result() throws -> Data? {
        let data = try output.readToEnd() ?? Data()
        awaitEnd()
        return process.terminationStatus == 0 ? data : nil
    }

    /// Asks it to end, waits, and kills it if that takes too long.
    func stop() {
        process.terminate()
        let deadline = Date(timeIntervalSinceNow: 15)
        while process.isRunning, Date() < deadline { usleep(10_000) }
        if process.isRunning { kill(id, SIGKILL) }
        awaitEnd()
    }

    private func awaitEnd() {
        process.waitUntilExit()
        cleanup.forget(process: id)
    }
}
