// What becomes of types and fields that a schema drops: nobody sees them any more, on no node and
// by no way of reading, and what comes later under their names is something else.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SchemaDropTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    @discardableResult
    private func importing(
        _ types: String,
        drops: Bool = true,
        into store: TestStore? = nil
    ) throws -> [String] {
        let store = store ?? self.store
        let schema = try Schema(ckdb: "DEFINE SCHEMA " + types)
        let request = WriteRequest(
            SchemaImport(.file(schema, drops: drops)),
            scope: store.scope,
            caller: .administrator
        )
        return try store.run(request).get().changes.map(\.description)
    }

    private func isRefused(_ types: String) throws -> String {
        let error = #expect(throws: ServiceError.self) { try importing(types) }
        return error?.message ?? ""
    }

    private func deploy() throws {
        let production = ScopeID(container: store.scope.container, environment: .production)
        let request = WriteRequest(
            SchemaImport(.development),
            scope: production,
            caller: .administrator
        )
        _ = try store.run(request).get()
    }

    /// The fields of a record as one of its readers sees them; nil means there is no such record.
    private func fields(_ name: String, of store: TestStore? = nil) throws -> [String: String]? {
        let found = try (store ?? self.store).fetch(name, in: .private, by: .alice)
        guard case .success(let view) = found else { return nil }
        let body = try RecordBody(stored: view.fields)
        return Dictionary(
            uniqueKeysWithValues: body.entries.map { (body.name(of: $0), $0.type?.name ?? "") }
        )
    }

    private func found(_ predicate: Query.Predicate, type: String = "Note") throws -> [String] {
        try store.query(Query(recordType: type, predicate: predicate)).records.map(\.record.name)
    }

    private func message(of predicate: Query.Predicate) throws -> String {
        let error = #expect(throws: ServiceError.self) { try found(predicate) }
        return error?.message ?? ""
    }

    /// Indexes and counts fit the records, and the log tells the same as the rows.
    private func check() throws {
        try checkRows(of: store)
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    private func checkRows(of store: TestStore) throws {
        try store.settleIndexes()
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    private static let short = "RECORD TYPE Note (keep STRING QUERYABLE);"

    // MARK: Fields

    @Test func aDroppedFieldIsGone() throws {
        try store.save([SaveItem("a", ["keep": "k", "gone": "text"])])
        #expect(
            try importing(Self.short).filter { $0.hasPrefix("-") } == [
                "- field Note.gone STRING QUERYABLE SEARCHABLE SORTABLE"
            ]
        )
        #expect(try fields("a") == ["keep": "STRING"])
        #expect(try message(of: .field("gone") == "text").hasPrefix("Unknown field 'gone'"))
        #expect(try found(.field("keep") == "k") == ["a"])
        try check()
    }

    /// It can be of another type, and has nothing of what it held before.
    @Test func aFieldOfThatNameIsAnother() throws {
        try store.save([
            SaveItem("a", ["keep": "k", "gone": "text"]), SaveItem("b", ["gone": "x"]),
        ])
        try importing(Self.short)
        try store.save([SaveItem("a", ["gone": 5])])
        #expect(try fields("a") == ["keep": "STRING", "gone": "INT64"])
        #expect(try fields("b") == [:])
        #expect(try found(.field("gone") == 5) == ["a"])
        try store.save([SaveItem("a", increments: ["gone": 2])])
        #expect(try found(.field("gone") == 7) == ["a"])
        #expect(try found(.field("gone") > 0) == ["a"])
        try check()
    }

    @Test func anAnswerNamesACounterAsItsCallerDoes() throws {
        try store.save([SaveItem("a", ["keep": "k", "n": 1])])
        try importing(Self.short)
        let saved = try store.save([SaveItem("a", increments: ["n": 3])]).saves[0].saved
        let body = try RecordBody(stored: try #require(saved).fields)
        #expect(body.entries.map { body.name(of: $0) } == ["n"])
        let overflow = try store.save([SaveItem("a", increments: ["n": .max])]).saves[0]
        guard case .failure(let failure) = overflow else {
            Issue.record("a counter is larger than 64 bits")
            return
        }
        #expect(failure.error.message.contains("field 'n' "))
    }

    @Test func aFieldCanGetAnotherType() throws {
        try store.save([SaveItem("a", ["keep": "k", "n": "text"])])
        let types = "RECORD TYPE Note (keep STRING QUERYABLE, n INT64 QUERYABLE);"
        #expect(try importing(types).contains("~ field Note.n type: STRING -> INT64"))
        #expect(try fields("a") == ["keep": "STRING"])
        try store.save([SaveItem("b", ["n": 1])])
        #expect(try found(.field("n") == 1) == ["b"])
        #expect(try message(of: .field("n") > 0).hasPrefix("Field 'n' is not marked sortable"))
        #expect(try importing(types) == [])
        try check()
    }

    @Test func itCanGoAndComeAgainAndAgain() throws {
        for round in 1...12 {
            try store.save([SaveItem("\(round)", ["keep": "k", "n": .int64(Int64(round))])])
            #expect(try found(.field("n") > 0) == ["\(round)"])
            try importing(Self.short)
            #expect(try fields("\(round)") == ["keep": "STRING"])
        }
        try check()
    }

    @Test func groupsHoldForAFieldThatCameAgain() throws {
        try store.save([SaveItem("a", ["keep": "k", "n": 1])])
        let policy = MergePolicies.Entry(
            recordType: "Note",
            policy: .groups([FieldGroup(["keep", "n"])])
        )
        try store.run(store.operating(SetMergePolicy(policy)))
        try importing(Self.short)
        try store.save([SaveItem("a", ["n": 2])])
        let increment = try store.save([SaveItem("a", increments: ["n": 1])]).saves[0]
        guard case .failure(let failure) = increment else {
            Issue.record("a field of a group was incremented")
            return
        }
        #expect(failure.error.message.hasPrefix("field 'n' is in a group"))
        #expect(try MergePolicies.all(in: store.scopeNumber(), store.reader) == [policy])
        #expect(
            try store.run(store.operating(SetMergePolicy(policy))).get() == true
        )
    }

    // MARK: Types

    @Test func recordsOfADroppedTypeAreGone() throws {
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        let zone = ZoneAddress(name: "z")
        try store.save([SaveItem("a", ["s": "x"], type: "Old", in: zone)])
        try store.save([SaveItem("n", ["keep": "k"], in: zone)])
        let token = try store.changes(in: "z").token
        let zonesToken = try store.zoneChanges().token
        #expect(try importing(Self.short).contains("- type Old"))
        #expect(try store.fetch("a", in: .private, zone: zone, by: .alice).code == .unknownItem)
        #expect(try store.names(in: .private, zone: zone, by: .alice) == ["n"])
        #expect(try store.changes(in: "z").records.map(\.name) == ["n"])
        let error = #expect(throws: ServiceError.self) { try store.changes(in: "z", since: token) }
        #expect(error?.code == .changeTokenExpired)
        #expect(try store.zoneChanges(since: zonesToken).changed.map(\.name) == ["z"])
        let unknown = #expect(throws: ServiceError.self) {
            try found(.field("s") == "x", type: "Old")
        }
        #expect(unknown?.code == .unknownItem)
        // Nothing to delete is no failure.
        #expect(try store.delete([DeleteItem("a", in: zone)]).deletes.map(\.code) == [nil])
        try check()
    }

    @Test func itsNamesAreFreeForNewRecords() throws {
        try store.save([SaveItem("a", ["s": "x", "m": 1], type: "Old")])
        try importing(Self.short)
        #expect(
            try store.save([SaveItem("a", tag: [1])], .ifUnchanged).saves[0].code == .unknownItem
        )
        // Its fields are not remembered either.
        let save = SaveItem("a", ["s": 5], type: "Old")
        #expect(try store.save([save], .ifUnchanged).codes == [nil])
        #expect(try fields("a") == ["s": "INT64"])
        #expect(try found(.field("s") == 5, type: "Old") == ["a"])
        let again = try store.save([save], .ifUnchanged).saves[0]
        #expect(again.code == .serverRecordChanged)
        // Its type is told as callers know it.
        let other = try store.save([SaveItem("a", ["s": 5])]).saves[0]
        guard case .failure(let failure) = other else {
            Issue.record("a record changed its type")
            return
        }
        #expect(failure.error.message.contains("type 'Old', which can't become 'Note'"))
        try store.delete([DeleteItem("a")])
        #expect(try fields("a") == nil)
        try check()
    }

    @Test func nobodyRefersToThem() throws {
        try store.save([SaveItem("p", type: "Old")])
        try store.save([SaveItem("c", ["keep": "k"], type: "Note", parent: "p")])
        try importing(Self.short)
        #expect(try store.save([SaveItem("d", parent: "p")]).saves[0].code == .referenceViolation)
        try store.save([SaveItem("q"), SaveItem("hidden", type: "Older", parent: "q")])
        try importing(Self.short)
        // A child that nobody sees keeps its parent from nothing.
        #expect(try store.delete([DeleteItem("q")]).deletes.map(\.code) == [nil])
        try check()
    }

    // MARK: What can't be dropped

    @Test func productionKeepsWhatItHas() throws {
        try store.save([SaveItem("a", ["keep": "k", "n": 1])])
        try deploy()
        try store.save([SaveItem("a", ["more": 1]), SaveItem("b", type: "Other")])
        for types in [
            Self.short, "RECORD TYPE Other (x INT64);",
            "RECORD TYPE Note (keep STRING, n DOUBLE);",
        ] {
            #expect(try isRefused(types).contains("production has it"))
        }
        let types = "RECORD TYPE Note (keep STRING QUERYABLE, n INT64);"
        let changes = try importing(types)
        #expect(changes.contains("- field Note.more INT64 QUERYABLE SORTABLE"))
        #expect(changes.contains("- type Other"))
    }

    @Test func nothingIsDroppedUnasked() throws {
        try store.save([SaveItem("a", ["keep": "k", "n": 1])])
        let error = #expect(throws: ServiceError.self) { try importing(Self.short, drops: false) }
        #expect(error?.message.contains("--drop") == true)
        #expect(try fields("a")?.count == 2)
    }

    // MARK: Nodes

    /// One drops what the other goes on to use.
    @Test func whatComesLaterFromElsewhereIsGoneToo() throws {
        let pair = try StorePair()
        try pair.together([SaveItem("a", ["keep": "k", "n": 1]), SaveItem("o", type: "Old")])
        try importing(Self.short, into: pair.one)
        try pair.other.save([
            SaveItem("a", ["n": 2]), SaveItem("b", ["n": 3, "keep": "x"]),
            SaveItem("p", ["s": 1], type: "Old"),
        ])
        try pair.heal()
        for store in [pair.one, pair.other] {
            #expect(try fields("a", of: store) == ["keep": "STRING"])
            #expect(try fields("b", of: store) == ["keep": "STRING"])
            #expect(try fields("p", of: store) == nil)
            #expect(try fields("o", of: store) == nil)
            try checkRows(of: store)
        }
    }

    /// Both drop it, and both use it again: it is one field.
    @Test func bothDropTheSame() throws {
        let pair = try StorePair()
        try pair.together([SaveItem("a", ["keep": "k", "n": 1]), SaveItem("o", type: "Old")])
        for store in [pair.one, pair.other] {
            try importing(Self.short, into: store)
            try store.save([
                SaveItem("x\(store.now)", ["n": "text"]), SaveItem("y\(store.now)", type: "Old"),
            ])
        }
        try pair.heal()
        for store in [pair.one, pair.other] {
            for time in [pair.one.now, pair.other.now] {
                #expect(try fields("x\(time)", of: store) == ["n": "STRING"])
                #expect(try fields("y\(time)", of: store) == [:])
            }
            #expect(try fields("a", of: store) == ["keep": "STRING"])
            try checkRows(of: store)
        }
    }

    /// A node that knows less drops what others dropped long ago.
    @Test func theGreatestCountStands() throws {
        let pair = try StorePair()
        try pair.together([SaveItem("a", ["keep": "k", "n": 1])])
        for _ in 1...3 {
            try importing(Self.short, into: pair.one)
            try pair.one.save([SaveItem("c", ["n": 1])])
        }
        pair.other.now += 1_000_000
        try importing(Self.short, into: pair.other)
        try pair.heal()
        for store in [pair.one, pair.other] {
            #expect(try fields("c", of: store) == ["n": "INT64"])
            #expect(try fields("a", of: store) == ["keep": "STRING"])
            try checkRows(of: store)
        }
    }

    /// A node that takes another's state, register by register, in any order.
    @Test(arguments: UInt64(1)...50) func registersComeInAnyOrder(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        try store.save([
            SaveItem("a", ["keep": "k", "n": 1]), SaveItem("o", ["x": 1], type: "Old"),
        ])
        for round in 1...3 {
            try importing(Self.short)
            if Bool.random(using: &dice) {
                try store.save([SaveItem("a", ["n": .string("\(round)")])])
            }
            if Bool.random(using: &dice) { try store.save([SaveItem("o", ["x": 1], type: "Old")]) }
        }
        let copy = try TestStore(seed: 2)
        let (source, target) = (try store.scopeNumber(), try copy.scopeNumber())
        var registers: [(namespace: String, key: [Bytes], row: RegisterRow)] = []
        for namespace in ["type", "field", "index", "typeDrops", "fieldDrops", "grant", "mixed"] {
            registers += try store.reader.registerRows(source, namespace)
                .map { (namespace, $0.key, $0.row) }
        }
        for (namespace, key, row) in registers.shuffled(using: &dice) {
            try copy.change { (transaction: inout WriteTransaction) throws(EngineError) in
                try ScopeRegisters(of: target).join(row, into: namespace, key, &transaction)
                try ScopeIndexes.settle(&transaction)
            }
        }
        let known = try [(store, source), (copy, target)].map { store, scope in
            try store.reader.storedSchema(of: scope, in: .development)
        }
        #expect(known[0] == known[1])
        try checkRows(of: copy)
    }
}

extension Result<RecordView, ServiceError> {
    fileprivate var code: ServiceError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}

extension TestStore {
    fileprivate func operating<Asked: ContainerChange>(_ change: Asked) -> WriteRequest<Asked> {
        WriteRequest(change, scope: scope, caller: .administrator)
    }
}
