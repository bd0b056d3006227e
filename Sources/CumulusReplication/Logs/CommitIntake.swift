// Whether a commit of another node may be applied now: in the order of its incarnation, after all
// that it depends on, and only if it fits what is known of its origin.
//
// Called for every commit that a peer sends, before `WriteTransaction.apply`. A refusal pauses that
// origin: its log was forked or its clock is wrong, and an operator has to look.

package import CumulusModel
package import CumulusStorage

package enum CommitIntake {
    /// What to do with a commit.
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
        /// Its time is not after that of the commit before it.
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

    /// - Parameters:
    ///   - runs: What is applied here.
    ///   - now: The wall clock, in milliseconds since 1970 UTC.
    package static func judge(
        _ commit: Commit,
        bytes: Bytes,
        after runs: Runs,
        now: Int64
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
        let lead = commit.stamp.time.milliseconds - now
        if lead > clockLeadMilliseconds { return .refused(.clockAhead(milliseconds: lead)) }
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
