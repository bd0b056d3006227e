// The small rows: what is written is read back, and a row that isn't whole is damage.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RowsTests {
    private static let stamp = Stamp(HybridTime(77), Dot(Incarnation(5), 300))

    private static func check<Row: RowValue & Equatable>(_ row: Row) throws {
        let bytes = row.rowBytes
        #expect(try Row(row: bytes) == row)
        for cut in Damage.truncations(of: bytes) {
            #expect(throws: MalformedBytes.self) { try Row(row: cut) }
        }
        #expect(throws: MalformedBytes.self) { try Row(row: bytes + [0]) }
        var dice = SeededGenerator(seed: 1)
        for _ in 0..<200 { _ = try? Row(row: Damage.mutation(of: bytes, using: &dice)) }
    }

    @Test func nodeRow() throws {
        var row = NodeRow(nodeID: Bytes(repeating: 1, count: 16), clusterID: [2])
        row.lastIncarnation = Incarnation(.max)
        row.latestTime = HybridTime(9)
        row.nextScope = .max
        row.nextDatabase = .max
        row.nextZone = 3
        try Self.check(row)
    }

    @Test func zoneRow() throws {
        var row = ZoneRow(number: 4, generation: 300, capabilities: 15, created: Self.stamp)
        try Self.check(row)
        row.deadThrough = 300
        row.deleted = Self.stamp
        row.reason = 2
        row.horizon = VersionVector([Incarnation(1): 2, Incarnation(3): 4])
        try Self.check(row)
        #expect(!row.exists)
    }

    @Test func theOtherRows() throws {
        try Self.check(NumberRow(number: .max))
        try Self.check(NumberedSeq(seq: .max))
        try Self.check(VectorRow(seq: 1 << 40, time: HybridTime(3), hash: Commit.noHash))
        try Self.check(RegisterRow(stamp: Self.stamp, value: [1]))
        try Self.check(RegisterRow(stamp: Self.stamp, value: []))
        try Self.check(RegisterRow(stamp: Self.stamp, value: nil))
        try Self.check(OrderRow(dot: Self.stamp.dot, isVisible: true))
        try Self.check(IncrementRow(stamp: Self.stamp, delta: .min))
        try Self.check(
            RequestRow(digest: [1], dots: [Self.stamp.dot, Self.stamp.dot], outcome: [2, 3])
        )
    }

    @Test func zoneStateAddsUpAndGoesBackToNothing() throws {
        var state = ZoneState()
        var rows: [RecordRow] = []
        for number in UInt8(1)...20 {
            var row = RecordRow(type: "T", birth: Self.stamp, createdBy: "")
            row.digest = Bytes(repeating: number &* 13, count: 16)
            rows.append(row)
            state.count(row, byteCount: 100, sign: 1)
        }
        #expect(state.records == 20)
        #expect(state.bytes == 2_000)
        try Self.check(state)
        for row in rows.reversed() { state.count(row, byteCount: 100, sign: -1) }
        #expect(state == ZoneState())
    }

    @Test func requestIDsAreSixteenBytes() {
        #expect(RequestID(Bytes(repeating: 0, count: 15)) == nil)
        #expect(RequestID(Bytes(repeating: 0, count: 17)) == nil)
        #expect(
            RequestID([0, 0, 0, 0, 1, 2] + Bytes(repeating: 9, count: 10))?.milliseconds == 258
        )
    }

    @Test func countersAddUpPerIncarnation() {
        var counter = Counter(field: "n", base: 10)
        let (one, two) = (Incarnation(1), Incarnation(2))
        let additions = [
            counter.add(5, at: Dot(two, 1)), counter.add(-2, at: Dot(one, 7)),
            counter.add(4, at: Dot(two, 9)),
        ]
        #expect(additions == [true, true, true])
        #expect(counter.value == 17)
        #expect(counter.total == 7)
        #expect(counter.sums.map(\.dot) == [Dot(one, 7), Dot(two, 9)])
    }

    @Test func anOverflowChangesNothing() {
        var counter = Counter(field: "n", base: 1)
        let fits = counter.add(.max - 1, at: Dot(Incarnation(1), 1))
        let before = counter
        let sameFits = counter.add(1, at: Dot(Incarnation(1), 2))
        let otherFits = counter.add(1, at: Dot(Incarnation(2), 2))
        #expect((fits, sameFits, otherFits) == (true, false, false))
        #expect(counter == before)
        #expect(counter.value == .max)
    }
}
