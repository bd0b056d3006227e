// What a log holds for a member that lacks it, and until when, at the pace so far.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@testable import CumulusReplication

@Suite struct LogBacklogTests {
    private let store: TestStore
    private let run: Incarnation
    private let began: Int64

    /// A second lies between two commits.
    init() throws {
        store = try TestStore(seed: 1)
        try store.save([SaveItem("first", ["n": 0])])
        run = try #require(store.vector().dots.first).incarnation
        began = store.now
        for number in 0..<10 {
            store.now += 1_000
            try store.save([SaveItem("r\(number)", ["n": .int64(Int64(number))])])
        }
    }

    /// Every commit takes 100 bytes.
    private func backlog(of reported: VersionVector) throws -> LogBacklog {
        let reader = store.reader
        return try LogBacklog(of: store.scopeNumber(), reported: reported, reader) {
            range throws(EngineError) in
            UInt64(try reader.rows(.log, range).count) * 100
        }
    }

    private func reported(lacking count: UInt64) throws -> VersionVector {
        var vector = try store.vector()
        vector[run] -= count
        return vector
    }

    @Test func aMemberThatHasAllLacksNothing() throws {
        let none = try backlog(of: store.vector())
        #expect(none == LogBacklog())
        #expect(none.end(now: store.now, retention: 1, room: 0) == nil)
    }

    @Test func itsCommitsAreCounted() throws {
        let four = try backlog(of: reported(lacking: 4))
        #expect(four.commits == 4 && four.bytes == 400 && !four.isCut)
        #expect(four.oldest == began + 7_000)
        var sum = four
        sum.add(try backlog(of: reported(lacking: 6)))
        #expect(sum.commits == 10 && sum.bytes == 1_000 && sum.oldest == began + 5_000)
    }

    /// 400 bytes in the last 3 seconds: there is room for so many more in as many.
    @Test func theNearerEndCounts() throws {
        let four = try backlog(of: reported(lacking: 4))
        let now = store.now
        #expect(four.end(now: now, retention: 60_000, room: 400) == now + 3_000)
        #expect(four.end(now: now, retention: 60_000, room: 0) == now)
        #expect(four.end(now: now, retention: 60_000, room: 1 << 40) == began + 67_000)
        #expect(four.end(now: now, retention: 1, room: 400) == now)
    }

    @Test func aMemberBeforeTheFloorTakesState() throws {
        let scope = try store.scopeNumber()
        let (run, floor) = (run, try store.vector()[run] - 2)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.put(.logFloor(scope, run), SeqRow(seq: floor))
        }
        let cut = try backlog(of: reported(lacking: 4))
        #expect(cut.isCut && cut.commits == 4 && cut.bytes == 200)
        #expect(cut.end(now: store.now, retention: 60_000, room: 400) == store.now)
        #expect(try !backlog(of: reported(lacking: 2)).isCut)
    }
}
