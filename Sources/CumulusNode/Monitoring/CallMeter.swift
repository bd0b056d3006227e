// What a node counts of calls: how many of each method ended, with which code, after what time.
//
// Written by `OpenCalls` when a call ends, or is refused before it begins. A call that is answered
// costs three additions and no lock; errors are counted behind one. hot: once per call.

import CumulusModel
import CumulusWire
import Synchronization

final class CallMeter: Sendable {
    private struct Failure: Hashable {
        var row: Int
        var code: ServiceError.Code
    }

    /// How many calls of a method ended in one way.
    struct Outcome: Equatable {
        /// nil means a method that this release does not know.
        var method: Method?
        /// nil means that the call was answered.
        var code: ServiceError.Code?
        var count: Int
    }

    private static let rowCount = 1 + Int(Method.allCases.map(\.rawValue).max() ?? 0)
    /// Answered calls, then the times of all calls.
    private static let rowSize = 1 + TimeBuckets.size

    /// A row for each number of a method; row 0 for methods that this release does not know.
    private let counters = Counters(count: rowCount * rowSize)
    private let failures = Mutex<[Failure: Int]>([:])

    /// Counts a call that ended.
    ///
    /// - Parameters:
    ///   - code: nil means that the call was answered.
    ///   - nanoseconds: nil means that the time says nothing: the call never began, or its caller
    ///     decided how long it went on.
    func note(_ method: Method?, _ code: ServiceError.Code?, nanoseconds: UInt64?) {
        let row = Int(method?.rawValue ?? 0)
        let start = row * CallMeter.rowSize
        if let code {
            failures.withLock { $0[Failure(row: row, code: code), default: 0] += 1 }
        } else {
            counters.add(1, at: start)
        }
        if let nanoseconds { TimeBuckets.add(nanoseconds, to: counters, from: start + 1) }
    }

    /// By method, then by code.
    var outcomes: [Outcome] {
        var outcomes: [Outcome] = []
        let failures = failures.withLock { $0 }
            .sorted { ($0.key.row, $0.key.code.rawValue) < ($1.key.row, $1.key.code.rawValue) }
        for row in 0..<CallMeter.rowCount {
            let method = Method(rawValue: UInt32(row))
            let start = row * CallMeter.rowSize
            let answered = counters.values(in: start..<start + 1)[0]
            if answered > 0 { outcomes.append(Outcome(method: method, count: answered)) }
            for (failure, count) in failures where failure.row == row {
                outcomes.append(Outcome(method: method, code: failure.code, count: count))
            }
        }
        return outcomes
    }

    /// The times of methods that were called, by method.
    var times: [(method: Method?, times: Times)] {
        (0..<CallMeter.rowCount).compactMap { row in
            let times = TimeBuckets.times(counters, from: row * CallMeter.rowSize + 1)
            return times.count == 0 ? nil : (Method(rawValue: UInt32(row)), times)
        }
    }
}
