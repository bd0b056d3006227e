// Indexes follow the schema, are built beside writers and over restarts, and match the records.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct IndexTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func importTypes(_ types: String) throws {
        let schema = try Schema(ckdb: "DEFINE SCHEMA\n" + types)
        let request = WriteRequest(
            SchemaImport(.file(schema, drops: false)),
            scope: store.scope,
            caller: .administrator
        )
        _ = try store.run(request).get()
    }

    /// The field, form and state of each index of a type, sorted.
    private func indexes(of type: String = "Note") throws -> [String] {
        try store.reader.indexRows(of: type, store.scopeNumber()).map { _, row in
            let state =
                switch row.state {
                case .building: "building"
                case .ready: "ready"
                case .dropped: "dropped"
                }
            return "\(row.definition.field) \(row.definition.form) \(state)"
        }.sorted()
    }

    private func rowCount() throws -> Int {
        try store.reader.rows(.index, .all(.indexRow)).count
    }

    private func expectWhole(_ location: SourceLocation = #_sourceLocation) throws {
        let differences = try DerivedRows.differences(in: store.engine)
        #expect(differences == [], sourceLocation: location)
    }

    // MARK: The schema

    @Test func aNewTypeIsIndexedAtOnce() throws {
        try store.save([SaveItem("a", ["title": "x", "n": 1, "tags": .list(["y"])])])
        #expect(
            try indexes() == [
                "n value ready", "tags element ready", "tags word ready", "title value ready",
                "title word ready",
            ]
        )
        try expectWhole()
    }

    @Test func aLaterFieldIsBuilt() throws {
        try store.save([SaveItem("a", ["n": 1]), SaveItem("b", ["n": 2])])
        try store.save([SaveItem("c", ["m": 3])])
        #expect(try indexes() == ["m value building", "n value ready"])
        try expectWhole()
        let query = Query(recordType: "Note", predicate: .field("m") == 3)
        #expect(try store.query(query).work.plan.hasPrefix("read records by name"))
        try store.settleIndexes()
        #expect(try indexes() == ["m value ready", "n value ready"])
        #expect(try store.query(query).work.plan.hasPrefix("read in order by the index on 'm'"))
        try expectWhole()
    }

    @Test func anIndexThatNobodyWantsIsDropped() throws {
        try importTypes("RECORD TYPE Note (n INT64 QUERYABLE, p LOCATION QUERYABLE);")
        let place = FieldValue.location(Location(latitude: 1, longitude: 2))
        try store.save((0..<20).map { SaveItem("r\($0)", ["n": .int64($0), "p": place]) })
        #expect(try rowCount() == 40)
        try importTypes("RECORD TYPE Note (n INT64, p LOCATION QUERYABLE);")
        #expect(try indexes() == ["n value dropped", "p cell ready"])
        try expectWhole()
        // Nothing is written to the dropped index any more.
        try store.save([SaveItem("r3", ["n": 99])])
        #expect(try rowCount() == 40)
        try store.settleIndexes()
        #expect(try indexes() == ["p cell ready"])
        #expect(try rowCount() == 20)
        try expectWhole()
    }

    /// An index that is dropped and wanted again is a new index.
    @Test func anIndexThatIsWantedAgainIsBuiltAnew() throws {
        try importTypes("RECORD TYPE Note (n INT64 QUERYABLE);")
        try store.save([SaveItem("a", ["n": 1])])
        try importTypes("RECORD TYPE Note (n INT64);")
        try store.save([SaveItem("a", ["n": 2]), SaveItem("b", ["n": 3])])
        try importTypes("RECORD TYPE Note (n INT64 SORTABLE);")
        #expect(try indexes() == ["n value building", "n value dropped"])
        try expectWhole()
        try store.settleIndexes(limit: 1)
        #expect(try indexes() == ["n value ready"])
        #expect(try rowCount() == 2)
        try expectWhole()
    }

    // MARK: What it costs

    /// Eight rows and none of an index, if no value differs: a record, two changes, a commit, a
    /// request, a vector, a state and a head of a zone.
    @Test func onlyRowsOfValuesThatDifferAreWritten() throws {
        let engine = CountingEngine()
        let store = try TestStore(engine: engine)
        func rows(_ number: Int64) throws -> Int {
            let before = engine.rowsWritten
            try store.save([SaveItem("a", ["n": .int64(number), "m": 1])])
            return engine.rowsWritten - before
        }
        _ = try rows(1)
        #expect(try rows(1) == 8)
        #expect(try rows(2) == 10)
        #expect(try rows(2) == 8)
    }

    @Test func rowsAndBytesOfAnIndexAreTold() throws {
        func costs(tables: UInt64 = 0) throws -> [IndexCost] {
            let scope = try store.scopeNumber()
            let zones = try store.reader.zoneNumbers(of: scope)
            return try store.reader.indexRows(of: "Note", scope).map { number, _ in
                try IndexCost(of: number, in: zones, store.reader) { _ in tables }
            }
        }
        try importTypes("RECORD TYPE Note (n INT64 QUERYABLE);")
        #expect(try costs().map(\.rows) == [0] && costs().map(\.bytes) == [0])
        try store.save((0..<20).map { SaveItem("r\($0 + 10)", ["n": .int64($0)]) })
        // A byte, zone, index, tag, number and name.
        #expect(try costs().map(\.rows) == [20] && costs().map(\.bytes) == [20 * 23])
        #expect(try costs(tables: 1_000).map(\.bytes) == [1_000])
        let zone = try #require(try store.reader.zoneNumbers(of: store.scopeNumber()).first)
        let index = try #require(try store.reader.indexRows(of: "Note", store.scopeNumber()).first)
        let many = try IndexCost(
            of: index.number,
            in: Array(repeating: zone, count: 501),
            store.reader
        ) { _ in 0 }
        #expect(many.rows == nil && many.bytes == 23 * 10_001)
    }

    // MARK: Building

    /// Writers go on, and the node is restarted, at every step of the walk.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func aBuildSurvivesWritersAndRestarts(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        try importTypes("RECORD TYPE Note (n INT64, s STRING);")
        try store.modify(ModifyZones(saving: ["A", "B"]), by: .alice)
        let zones = ["A", "B", Names.defaultZone].map { ZoneAddress(name: $0) }
        func change() throws {
            let zone = zones[Int.random(in: 0..<3, using: &dice)]
            let name = "r\(Int.random(in: 0..<15, using: &dice))"
            if Bool.random(using: &dice) {
                try store.delete([DeleteItem(name, in: zone)])
            } else {
                let n = FieldValue.int64(.random(in: 0...5, using: &dice))
                try store.save([SaveItem(name, ["n": n, "s": "a b"], in: zone)])
            }
        }
        for _ in 0..<60 { try change() }
        try importTypes("RECORD TYPE Note (n INT64 QUERYABLE SORTABLE, s STRING SEARCHABLE);")
        var steps = 0
        while try !store.reader.indexWork(of: store.scopeNumber()).isEmpty {
            let limit = Int.random(in: 1...4, using: &dice)
            try store.settleIndexes(limit: limit, steps: 1) { try change() }
            try change()
            if Int.random(in: 0..<4, using: &dice) == 0 { try store.restart() }
            try expectWhole()
            steps += 1
        }
        #expect(steps > 5)
        #expect(try indexes() == ["n value ready", "s word ready"])
    }

    /// Only matching records go to the writer: a node that joined builds indexes while it serves.
    @Test func recordsOfOtherTypesAreOnlyLookedAt() throws {
        try importTypes("RECORD TYPE A (n INT64); RECORD TYPE B (n INT64);")
        try store.save((0..<50).map { SaveItem("r\($0)", ["n": .int64($0)], type: "A") })
        try store.save([SaveItem("r7x", ["n": 1], type: "B"), SaveItem("z", ["n": 2], type: "B")])
        try store.delete([DeleteItem("z")])
        try importTypes("RECORD TYPE A (n INT64); RECORD TYPE B (n INT64 QUERYABLE);")
        let scope = try store.scopeNumber()
        let work = try store.reader.indexWork(of: scope)
        let zones = try store.reader.zoneNumbers(of: scope)
        func found(lookLimit: Int) throws -> [String] {
            try store.reader.indexPage(for: work, in: zones, limit: 10, lookLimit: lookLimit)
                .records.map(\.position.name)
        }
        #expect(try found(lookLimit: 10) == [])
        #expect(try found(lookLimit: 100) == ["r7x"])
        try store.settleIndexes(limit: 10)
        #expect(try indexes(of: "B") == ["n value ready"])
        try expectWhole()
    }

    /// The search for a page of records may run on a thread that others wait for.
    @Test func largeRecordsCountAsMany() throws {
        try importTypes("RECORD TYPE A (s STRING); RECORD TYPE B (n INT64);")
        let text = FieldValue.string(String(repeating: "x", count: 80_000))
        try store.save([SaveItem("a", ["s": text], type: "A"), SaveItem("b", ["n": 1], type: "B")])
        try importTypes("RECORD TYPE A (s STRING); RECORD TYPE B (n INT64 QUERYABLE);")
        let scope = try store.scopeNumber()
        let work = try store.reader.indexWork(of: scope)
        let zones = try store.reader.zoneNumbers(of: scope)
        for (lookLimit, found) in [(10, 0), (100, 1)] {
            let page = try store.reader.indexPage(
                for: work,
                in: zones,
                limit: 10,
                lookLimit: lookLimit
            )
            #expect(page.records.count == found)
        }
        try store.settleIndexes(limit: 1)
        #expect(try indexes(of: "B") == ["n value ready"])
        try expectWhole()
    }

    /// The writer reads each record of a page whole.
    @Test func aPageFindsFewLargeRecords() throws {
        try importTypes("RECORD TYPE A (s STRING, n INT64);")
        let text = FieldValue.string(String(repeating: "x", count: 1_000))
        try store.save((0..<6).map { SaveItem("r\($0)", ["s": text, "n": .int64($0)], type: "A") })
        try importTypes("RECORD TYPE A (s STRING, n INT64 QUERYABLE);")
        let scope = try store.scopeNumber()
        let work = try store.reader.indexWork(of: scope)
        let zones = try store.reader.zoneNumbers(of: scope)
        for (byteLimit, found) in [(1, 1), (2_000, 2), (.max, 6)] {
            let page = try store.reader.indexPage(
                for: work,
                in: zones,
                limit: 10,
                byteLimit: byteLimit,
                lookLimit: 100
            )
            #expect(page.records.count == found)
        }
    }

    /// Indexes that are added at different times are at different places, and end together.
    @Test func indexesOfSeveralTypesAreBuiltTogether() throws {
        try importTypes("RECORD TYPE A (n INT64, m INT64);")
        try store.save((0..<20).map { SaveItem("r\($0)", ["n": .int64($0), "m": 1], type: "A") })
        try importTypes("RECORD TYPE A (n INT64 QUERYABLE, m INT64);")
        try store.settleIndexes(limit: 5, steps: 2)
        try importTypes("RECORD TYPE A (n INT64 QUERYABLE, m INT64 QUERYABLE);")
        // The second index catches up, and goes on with the first.
        try store.settleIndexes(limit: 5, steps: 2)
        #expect(try store.reader.indexWork(of: store.scopeNumber()).building.count == 2)
        try store.settleIndexes(limit: 5, steps: 3)
        #expect(try indexes(of: "A") == ["m value ready", "n value ready"])
        try expectWhole()
    }

    /// A schema is refused with the commit that brought it, and the writer goes on.
    @Test func aSchemaThatCanNotBeReadIsRefused() throws {
        try store.save([SaveItem("a", ["n": 1])])
        let scope = try store.scopeNumber()
        for (namespace, value) in [
            (SchemaRegister.fieldNamespace, Bytes("VECTOR".utf8)),
            (SchemaRegister.indexNamespace, [1, 2]),
        ] {
            let register = Commit.Register(
                namespace: namespace,
                key: ["Note", "x"].map { Bytes($0.utf8) },
                value: value
            )
            #expect(throws: EngineError.corrupt("a schema register is damaged")) {
                try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try ScopeRegisters(of: scope).set([register], &transaction)
                }
            }
        }
        try store.save([SaveItem("b", ["n": 2])])
        try expectWhole()
    }

    /// A predicate of very many parts is planned with a few of them.
    @Test func predicatesOfManyPartsArePlannedWithAFew() throws {
        let texts = (0..<40).map { ("s\($0)", FieldValue.string("word\($0)")) }
        try store.save([SaveItem("a", Dictionary(uniqueKeysWithValues: texts))])
        let words = (0..<200).map { "word\($0)" }.joined(separator: " ")
        var predicate = Query.Predicate.tokens(any: words)
        for _ in 0..<30 { predicate = predicate && .tokens(all: "word1 word2 word3 word39") }
        let query = Query(recordType: "Note", predicate: predicate)
        let page = try store.query(query)
        #expect(page.records.map(\.record.name) == ["a"])
        #expect(page.work.rowsRead < 2_000)
    }

    // MARK: Rows

    /// A text with more words than there are rows is found by each of its words.
    @Test func moreWordsThanHaveRows() throws {
        let words = (0..<IndexedValues.most + 50).map { "w\($0)" }
        let text = FieldValue.string(words.joined(separator: " "))
        try store.save([SaveItem("long", ["s": text]), SaveItem("short", ["s": "w1 x"])])
        #expect(try rowCount() == 2 + IndexedValues.most + 1 + 2)
        func names(_ word: String) throws -> [String] {
            let query = Query(
                recordType: "Note",
                predicate: try Query.Predicate(format: "allTokens TOKENMATCHES[cdl] %@", word)
            )
            let page = try store.query(query)
            #expect(page.work.plan.contains("index on 's'"))
            return page.records.map(\.record.name)
        }
        for word in words { #expect(try names(word).contains("long")) }
        #expect(try names("w1") == ["long", "short"])
        #expect(try names("x") == ["short"])
        try store.save([SaveItem("long", ["s": "few"])])
        #expect(try rowCount() == 5)
        try expectWhole()
    }

    /// Rows hold only the first bytes of texts; texts with equal first bytes are compared whole.
    @Test func textsThatOnlyDifferFarBehind() throws {
        let stem = String(repeating: "x", count: 600)
        for end in ["a", "b", "c"] { try store.save([SaveItem(end, ["s": .string(stem + end)])]) }
        func names(_ predicate: Query.Predicate) throws -> [String] {
            try store.query(Query(recordType: "Note", predicate: predicate))
                .records.map(\.record.name)
        }
        #expect(try names(.field("s") == stem + "b") == ["b"])
        #expect(try names(.field("s") < stem + "b") == ["a"])
        #expect(try names(.field("s") <= stem + "b") == ["a", "b"])
        #expect(try names(.field("s") > stem + "b") == ["c"])
        #expect(try names(.field("s") >= stem + "b") == ["b", "c"])
        #expect(try names(.field("s").begins(with: stem + "c")) == ["c"])
        #expect(try names(.field("s").begins(with: stem)) == ["a", "b", "c"])
    }

    /// The range of a value never includes rows of another value, or of another index.
    @Test func valuesStayWithinTheirRanges() throws {
        let texts = ["", "\0", "\0\0", "\0\u{1}", "a", "a\0", "a\0b", "a\u{1}", "b"]
        for (number, text) in texts.enumerated() {
            try store.save([SaveItem("r\(number)", ["s": .string(text), "t": .string(text)])])
        }
        for (number, text) in texts.enumerated() {
            let query = Query(recordType: "Note", predicate: .field("s") == text)
            let page = try store.query(query)
            #expect(page.records.map(\.record.name) == ["r\(number)"])
            #expect(page.work.rowsRead == 1)
        }
    }
}
