// The resources that server, client and other processes use between two moments.
//
// Read before and after each figure. A figure that was measured beside other work says so: it is
// worth little.

import Foundation

/// The state of all counters at one moment.
struct BenchMeter {
    private let client = ProcessUse.own()
    private let server: ProcessUse?
    private let machine = MachineUse()

    init(_ target: BenchTarget) {
        server = target.serverUse
    }

    /// The resources used since an earlier moment.
    struct Use {
        /// Microseconds of processor time; nil where the system doesn't tell.
        var server: Double?
        var client: Double
        /// The part of all processors that other processes had, 0 to 1.
        var others: Double?
        /// Bytes of the server, now and at most.
        var resident: Int?
        var peakResident: Int?
        /// Bytes by which the server grew.
        var residentGrowth: Int?
        /// How often a thread of the server gave its processor to another one.
        var switches: Int?
        /// Bytes that the server had written to its disk.
        var writtenBytes: Int?
    }

    func use(since earlier: BenchMeter) -> Use {
        let client = client.cpuMicroseconds - earlier.client.cpuMicroseconds
        let server = server.flatMap { now in
            earlier.server.map { now.cpuMicroseconds - $0.cpuMicroseconds }
        }
        return Use(
            server: server,
            client: client,
            // A server of somebody else may be one of the others.
            others: server.flatMap { server in
                machine.others(since: earlier.machine, apartFrom: client + server)
            },
            resident: self.server?.resident,
            peakResident: self.server?.peakResident,
            residentGrowth: self.server?.resident.flatMap { now in
                earlier.server?.resident.map { now - $0 }
            },
            switches: difference(\.switches, since: earlier),
            writtenBytes: difference(\.writtenBytes, since: earlier)
        )
    }
}

extension BenchMeter {
    private func difference(_ counter: KeyPath<ProcessUse, Int?>, since earlier: BenchMeter) -> Int?
    {
        guard let now = server?[keyPath: counter], let before = earlier.server?[keyPath: counter]
        else { return nil }
        return now - before
    }
}

/// The rows that a node has handed to its engine so far.
struct EngineRows {
    var count: UInt64
    /// Bytes of keys and values.
    var bytes: UInt64
}

/// The processor time of all processes together so far.
private struct MachineUse {
    private var busyMicroseconds = 0.0
    private var allMicroseconds = 0.0

    init() {
        guard let line = ProcessUse.read("/proc/stat")?.split(separator: "\n").first else { return }
        // cpu, then user, nice, system, idle, waiting for the disk, interrupts (2), stolen.
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
        guard ticks.count == 8 else { return }
        let all = ticks.reduce(0, +)
        busyMicroseconds = (all - ticks[3] - ticks[4]) * ProcessUse.microsecondsPerTick
        allMicroseconds = all * ProcessUse.microsecondsPerTick
    }

    func others(since earlier: MachineUse, apartFrom ours: Double) -> Double? {
        let all = allMicroseconds - earlier.allMicroseconds
        guard all > 0 else { return nil }
        return max(0, busyMicroseconds - earlier.busyMicroseconds - ours) / all
    }
}

/// The resources of a process so far.
struct ProcessUse: Sendable {
    var cpuMicroseconds: Double
    /// Bytes now; nil where the system doesn't tell.
    var resident: Int?
    /// Bytes at most so far.
    var peakResident: Int?
    /// Context switches of all present threads.
    var switches: Int?
    var writtenBytes: Int?

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
        return ProcessUse(
            cpuMicroseconds: (user + system) * microsecondsPerTick,
            resident: number("VmRSS:", status).map { $0 << 10 },
            peakResident: number("VmHWM:", status).map { $0 << 10 },
            switches: switches(of: id),
            writtenBytes: read("/proc/\(id)/io").flatMap { number("write_bytes:", $0) }
        )
    }

    private static func switches(of id: Int32) -> Int? {
        let folder = "/proc/\(id)/task"
        guard let tasks = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return nil
        }
        return tasks.compactMap { read("\(folder)/\($0)/status") }.reduce(0) { sum, status in
            sum + (number("voluntary_ctxt_switches:", status) ?? 0)
                + (number("nonvoluntary_ctxt_switches:", status) ?? 0)
        }
    }

    static let microsecondsPerTick = 1e6 / Double(sysconf(Int32(_SC_CLK_TCK)))

    /// The value of a name in a file of lines.
    private static func number(_ name: String, _ status: String) -> Int? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    /// A file of /proc; nil if it does not exist.
    static func read(_ path: String) -> String? {
        guard let data = try? FileHandle(forReadingAtPath: path)?.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
