// The commits of others that are applied, and the reasons why others are not.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct CommitIntakeTests {
    private static let origin = Incarnation(1)
    private static let second = Incarnation(2)
    private static let now: Int64 = 1_750_000_000_000

    private static func commit(
        _ seq: UInt64,
        time: Int64 = now,
        dep: [Dot] = [],
        after previous: Bytes = Commit.noHash
    ) -> Commit {
        Commit(
            stamp: Stamp(HybridTime(milliseconds: time), Dot(origin, seq)),
            dep: dep,
            previousHash: previous,
            requestID: [],
            user: "",
            device: [],
            isGuarded: false,
            zone: nil,
            operations: []
        )
    }

    private static func row(after commit: Commit) -> VectorRow {
        VectorRow(
            seq: commit.stamp.dot.seq,
            time: commit.stamp.time,
            hash: Commit.hash(previous: commit.previousHash, commit: commit.encoded())
        )
    }

    private static func judge(
        _ commit: Commit,
        _ vectors: [Incarnation: VectorRow] = [:],
        clock: CommitIntake.Clock = .init(now: now)
    ) -> CommitIntake.Verdict {
        CommitIntake.judge(commit, bytes: commit.encoded(), after: Runs(vectors), clock: clock)
    }

    @Test func theNextOneIsApplied() {
        let first = Self.commit(1)
        #expect(Self.judge(first) == .apply)
        let row = Self.row(after: first)
        let next = Self.commit(2, time: Self.now + 1, after: row.hash)
        #expect(Self.judge(next, [Self.origin: row]) == .apply)
    }

    @Test func whatWasAppliedIsKnown() {
        let first = Self.commit(1)
        #expect(Self.judge(first, [Self.origin: Self.row(after: first)]) == .known)
    }

    @Test func aGapIsWaitedFor() {
        #expect(Self.judge(Self.commit(3)) == .waits(for: [Dot(Self.origin, 2)]))
    }

    @Test func whatItDependsOnIsWaitedFor() {
        let commit = Self.commit(1, dep: [Dot(Self.second, 4)])
        #expect(Self.judge(commit) == .waits(for: [Dot(Self.second, 4)]))
        let row = VectorRow(seq: 4, time: HybridTime(1), hash: Commit.noHash)
        #expect(Self.judge(commit, [Self.second: row]) == .apply)
    }

    @Test func twoCommitsOfOneDotAreAFork() {
        let row = Self.row(after: Self.commit(1))
        #expect(Self.judge(Self.commit(1, time: 5), [Self.origin: row]) == .refused(.forked))
    }

    @Test func aBrokenChainIsAFork() {
        let row = Self.row(after: Self.commit(1))
        let next = Self.commit(2, time: Self.now + 1, after: Bytes(repeating: 9, count: 16))
        #expect(Self.judge(next, [Self.origin: row]) == .refused(.forked))
        let first = Self.commit(1, after: Bytes(repeating: 9, count: 16))
        #expect(Self.judge(first) == .refused(.forked))
    }

    @Test(arguments: [0, -1] as [Int64]) func timeMustRise(by milliseconds: Int64) {
        let row = Self.row(after: Self.commit(1))
        let next = Self.commit(2, time: Self.now + milliseconds, after: row.hash)
        #expect(Self.judge(next, [Self.origin: row]) == .refused(.timeWentBack))
    }

    @Test func aClockFarAheadIsRefused() {
        #expect(Self.judge(Self.commit(1, time: Self.now + 60_000)) == .apply)
        #expect(
            Self.judge(Self.commit(1, time: Self.now + 60_001))
                == .refused(.clockAhead(milliseconds: 60_001))
        )
    }

    /// The cluster's clocks were an hour ahead, and were set right: commits count on from there.
    @Test func timesThatWereReachedAlreadyAreTaken() {
        let hour = Self.now + 3_600_000
        let latest = HybridTime(milliseconds: hour)
        let clock = CommitIntake.Clock(now: Self.now, latest: latest)
        #expect(Self.judge(Self.commit(1, time: hour), clock: clock) == .apply)
        #expect(Self.judge(Self.commit(1, time: hour + 100), clock: clock) == .apply)
        #expect(
            Self.judge(Self.commit(1, time: hour + 101), clock: clock)
                == .refused(.clockAhead(milliseconds: 3_600_101))
        )
    }

    /// A node that joins then has none of these times, and gets them from nodes that are right.
    @Test func whatASenderWithARightClockTookIsTaken() {
        let commit = Self.commit(1, time: Self.now + 3_600_000)
        let clock = CommitIntake.Clock(now: Self.now, isSenderRight: true)
        #expect(Self.judge(commit, clock: clock) == .apply)
    }

    /// The next time after the last one would end the process.
    @Test(arguments: [1 << 47, 1 << 48 - 1] as [Int64])
    func timesThatNoClockShowsAreRefused(time: Int64) {
        let latest = HybridTime(milliseconds: time)
        let clock = CommitIntake.Clock(now: Self.now, latest: latest, isSenderRight: true)
        #expect(
            Self.judge(Self.commit(1, time: time), clock: clock)
                == .refused(.clockAhead(milliseconds: time - Self.now))
        )
    }

    /// An operator is told once, however often it is tried again.
    @Test func aClockThatIsStillAheadIsNoNews() {
        typealias Refusal = CommitIntake.Refusal
        let ahead = Refusal.clockAhead(milliseconds: 70_000)
        #expect(ahead.repeats(.clockAhead(milliseconds: 69_000)))
        #expect(Refusal.forked.repeats(.forked))
        #expect(!ahead.repeats(.forked))
        #expect(!Refusal.forked.repeats(nil))
    }
}
