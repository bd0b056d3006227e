// How far the clocks of other nodes are from this node's, as their reports tell, and what follows:
// a clock that is far off warns, and one that is wrong stops the writes of this node's callers.
//
// Stamps order concurrent writes, so a clock that is ahead wins wrongly, and beyond a minute no
// other node accepts this node's commits: it is better to refuse them here. The clocks of other
// nodes are kept relative to this node's monotonic clock, so a jump of the wall clock shows with
// the next batch. The writer asks once per batch. `CommitIntake` decides whether commits of a node
// with a fast clock are accepted.

package import CumulusModel
import CumulusReplication
package import CumulusWire
import Logging
import Synchronization

package final class PeerClocks: Sendable {
    private struct Heard {
        /// How far its clock was ahead of our monotonic clock, in milliseconds.
        var base: Int64
        /// The time by our wall clock, in milliseconds since 1970 UTC.
        var time: Int64
        var instant: Instant
        /// The first of the reports that set the clock back and agree; nil if none does.
        var setback: (base: Int64, instant: Instant)?

        /// Whether a report makes the clock look far behind its earlier reports, and far from ours.
        ///
        /// A report that agrees with our clock is taken at once: it stops no node's writes, and all
        /// clocks may have been set back together.
        func isSetBack(by report: Heard, own: Int64) -> Bool {
            base &- report.base > Int64(Node.farOffMilliseconds)
                && (own &- report.base).magnitude > Node.farOffMilliseconds
        }

        /// Whether a report says the same as an earlier one that set the clock back.
        ///
        /// Whether two reports agree.
        ///
        /// Delayed reports are read faster than they were made, so reports that are read a second
        /// apart don't agree.
        func agrees(with setback: (base: Int64, instant: Instant)) -> Bool {
            (base &- setback.base).magnitude < PeerClocks.confirmation
        }
    }

    private let heard = Mutex<[Bytes: Heard]>([:])
    /// A node that was silent for that long doesn't count.
    private static let memory: Int64 = 60_000
    /// Milliseconds between two reports that set a clock back; they differ by less.
    private static let confirmation: Int64 = 1_000

    package init() {}

    /// A node said what its clock is; 0 means that it takes its own for wrong.
    ///
    /// - Parameter ours: The time that this node's clock shows, right or wrong.
    package func note(_ theirs: Int64, of nodeID: Bytes, ours: Int64, now: Instant) {
        // Times until the year 6429 are accepted: their differences fit.
        guard theirs > 0, theirs < 1 << 47 else {
            return doubt(nodeID, ours &- now.milliseconds)
        }
        let entry = Heard(base: theirs &- now.milliseconds, time: ours, instant: now)
        let own = ours &- now.milliseconds
        heard.withLock { heard in
            guard let known = heard[nodeID], known.isSetBack(by: entry, own: own) else {
                heard[nodeID] = entry
                return
            }
            guard let setback = known.setback, entry.agrees(with: setback) else {
                heard[nodeID]?.setback = (entry.base, now)
                return
            }
            if now >= setback.instant + PeerClocks.confirmation { heard[nodeID] = entry }
        }
    }

    /// Keeps a node's earlier report if our clock still agrees with it, since our monotonic clock
    /// confirms it.
    ///
    /// If it doesn't agree, one of the two has jumped since, or both have: nothing is known then.
    private func doubt(_ nodeID: Bytes, _ base: Int64) {
        heard.withLock { heard in
            guard let known = heard[nodeID], PeerClocks.isWrong(known.base &- base) else { return }
            heard[nodeID] = nil
        }
    }

    /// Milliseconds by which a node's clock is ahead of ours, and when it was heard last.
    func heard(_ nodeID: Bytes, wallClock: Int64, now: Instant) -> (offset: Int64, time: Int64)? {
        heard.withLock { $0[nodeID] }.map { heard in
            (heard.base &- (wallClock &- now.milliseconds), heard.time)
        }
    }

    /// Whether a node's clock is right by ours, as far as it said lately.
    func isRight(_ nodeID: Bytes, wallClock: Int64, now: Instant) -> Bool {
        guard let heard = heard.withLock({ $0[nodeID] }), now <= heard.instant + PeerClocks.memory
        else { return false }
        return !PeerClocks.isWrong(heard.base &- (wallClock &- now.milliseconds))
    }

    /// Milliseconds by which our clock is ahead of the median of all, ours among them.
    ///
    /// The lead of this node's clock; if only two clocks differ, the one that is ahead counts as
    /// wrong.
    package func lead(wallClock: Int64, now: Instant) -> Int64 {
        let own = wallClock &- now.milliseconds
        let others = others(now)
        if others.isEmpty { return 0 }
        let all = (others + [own]).sorted()
        return own &- all[(all.count - 1) / 2]
    }

    /// The recent reports of other nodes.
    private func others(_ now: Instant) -> [Int64] {
        heard.withLock { heard in
            heard.values.filter { now <= $0.instant + PeerClocks.memory }.map(\.base)
        }
    }

    /// Whether any node said lately what its clock is.
    func hasHeard(now: Instant) -> Bool { !others(now).isEmpty }

    /// Whether most of at least three clocks say that ours is wrong; two clocks can't tell which of
    /// them is.
    func knowsOursIsWrong(wallClock: Int64, now: Instant) -> Bool {
        others(now).count > 1 && PeerClocks.isWrong(lead(wallClock: wallClock, now: now))
    }

    /// Whether other nodes would refuse a commit that is made now.
    static func isWrong(_ lead: Int64) -> Bool {
        lead.magnitude > CommitIntake.clockLeadMilliseconds
    }
}

/// Whether this node's own clock has jumped lately.
///
/// This node's own view of its wall clock.
///
/// All clocks of a cluster may jump together because of one time server. The remembered reports are
/// from before the jump, so each node considers its own clock wrong until it has heard the others
/// again.
struct OwnClock {
    /// The time of the next look at the clock.
    private(set) var lookTime = Instant(milliseconds: 0)
    /// How far the wall clock was ahead of our monotonic clock, at the last look.
    private var base: Int64?
    private var jumpEnd = Instant(milliseconds: 0)

    private static let lookMilliseconds: Int64 = 1_000
    /// Peers are told with every look for that long: their clocks may jump a little later.
    private static let jumpMilliseconds: Int64 = 15_000

    /// Returns whether peers are to be told at once what the clock says.
    ///
    /// - Parameter slept: How long the machine has slept: the clock has not jumped by that.
    mutating func look(wallClock: Int64, now: Instant, slept: Int64 = 0) -> Bool {
        lookTime = now + OwnClock.lookMilliseconds
        let base = wallClock &- now.milliseconds &- slept
        if let last = self.base, (base &- last).magnitude > Node.farOffMilliseconds {
            jumpEnd = now + OwnClock.jumpMilliseconds
        }
        self.base = base
        return now < jumpEnd
    }
}

extension Node {
    /// Beyond that, an operator is told.
    static let farOffMilliseconds: UInt64 = 5_000

    /// Milliseconds by which this node's clock is ahead of its peers'.
    var clockLead: Int64 {
        clocks.lead(wallClock: environment.wallClock(), now: environment.steadyNow)
    }

    /// The corrected time in milliseconds since 1970 UTC.
    ///
    /// If this node's clock is wrong, what most others say.
    var clock: Int64 {
        let wallClock = environment.wallClock()
        let lead = clocks.lead(wallClock: wallClock, now: environment.steadyNow)
        return PeerClocks.isWrong(lead) ? wallClock - lead : wallClock
    }

    /// The clock by which the times of a peer's commits are judged.
    func intakeClock(of peerID: Bytes) -> CommitIntake.Clock {
        let (wallClock, now) = (environment.wallClock(), environment.steadyNow)
        let isRight = clocks.isRight(peerID, wallClock: wallClock, now: now)
        return CommitIntake.Clock(now: clock, isSenderRight: isRight)
    }

    /// The clock that other nodes are told; 0 tells nothing, because it is wrong.
    ///
    /// The clock is told as long as only one other clock contradicts it. Otherwise two right nodes
    /// that heard a wrong one first would never hear of each other, and no node would accept
    /// writes.
    var toldClock: Int64 {
        let wallClock = environment.wallClock()
        let isWrong = clocks.knowsOursIsWrong(wallClock: wallClock, now: environment.steadyNow)
        return isWrong ? 0 : wallClock
    }

    /// Tells an operator when this node's clock goes wrong, and when it is right again.
    ///
    /// Without reports the last judgement stays.
    func judgeClock() {
        guard clocks.hasHeard(now: environment.steadyNow) else { return }
        let lead = clockLead
        let isFarOff = lead.magnitude > Node.farOffMilliseconds
        guard clockIsFarOff.exchange(isFarOff, ordering: .relaxed) != isFarOff else { return }
        environment.logger.log(
            level: isFarOff ? .critical : .info,
            isFarOff ? "this node's clock is far from the others'" : "this node's clock is right",
            metadata: ["milliseconds ahead": "\(lead)"]
        )
    }
}

extension StoreGate {
    static func clockIsWrong(_ lead: Int64) -> ServiceError {
        let distance = "\(lead.magnitude / 1_000) seconds \(lead > 0 ? "ahead of" : "behind")"
        return ServiceError(
            .serviceUnavailable,
            .clockWrong,
            "this node's clock is \(distance) the others', so it takes no writes; set it right"
        )
    }
}
