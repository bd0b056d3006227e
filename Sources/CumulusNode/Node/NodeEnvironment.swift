// Everything that a node takes from the world apart from its disk and its network: time, dice, and
// where it speaks.
//
// Made once by `cumulusd`, or by a test or a simulator with a clock and dice of its own. Nothing
// else in the node reads a clock or makes a random number.

package import CoreMetrics
package import CumulusSystem
package import CumulusWire
package import Logging

package struct NodeEnvironment: Sendable {
    /// A clock that never goes back.
    package var now: @Sendable () -> Instant
    /// How long the machine has slept since it began, in milliseconds.
    ///
    /// `now` does not count that time.
    package var sleptMilliseconds: @Sendable () -> Int64 = { 0 }
    /// The same clock, to measure with.
    package var nanoseconds: @Sendable () -> UInt64
    /// Milliseconds since 1970 UTC.
    package var wallClock: @Sendable () -> Int64
    package var random: @Sendable () -> UInt64
    /// Waits that many milliseconds; throws when the task is cancelled.
    package var sleep: @Sendable (Int64) async throws -> Void
    package var logger: Logger
    /// Keeps a line of the audit log; called by any thread, which it does not hold up.
    ///
    /// nil means that there is no such log.
    package var audit: (@Sendable (_ line: [UInt8]) -> Void)?
    /// The same for a line about a refusal; nil means that `audit` keeps it.
    package var auditRefusal: (@Sendable (_ line: [UInt8]) -> Void)?
    /// The newest lines of the audit log, oldest first; nil means that they can't be read back.
    package var auditLines: (@Sendable () -> [[UInt8]])?
    /// A further receiver of the events that the node counts, besides its own metrics.
    ///
    /// nil means nowhere else. Every node has metrics of its own, which its operator can ask for.
    package var metrics: (any MetricsFactory)?
    /// The resources of the machine that this process uses.
    package var processUse: @Sendable () -> ProcessUse = { ProcessUse() }
    /// Seconds since 1970 UTC at which the certificate that callers are shown ends; nil without
    /// one.
    package var certificateEnd: @Sendable () -> Int64? = { nil }
    /// The store can't go on: its state is unknown.
    ///
    /// Ends the process.
    package var fail: @Sendable (_ reason: String) -> Void
    /// Called when this node is not needed any more.
    ///
    /// Ends the process when it has drained.
    package var end: @Sendable () -> Void

    package init(
        now: @escaping @Sendable () -> Instant,
        nanoseconds: @escaping @Sendable () -> UInt64,
        wallClock: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable () -> UInt64,
        sleep: @escaping @Sendable (Int64) async throws -> Void,
        logger: Logger,
        fail: @escaping @Sendable (_ reason: String) -> Void,
        end: @escaping @Sendable () -> Void
    ) {
        self.now = now
        self.nanoseconds = nanoseconds
        self.wallClock = wallClock
        self.random = random
        self.sleep = sleep
        self.logger = logger
        self.fail = fail
        self.end = end
    }

    /// The clock that never goes back, with the time for which the machine slept.
    ///
    /// It goes on as a right wall clock does.
    var steadyNow: Instant { now() + sleptMilliseconds() }
}

/// The environment's dice where a generator is asked for.
package struct NodeDice: RandomNumberGenerator {
    private let random: @Sendable () -> UInt64

    package init(_ environment: NodeEnvironment) {
        random = environment.random
    }

    package mutating func next() -> UInt64 { random() }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }
}
