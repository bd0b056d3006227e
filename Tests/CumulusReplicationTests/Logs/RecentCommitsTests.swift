// The newest commits of a run in memory, and what a reader is sent of them.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RecentCommitsTests {
    private static let (one, other) = (Incarnation(1), Incarnation(2))

    private func commits(_ numbers: ClosedRange<UInt8>) -> [Bytes] { numbers.map { [$0] } }

    @Test func theyAreFoundByTheirNumbers() {
        var recent = RecentCommits()
        #expect(recent.commits(above: 0, through: 1) == nil)
        recent.add(commits(5...6), through: 6)
        recent.add(commits(7...9), through: 9)
        #expect(recent.byteCount == 5)
        #expect(recent.commits(above: 4, through: 9) == commits(5...9))
        #expect(recent.commits(above: 6, through: 8) == commits(7...8))
        #expect(recent.commits(above: 9, through: 9) == [])
        #expect(recent.commits(above: 3, through: 9) == nil)
        #expect(recent.commits(above: 8, through: 10) == nil)
    }

    @Test func aGapBeginsAnew() {
        var recent = RecentCommits()
        recent.add(commits(1...2), through: 2)
        recent.add(commits(4...4), through: 4)
        #expect(recent.byteCount == 1)
        #expect(recent.commits(above: 1, through: 4) == nil)
        #expect(recent.commits(above: 3, through: 4) == commits(4...4))
        recent.add([], through: 7)
        #expect(recent.byteCount == 0)
        #expect(recent.commits(above: 3, through: 4) == nil)
        recent.add(commits(8...8), through: 8)
        #expect(recent.commits(above: 7, through: 8) == commits(8...8))
    }

    private func outbound(
        _ position: [Incarnation: UInt64],
        elsewhere: [Incarnation] = []
    ) -> OutboundCommits {
        OutboundCommits(scope: 1, position: VersionVector(position), elsewhere: elsewhere)
    }

    @Test func aReaderThatLacksOnlyTheseIsSentThem() throws {
        var outbound = outbound([Self.one: 2, Self.other: 5])
        let vector = VersionVector([Self.one: 4, Self.other: 5])
        let sent = outbound.next(
            commits(3...4),
            of: Self.one,
            vector,
            byteLimit: 2,
            tellsNews: false
        )
        let batch = try #require(sent)
        #expect(batch.commits == commits(3...4) && batch.isAtEnd && batch.vector == vector)
        #expect(outbound.position == vector)
    }

    @Test(arguments: [(1, UInt64(5)), (10, 6)])
    func aReaderThatLacksMoreIsNot(byteLimit: Int, others: UInt64) {
        var outbound = outbound([Self.one: 2, Self.other: 5])
        let before = outbound.position
        let vector = VersionVector([Self.one: 4, Self.other: others])
        let sent = outbound.next(
            commits(3...4),
            of: Self.one,
            vector,
            byteLimit: byteLimit,
            tellsNews: true
        )
        #expect(sent == nil)
        #expect(outbound.position == before)
    }

    /// News without commits may be left for later, and none of it is lost.
    @Test func newsIsToldOnceAtLast() throws {
        var outbound = outbound([Self.one: 2], elsewhere: [Self.other])
        func next(_ count: UInt64, tellsNews: Bool) throws -> OutboundCommits.Batch {
            let vector = VersionVector([Self.one: 2 + count, Self.other: 5])
            let batch = outbound.next(
                count == 0 ? [] : commits(3...3),
                of: Self.one,
                vector,
                byteLimit: 9,
                tellsNews: tellsNews
            )
            return try #require(batch)
        }
        let left = try next(0, tellsNews: false)
        #expect(left.news.isEmpty && left.leavesNews)
        let again = outbound
        let told = try next(0, tellsNews: true)
        #expect(told.news.dots == [Dot(Self.other, 5)] && !told.leavesNews)
        #expect(try next(0, tellsNews: true).news.isEmpty)
        outbound = again
        let beside = try next(1, tellsNews: false)
        #expect(beside.news.dots == [Dot(Self.other, 5)] && !beside.leavesNews)
        let quiet = try next(1, tellsNews: false)
        #expect(quiet.news.isEmpty && !quiet.leavesNews)
    }
}
