// One restraint for all connections of a caller that the node can't tell apart itself.
//
// A door in this process opens a connection for each call. Where its callers have connections of
// their own, it gives each of these one restraint: a caller that ignores when to come again is held
// up as on the binary protocol. hot: once per call, and never waited for long.

package import CumulusWire
import Synchronization

package final class SharedRestraint: Sendable {
    private let restraint = Mutex(Restraint())

    package init() {}

    /// A call was refused since its caller asks too much.
    package func refused(retryAfter: UInt32?, now: Instant) {
        restraint.withLock { $0.refused(retryAfter: retryAfter, now: now) }
    }

    /// A call was taken.
    package func taken() { restraint.withLock { $0.taken() } }

    /// Whether frames wait now.
    package func isPausing(now: Instant) -> Bool { restraint.withLock { $0.isPausing(now: now) } }
}
