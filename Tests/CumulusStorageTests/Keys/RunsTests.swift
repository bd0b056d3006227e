// Short vectors stand for whole ones, and stay short however often nodes restart.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RunsTests {
    private static let (a, b, c) = (Incarnation(1), Incarnation(2), Incarnation(3))

    private static func row(_ seq: UInt64, _ first: [Incarnation: UInt64] = [:]) -> VectorRow {
        let first = VersionVector(first)
        return VectorRow(
            seq: seq,
            time: HybridTime(1),
            hash: Commit.noHash,
            first: first,
            dep: first
        )
    }

    /// b began when it had 7 commits of a; c when it had 2 of b, and with them all of a.
    private static let runs = Runs([a: row(7), b: row(5, [a: 7]), c: row(1, [b: 2])])

    @Test func aRunRetiresWithTheFirstCommitThatDependsOnAllOfIt() {
        #expect(Set(Self.runs.live.keys) == [Self.b, Self.c])
        #expect(Set(Self.runs.retired.keys) == [Self.a])
        #expect(Self.runs.vector == VersionVector([Self.a: 7, Self.b: 5, Self.c: 1]))
        #expect(Self.runs.shortVector == VersionVector([Self.b: 5, Self.c: 1]))
        #expect(Self.runs.whole(Self.runs.shortVector) == Self.runs.vector)
    }

    @Test func aCommitBeyondIsNotForgotten() {
        var runs = Self.runs
        runs.enter(Self.row(8), of: Self.a)
        #expect(runs.retired.isEmpty)
        #expect(runs.shortVector[Self.a] == 8)
        #expect(runs.whole(runs.shortVector) == runs.vector)
    }

    @Test func anEarlierVectorIsShortenedByWhatItCovers() {
        let early = VersionVector([Self.a: 3])
        #expect(Self.runs.short(early) == early)
        let later = VersionVector([Self.a: 7, Self.b: 2, Self.c: 1])
        #expect(Self.runs.short(later) == VersionVector([Self.c: 1]))
        #expect(Self.runs.whole(VersionVector([Self.c: 1])) == later)
    }

    @Test func whatIsNotKnownIsNotCovered() {
        #expect(Self.runs.covers(VersionVector([Self.a: 7, Self.c: 1])))
        #expect(!Self.runs.covers(VersionVector([Self.a: 8])))
        #expect(!Self.runs.covers(VersionVector([Incarnation(9): 1])))
        let unknown = VersionVector([Incarnation(9): 4])
        #expect(Self.runs.whole(unknown) == unknown)
    }

    /// Whole vectors grow with each restart, what travels does not.
    @Test func restartsDontLengthenWhatTravels() throws {
        let one = try TestStore(seed: 1)
        let other = try TestStore(copying: one, seed: 2)
        for round in 0..<20 {
            for store in [one, other] {
                try store.restart()
                try store.save([SaveItem("r\(round)", ["n": .int64(Int64(round))])])
            }
            try one.take(from: other)
            try other.take(from: one)
        }
        let runs = try one.runs()
        #expect(runs.rows.count >= 40)
        #expect(runs.live.count <= 3)
        #expect(runs.whole(runs.shortVector) == runs.vector)
        #expect(try other.runs().shortVector == runs.shortVector)
        for (commit, _) in try one.commits(above: [:]).values.joined() {
            #expect(commit.dep.count <= 4, "\(commit.stamp.dot) depends on \(commit.dep)")
        }
    }
}
