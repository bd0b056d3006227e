// Index rows that a batch leaves for later: queries find the same as without the delay, and the
// rows are right in the end.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct OwedIndexRowsTests {
    private let store: TestStore

    /// Makes a store with two records; the index rows of all later records are owed.
    init() throws {
        store = try TestStore()
        try store.save([SaveItem("a", ["n": 1, "s": "x"]), SaveItem("b", ["n": 2, "s": "y"])])
        store.limitIndexRows(0)
    }

    // MARK: Parts

    private func save(_ name: String, _ n: Int64, type: String = "Note") throws {
        try store.save([SaveItem(name, ["n": .int64(n)], type: type)])
    }

    private func importTypes(_ types: String) throws {
        let schema = try Schema(ckdb: "DEFINE SCHEMA\n" + types)
        let request = WriteRequest(
            SchemaImport(.file(schema, drops: true)),
            scope: store.scope,
            caller: .administrator
        )
        _ = try store.run(request).get()
    }

    private func names(
        _ predicate: Query.Predicate,
        type: String = "Note"
    ) throws -> [String] {
        let query = Query(recordType: type, predicate: predicate)
        let found = try store.query(query).records.map(\.record.name)
        #expect(try store.query(query, counts: true).count == UInt64(found.count))
        return found.sorted()
    }

    private var owed: Int {
        get throws { try store.reader.rows(.log, .all(.owedIndexRows)).count }
    }

    private func expectWhole(_ location: SourceLocation = #_sourceLocation) throws {
        let differences = try DerivedRows.differences(in: store.engine)
        #expect(differences == [], sourceLocation: location)
    }

    private func pay(limit: Int = 1_000) throws {
        try expectWhole()
        try store.payIndexRows(limit: limit)
        #expect(try owed == 0)
        try expectWhole()
    }

    // MARK: Records

    @Test func aSavedRecordIsFound() throws {
        try save("c", 2)
        #expect(try owed == 1)
        #expect(try names(.field("n") == 2) == ["b", "c"])
        try pay()
        #expect(try names(.field("n") == 2) == ["b", "c"])
    }

    @Test func aRecordThatChangesAgainStaysOwed() throws {
        try save("a", 5)
        try save("a", 6)
        #expect(try owed == 1)
        #expect(try names(.field("n") == 1) == [])
        #expect(try names(.field("n") == 5) == [])
        #expect(try names(.field("n") == 6) == ["a"])
        try pay()
        #expect(try names(.field("n") < 7) == ["a", "b"])
    }

    @Test func aRecordThatIsAsItWasIsRight() throws {
        try save("a", 5)
        try save("a", 1)
        #expect(try names(.field("n") == 1) == ["a"])
        try pay()
        #expect(try names(.field("n") == 1) == ["a"])
    }

    @Test func aDeletedRecordIsNotFound() throws {
        try store.delete([DeleteItem("a")])
        #expect(try owed == 1)
        #expect(try names(.field("n") < 7) == ["b"])
        try pay()
        try store.delete([DeleteItem("b")])
        try save("b", 3)
        #expect(try names(.field("n") < 7) == ["b"])
        try pay()
        #expect(try names(.field("n") < 7) == ["b"])
    }

    @Test func aRecordOfAnotherTypeIsFoundThere() throws {
        try store.delete([DeleteItem("a")])
        try save("a", 1, type: "Other")
        #expect(try names(.field("n") == 1) == [])
        #expect(try names(.field("n") == 1, type: "Other") == ["a"])
        try pay()
        #expect(try names(.field("n") == 1) == [])
        #expect(try names(.field("n") == 1, type: "Other") == ["a"])
    }

    /// Each turn writes the rows of one index, and the record changes between two turns.
    @Test func aRecordIsWrittenInParts() throws {
        let words = (0..<40).map { "w\($0)" }.joined(separator: " ")
        try store.save([SaveItem("a", ["n": 7, "s": .string(words)])])
        try store.payIndexRows(limit: 1, turns: 1)
        try expectWhole()
        try store.save([SaveItem("a", ["n": 8, "s": "z"])])
        #expect(try owed == 1)
        #expect(try names(.field("s") == "z") == ["a"])
        try store.payIndexRows(limit: 1, turns: 1)
        try store.restart()
        #expect(try names(.field("n") == 8) == ["a"])
        try pay(limit: 1)
        #expect(try names(.field("n") == 8) == ["a"])
        #expect(try names(.field("n") == 7) == [])
    }

    // MARK: Limits

    /// A request owes only the rows beyond its limit, and other requests of the batch owe none.
    @Test func onlyWhatIsBeyondTheLimitIsOwed() throws {
        store.limitIndexRows(20)
        let large = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: (0..<10).map { SaveItem("many\($0)", ["n": .int64($0), "s": "u v"]) }
        )
        let small = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [SaveItem("c", ["n": 9])]
        )
        let answers = try store.run([
            store.request(large, by: .alice),
            store.request(small, by: .alice),
        ])
        for answer in answers { _ = try answer.get() }
        let zone = try store.zoneNumber(ZoneAddress(), by: .alice)
        let owed = try store.reader.owedRecords(in: try #require(zone), of: store.scopeNumber())
        #expect((1..<10).contains(owed.count))
        #expect(!owed.contains("c") && !owed.contains("many0"))
        #expect(try names(.field("n") < 100).count == 13)
        try pay()
    }

    /// A refused request leaves nothing behind, and smaller requests are accepted.
    @Test func aZoneThatOwesTooMuchTakesNoMore() throws {
        store.limitIndexRows(0, owed: 1)
        let error = #expect(throws: ServiceError.self) {
            try store.save([SaveItem("c", ["n": 3]), SaveItem("d", ["n": 4])])
        }
        #expect(error?.code == .requestRateLimited && error?.retryAfterMilliseconds != nil)
        #expect(try owed == 0)
        try save("a", 5)
        // The record is owed already.
        try save("a", 6)
        #expect(throws: ServiceError.self) { try save("b", 5) }
        try pay()
        try save("b", 5)
        #expect(try names(.field("n") > 4) == ["a", "b"])
    }

    @Test func aRestartedNodeKnowsWhatItOwes() throws {
        store.limitIndexRows(0, owed: 1)
        try save("a", 5)
        try store.restart()
        #expect(try owed == 1)
        #expect(throws: ServiceError.self) { try save("b", 5) }
        try save("a", 6)
        #expect(try names(.field("n") == 6) == ["a"])
        try pay()
    }

    // MARK: Zones and indexes

    @Test func aDeletedZoneOwesNothing() throws {
        try store.modify(ModifyZones(saving: ["A"]), by: .alice)
        let zone = ZoneAddress(name: "A")
        try store.save([SaveItem("a", ["n": 5], in: zone), SaveItem("c", ["n": 5], in: zone)])
        try save("b", 3)
        #expect(try owed == 3)
        try store.modify(ModifyZones(deleting: ["A"]), by: .alice)
        #expect(try owed == 1)
        try pay()
    }

    @Test func aDroppedIndexIsDropped() throws {
        try save("a", 5)
        try importTypes("RECORD TYPE Note (n INT64, s STRING QUERYABLE);")
        try save("b", 5)
        try pay()
        try store.settleIndexes()
        try expectWhole()
        #expect(try names(.field("s") == "y") == ["b"])
    }

    /// The walk skips owed records: their rows are written when the debt is paid.
    @Test(arguments: [false, true]) func anIndexIsBuiltMeanwhile(isGone: Bool) throws {
        try importTypes("RECORD TYPE Late (n INT64, s STRING QUERYABLE);")
        try store.save([SaveItem("l", ["n": 1, "s": "x"], type: "Late")])
        try pay()
        try importTypes("RECORD TYPE Late (n INT64 QUERYABLE, s STRING QUERYABLE);")
        // The value of the new index stays.
        try store.save([SaveItem("l", ["s": "y"], type: "Late")])
        #expect(try owed == 1)
        if isGone { try store.delete([DeleteItem("l")]) }
        try store.settleIndexes()
        if isGone { try store.save([SaveItem("l", ["n": 1, "s": "y"], type: "Late")]) }
        #expect(try names(.field("n") == 1, type: "Late") == ["l"])
        try pay()
        #expect(try names(.field("n") == 1, type: "Late") == ["l"])
    }

    /// Writers, builds, payments and restarts take turns.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func allIsRightInTheEnd(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        try importTypes("RECORD TYPE Mix (n INT64 QUERYABLE, s STRING, m INT64);")
        let later = [
            "(n INT64 QUERYABLE SORTABLE, s STRING SEARCHABLE, m INT64);",
            "(n INT64, s STRING SEARCHABLE QUERYABLE, m INT64 QUERYABLE);",
            "(n INT64 QUERYABLE, s STRING SEARCHABLE, m INT64 QUERYABLE);",
        ]
        var expected: [String: Int64] = [:]
        for step in 0..<120 {
            store.limitIndexRows([0, 3, 6, 100][Int.random(in: 0..<4, using: &dice)])
            if step % 40 == 39 { try importTypes("RECORD TYPE Mix " + later[step / 40]) }
            let name = "r\(Int.random(in: 0..<8, using: &dice))"
            switch Int.random(in: 0..<10, using: &dice) {
            case 0: try store.restart()
            case 1...2:
                try store.payIndexRows(limit: .random(in: 1...8, using: &dice), turns: 1)
            case 3: try store.settleIndexes(limit: 2, steps: 1)
            case 4...5:
                try store.delete([DeleteItem(name)])
                expected[name] = nil
            default:
                let n = Int64.random(in: 0...3, using: &dice)
                let text = FieldValue.string("a b\(n)")
                let item = SaveItem(name, ["n": .int64(n), "m": 1, "s": text], type: "Mix")
                try store.save([item])
                expected[name] = n
            }
            try expectWhole()
            guard step < 79 else { continue }
            let found = expected.filter { $0.value == 2 }.keys.sorted()
            #expect(try names(.field("n") == 2, type: "Mix") == found)
        }
        try store.settleIndexes()
        try pay()
    }
}
