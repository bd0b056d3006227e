// Processes that the bench starts, from the folder of its own executable, and what they use.
//
// The private node and the bounds. Whatever happens to the bench, `BenchCleanup` ends them and
// removes their data.

import Foundation
import Synchronization

final class BenchProcess: Sendable {
    private let process: Process
    private let output: FileHandle
    private let cleanup: BenchCleanup

    /// Starts `cumulusd` with these arguments.
    init(_ arguments: [String], log: String? = nil, _ cleanup: BenchCleanup) throws {
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
    func readyAddress() -> String? {
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
            let more = output.availableData
            if more.isEmpty { return nil }
            line += more
        }
        let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return words.last.map(String.init)
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

/// What a process has used so far.
struct ProcessUse: Sendable {
    var cpuMicroseconds: Double
    /// Bytes now; nil where the system doesn't tell.
    var resident: Int?
    /// Bytes at most so far.
    var peakResident: Int?

    /// This process.
    static func own() -> ProcessUse {
        var usage = rusage()
        #if os(Linux)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
            getrusage(RUSAGE_SELF, &usage)
        #endif
        let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        let rest = Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
        return ProcessUse(cpuMicroseconds: seconds * 1e6 + rest)
    }

    /// Another process; nil where the system doesn't tell.
    static func of(_ id: Int32) -> ProcessUse? {
        guard let stat = read("/proc/\(id)/stat"), let status = read("/proc/\(id)/status"),
            let name = stat.lastIndex(of: ")")
        else { return nil }
        // Behind the name: state, ten numbers, then the time in user and system mode.
        let words = stat[stat.index(after: name)...].split(separator: " ")
        guard words.count > 12, let user = Double(words[11]), let system = Double(words[12])
        else { return nil }
        let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        return ProcessUse(
            cpuMicroseconds: (user + system) * 1e6 / ticksPerSecond,
            resident: kilobytes("VmRSS:", status).map { $0 << 10 },
            peakResident: kilobytes("VmHWM:", status).map { $0 << 10 }
        )
    }

    private static func kilobytes(_ name: String, _ status: String) -> Int? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    /// A file of /proc.
    static func read(_ path: String) -> String? {
        guard let data = try? FileHandle(forReadingAtPath: path)?.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}

/// What has to be gone when the bench ends, by itself or by a signal.
final class BenchCleanup: @unchecked Sendable {
    // `signals` is set once, and only kept so that its sources live.

    private struct Leftovers {
        var processes: [Int32] = []
        var directories: [String] = []
    }

    private let leftovers = Mutex(Leftovers())
    private var signals: [any DispatchSourceSignal] = []

    init() {
        signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { [weak self] in
                self?.run()
                _exit(128 + number)
            }
            source.resume()
            return source
        }
    }

    func add(process: Int32) {
        leftovers.withLock { $0.processes.append(process) }
    }

    func add(directory: String) {
        leftovers.withLock { $0.directories.append(directory) }
    }

    /// The process was waited for: its number may be another one's by now.
    func forget(process: Int32) {
        leftovers.withLock { $0.processes.removeAll { $0 == process } }
    }

    func run() {
        let leftovers = leftovers.withLock { leftovers in
            defer { leftovers = Leftovers() }
            return leftovers
        }
        for process in leftovers.processes { kill(process, SIGKILL) }
        for directory in leftovers.directories {
            try? FileManager.default.removeItem(atPath: directory)
        }
    }
}
