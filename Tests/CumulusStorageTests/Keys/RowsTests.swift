// The small rows: reading inverts writing, and an incomplete row is damage.

import CumulusModel
import CumulusTesting
import Testing

@testable import CumulusStorage

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
        try Self.check(SeqRow(seq: .max))
        let dep = VersionVector([Incarnation(7): 2, Incarnation(1): 9])
        let first = VersionVector([Incarnation(7): 1])
        try Self.check(
            VectorRow(
                seq: 1 << 40,
                time: HybridTime(3),
                hash: Commit.noHash,
                first: first,
                dep: dep
            )
        )
        try Self.check(RegisterRow(stamp: Self.stamp, value: [1]))
        try Self.check(RegisterRow(stamp: Self.stamp, value: []))
        try Self.check(RegisterRow(stamp: Self.stamp, value: nil))
        try Self.check(IncrementRow(stamp: Self.stamp, delta: .min))
        try Self.check(
            Conflict(
                zone: .init(
                    database: DatabaseID(kind: .private, owner: "_u"),
                    name: "z",
                    generation: 3
                ),
                recordName: "r",
                recordType: "Note",
                field: "",
                winner: Self.stamp,
                loser: .zero,
                lost: [1, 2]
            )
        )
        try Self.check(
            RequestRow(digest: [1], dots: [Self.stamp.dot, Self.stamp.dot], outcome: [2, 3])
        )
    }

    /// These are on disks.
    @Test func rowsOfTheNodeAndOfRunsKeepTheirBytes() throws {
        var node = NodeRow(nodeID: Bytes(repeating: 1, count: 16), clusterID: [2])
        node.lastIncarnation = Incarnation(5)
        node.latestTime = HybridTime(9)
        (node.nextScope, node.nextDatabase, node.nextZone) = (.max, .max, 3)
        let ids = "10" + String(repeating: "01", count: 16) + "0102"
        #expect(
            node.rowBytes.hex == ids + "00000000000000050000000000000009" + "ffff03ffffffff0f0301"
        )
        let end = VectorRow(
            seq: 300,
            time: HybridTime(3),
            hash: Bytes(repeating: 0xAB, count: 16),
            first: VersionVector([Incarnation(7): 1]),
            dep: VersionVector([Incarnation(7): 2, Incarnation(1): 9])
        )
        let bytes =
            "ac02" + "0000000000000003" + "10" + String(repeating: "ab", count: 16)
            + "01000000000000000701" + "02000000000000000109000000000000000702"
        #expect(end.rowBytes.hex == bytes)
        #expect(RunRow(end: end, position: 500).rowBytes.hex == bytes + "f403")
    }

    /// Before format 12 a run's row had no position.
    @Test func theRowOfARunMayLackThePosition() throws {
        let dep = VersionVector([Incarnation(7): 2])
        let end = VectorRow(seq: 9, time: HybridTime(3), hash: Commit.noHash, first: dep, dep: dep)
        let row = RunRow(end: end, position: .max)
        #expect(try RunRow(row: row.rowBytes) == row)
        #expect(try RunRow(row: end.rowBytes) == RunRow(end: end, position: 0))
        for cut in Damage.truncations(of: row.rowBytes) where cut != end.rowBytes {
            #expect(throws: MalformedBytes.self) { try RunRow(row: cut) }
        }
        #expect(throws: MalformedBytes.self) { try RunRow(row: row.rowBytes + [0]) }
    }

    @Test func zoneStateAddsUpAndGoesBackToNothing() throws {
        var state = ZoneState()
        var rows: [RecordRow] = []
        for number in UInt8(1)...20 {
            var row = RecordRow(type: "T", birth: Self.stamp, createdBy: "")
            row.digest = Bytes(repeating: number &* 13, count: 16)
            row.body = try Commit.Put("n", ["a": 1]).fields
            rows.append(row)
            try state.count(row, sign: 1)
        }
        #expect(state.records == 20)
        #expect(state.bytes == 20 * Int64(rows[0].body.bytes.count))
        #expect(state.bytes > 0)
        try Self.check(state)
        for row in rows.reversed() { try state.count(row, sign: -1) }
        #expect(state == ZoneState())
    }

    /// The row of a zone without assets has the same bytes as in releases that counted none.
    @Test func zoneStateCountsTheBytesOfAssets() throws {
        var row = RecordRow(type: "T", birth: Self.stamp, createdBy: "")
        let digest = Bytes(repeating: 1, count: 32)
        let asset = FieldValue.asset(Asset(digest: digest, size: 1_000))
        row.body = try Commit.Put("n", ["a": asset, "b": .list([asset, asset])]).fields
        var state = ZoneState()
        let empty = state.rowBytes
        try state.count(row, sign: 1)
        #expect(state.assetBytes == 3_000)
        #expect(try ZoneState(row: state.rowBytes) == state)
        for wrong in [Bytes(state.rowBytes.dropLast()), state.rowBytes + [0], empty + [0]] {
            #expect(throws: MalformedBytes.self) { try ZoneState(row: wrong) }
        }
        try state.count(row, sign: -1)
        #expect(state == ZoneState() && state.rowBytes == empty)
        // What a node could send that has no sense for sizes.
        let large = FieldValue.asset(Asset(digest: digest, size: .max))
        row.body = try Commit.Put("n", ["a": .list([large, large, asset])]).fields
        for sign in [1, 1, -1, -1] as [Int64] { try state.count(row, sign: sign) }
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
        counter.add(5, at: Self.stamp(4, two, 1))
        counter.add(-2, at: Self.stamp(3, one, 7))
        counter.add(4, at: Self.stamp(9, two, 9))
        #expect(counter.value == 17)
        #expect(counter.total == 7)
        #expect(counter.sums.map(\.dot) == [Dot(one, 7), Dot(two, 9)])
        #expect(counter.latest == Self.stamp(9, two, 9))
    }

    /// Three nodes that are started anew every day for a year, a thousand increments a day.
    @Test func aCounterGrowsWithItsRuns() {
        var counter = Counter(field: "n", base: 0)
        var dice = SeededGenerator(seed: 1)
        for _ in 0..<3 * 365 {
            let run = Incarnation(UInt64.random(in: 0...(.max), using: &dice))
            counter.add(1_000, at: Self.stamp(1, run, 1_000))
        }
        var writer = CanonicalWriter()
        counter.write(to: &writer)
        #expect(writer.bytes.count / counter.sums.count == 12)
    }

    @Test func anIncrementThatWasMadeTwiceCountsOnce() {
        var counter = Counter(field: "n", base: 10)
        let (first, second) = (Self.stamp(1, Incarnation(1), 1), Self.stamp(2, Incarnation(2), 1))
        counter.add(5, at: first)
        counter.add(5, at: second)
        counter.void(5, at: second.dot)
        counter.void(5, at: second.dot)
        #expect(counter.value == 15)
    }

    /// Each was within bounds on its node; what is set next counts from there.
    @Test func sumsOfSeveralNodesComeInAgainAtTheOtherBound() {
        var counter = Counter(field: "n", base: 1)
        counter.add(.max - 1, at: Self.stamp(1, Incarnation(1), 1))
        counter.add(9, at: Self.stamp(1, Incarnation(2), 1))
        #expect(counter.value == .min + 8)
        counter.add(.max, at: Self.stamp(2, Incarnation(1), 2))
        counter.base = 5 &- counter.total
        #expect(counter.value == 5)
    }

    private static func stamp(_ time: UInt64, _ incarnation: Incarnation, _ seq: UInt64) -> Stamp {
        Stamp(HybridTime(time), Dot(incarnation, seq))
    }
}
