// Keys: their bytes never change between releases, and they compare as the tuples compare.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct KeyEncodingTests {
    // MARK: Golden vectors: these are on disks

    static let dot = Dot(Incarnation(0x0102_0304_0506_0708), 9)

    static let goldens: [(RowKey, Family, String)] = [
        (.format, .meta, "01"),
        (.node, .meta, "02"),
        (.scope(ScopeID(container: "c", environment: .production)), .meta, "0363000102"),
        (.database(1, DatabaseID(kind: .private, owner: "_u")), .meta, "040001025f750001"),
        (.zone(7, "z"), .meta, "05000000077a0001"),
        (.zoneState(7), .meta, "0600000007"),
        (.zoneHead(7, dot.incarnation, "z"), .meta, "070000000701020304050607087a0001"),
        (.vector(1, dot.incarnation), .meta, "0800010102030405060708"),
        (.register(1, "type", [[0x41], [0]]), .meta, "0a0001747970650001410001" + "00ff0001"),
        (.record(7, "n"), .records, "20000000076e0001"),
        (
            .change(7, dot, "n"), .index,
            "40000000070000000001020304050607080000000000000009" + "6e0001"
        ),
        (
            .backReference(7, target: "t", .deleteSelf, child: "c", field: "f"), .index,
            "41000000077400010163000166" + "0001"
        ),
        (.commit(1, dot), .log, "60000101020304050607080000000000000009"),
        (
            .increment(3, request, dot, "n", "f"), .log,
            "620003" + request.bytes.hex + "010203040506070800000000000000096e0001660001"
        ),
        (
            .sibling(7, "n", dot), .records,
            "21000000076e000101020304050607080000000000000009"
        ),
        (
            .conflict(1, Stamp(HybridTime(5), dot), 2), .log,
            "640001000000000000000501020304050607080000000000000009" + "0002"
        ),
        (.asset(7, digest), .records, "2200000007" + digest.hex),
        (.chunkList(7, digest), .records, "2300000007" + digest.hex),
        (.chunk(7, digest), .records, "2400000007" + digest.hex),
        (.pack(9), .records, "250000000000000009"),
        (.assetUse(7, digest, "n"), .index, "4300000007" + digest.hex + "6e0001"),
        (
            .assetLoss(digest, of: RowKey(.conflict, bytes: [0x64, 5])), .index,
            "44" + digest.hex + "64050001"
        ),
        (.chunkUse(7, digest, digest), .index, "4500000007" + digest.hex + digest.hex),
        (.packed(9, 10), .index, "460000000000000009" + "0000000a"),
        (.wantedAsset(7, digest), .log, "6600000007" + digest.hex),
        (.lease(7, "_u", digest), .log, "6b000000075f750001" + digest.hex),
        (.assetUsage(7, "_u"), .meta, "0e000000075f750001"),
        (.request(request, 1, "_u"), .log, "63" + request.bytes.hex + "00015f750001"),
    ]

    static let digest = Bytes(0..<32)

    static let request: RequestID = {
        var dice = SeededGenerator(seed: 1)
        return RequestID(milliseconds: 0x0197_0000_0001, using: &dice)
    }()

    @Test(arguments: goldens)
    func keysAreWhatTheyAlwaysWere(key: RowKey, family: Family, hex: String) {
        #expect(key.bytes.hex == hex)
        #expect(key.family == family)
    }

    // MARK: Order

    private enum Element: Comparable {
        case text(Bytes)
        case signed(Int64)
        case double(Double)
        case number(UInt32)

        /// Tuples of one shape are compared, so kinds never meet.
        static func < (left: Element, right: Element) -> Bool {
            switch (left, right) {
            case (.text(let left), .text(let right)): left.lexicographicallyPrecedes(right)
            case (.signed(let left), .signed(let right)): left < right
            case (.double(let left), .double(let right)): left < right
            case (.number(let left), .number(let right)): left < right
            default: false
            }
        }

        func add(to writer: inout KeyWriter) {
            switch self {
            case .text(let bytes): writer.add(text: bytes)
            case .signed(let value): writer.add(signed: value)
            case .double(let value): writer.add(value)
            case .number(let value): writer.add(value)
            }
        }
    }

    private static func element(_ kind: Int, using dice: inout SeededGenerator) -> Element {
        switch kind {
        case 0:
            return .text(
                (0..<Int.random(in: 0...3, using: &dice)).map { _ in
                    [0, 1, 2, 0x61, 0xFE, 0xFF].randomElement(using: &dice) ?? 0
                }
            )
        case 1:
            let edges: [Int64] = [.min, -256, -1, 0, 1, 255, .max]
            return .signed(edges.randomElement(using: &dice) ?? 0)
        case 2:
            let edges: [Double] = [
                -.infinity, -1e300, -1.5, -.leastNonzeroMagnitude, -0.0, 0, .leastNonzeroMagnitude,
                1.5, 1e300, .infinity,
            ]
            return .double(edges.randomElement(using: &dice) ?? 0)
        default:
            return .number([0, 1, 255, 256, .max].randomElement(using: &dice) ?? 0)
        }
    }

    @Test(arguments: UInt64(1)...6)
    func keysCompareAsTheirTuples(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let shape = (0..<3).map { _ in Int.random(in: 0..<4, using: &dice) }
            let left = shape.map { Self.element($0, using: &dice) }
            let right = shape.map { Self.element($0, using: &dice) }
            var keys: [Bytes] = []
            for tuple in [left, right] {
                var writer = KeyWriter(.record)
                for element in tuple { element.add(to: &writer) }
                keys.append(writer.bytes)
            }
            #expect(precedes(keys[0], keys[1]) == left.lexicographicallyPrecedes(right))
            #expect((keys[0] == keys[1]) == (left == right))
        }
    }

    @Test func elementsComeBack() throws {
        var writer = KeyWriter(.record)
        writer.add(UInt16(0xFFFE))
        writer.add(text: [0, 1, 0xFF, 0])
        writer.add(signed: -5)
        writer.add(-1.5)
        writer.add(2.5)
        writer.add(fixed: [1, 2, 3])
        writer.add(Self.dot)
        var reader = KeyReader(writer.bytes)
        #expect(try reader.number(UInt16.self) == 0xFFFE)
        #expect(try reader.content() == [0, 1, 0xFF, 0])
        #expect(try reader.signed() == -5)
        #expect(try reader.double() == -1.5)
        #expect(try reader.double() == 2.5)
        #expect(try reader.bytes(3) == [1, 2, 3])
        #expect(!reader.isAtEnd)
        #expect(try reader.dot() == Self.dot)
        #expect(reader.isAtEnd)
    }

    @Test func damagedKeysAreReported() {
        for key in [[32], [32, 0x61], [32, 0], [32, 0x61, 0], [32, 0, 2, 0, 1]] as [Bytes] {
            var reader = KeyReader(key)
            #expect(throws: EngineError.self) { try reader.content() }
        }
        var short = KeyReader([32, 1, 2, 3])
        #expect(throws: EngineError.self) { try short.number(UInt32.self) }
        #expect(throws: EngineError.self) { try short.bytes(4) }
    }

    // MARK: Ranges

    @Test func noNameReachesIntoTheRangeOfAnother() {
        let names = ["a", "a\u{0}", "a\u{1}", "aa", "b", "a\u{0}\u{1}"]
        for target in names {
            let range = KeyRange.backReferences(of: 1, to: target, .deleteSelf)
            for other in names {
                let key = RowKey.backReference(
                    1,
                    target: other,
                    .deleteSelf,
                    child: "c",
                    field: "f"
                )
                #expect(range.contains(key.bytes) == (target == other))
            }
            let parent = RowKey.backReference(1, target: target, .parent, child: "c", field: "")
            #expect(!range.contains(parent.bytes))
        }
    }

    @Test func zonesAndScopesReachOverTheirOwnRowsOnly() {
        let all = [ZoneNumber(0), 1, 0xFF, 0x100, 0xFFFF_FFFE, .max]
        for zone in all {
            for other in all {
                let isOwn = zone == other
                let record = RowKey.record(other, "\u{7F}").bytes
                let change = RowKey.change(other, Self.dot, "n").bytes
                let reference = RowKey.backReference(
                    other,
                    target: "t",
                    .parent,
                    child: "c",
                    field: ""
                )
                #expect(KeyRange.records(of: zone).contains(record) == isOwn)
                #expect(KeyRange.changes(of: zone).contains(change) == isOwn)
                #expect(KeyRange.backReferences(of: zone).contains(reference.bytes) == isOwn)
            }
        }
        let last = Dot(Incarnation(.max), .max)
        #expect(KeyRange.commits(of: 1).contains(RowKey.commit(1, last).bytes))
        #expect(!KeyRange.commits(of: 1).contains(RowKey.commit(2, Self.dot).bytes))
        #expect(KeyRange.registers(1, "type").contains(RowKey.register(1, "type", [[0xFF]]).bytes))
        #expect(!KeyRange.registers(1, "type").contains(RowKey.register(1, "types", []).bytes))
    }

    @Test func oldRequestsAreOneRange() {
        var dice = SeededGenerator(seed: 2)
        let range = KeyRange.requests(before: 1_000)
        for (time, isOld) in [(0, true), (999, true), (1_000, false), (5_000_000, false)] {
            let id = RequestID(milliseconds: Int64(time), using: &dice)
            #expect(id.milliseconds == Int64(time))
            #expect(range.contains(RowKey.request(id, 1, "").bytes) == isOld)
        }
    }
}
