// A field that two nodes gave two types: the type that came first stays, and what was stored under
// the other one is shown under a name of its own, on every node and by every way of reading.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct MixedFieldTests {
    private let pair: StorePair

    init() throws {
        pair = try StorePair()
        try pair.one.save([SaveItem("number", ["x": 1, "y": 1])])
        try pair.other.save([SaveItem("text", ["x": "a", "x0": "b"])])
        try pair.heal()
    }

    private func names(_ view: RecordView) throws -> [String] {
        let body = try RecordBody(stored: view.fields)
        return body.entries.map { body.name(of: $0) }
    }

    private func fetched(_ name: String, keys: [String]? = nil) throws -> [[String]] {
        try [pair.one, pair.other].map {
            try names($0.fetch(name, in: .private, keys: keys, by: .alice).get())
        }
    }

    @Test func theTypeThatCameFirstKeepsTheName() throws {
        #expect(try fetched("number") == [["x", "y"], ["x", "y"]])
        #expect(try fetched("text") == [["x0", "x__string"], ["x0", "x__string"]])
        #expect(try fetched("text", keys: ["x"]) == [[], []])
        #expect(try fetched("text", keys: ["x", "x__string"]) == [["x__string"], ["x__string"]])
        let refused = try pair.other.save([SaveItem("text", ["x": "c"])])
        #expect(refused.saves[0].code == .invalidArguments)
    }

    @Test func theNextSaveOfTheFieldReplacesIt() throws {
        try pair.other.save([SaveItem("text", ["x": 5])])
        try pair.heal()
        #expect(try fetched("text") == [["x", "x0"], ["x", "x0"]])
    }

    /// Its caller can't know why, so the refusal says what to do.
    @Test func anIncrementOfItIsRefused() throws {
        try pair.other.save([SaveItem("text", ["x": 5])])
        #expect(try pair.other.save([SaveItem("text", increments: ["x": 1])]).codes == [nil])
        let refused = try pair.one.save([SaveItem("text", increments: ["x": 1])]).saves[0]
        guard case .failure(let failure) = refused else {
            Issue.record("a text was incremented")
            return
        }
        #expect(failure.error.message.contains("save an INT64 in it before"))
    }

    /// Most of them can't be read as a number at all.
    private static let noNumbers: [FieldValue?] = [
        .string("日本"), .bytes([0xFF, 0xFF]), .double(Double(bitPattern: 0x8080_8080_8080_8080)),
        .list([.int64(1)]), .list([]), nil,
    ]

    /// Each node meets the other's commit behind its own: both orders of arrival.
    @Test(arguments: noNumbers, [true, false])
    func anIncrementMeetsAnotherType(value: FieldValue?, isFirst: Bool) throws {
        let (counting, setting) = isFirst ? (pair.one, pair.other) : (pair.other, pair.one)
        let increment = SaveItem("number", increments: ["k": 1])
        #expect(try counting.save([increment]).codes == [nil])
        // An empty list can't be the first value of a field.
        if value == .list([]) { try setting.save([SaveItem("other", ["k": .list([.int64(1)])])]) }
        #expect(try setting.save([SaveItem("number", ["k": value])]).codes == [nil])
        try pair.heal()
        for store in [counting, setting] {
            #expect(try store.save([SaveItem("number", ["y": 2])]).codes == [nil])
            try pair.heal()
            #expect(try DerivedRows.differences(in: store.engine) == [])
        }
    }

    /// The counter's base and its sums do not show through.
    @Test func aTextHidesACounterUntilANumberIsSaved() throws {
        try pair.one.save([SaveItem("number", ["k": 10])])
        let increment = SaveItem("number", increments: ["k": 2])
        try pair.one.save([increment])
        try pair.other.save([SaveItem("number", ["k": "日本"])])
        try pair.heal()
        #expect(try fetched("number") == Array(repeating: ["k__string", "x", "y"], count: 2))
        for store in [pair.one, pair.other] {
            #expect(try store.save([increment]).codes == [.invalidArguments])
        }
        try pair.other.save([SaveItem("number", ["k": 5])])
        try pair.heal()
        try pair.one.save([increment])
        try pair.heal()
        #expect(try pair.value("number") == ["k": 7, "x": 1, "y": 1])
    }

    /// Though the counter behind the text has that very base.
    @Test func aNumberThatFellToATextIsInTheConflictLog() throws {
        try pair.one.save([SaveItem("number", increments: ["k": 0])])
        try pair.one.save([SaveItem("number", ["k": 0])])
        pair.other.now += 1_000
        try pair.other.save([SaveItem("number", ["k": "日本"])])
        try pair.heal()
        #expect(try pair.lost() == [["k": 0], ["k": 0]])
    }

    @Test func aFieldOfThatVeryNameHidesIt() throws {
        try pair.other.save([SaveItem("text", ["x__string": "own"])])
        try pair.heal()
        #expect(try fetched("text") == [["x0", "x__string"], ["x0", "x__string"]])
        let view = try pair.one.fetch("text", in: .private, by: .alice).get()
        #expect(String(decoding: view.fields, as: UTF8.self).contains("own"))
    }

    /// Nobody who knows zones from before shows the field as it was.
    @Test func aClashIsNewsToWhoeverFoundZones() throws {
        let version = pair.one.state.zonesVersion
        try pair.one.save([SaveItem("number", ["z": 1])])
        try pair.other.save([SaveItem("text", ["z": 1.5])])
        #expect(pair.one.state.zonesVersion == version)
        try pair.heal()
        #expect(pair.one.state.zonesVersion > version)
        #expect(
            try fetched("text") == Array(repeating: ["x0", "x__string", "z__double"], count: 2)
        )
    }

    @Test func listsAreNamedAfterWhatTheyHold() throws {
        try pair.one.save([SaveItem("number", ["l": 1])])
        try pair.other.save([SaveItem("text", ["l": ["a"]])])
        try pair.heal()
        let names = ["l__string_list", "x0", "x__string"]
        #expect(try fetched("text") == [names, names])
    }

    /// Fetched one by one, listed, as a change, and beside the refusal of a save.
    @Test func everyWayOfReadingShowsTheSame() throws {
        for store in [pair.one, pair.other] {
            try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        }
        let zone = ZoneAddress(name: "z")
        try pair.one.save([SaveItem("n", ["p": 1], in: zone)])
        try pair.other.save([SaveItem("t", ["p": "a"], in: zone)])
        try pair.heal()
        for store in [pair.one, pair.other] {
            let fetched = try store.fetch("t", in: .private, zone: zone, by: .alice).get()
            #expect(try names(fetched) == ["p__string"])
            let list = ListRecords(database: .private, zone: zone, keys: nil)
            let found = try list.open(store.scopeNumber(), by: .alice, in: store.reader)
            let page = try list.page(of: found, from: nil, byteLimit: 10_000, in: store.reader)
            #expect(page.records.last == fetched)
            #expect(try store.changes(in: "z").records.contains(fetched))
            let saves = [SaveItem("t", ["p": 2], in: zone)]
            guard case .failure(let refusal) = try store.save(saves, .ifUnchanged).saves[0] else {
                Issue.record("a save without a tag replaced a record")
                continue
            }
            #expect(refusal.serverRecord == fetched)
        }
    }

    /// The clash changes how records look that nobody saved: a token from before it would not tell.
    @Test func tokensFromBeforeTheClashExpire() throws {
        try pair.one.modify(ModifyZones(saving: ["z", "quiet"]), by: .alice)
        try pair.heal()
        try pair.other.save([SaveItem("t", ["p": "a"], in: ZoneAddress(name: "z"))])
        try pair.one.save([SaveItem("n", ["p": 1])])
        let before = try pair.other.changes(in: "z").token
        let zonesBefore = try pair.other.zoneChanges().token
        try pair.heal()
        let error = #expect(throws: ServiceError.self) {
            try pair.other.changes(in: "z", since: before)
        }
        #expect(error?.code == .changeTokenExpired)
        let changed = try pair.other.zoneChanges(since: zonesBefore)
        #expect(changed.changed.map(\.name) == ["quiet", "z"])
        let after = try pair.other.changes(in: "z").token
        #expect(try pair.one.changes(in: "z", since: after).records == [])
        #expect(try pair.one.zoneChanges(since: changed.token).changed.map(\.name) == [])
    }

    /// Registers of one field, each to some of the nodes; then each node's to the other. (Among
    /// whole nodes: `cumulus-sim --history nodes`, seeds 50393, 50984 and 51310.)
    @Test(arguments: 1...100) func allNodesComeToKnowTheSameTypes(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let stores = try (1...2).map { try TestStore(seed: UInt64($0)) }
        let key = [Bytes("Note".utf8), Bytes("q".utf8)]
        for number in UInt64(1)...4 {
            let time = HybridTime(.random(in: 1...100, using: &dice))
            let stamp = Stamp(time, Dot(Incarnation(number), 1))
            let type = Bool.random(using: &dice) ? "INT64" : "STRING"
            let row = RegisterRow(stamp: stamp, value: Bytes(type.utf8))
            for store in stores where Bool.random(using: &dice) {
                try join(row, SchemaRegister.fieldNamespace, key, into: store)
            }
        }
        for one in stores.shuffled(using: &dice) {
            for other in stores where other !== one {
                for (namespace, key, row) in try registers(of: one, key) {
                    try join(row, namespace, key, into: other)
                }
            }
        }
        let known = try stores.map { try registers(of: $0, key).map(\.row) }
        #expect(known[1] == known[0])
    }

    private func registers(
        of store: TestStore,
        _ key: [Bytes]
    ) throws -> [(namespace: String, key: [Bytes], row: RegisterRow)] {
        let scope = try store.scopeNumber()
        let namespaces = [SchemaRegister.fieldNamespace, SchemaRegister.mixedNamespace]
        return try namespaces.flatMap { namespace in
            try store.reader.registerRows(scope, namespace, below: key)
                .map { (namespace, key + $0.key, $0.row) }
        }
    }

    private func join(
        _ row: RegisterRow,
        _ namespace: String,
        _ key: [Bytes],
        into store: TestStore
    ) throws {
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeRegisters(of: scope).join(row, into: namespace, key, &transaction)
        }
    }
}
