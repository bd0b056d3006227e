// How figures come about: of a load, of operations that were timed one by one, or of a work whose
// size is known.
//
// Called by the paths.

import Foundation
import Histogram

extension BenchFigure {
    /// It as the bound of another figure.
    func bound(named name: String) -> Bound {
        Bound(
            name: name,
            perSecond: perSecond,
            cpuMicroseconds: serverMicroseconds.map { $0 + (clientMicroseconds ?? 0) }
        )
    }

    /// Operations that took so long each, since a moment.
    init(path: String, since start: Date, milliseconds: [Double]) {
        let sorted = milliseconds.sorted()
        func percentile(_ part: Double) -> Double? {
            sorted.isEmpty ? nil : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
        }
        let seconds = Date().timeIntervalSince(start)
        self.init(
            path: path,
            start: start.formatted(.iso8601),
            seconds: seconds,
            operations: sorted.count,
            perSecond: Double(sorted.count) / seconds,
            p50: percentile(0.5),
            p99: percentile(0.99),
            p999: percentile(0.999)
        )
    }

    /// Counts the operations of that time, and the resources that they took.
    mutating func count(_ done: Int, seconds: Double, _ use: BenchMeter.Use) {
        let each = Double(max(1, done))
        self.seconds = seconds
        operations = done
        perSecond = Double(done) / max(seconds, 1e-9)
        serverMicroseconds = use.server.map { $0 / each }
        clientMicroseconds = use.client / each
        serverResident = use.resident
        serverPeakResident = use.peakResident
        others = use.others
    }

    /// Runs a load against a target, after a moment in which nothing is counted.
    ///
    /// - Parameter executor: The thread of the callers; nil means the thread of the target's
    ///   connections.
    static func measure(
        _ path: String,
        _ target: BenchTarget,
        _ load: BenchLoad,
        perCall: Int = 1,
        on executor: (any TaskExecutor)? = nil,
        _ operation: @escaping BenchLoad.Operation
    ) async throws -> BenchFigure {
        let progress = BenchProgress("measuring \(path)")
        defer { progress.end() }
        let executor = executor ?? target.executor
        try await load.rehearse(on: executor, operation)

        let rows = try await target.engineRows()
        let start = Date()
        let before = BenchMeter(target)
        let outcome = try await load.run(on: executor, operation)
        let use = BenchMeter(target).use(since: before)

        var figure = BenchFigure(path: path, since: start, milliseconds: [])
        figure.count(outcome.operations * perCall, seconds: outcome.seconds, use)
        func milliseconds(_ percentile: Double) -> Double {
            Double(outcome.latencies.valueAtPercentile(percentile)) / 1e6
        }
        (figure.p50, figure.p99, figure.p999) = (
            milliseconds(50), milliseconds(99), milliseconds(99.9)
        )
        let each = Double(max(1, figure.operations))
        figure.serverSwitches = use.switches.map { Double($0) / each }
        figure.serverWrittenBytes = use.writtenBytes.map { Double($0) / each }
        figure.samples = outcome.samples.map { $0 * perCall }
        figure.count(try await target.engineRows(), since: rows)
        return figure
    }

    /// Rows that the node handed to its engine between two moments.
    mutating func count(_ rows: EngineRows?, since earlier: EngineRows?) {
        guard let rows, let earlier else { return }
        let each = Double(max(1, operations))
        serverRows = Double(rows.count - earlier.count) / each
        serverRowBytes = Double(rows.bytes - earlier.bytes) / each
    }
}
