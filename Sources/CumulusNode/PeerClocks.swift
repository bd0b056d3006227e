// How far the clocks of other nodes are from this node's, as their reports tell, and what follows:
// a clock that is far off warns, and one that is wrong stops the writes of this node's callers.
//
// Stamps order concurrent writes, so a clock that is ahead wins what it should not, and beyond a
// minute nobody takes this node's commits: better to refuse them here.

import CumulusModel
import CumulusReplication
import CumulusWire
import Logging
import Synchronization

final class PeerClocks: Sendable {
    struct Heard {
        /// Milliseconds by which its clock was ahead of ours.
        var offset: Int64
        /// By our wall clock, in milliseconds since 1970 UTC.
        var time: Int64
        fileprivate var instant: Instant
    }

    private let heard = Mutex<[Bytes: Heard]>([:])
    /// Who was not heard for that long doesn't count.
    private static let memory: Int64 = 60_000

    func note(_ theirs: Int64, of nodeID: Bytes, ours: Int64, now: Instant) {
        let offset = theirs.subtractingReportingOverflow(ours).partialValue
        heard.withLock { $0[nodeID] = Heard(offset: offset, time: ours, instant: now) }
    }

    func heard(_ nodeID: Bytes) -> Heard? {
        heard.withLock { $0[nodeID] }
    }

    /// Milliseconds by which our clock is ahead of the median of all, ours among them.
    ///
    /// Of two, the one that is ahead counts as wrong.
    func lead(now: Instant) -> Int64 {
        let offsets = heard.withLock { heard in
            heard.values.filter { now <= $0.instant + PeerClocks.memory }.map(\.offset)
        }
        let all = (offsets + [0]).sorted()
        return 0 &- all[(all.count - 1) / 2]
    }
}

extension Node {
    /// Beyond that, an operator is told.
    private static let farOffMilliseconds: Int64 = 5_000

    /// Compares this node's clock with the others', and stops or resumes its callers' writes.
    func judgeClock() {
        let lead = clocks.lead(now: environment.now())
        let isWrong = lead.magnitude > CommitIntake.clockLeadMilliseconds
        let isFarOff = lead.magnitude > Node.farOffMilliseconds
        if isWrong {
            gate.stopWrites(Node.clockIsWrong(lead))
        } else {
            gate.resumeWrites(.clockWrong)
        }
        guard clockIsFarOff.exchange(isFarOff, ordering: .relaxed) != isFarOff else { return }
        environment.logger.log(
            level: isFarOff ? .critical : .info,
            isFarOff ? "this node's clock is far from the others'" : "this node's clock is right",
            metadata: ["milliseconds ahead": "\(lead)"]
        )
    }

    private static func clockIsWrong(_ lead: Int64) -> ServiceError {
        let distance = "\(lead.magnitude / 1_000) seconds \(lead > 0 ? "ahead of" : "behind")"
        return ServiceError(
            .serviceUnavailable,
            .clockWrong,
            "this node's clock is \(distance) the others', so it takes no writes; set it right"
        )
    }
}
