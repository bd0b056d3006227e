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

    /// A second lies between two commits, the last of which was made just now.
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
    ) throws -> (seq: UInt64, isFull: Bool) {
        let scope = try store.scopeNumber()
        var retention = LogRetention(kept: kept, longest: longest, now: store.now)
        try retention.fit([scope], limit: limit, store.reader) { range throws(EngineError) in
            UInt64(try store.reader.rows(.log, range).count) * Self.perCommit
        }
        let end = try retention.end(of: scope, stable: stable, store.reader)
        return (end[run], retention.isFull)
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
        #expect(end.isFull)
        let stays = UInt64(Self.commits) + before - end.seq
        #expect(stays * Self.perCommit <= limit)
        // The time is halved, so no less than about half the room is used.
        #expect(stays * Self.perCommit * 2 >= limit - 600)
    }

    @Test func whatIsKeptInAnyCaseStays() throws {
        let end = try end(kept: 5_000, longest: 64_000, limit: 0)
        #expect(end == (before + UInt64(Self.commits) - 6, true))
    }
}
