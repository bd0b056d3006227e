// Whether a commit of another node may be applied now: in the order of its incarnation, after all
// that it depends on, and only if it fits what is known of its origin.
//
// Called for every commit that a peer sends, before `WriteTransaction.apply`. A refusal pauses that
// origin: its log was forked or its clock is wrong, and an operator has to look.

package import CumulusModel
package import CumulusStorage

package enum CommitIntake {
    /// The decision about a commit.
    package enum Verdict: Equatable, Sendable {
        case apply
        /// It was applied before.
        case known
        /// It depends on these, and then on nothing more; ascending.
        case waits(for: [Dot])
        case refused(Refusal)
    }

    /// Why nothing more of an incarnation is taken.
    package enum Refusal: Equatable, Sendable {
        /// Two commits have one dot, or one doesn't follow what is known to stand before it.
        case forked
        /// Its time is not after the time of the previous commit.
        case timeWentBack
        /// Its time is so many milliseconds ahead of ours.
        case clockAhead(milliseconds: Int64)
        /// It can't be read or applied: damaged, or made by a newer release.
        case unreadable(String)
        /// It can't be applied since a row of this node's own store can't be read.
        case damagedHere(String)
        /// It depends on commits of this run, which are refused.
        case follows(Incarnation)

        /// Whether it says the same as another one: a clock that is ahead is so by less each time.
        package func repeats(_ other: Refusal?) -> Bool {
            if case .clockAhead = self, case .clockAhead = other { return true }
            return self == other
        }
    }

    /// How far a commit's time may be ahead of the wall clock.
    package static let clockLeadMilliseconds: Int64 = 60_000
    /// How far a commit's time may be ahead of the latest one here, whatever the clock says.
    ///
    /// A clock that was ahead has left later times in the log than it shows now. Nodes count on
    /// from the latest, 65,536 times to a millisecond, so none is further ahead than this.
    private static let countedMilliseconds: Int64 = 100
    /// Times from the year 6429 on are refused from every sender.
    ///
    /// A node counts on from the latest time, so it must not take the last that there is.
    private static let lastMilliseconds: Int64 = 1 << 47

    /// The clock by which a commit's time is judged.
    package struct Clock: Sendable {
        /// The present time as far as this node can tell, in milliseconds since 1970 UTC.
        package var now: Int64
        /// The latest time of all commits that are applied here.
        package var latest: HybridTime
        /// The node that sends the commit has a right clock: it judged the commit when it took it,
        /// or counts on from commits that it took.
        package var isSenderRight: Bool

        package init(now: Int64, latest: HybridTime = HybridTime(0), isSenderRight: Bool = false) {
            self.now = now
            self.latest = latest
            self.isSenderRight = isSenderRight
        }

        /// Milliseconds by which a time is too far ahead; nil if it is not.
        func excess(of time: HybridTime) -> Int64? {
            let lead = time.milliseconds - now
            guard lead > clockLeadMilliseconds else { return nil }
            guard time.milliseconds < lastMilliseconds else { return lead }
            let isCounted = time.milliseconds <= latest.milliseconds + countedMilliseconds
            return isCounted || isSenderRight ? nil : lead
        }
    }

    /// - Parameter runs: The runs that are applied here.
    package static func judge(
        _ commit: Commit,
        bytes: Bytes,
        after runs: Runs,
        clock: Clock
    ) -> Verdict {
        let dot = commit.stamp.dot
        let last = runs[dot.incarnation]
        if let last, dot.seq <= last.seq {
            let isOther = dot.seq == last.seq && hash(commit, bytes) != last.hash
            return isOther ? .refused(.forked) : .known
        }
        let missing = missing(commit, last, runs)
        guard missing.isEmpty else { return .waits(for: missing) }
        if commit.previousHash != last?.hash ?? Commit.noHash { return .refused(.forked) }
        if let last, commit.stamp.time <= last.time { return .refused(.timeWentBack) }
        if let lead = clock.excess(of: commit.stamp.time) {
            return .refused(.clockAhead(milliseconds: lead))
        }
        return .apply
    }

    private static func hash(_ commit: Commit, _ bytes: Bytes) -> Bytes {
        Commit.hash(previous: commit.previousHash, commit: bytes)
    }

    /// The last commits of each incarnation that have to be here first.
    private static func missing(
        _ commit: Commit,
        _ last: VectorRow?,
        _ runs: Runs
    ) -> [Dot] {
        let dot = commit.stamp.dot
        var missing = commit.dep.filter { $0.seq > runs[$0.incarnation]?.seq ?? 0 }
        if dot.seq != (last?.seq ?? 0) + 1 { missing.append(Dot(dot.incarnation, dot.seq - 1)) }
        return missing.sorted()
    }
}
