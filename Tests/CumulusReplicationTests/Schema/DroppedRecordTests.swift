// Records of dropped types, and what dropped fields hold: deleted or inert, and in nobody's way.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct DroppedRecordTests {
    private let store: TestStore
    private static let short = "RECORD TYPE Note (keep STRING QUERYABLE);"
    private static let owning =
        "RECORD TYPE Note (keep STRING QUERYABLE, owner REFERENCE QUERYABLE);"

    init() throws {
        store = try TestStore()
    }

    private func drop(_ types: String = short, in store: TestStore? = nil) throws {
        let store = store ?? self.store
        let source = SchemaImport.Source.file(
            try Schema(ckdb: "DEFINE SCHEMA " + types),
            drops: true
        )
        let request = WriteRequest(
            SchemaImport(source),
            scope: store.scope,
            caller: .administrator
        )
        _ = try store.run(request).get()
    }

    private func isThere(
        _ name: String,
        on store: TestStore? = nil,
        in zone: ZoneAddress = ZoneAddress()
    ) throws -> Bool {
        let found = try (store ?? self.store).fetch(name, in: .private, zone: zone, by: .alice)
        if case .success = found { return true }
        return false
    }

    /// Names of all lives that are stored, seen or not.
    private func stored(_ store: TestStore) throws -> [String] {
        try StoredRecords.all(in: store.reader).filter { !$0.row.isDead }.map(\.place.name).sorted()
    }

    // MARK: References

    @Test func aDroppedReferenceTakesNothingAlong() throws {
        try store.save([SaveItem("p", ["keep": "p"])])
        try store.save([SaveItem("c", ["keep": "k", "owner": .owner("p")])])
        try drop()
        try store.delete([DeleteItem("p")])
        #expect(try isThere("c"))
    }

    /// Also where another node deletes the owner, and this one owed the child's end.
    @Test func aDroppedReferenceOwesNothing() throws {
        let pair = try StorePair()
        try pair.together([SaveItem("p", ["keep": "p"])])
        try pair.one.save([SaveItem("c", ["keep": "k", "owner": .owner("p")])])
        try drop(in: pair.one)
        try pair.other.delete([DeleteItem("p")])
        try pair.heal()
        #expect(try isThere("c", on: pair.one) && isThere("c", on: pair.other))
    }

    @Test func aHiddenRecordHoldsUpNoDeletion() throws {
        try store.save([SaveItem("p", ["keep": "p"])])
        try store.save([SaveItem("h", ["o": .owner("p")], type: "Old")])
        try store.save([SaveItem("v", ["keep": "k"], parent: "h")])
        try drop()
        #expect(try store.delete([DeleteItem("p")]).codes == [nil])
    }

    @Test func hiddenOwnersAreNotCounted() throws {
        var limits = Limits.standard
        limits.ownersPerRecord = 3
        try store.save([SaveItem("p", ["keep": "p"])])
        for number in 0..<3 {
            try store.save([SaveItem("h\(number)", ["o": .owner("p")], type: "Old")])
        }
        func save() throws -> ServiceError.Code? {
            let item = SaveItem("v", ["owner": .owner("p")])
            let modify = ModifyRecords(database: .private, saves: [item], limits: limits)
            return try store.modify(modify, by: .alice).saves[0].code
        }
        #expect(try save() == .limitExceeded)
        try drop()
        #expect(try save() == nil)
    }

    // MARK: Room

    /// A record forgets with its next save what it holds in dropped fields.
    @Test func droppedFieldsTakeNoRoom() throws {
        let text = FieldValue.string(String(repeating: "x", count: 700_000))
        try store.save([SaveItem("a", ["keep": "k", "big": text])])
        try drop()
        #expect(try store.save([SaveItem("a", ["big": text])]).codes == [nil])
        var many: [String: FieldValue?] = ["keep": "k"]
        for number in 0..<200 { many["f\(number)"] = .int64(1) }
        try store.save([SaveItem("b", many)])
        try drop()
        var others: [String: FieldValue?] = [:]
        for number in 0..<200 { others["g\(number)"] = .int64(1) }
        #expect(try store.save([SaveItem("b", others)]).codes == [nil])
        let row = try #require(
            try StoredRecords.all(in: store.reader).first {
                $0.place.name == "b"
            }
        ).row
        #expect(row.body.entries.count == 201)
    }

    @Test func namesMayBeLong() throws {
        let (type, field) = (String(repeating: "T", count: 255), String(repeating: "f", count: 255))
        for round in 1...3 {
            try store.save([SaveItem("a", [field: .string("x\(round)")], type: type)])
            try drop("RECORD TYPE \(type) (keep STRING);")
            try store.save([SaveItem("a", [field: .int64(Int64(round))], type: type)])
            let query = Query(recordType: type, predicate: .field(field) == Int64(round))
            #expect(try store.query(query).records.count == 1)
            try drop()
        }
        try store.restart()
        try store.settleIndexes()
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    // MARK: Names that only the store knows

    @Test func storedNamesSayNothingToCallers() throws {
        for round in 1...2 {
            try store.save([SaveItem("a\(round)", ["s": "x", "n": 1], type: "Old")])
            try drop("RECORD TYPE Old (n INT64 QUERYABLE);")
            try store.save([SaveItem("a\(round)", ["s": "y"], type: "Old")])
            try drop()
        }
        try store.save([SaveItem("b", ["s": "x"], type: "Old")])
        for type in ["Old#0", "Old#1", "Old#2", "Note#0"] {
            let query = Query(recordType: type, predicate: .field("s") == "x")
            let error = #expect(throws: ServiceError.self) { try store.query(query, counts: true) }
            #expect(error?.code == .unknownItem)
        }
        let query = Query(recordType: "Old", predicate: .field("s#0") == "x")
        #expect(throws: ServiceError.self) { try store.query(query) }
    }

    @Test func conflictsTellNothingOfWhatWasDropped() throws {
        let pair = try StorePair()
        try pair.together([SaveItem("a", ["keep": "k"]), SaveItem("o", ["s": "x"], type: "Old")])
        func clash(_ value: FieldValue, _ other: FieldValue) throws {
            try pair.one.save([SaveItem("a", ["n": value]), SaveItem("o", ["s": "1"], type: "Old")])
            try pair.other.save([
                SaveItem("a", ["n": other]), SaveItem("o", ["s": "2"], type: "Old"),
            ])
            try pair.heal()
        }
        func listed() throws -> Set<String> {
            let page = try ListConflicts().page(
                of: pair.one.scopeNumber(),
                by: .alice,
                before: nil,
                byteLimit: 1 << 20,
                in: pair.one.reader
            )
            return Set(
                try page.items.map { item in
                    let body = try RecordBody(stored: item.conflict.lost)
                    let names = body.entries.map { body.name(of: $0) }
                    return "\(item.conflict.recordName).\(item.conflict.field) \(names)"
                }
            )
        }
        try clash(1, 2)
        #expect(try listed() == ["a.n [\"n\"]", "o.s [\"s\"]"])
        try drop(in: pair.one)
        try pair.heal()
        #expect(try listed() == [])
        try clash("one", "two")
        #expect(try listed().contains("a.n [\"n\"]"))
    }

    // MARK: Retries elsewhere

    @Test func aRetryFindsNothingOfADroppedType() throws {
        let pair = try StorePair()
        try pair.together([SaveItem("h", ["s": "x"], type: "Old")])
        let save = SaveItem("o", ["s": "y"], type: "Old")
        let modify = ModifyRecords(database: .private, saves: [save])
        let request = pair.one.request(modify, by: .alice)
        try pair.one.run(request)
        try pair.heal()
        try drop(in: pair.other)
        let outcome = try pair.other.run(request).get()
        #expect(outcome.saves[0].code == .unknownItem)
    }

    @Test func aRetryFindsNothingOfALaterGeneration() throws {
        let pair = try StorePair()
        let modify = ModifyRecords(database: .private, saves: [SaveItem("o", ["a": 1])])
        let request = pair.one.request(modify, by: .alice)
        try pair.one.run(request)
        try pair.heal()
        let reset = WriteRequest(SchemaReset(), scope: pair.one.scope, caller: .administrator)
        _ = try pair.one.run(reset).get()
        try pair.one.save([SaveItem("o", ["other": "x"], type: "Foreign")])
        try pair.heal()
        let outcome = try pair.other.run(request).get()
        #expect(outcome.saves[0].code == .unknownItem)
    }

    // MARK: Deletion

    @Test func theyAreDeletedAndTakeTheirsAlong() throws {
        try store.save([SaveItem("p", ["x": 1], type: "Old"), SaveItem("stays", ["keep": "k"])])
        try store.save([SaveItem("c", ["keep": "k", "owner": .owner("p")])])
        try drop(Self.owning)
        #expect(try stored(store) == ["c", "p", "stays"])
        try store.sweepDropped(limit: 2)
        #expect(try stored(store) == ["stays"])
        #expect(try store.names(in: .private, by: .alice) == ["stays"])
        let rows = try store.allRows()
        try store.sweepDropped()
        #expect(try store.allRows() == rows)
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    /// Each node deletes what its own runs made.
    @Test func eachRecordIsDeletedOnce() throws {
        let pair = try StorePair()
        try pair.one.save([SaveItem("mine", type: "Old")])
        try pair.other.save([SaveItem("theirs", type: "Old")])
        try pair.heal()
        try drop(in: pair.one)
        try pair.other.save([SaveItem("late", type: "Old")])
        try pair.one.sweepDropped()
        #expect(try stored(pair.one) == ["theirs", "types"])
        try pair.heal()
        try pair.other.sweepDropped()
        try pair.heal()
        for store in [pair.one, pair.other] { #expect(try stored(store) == ["types"]) }
    }

    /// A life of a dropped type that somebody made without knowing hides a save for a while only.
    @Test func aSaveBehindOneComesBack() throws {
        let pair = try StorePair()
        try pair.one.modify(ModifyZones(saving: ["z"]), by: .alice)
        let zone = ZoneAddress(name: "z")
        try pair.together([SaveItem("o", ["s": "x"], type: "Old", in: zone)])
        try drop(in: pair.one)
        try pair.one.save([SaveItem("x", ["keep": "k"], in: zone)])
        let token = try pair.one.changes(in: "z").token
        pair.other.now += 100_000
        try pair.other.save([SaveItem("x", ["s": "y"], type: "Old", in: zone)])
        try pair.heal()
        #expect(try !isThere("x", on: pair.one, in: zone))
        let gone = try pair.one.changes(in: "z", since: token)
        #expect(gone.deletions.map(\.name) == ["x"] && gone.records.isEmpty)
        try pair.other.sweepDropped()
        try pair.heal()
        for store in [pair.one, pair.other] { #expect(try isThere("x", on: store, in: zone)) }
        let back = try pair.one.changes(in: "z", since: gone.token)
        #expect(back.records.map(\.name) == ["x"])
    }

    // MARK: Schemas

    @Test func whatAFileNeedNotNameStays() throws {
        let own = "_" + String(repeating: "a", count: 32)
        let caller = Caller(role: .user(own))
        try store.save([SaveItem(own, ["nick": "x"], type: "Users")], in: .public, by: caller)
        try drop()
        let number = try store.scopeNumber()
        let schema = try store.reader.storedSchema(of: number, in: .development)
        #expect(schema.recordType("Users")?.field("nick") != nil)
    }

    /// Nodes disagreed on a field, and the type that lost in development was deployed.
    @Test func developmentCanTakeProductionsType() throws {
        let pair = try StorePair()
        try pair.other.save([SaveItem("a", ["keep": "k", "z": "text"])])
        pair.one.now += 5_000
        try pair.one.save([SaveItem("b", ["keep": "k", "z": 1])])
        let production = ScopeID(container: store.scope.container, environment: .production)
        let deploy = WriteRequest(
            SchemaImport(.development),
            scope: production,
            caller: .administrator
        )
        _ = try pair.one.run(deploy).get()
        try pair.heal()
        let fields = "a INT64, b INT64, c INT64, n INT64, keep STRING, z INT64"
        try drop("RECORD TYPE Note (\(fields));", in: pair.one)
        #expect(try pair.one.save([SaveItem("a", ["z": 1])]).codes == [nil])
    }
}
