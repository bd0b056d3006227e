// Reports the findings of a comparison to its operator every second, so that the call does not time
// out, however long a step takes.
//
// Filled by `Verification`. The lists of each message hold what the one before did not.

import CumulusModel
import CumulusWire
import Synchronization

final class VerificationReport: Sendable {
    private let verdict = Mutex(WireVerdict())
    /// Differences and damaged rows that were told one by one.
    private let listed = Mutex(0)

    /// At most this many findings are listed one by one.
    private static let mostListed = 1_000
    /// Milliseconds between two messages.
    private static let pause: Int64 = 1_000

    /// Changes counts.
    func count(_ change: (inout WireVerdict) -> Void) {
        verdict.withLock { change(&$0) }
    }

    func add(_ differences: [WireVerdict.Difference]) {
        let room = takeRoom(for: differences.count)
        verdict.withLock {
            $0.different += UInt64(differences.count)
            $0.differences += differences.prefix(room)
        }
    }

    func add(_ rows: [WireVerdict.DamagedRow]) {
        let room = takeRoom(for: rows.count)
        verdict.withLock {
            $0.damaged += UInt64(rows.count)
            $0.mended += UInt64(rows.count { $0.outcome == .mended })
            $0.damagedRows += rows.prefix(room)
        }
    }

    private func takeRoom(for count: Int) -> Int {
        listed.withLock { listed in
            let room = min(count, VerificationReport.mostListed - listed)
            listed += room
            return room
        }
    }

    /// The next message.
    func next() -> WireVerdict {
        verdict.withLock { verdict in
            defer { (verdict.differences, verdict.damagedRows) = ([], []) }
            return verdict
        }
    }

    /// Works, and tells meanwhile how far it is; returns the last message.
    func telling(
        _ tell: @escaping @Sendable (Bytes) -> Void,
        sleep: @escaping @Sendable (Int64) async throws -> Void,
        while work: () async throws -> Void
    ) async throws -> WireVerdict {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    do { try await sleep(VerificationReport.pause) } catch { return }
                    if Task.isCancelled { return }
                    tell(self.next().encoded())
                }
            }
            defer { group.cancelAll() }
            try await work()
        }
        // Nothing is told any more that could come behind it.
        return next()
    }
}
