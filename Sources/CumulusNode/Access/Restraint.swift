// How a connection is treated whose caller ignores when to come again: no frame of it is taken for
// as long as it was told to wait.
//
// A value without a clock. `OpenCalls` says what became of each call, `CallerConnection` asks
// before it takes a frame. A refused call costs the node little, but to read and to answer all that
// a flood brings would cost others their turns; unread frames wait at their sender. hot: once per
// call.

import CumulusModel
import CumulusWire

struct Restraint: Equatable, Sendable {
    /// How many calls may come too soon: calls that were on their way when the first was refused.
    static let mostIgnored = 64
    /// No pause is longer: frames of calls in progress wait, too.
    static let longestPause: Int64 = 1_000

    /// Calls that came before the time that their caller was told.
    private var ignored = 0
    private var comeAgain: Instant?
    /// No frame is taken before.
    private(set) var end: Instant?

    /// A call was refused since its caller asks too much.
    mutating func refused(retryAfter: UInt32?, now: Instant) {
        if let comeAgain, now < comeAgain { ignored += 1 }
        let wait = min(Int64(retryAfter ?? 0), Restraint.longestPause)
        comeAgain = now + wait
        guard ignored >= Restraint.mostIgnored else { return }
        end = now + max(1, wait)
    }

    /// A call was taken: half of what its caller ignored is forgotten.
    mutating func taken() {
        if ignored > 0 { ignored /= 2 }
        comeAgain = nil
    }

    /// Whether frames wait now.
    func isPausing(now: Instant) -> Bool { end.map { now < $0 } ?? false }
}
