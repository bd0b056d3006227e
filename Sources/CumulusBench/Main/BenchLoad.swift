// A closed loop: so many callers, each starts its next operation when its last one has ended.
//
// Every path but `idle` runs in it, on the thread of the client's connections: changing threads
// would cost more than the client's own part of a call. Each caller counts for itself, so that
// measuring costs next to nothing; a failed operation ends the run.

import CumulusModel
import Foundation
import Histogram

struct BenchLoad {
    /// How many operations are in progress at any time.
    var callers: Int
    var seconds: Double

    /// The results of all callers, added up.
    struct Outcome: Sendable {
        var operations = 0
        var seconds = 0.0
        /// Nanoseconds.
        var latencies = BenchLoad.emptyHistogram
        /// Operations that ended in each second.
        var samples: [Int] = []

        mutating func add(_ other: Outcome) {
            operations += other.operations
            latencies.add(other.latencies)
            if samples.count < other.samples.count {
                samples += Array(repeating: 0, count: other.samples.count - samples.count)
            }
            for (second, count) in other.samples.enumerated() { samples[second] += count }
        }
    }

    /// One operation, and whatever the caller keeps from one to the next.
    typealias Operation = @Sendable (inout SeededGenerator) async throws -> Void

    /// Runs for a moment in which nothing is counted.
    func rehearse(on executor: any TaskExecutor, _ operation: @escaping Operation) async throws {
        var moment = self
        moment.seconds = min(1, seconds / 5)
        _ = try await moment.run(on: executor, operation)
    }

    @concurrent
    func run(
        on executor: any TaskExecutor,
        _ operation: @escaping Operation
    ) async throws -> Outcome {
        let start = BenchLoad.now()
        let end = start + UInt64(seconds * 1e9)
        let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
            for caller in 0..<callers {
                group.addTask(executorPreference: executor) {
                    try await BenchLoad.call(
                        operation,
                        SeededGenerator(seed: UInt64(caller)),
                        start,
                        end
                    )
                }
            }
            return try await group.reduce(into: Outcome()) { $0.add($1) }
        }
        var outcome = outcomes
        outcome.seconds = Double(BenchLoad.now() - start) / 1e9
        return outcome
    }

    @concurrent
    private static func call(
        _ operation: Operation,
        _ dice: SeededGenerator,
        _ start: UInt64,
        _ end: UInt64
    ) async throws -> Outcome {
        var outcome = Outcome()
        var dice = dice
        outcome.samples = Array(repeating: 0, count: Int((end - start) / 1_000_000_000) + 1)
        var began = now()
        while began < end {
            try await operation(&dice)
            let ended = now()
            outcome.operations += 1
            outcome.latencies.record(ended - began)
            let second = min(Int((ended - start) / 1_000_000_000), outcome.samples.count - 1)
            outcome.samples[second] += 1
            began = ended
        }
        return outcome
    }

    private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    private static var emptyHistogram: Histogram<UInt32> {
        // Microseconds exactly; nothing takes longer than two minutes.
        Histogram(lowestDiscernibleValue: 1_000, highestTrackableValue: 120_000_000_000)
    }
}
