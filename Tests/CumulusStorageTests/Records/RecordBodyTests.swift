// Bodies: walking, finding, merging and selecting on bytes does what a dictionary would do.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RecordBodyTests {
    @Test func aBodyKnowsWhereItsFieldsStand() throws {
        let body = try RecordBody(checking: ["b": 7, "a": "text", "c": .list([])])
        #expect(body.entries.map { body.name(of: $0) } == ["a", "b", "c"])
        #expect(body.entries.map(\.type) == [.one(.string), .one(.int64), .emptyList])
        #expect(try body.entries.map { try body.int64($0) } == [nil, 7, nil])
        #expect(body.entry(named: "b") == body.entries[1])
        #expect(body.entry(named: "aa") == nil)
        #expect(body.entry(named: "") == nil)
        #expect(body.entry(named: "d") == nil)
    }

    @Test func theBytesAreTheWireForm() throws {
        let body = try RecordBody(checking: ["n": 1, "t": "é"])
        #expect(body.bytes.hex == "52050a016e1802" + "52070a01741202c3a9")
    }

    @Test(arguments: UInt64(1)...6)
    func mergingAndSelectingAreADictionarys(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<150 {
            let old = RandomFields.fields(upTo: 12, using: &dice)
            var changes: [String: FieldValue?] = RandomFields.fields(upTo: 6, using: &dice)
            for _ in 0..<3 { changes.updateValue(nil, forKey: RandomFields.name(using: &dice)) }
            var merged = old
            for (name, value) in changes { merged[name] = value }
            let body = try RecordBody(checking: old)
            let result = body.merging(try RecordBody(checking: changes))
            #expect(result.bytes == WireField.body(merged))
            #expect(try RecordBody(stored: result.bytes) == result)

            let keys = Set((0..<8).map { _ in RandomFields.name(using: &dice) })
            let selected = result.selecting(keys.sorted())
            #expect(selected.bytes == WireField.body(merged.filter { keys.contains($0.key) }))
            #expect(try RecordBody(stored: selected.bytes) == selected)
            for name in merged.keys {
                let entry = try #require(result.entry(named: name))
                #expect(result.name(of: entry) == name)
            }
        }
    }

    @Test func appendingMakesWhatCheckingMakes() throws {
        var body = RecordBody()
        body.append("a", int64: -3)
        body.append(removalOf: "b")
        body.append(field: WireField.encode("c", "text"))
        #expect(body == (try RecordBody(checking: ["a": -3, "b": nil, "c": "text"])))
        body = try RecordBody(checking: ["a": -3, "c": "text"])
        #expect(body.replacing("c", withInt64: 4).bytes == WireField.body(["a": -3, "c": 4]))
    }

    @Test func integersBecomeDoubles() throws {
        let body = try RecordBody(checking: ["a": 3, "b": [1, -2], "c": "text"])
        let scalar = try #require(body.entry(named: "a"))
        let list = try #require(body.entry(named: "b"))
        let text = try #require(body.entry(named: "c"))
        #expect(body.convertedToDouble(scalar) == WireField.encode("a", 3.0))
        #expect(body.convertedToDouble(list) == WireField.encode("b", [1.0, -2.0]))
        #expect(body.convertedToDouble(text) == nil)
    }

    @Test func referencesAreRead() throws {
        let body = try RecordBody(checking: [
            "a": .owner("x"), "b": .list([.link("y"), .owner("z")]),
        ])
        #expect(body.entries.allSatisfy { $0.type?.holdsReferences == true })
        let read = try body.entries.flatMap { try body.references($0) }
        #expect(read.map(\.recordName) == ["x", "y", "z"])
        #expect(read.map(\.action) == [.deleteSelf, .none, .deleteSelf])
        let owners = try body.entries.flatMap { try body.owningReferences($0) }
        #expect(owners.map(\.target) == ["x", "z"] && owners.map(\.element) == [0, 1])
        #expect(try body.ownerCount() == 2)
    }

    // MARK: Damage

    static let damaged: [(String, Bytes)] = [
        ("not a field", [0x0A, 0]),
        ("not delimited", [0x50, 1]),
        ("no name", [0x52, 0]),
        ("value before name", [0x52, 5, 0x18, 2, 0x0A, 1, 0x61]),
        ("unknown kind", [0x52, 5, 0x0A, 1, 0x61, 0x58, 1]),
        ("a kind that only looks known", [0x52, 6, 0x0A, 1, 0x61, 0x98, 0x10, 2]),
        ("two values", [0x52, 7, 0x0A, 1, 0x61, 0x12, 0, 0x12, 0]),
        ("something behind a number", [0x52, 6, 0x0A, 1, 0x61, 0x18, 2, 2]),
        ("a text that is a number", [0x52, 5, 0x0A, 1, 0x61, 0x10, 2]),
        ("a list of an unknown kind", [0x52, 7, 0x0A, 1, 0x61, 0x52, 2, 0x58, 1]),
        ("the same name twice", WireField.body(["a": 1]) + WireField.body(["a": 2])),
        ("names out of order", WireField.body(["b": 1]) + WireField.body(["a": 2])),
    ]

    @Test(arguments: damaged)
    func whatNoServerWroteIsRefused(what: String, bytes: Bytes) {
        #expect(throws: MalformedBytes.self) { try RecordBody(stored: bytes) }
    }

    @Test(arguments: UInt64(1)...4)
    func damageIsRefusedOrTheBytesStayWhatTheyAre(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<60 {
            let bytes = try RecordBody(checking: RandomFields.fields(upTo: 5, using: &dice)).bytes
            var damaged = Damage.truncations(of: bytes)
            for _ in 0..<40 { damaged.append(Damage.mutation(of: bytes, using: &dice)) }
            for candidate in damaged {
                guard let body = try? RecordBody(stored: candidate) else { continue }
                accepted += 1
                #expect(body.bytes == candidate)
                var copy = RecordBody()
                for entry in body.entries { copy.append(entry, of: body) }
                #expect(copy == body)
                for entry in body.entries {
                    _ = try? body.references(entry)
                    _ = try? body.owningReferences(entry)
                    _ = try? body.int64(entry)
                    _ = body.convertedToDouble(entry)
                }
            }
        }
        #expect(accepted > 0)
    }
}
