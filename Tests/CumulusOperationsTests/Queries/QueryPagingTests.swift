// The order of a query's results, and their pages: no record comes twice and none is left out,
// whatever is saved meanwhile; and for what a cursor can't be used.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct QueryPagingTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private static func sorted(_ keys: Query.SortDescriptor...) -> Query {
        Query(
            recordType: "Note",
            predicate: .field("here") == 1,
            sortDescriptors: keys
        )
    }

    private func names(_ query: Query, zone: ZoneAddress? = ZoneAddress()) throws -> [String] {
        try store.query(query, zone: zone).records.map(\.record.name)
    }

    /// The names on all pages, each page with a random size.
    private func paged(
        _ query: Query,
        zone: ZoneAddress? = ZoneAddress(),
        using dice: inout SeededGenerator,
        between: () throws -> Void = {}
    ) throws -> [String] {
        var names: [String] = []
        var cursor: QueryCursor?
        repeat {
            let page = try store.query(
                query,
                zone: zone,
                limit: .random(in: 1...7, using: &dice),
                from: cursor.map { try QueryCursor(content: $0.content) }
            )
            names += page.records.map { "\($0.zone.name)/\($0.record.name)" }
            cursor = page.next
            try between()
        } while cursor != nil
        return names
    }

    @Test func recordNamesDecideBetweenEquals() throws {
        for name in ["c", "a", "b"] { try store.save([SaveItem(name, ["here": 1, "n": 5])]) }
        #expect(try names(Self.sorted(.init(key: "n"))) == ["a", "b", "c"])
        // The direction of the last sort key holds for names, too.
        #expect(try names(Self.sorted(.init(key: "n", ascending: false))) == ["c", "b", "a"])
        #expect(try names(Self.sorted()) == ["a", "b", "c"])
    }

    @Test func absentValuesComeFirstInAscendingOrder() throws {
        try store.save([
            SaveItem("two", ["here": 1, "n": 2]), SaveItem("none", ["here": 1]),
            SaveItem("one", ["here": 1, "n": 1]),
        ])
        #expect(try names(Self.sorted(.init(key: "n"))) == ["none", "one", "two"])
        #expect(
            try names(Self.sorted(.init(key: "n", ascending: false))) == ["two", "one", "none"]
        )
    }

    @Test func severalKeys() throws {
        for (index, pair) in [(1, "b"), (2, "a"), (1, "a"), (2, "b")].enumerated() {
            let fields: [String: FieldValue?] = [
                "here": 1, "n": .int64(Int64(pair.0)), "s": .string(pair.1),
            ]
            try store.save([SaveItem("r\(index)", fields)])
        }
        let query = Self.sorted(.init(key: "n", ascending: false), .init(key: "s"))
        #expect(try names(query) == ["r1", "r3", "r2", "r0"])
    }

    @Test func nearestFirst() throws {
        let places = [("far", 50.0, 20.0), ("near", 48.1, 16.1), ("here", 48.0, 16.0)]
        for (name, latitude, longitude) in places {
            let place = Location(latitude: latitude, longitude: longitude)
            try store.save([SaveItem(name, ["here": 1, "place": .location(place)])])
        }
        let origin = Location(latitude: 48, longitude: 16)
        let key = Query.SortDescriptor(key: "place", relativeLocation: origin)
        #expect(try names(Self.sorted(key)) == ["here", "near", "far"])
        var farthest = key
        farthest.ascending = false
        #expect(throws: ServiceError.self) { try names(Self.sorted(farthest)) }
        #expect(throws: ServiceError.self) { try names(Self.sorted(.init(key: "place"))) }
    }

    @Test func longTextsAreSortedByTheirFirstBytes() throws {
        let long = String(repeating: "x", count: ResultPosition.sortedBytes)
        try store.save([
            SaveItem("b", ["here": 1, "s": .string(long + "a")]),
            SaveItem("a", ["here": 1, "s": .string(long + "b")]),
            SaveItem("c", ["here": 1, "s": .string(String(long.dropLast()))]),
        ])
        #expect(try names(Self.sorted(.init(key: "s"))) == ["c", "a", "b"])
        var dice = SeededGenerator(seed: 1)
        let all = try paged(Self.sorted(.init(key: "s")), using: &dice)
        #expect(all == ["c", "a", "b"].map { "_defaultZone/" + $0 })
    }

    /// Records with few different values, in the default zone and another one.
    private func fill(_ count: Int, using dice: inout SeededGenerator) throws {
        try store.modify(ModifyZones(saving: ["Other"]), by: .alice)
        for number in 0..<count {
            let zone = Bool.random(using: &dice) ? ZoneAddress() : ZoneAddress(name: "Other")
            var fields: [String: FieldValue?] = ["here": 1]
            if Int.random(in: 0..<4, using: &dice) > 0 {
                fields["n"] = .int64(.random(in: -2...2, using: &dice))
            }
            if Bool.random(using: &dice) { fields["d"] = .double(.random(in: 0...1, using: &dice)) }
            fields["s"] = .string(["", "a", "a\u{0}", "b"].randomElement(using: &dice) ?? "")
            try store.save([SaveItem("r\(number % 40)", fields, in: zone)])
        }
    }

    private func query(using dice: inout SeededGenerator) -> Query {
        var query = Self.sorted()
        for key in ["n", "s", "d"].shuffled(using: &dice).prefix(.random(in: 0...3, using: &dice)) {
            query.sortDescriptors.append(
                Query.SortDescriptor(key: key, ascending: .random(using: &dice))
            )
        }
        return query
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func pagesTogetherAreTheWhole(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        try fill(60, using: &dice)
        for zone in [nil, ZoneAddress(), ZoneAddress(name: "Other")] {
            let query = query(using: &dice)
            let whole = try store.query(query, zone: zone, limit: 400).records
                .map { "\($0.zone.name)/\($0.record.name)" }
            #expect(try paged(query, zone: zone, using: &dice) == whole)
            #expect(Set(whole).count == whole.count)
        }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func whatDoesNotChangeComesOnce(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        try fill(60, using: &dice)
        let query = query(using: &dice)
        let whole = try store.query(query, zone: nil, limit: 400).records
            .map { "\($0.zone.name)/\($0.record.name)" }
        // Other records come, change and go; they have names of their own.
        var mover = SeededGenerator(seed: seed + 100)
        let pages = try paged(query, zone: nil, using: &dice) {
            let name = "x\(Int.random(in: 0..<5, using: &mover))"
            if Bool.random(using: &mover) {
                let n = FieldValue.int64(.random(in: -2...2, using: &mover))
                try store.save([SaveItem(name, ["here": 1, "n": n])])
            } else {
                try store.delete([DeleteItem(name)])
            }
        }
        #expect(pages.filter { !$0.contains("/x") } == whole)
    }

    @Test func aPageEndsWhenItIsLarge() throws {
        var limits = Limits.standard
        limits.answerBytes = 1_000
        let text = FieldValue.string(String(repeating: "x", count: 600))
        for name in ["a", "b", "c"] {
            try store.save([SaveItem(name, ["here": 1, "text": text])])
        }
        let first = try store.query(Self.sorted(), limits: limits)
        #expect(first.records.map(\.record.name) == ["a", "b"])
        let second = try store.query(Self.sorted(), from: first.next, limits: limits)
        #expect(second.records.map(\.record.name) == ["c"])
        #expect(second.next == nil)
    }

    /// An unsorted page reads names from its cursor on, and stops when it is full.
    @Test func anUnsortedPageReadsWhatItShows() throws {
        try store.save((0..<50).map { SaveItem("r\($0 + 10)", ["here": 1]) })
        let first = try store.query(Self.sorted(), limit: 5)
        #expect(first.work.rowsRead == 6)
        #expect(first.work.plan == "read in order by the index on 'here' until the page is full")
        let second = try store.query(Self.sorted(), limit: 5, from: first.next)
        #expect(second.records.map(\.record.name) == (15..<20).map { "r\($0)" })
        #expect(second.work.rowsRead == 7)
        #expect(try store.query(Self.sorted(), counts: true).count == 50)
    }

    /// Without an index, records are read by name, and all of them if the results are sorted.
    @Test func withoutAnIndexRecordsAreRead() throws {
        try store.save((0..<50).map { SaveItem("r\($0 + 10)", ["here": 1, "n": 2]) })
        var query = Query(
            recordType: "Note",
            predicate: .field("here") != 2 && .field("n") != 3
        )
        let first = try store.query(query, limit: 5)
        #expect(first.work.rowsRead == 6)
        #expect(first.work.plan == "read records by name until the page is full")
        let place = Location(latitude: 0, longitude: 0)
        try store.save([SaveItem("placed", ["p": .location(place)])])
        query.sortDescriptors = [.init(key: "p", relativeLocation: place)]
        let sorted = try store.query(query, limit: 5)
        #expect(sorted.work.rowsRead == 51)
        #expect(sorted.work.plan == "read all records of the zone")
    }

    @Test func recordsThatAreNamedAreLookedUp() throws {
        let key = ["Note", "___recordID"].map { Bytes($0.utf8) }
        let register = Commit.Register(
            namespace: SchemaRegister.indexNamespace,
            key: key,
            value: [1]
        )
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
        try store.modify(ModifyZones(saving: ["Other"]), by: .alice)
        let other = ZoneAddress(name: "Other")
        try store.save((0..<50).map { SaveItem("r\($0 + 10)", ["here": .int64($0 % 2)]) })
        try store.save([SaveItem("r11", ["here": 1], in: other)])
        let ids = ["r13", "r11", "nobody", "r12"].map { Record.ID(recordName: $0) }
        var query = Query(
            recordType: "Note",
            predicate: .field("here") == 1 && .field("recordID").isIn(ids)
        )
        let page = try store.query(query, zone: nil)
        let names = page.records.map { "\($0.zone.name)/\($0.record.name)" }
        #expect(names == ["Other/r11", "_defaultZone/r11", "_defaultZone/r13"])
        #expect(page.work.rowsRead == 4)
        #expect(page.work.plan == "look up 4 names (in the last of 2 zones)")
        // A negation does not limit the names of results, and neither does one side of OR.
        query.predicate = .field("here") == 1 && !(.field("recordID").isIn(ids))
        #expect(try store.query(query).records.count == 23)
        query.predicate = .field("here") == 1 || .field("recordID").isIn(ids)
        query.allowsExtensions = true
        #expect(try store.query(query).records.count == 26)
    }

    @Test func onlyWantedFieldsAreReturned() throws {
        try store.save([SaveItem("a", ["here": 1, "n": 2])])
        let page = try store.query(Self.sorted(), keys: ["n"])
        let body = try RecordBody(stored: page.records[0].record.fields)
        #expect(body.entries.map { body.name(of: $0) } == ["n"])
        #expect(try store.query(Self.sorted(), keys: []).records[0].record.fields.isEmpty)
    }

    // MARK: Whose

    @Test func nobodyFindsWhatIsAnothers() throws {
        try store.save([SaveItem("mine", ["here": 1])])
        #expect(try store.query(Self.sorted(), by: .bob).records.isEmpty)
        #expect(throws: ServiceError.self) { try store.query(Self.sorted(), by: .anonymous) }
        #expect(throws: ServiceError.self) { try store.query(Self.sorted(), by: .administrator) }
        let hers = ZoneAddress(name: "_defaultZone", owner: Caller.alice.user)
        let error = try #require(throws: ServiceError.self) {
            try store.query(Self.sorted(), zone: hers, by: .bob)
        }
        #expect(error.code == .zoneNotFound)
    }

    @Test func publicRecordsAreFoundByAnybody() throws {
        try store.save([SaveItem("p", ["here": 1])], in: .public)
        for caller in [Caller.anonymous, .bob, .administrator] {
            let page = try store.query(Self.sorted(), in: .public, zone: nil, by: caller)
            #expect(page.records.map(\.record.name) == ["p"])
        }
    }

    @Test func theSharedDatabaseNeedsAZone() throws {
        try store.save([SaveItem("p", ["here": 1])])
        let error = try #require(throws: ServiceError.self) {
            try store.query(Self.sorted(), in: .shared, zone: nil)
        }
        #expect(error.code == .invalidArguments)
        #expect(error.message.contains("must name a zone"))
    }

    // MARK: Cursors

    @Test func aCursorIsForOneQuestionOnly() throws {
        for name in ["a", "b", "c"] { try store.save([SaveItem(name, ["here": 1, "n": 1])]) }
        let cursor = try #require(try store.query(Self.sorted(), limit: 1).next)
        let other = Self.sorted(.init(key: "n"))
        for refused in [
            { try store.query(other, from: cursor) },
            { try store.query(Self.sorted(), zone: nil, from: cursor) },
            { try store.query(Self.sorted(), in: .public, from: cursor) },
        ] as [() throws -> QueryRecords.Page] {
            let error = try #require(throws: ServiceError.self) { try refused() }
            #expect(error.code == .invalidArguments)
            #expect(error.message.hasPrefix("the cursor is of another query"))
        }
    }

    @Test func aCursorIsForOneCallerOnly() throws {
        for name in ["a", "b", "c"] {
            try store.save([SaveItem(name, ["here": 1])], in: .public)
        }
        let callers: [Caller] = [.alice, .bob, .anonymous, .administrator]
        for (index, caller) in callers.enumerated() {
            let page = try store.query(Self.sorted(), in: .public, limit: 1, by: caller)
            let cursor = try QueryCursor(content: try #require(page.next).content)
            for (other, next) in callers.enumerated() {
                let read = { [store] in
                    try store.query(Self.sorted(), in: .public, from: cursor, by: next)
                }
                if other == index {
                    #expect(try read().records.map(\.record.name) == ["b", "c"])
                } else {
                    let error = try #require(throws: ServiceError.self) { try read() }
                    #expect(error.code == .invalidArguments)
                    #expect(error.message.contains("it is of another caller"))
                }
            }
        }
    }

    @Test func aNodeThatIsBehindDoesNotGoOn() throws {
        for name in ["a", "b", "c"] { try store.save([SaveItem(name, ["here": 1])]) }
        let behind = try TestStore(copying: store, seed: 2)
        try store.save([SaveItem("d", ["here": 1])])
        let cursor = try #require(try store.query(Self.sorted(), limit: 1).next)
        let error = try #require(throws: ServiceError.self) {
            try behind.query(Self.sorted(), from: cursor)
        }
        #expect(error.reason == .nodeBehind)
    }

    @Test func damagedCursorsAreRefused() throws {
        try store.save([
            SaveItem("a", ["here": 1, "n": 1, "s": "x", "d": 0.5]), SaveItem("b", ["here": 1]),
        ])
        let query = Self.sorted(
            .init(key: "n", ascending: false),
            .init(key: "s"),
            .init(key: "d"),
            .init(key: "t")
        )
        try store.save([SaveItem("c", ["t": .timestamp(.init(millisecondsSince1970: 1))])])
        let content = try #require(try store.query(query, limit: 1).next).content
        #expect(try QueryCursor(content: content).content == content)
        for count in content.indices {
            #expect(throws: MalformedBytes.self) {
                try QueryCursor(content: Bytes(content.prefix(count)))
            }
        }
        var dice = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            let damaged = Damage.mutation(of: content, using: &dice)
            if let cursor = try? QueryCursor(content: damaged) {
                #expect(try QueryCursor(content: cursor.content) == cursor)
            }
        }
    }
}
