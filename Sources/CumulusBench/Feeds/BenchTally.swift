// Adds up the notifications of all followers of a figure, and notes when they reach a number.
//
// Followers add to it on their loop; the path that measures waits for it. The moment is taken by
// the follower itself, so waiting costs no precision.

import CumulusModel
import Foundation
import Synchronization

final class BenchTally: Sendable {
    struct Counts {
        var notifications = 0
        var bytes = 0
        /// Followers that were told that they are up to date.
        var upToDate = 0
        /// The last token of any of them.
        var token: Bytes = []
        /// Why one of them ended.
        var failure: String?

        /// Whether `goal` notifications were told, and when, in nanoseconds.
        fileprivate var goal = Int.max
        fileprivate var reached: UInt64?
    }

    private let counts = Mutex(Counts())

    /// The counts so far.
    var current: Counts { counts.withLock { $0 } }

    // MARK: Followers

    func add(notifications: Int, bytes: Int) {
        counts.withLock { counts in
            counts.notifications += notifications
            counts.bytes += bytes
            if counts.reached == nil, counts.notifications >= counts.goal {
                counts.reached = BenchTally.now()
            }
        }
    }

    func addUpToDate(token: Bytes) {
        counts.withLock { counts in
            counts.upToDate += 1
            counts.token = token
        }
    }

    func fail(_ reason: String) {
        counts.withLock { $0.failure = $0.failure ?? reason }
    }

    // MARK: The path

    /// Says how many more notifications are awaited; call it before they can come.
    func expect(_ more: Int) {
        counts.withLock { counts in
            counts.goal = counts.notifications + more
            counts.reached = nil
        }
    }

    /// The time at which the awaited notifications had come.
    func reached() async throws -> UInt64 {
        try await wait("notifications") { $0.reached != nil }
        return current.reached ?? 0
    }

    /// Waits until enough was told.
    ///
    /// - Throws: A `BenchProblem` when a follower has ended, or after so many seconds.
    func wait(
        _ what: String,
        seconds: Double = 60,
        until isEnough: (Counts) -> Bool
    ) async throws {
        if try await settle(seconds: seconds, until: isEnough) { return }
        let counts = current
        throw BenchProblem(
            message: """
                waited \(Int(seconds)) s for \(what); \(counts.notifications) notifications \
                came, \(counts.upToDate) followers are up to date
                """
        )
    }

    /// The same; returns false after so many seconds.
    func settle(seconds: Double, until isEnough: (Counts) -> Bool) async throws -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        while true {
            let counts = current
            if isEnough(counts) { return true }
            if let failure = counts.failure {
                throw BenchProblem(message: "a follower has ended: \(failure)")
            }
            guard Date() < end else { return false }
            try await Task.sleep(for: .microseconds(100))
        }
    }

    static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }
}
