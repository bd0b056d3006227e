// How much of a log stays: all that a member lacks where it fits, the younger half where it
// doesn't, and never less than is kept in any case.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@testable import CumulusReplication

@Suite struct LogRetentionTests {
    private static let perCommit: UInt64 = 100
    private static let commits = 64

    private let store: TestStore
    private let run: Incarnation
    private let before: UInt64
    private let began: Int64

    /// A second lies between two commits, and the last was made just now.
    init() throws {
        store = try TestStore(seed: 1)
        try store.save([SaveItem("first", ["n": 0])])
        let vector = try store.vector()
        run = try #require(vector.dots.first).incarnation
        before = vector[run]
        began = store.now
        for number in 0..<Self.commits {
            store.now += 1_000
            try store.save([SaveItem("r\(number)", ["n": .int64(Int64(number))])])
        }
        #expect(try store.vector()[run] == before + UInt64(Self.commits))
    }

    private func end(
        kept: Int64,
        longest: Int64,
        limit: UInt64,
        stable: VersionVector = VersionVector()
    ) throws -> (seq: UInt64, isShort: Bool) {
        let scope = try store.scopeNumber()
        var retention = LogRetention(kept: kept, longest: longest, now: store.now)
        while try retention.canShrink && retention.size(of: scope, store.reader, size) > limit {
            retention.halve()
        }
        let end = try retention.end(of: scope, stable: stable, store.reader)
        return (end[run], retention.isShort)
    }

    private func size(of range: KeyRange) throws(EngineError) -> UInt64 {
        UInt64(try store.reader.rows(.log, range).count) * Self.perCommit
    }

    @Test func whatFitsStaysForWhoeverLacksIt() throws {
        let all = try end(kept: 5_000, longest: 1_000_000, limit: 10_000)
        #expect(all == (0, false))
        // What all have goes, but for the last five seconds.
        let stable = try end(
            kept: 5_000,
            longest: 1_000_000,
            limit: 10_000,
            stable: store.vector()
        )
        #expect(stable.seq == before + UInt64(Self.commits) - 6)
    }

    @Test func whatIsOldGoesThoughItFits() throws {
        let end = try end(kept: 5_000, longest: 10_000, limit: 10_000)
        #expect(end == (before + UInt64(Self.commits) - 11, false))
    }

    @Test(arguments: [UInt64(5_000), 3_000, 1_000])
    func theOldestGoWhereTheyDoNotFit(limit: UInt64) throws {
        let end = try end(kept: 5_000, longest: 64_000, limit: limit)
        #expect(end.isShort)
        let stays = UInt64(Self.commits) + before - end.seq
        #expect(stays * Self.perCommit <= limit)
        // The time is halved, so no less than about half the room is used.
        #expect(stays * Self.perCommit * 2 >= limit - 600)
    }

    @Test func whatIsKeptInAnyCaseStays() throws {
        let end = try end(kept: 5_000, longest: 64_000, limit: 0)
        #expect(end == (before + UInt64(Self.commits) - 6, true))
    }

    /// What answers retries goes after what a member lacks, and its last minute stays.
    @Test func retriesAreAnsweredForAMinuteAtLeast() throws {
        let some = try end(kept: 100_000, longest: 200_000, limit: 6_200)
        #expect(some == (before + UInt64(Self.commits) - 62, true))
        let least = try end(kept: 100_000, longest: 200_000, limit: 0)
        #expect(least == (before + UInt64(Self.commits) - 61, true))
    }

    @Test func aShortDiskKeepsTheLeast() throws {
        var retention = LogRetention(kept: 5_000, longest: 64_000, now: store.now)
        retention.keepLeast()
        #expect(!retention.canShrink)
        let end = try retention.end(of: store.scopeNumber(), stable: VersionVector(), store.reader)
        #expect(end[run] == before + UInt64(Self.commits) - 6)
    }

    /// A second more than is kept is not halved again and again.
    @Test func halvingEnds() {
        var retention = LogRetention(kept: 600_000, longest: 30 * 86_400_000, now: store.now)
        var count = 0
        while retention.canShrink {
            retention.halve()
            count += 1
        }
        #expect(count == 34)
    }

    // MARK: What was dropped

    private func deadLog(least: UInt64, most: UInt64) throws -> [UInt64] {
        let dead = DeadLog(least: least, most: most)
        return try dead.pieces(of: store.scopeNumber(), store.reader, size).map(\.bytes)
    }

    /// The engine here deletes at once, so sizes count only entries that must stay.
    @Test func droppedEntriesAreGivenBackInPieces() throws {
        #expect(try deadLog(least: 1, most: 1_000) == [])
        let scope = try store.scopeNumber()
        let run = run
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.put(.logFloor(scope, run), SeqRow(seq: 32))
        }
        let all = try deadLog(least: 1, most: 10_000)
        #expect(all == [3_200])
        let pieces = try deadLog(least: 1, most: 1_000)
        #expect(pieces == [800, 800, 800, 800])
        #expect(try deadLog(least: 1_000, most: 1_000) == [])
        #expect(try deadLog(least: 1, most: 1).count == 32)
    }
}
