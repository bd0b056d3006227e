// Development made what production is: its records are gone, on every node, and it goes on.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SchemaResetTests {
    private let pair: StorePair
    private var store: TestStore { pair.one }

    init() throws {
        pair = try StorePair()
        try pair.one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try pair.one.save([SaveItem("a", ["s": "x", "a": 1])])
        try pair.one.save([SaveItem("in", ["s": "x"], in: ZoneAddress(name: "z"))])
        try pair.one.save([SaveItem("shown", ["s": "x"], type: "Post")], in: .public)
        try pair.heal()
    }

    private func run<Asked: ContainerChange>(
        _ change: Asked,
        in environment: Environment = .development,
        on store: TestStore? = nil,
        by caller: Caller = .administrator
    ) throws -> Asked.Outcome {
        let store = store ?? self.store
        let scope = ScopeID(container: store.scope.container, environment: environment)
        return try store.run(WriteRequest(change, scope: scope, caller: caller)).get()
    }

    @discardableResult
    private func reset(on store: TestStore? = nil) throws -> SchemaReset.Outcome {
        try run(SchemaReset(), on: store)
    }

    private func schema(_ environment: Environment) throws -> Schema {
        let scope = ScopeID(container: store.scope.container, environment: environment)
        let number = try #require(try store.reader.scope(scope))
        return try store.reader.storedSchema(of: number, in: environment)
    }

    private func isThere(_ name: String, on store: TestStore) throws -> Bool {
        if case .success = try store.fetch(name, in: .private, by: .alice) { true } else { false }
    }

    private func check() throws {
        try pair.heal()
        for store in [pair.one, pair.other] {
            try store.settleIndexes()
            #expect(try DerivedRows.differences(in: store.engine) == [])
        }
    }

    @Test func developmentBecomesProduction() throws {
        _ = try run(SchemaImport(.development), in: .production)
        let deployed = try schema(.production)
        try store.save([SaveItem("b", ["later": 1]), SaveItem("c", type: "Late")])
        let outcome = try reset()
        #expect(outcome.zones == 3)
        #expect(
            Set(outcome.difference.changes.map(\.description)) == [
                "- field Note.later INT64 QUERYABLE SORTABLE", "- type Late",
            ]
        )
        #expect(try schema(.development) == deployed)
        #expect(try schema(.production) == deployed)
        try check()
    }

    @Test func withoutADeploymentNothingIsLeft() throws {
        #expect(
            try reset().difference.changes.map(\.description).sorted() == [
                "- type Note", "- type Post",
            ]
        )
        #expect(try schema(.development).recordTypes.map(\.name) == ["Users"])
        let again = try reset()
        #expect(again.difference.isEmpty)
        #expect(again.zones == 0)
        try check()
    }

    @Test func recordsAreGoneAndTheDefaultZoneIsNew() throws {
        let token = try pair.other.zoneChanges().token
        let inZone = try pair.other.changes(in: "z").token
        try reset()
        try pair.heal()
        for store in [pair.one, pair.other] {
            #expect(try !isThere("a", on: store))
            #expect(try store.names(in: .private, by: .alice) == [])
            #expect(try store.names(in: .public, by: .alice) == [])
            let deleted = try store.zoneChanges(since: token).deletions
            #expect(deleted.map(\.zone.name) == ["z"])
            let error = #expect(throws: ServiceError.self) {
                try store.changes(in: "z", since: inZone)
            }
            #expect(error?.code == .zoneNotFound)
        }
        // Either node goes on.
        for (store, name) in [(pair.one, "new"), (pair.other, "newer")] {
            #expect(try store.save([SaveItem(name, ["s": 1])]).codes == [nil])
            try pair.heal()
        }
        for store in [pair.one, pair.other] {
            #expect(try store.names(in: .private, by: .alice) == ["new", "newer"])
            let query = Query(recordType: "Note", predicate: .field("s") == 1)
            #expect(try store.query(query).records.count == 2)
        }
        try check()
    }

    @Test func conflictsFromBeforeAreNotTold() throws {
        func listed() throws -> Int {
            let page = try ListConflicts().page(
                of: store.scopeNumber(),
                by: .alice,
                before: nil,
                byteLimit: 1 << 20,
                in: store.reader
            )
            return page.items.count
        }
        func clash() throws {
            try pair.one.save([SaveItem("a", ["a": 2])])
            try pair.other.save([SaveItem("a", ["a": 3])])
            try pair.heal()
        }
        try clash()
        #expect(try listed() == 1)
        try reset()
        try pair.heal()
        #expect(try listed() == 0)
        try pair.one.save([SaveItem("a", ["a": 1])])
        try pair.heal()
        try clash()
        #expect(try listed() == 1)
    }

    /// A save that doesn't know of the reset goes with what it knows.
    @Test func aSaveOfAnotherNodeGoesToo() throws {
        try reset()
        try pair.other.save([SaveItem("stale", ["s": "x"])])
        try pair.other.save([SaveItem("stale", ["s": "x"], in: ZoneAddress(name: "z"))])
        try pair.heal()
        for store in [pair.one, pair.other] { #expect(try !isThere("stale", on: store)) }
        try check()
    }

    @Test func twoResetsAtOnceAreOne() throws {
        try reset(on: pair.one)
        try reset(on: pair.other)
        try pair.one.save([SaveItem("one", ["s": 1])])
        try pair.other.save([SaveItem("other", ["s": 2])])
        try pair.heal()
        for store in [pair.one, pair.other] {
            #expect(try store.names(in: .private, by: .alice) == ["one", "other"])
        }
        try check()
    }

    @Test func itCanBeDoneAgain() throws {
        for round in 1...4 {
            let zones = round == 1 ? 3 : 1
            #expect(try reset().zones == zones)
            try pair.other.modify(ModifyZones(), by: .alice)
            try pair.heal()
            try pair.other.save([SaveItem("r\(round)", ["s": .int64(Int64(round))])])
            try pair.heal()
            #expect(try pair.one.names(in: .private, by: .alice) == ["r\(round)"])
        }
        try check()
    }

    @Test func aPlanChangesNothing() throws {
        let rows = try store.allRows()
        let plan = try SchemaReset().plan(for: store.scope, store.reader).get()
        #expect(plan.zones == 3)
        #expect(plan.difference.changes.count == 2)
        #expect(try store.allRows() == rows)
    }

    @Test func onlyOperatorsAndNeverProduction() throws {
        let production = #expect(throws: ServiceError.self) {
            try run(SchemaReset(), in: .production)
        }
        #expect(production?.code == .invalidArguments)
        let user = #expect(throws: ServiceError.self) { try run(SchemaReset(), by: .alice) }
        #expect(user?.code == .permissionFailure)
    }
}
