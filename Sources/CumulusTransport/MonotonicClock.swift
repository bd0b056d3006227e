// The clock that sockets are timed by: it never goes back, whatever happens to the wall clock.
//
// Handed to nodes and clients as their `now`, so that all of a process's deadlines are of one
// clock.

package import CumulusWire
import NIOCore

package enum MonotonicClock {
    package static func nanoseconds() -> UInt64 { NIODeadline.now().uptimeNanoseconds }

    package static func now() -> Instant {
        Instant(milliseconds: Int64(nanoseconds() / 1_000_000))
    }
}
