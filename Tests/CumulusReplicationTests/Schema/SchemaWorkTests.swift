// Random saves, drops, resets, deployments and sweeps on two nodes that exchange commits or state.
// Both converge to the same store and the same view, with the indexes that the schema asks for, and
// show nothing that the schema doesn't have.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SchemaWorkTests {
    private static let zones = ["_defaultZone", "y", "z"]
    private static let names = ["a", "b", "c", "d"]
    private static let schemas = [
        "RECORD TYPE T (f INT64 QUERYABLE, \"___recordID\" REFERENCE QUERYABLE);",
        "RECORD TYPE T (g STRING);", "RECORD TYPE U (f STRING QUERYABLE);",
        "RECORD TYPE T (f INT64); RECORD TYPE U (f INT64, o REFERENCE);",
    ]

    @Test(arguments: UInt64(1)...60) func nodesAgree(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let one = try TestStore(seed: 1 + 3 * seed)
        let other = try TestStore(copying: one, seed: 2 + 3 * seed)
        for _ in 0..<10 {
            for _ in 0..<Int.random(in: 1...8, using: &dice) {
                try work(on: Bool.random(using: &dice) ? one : other, &dice)
            }
            if Int.random(in: 0..<4, using: &dice) == 0 { try one.restart() }
            try exchange(one, other, &dice)
            let fresh = try TestStore(seed: 3 + 3 * seed)
            fresh.now = one.now
            try fresh.takeState(of: one, .full)
            let shown = try [one, other, fresh].map(shown)
            #expect(shown[0] == shown[1])
            #expect(shown[0] == shown[2])
        }
    }

    private func exchange(
        _ one: TestStore,
        _ other: TestStore,
        _ dice: inout SeededGenerator
    ) throws {
        if Bool.random(using: &dice) {
            let copy = try TestStore(copying: one, seed: .random(in: 1_000...2_000, using: &dice))
            try one.take(from: other)
            try other.take(from: copy)
        } else {
            one.now = max(one.now, other.now)
            other.now = one.now
            let way: StateWay = Bool.random(using: &dice) ? .full : .delta
            try one.takeState(of: other, way)
            try other.takeState(of: one, way)
        }
        let states = try [one, other].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        #expect(ReplicatedState.differences(states[0], states[1]) == [])
    }

    // MARK: Work

    private func work(on store: TestStore, _ dice: inout SeededGenerator) throws {
        store.now += .random(in: 0...5, using: &dice)
        let zone = ZoneAddress(name: Self.zones.randomElement(using: &dice) ?? "")
        let name = Self.names.randomElement(using: &dice) ?? ""
        let type = Bool.random(using: &dice) ? "T" : "U"
        switch Int.random(in: 0..<20, using: &dice) {
        case 0..<9:
            let fields = randomFields(&dice)
            // Refusals are answers too.
            _ = try? store.save([SaveItem(name, fields, type: type, in: zone)])
        case 9: _ = try? store.save([SaveItem(name, type: type, in: zone, increments: ["f": 1])])
        case 10..<12: _ = try? store.delete([DeleteItem(name, in: zone)])
        case 12: try store.modify(ModifyZones(saving: ["z", "y"]), by: .alice)
        case 13: try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        case 14..<16: try importing(Self.schemas.randomElement(using: &dice) ?? "", into: store)
        case 16: try store.sweepDropped(limit: 2)
        case 17: try operate(SchemaReset(), on: store)
        case 18 where Int.random(in: 0..<6, using: &dice) == 0:
            try operate(SchemaImport(.development), in: .production, on: store)
        default:
            let policies: [MergePolicy] = [.fields, .record, .groups([FieldGroup(["f", "g"])])]
            let policy = policies.randomElement(using: &dice) ?? .fields
            let entry = MergePolicies.Entry(recordType: type, policy: policy)
            try operate(SetMergePolicy(entry), on: store)
        }
    }

    private func randomFields(_ dice: inout SeededGenerator) -> [String: FieldValue?] {
        var fields: [String: FieldValue?] = [:]
        for field in ["f", "g", "h"] where Bool.random(using: &dice) {
            let isNumber = Bool.random(using: &dice)
            fields[field] = isNumber ? .int64(.random(in: 0...3, using: &dice)) : .string("s")
        }
        if let owner = Self.names.randomElement(using: &dice), Bool.random(using: &dice) {
            fields["o"] = .owner(owner)
        }
        return fields
    }

    private func importing(_ types: String, into store: TestStore) throws {
        let schema = try Schema(ckdb: "DEFINE SCHEMA " + types)
        try operate(SchemaImport(.file(schema, drops: true)), on: store)
    }

    private func operate(
        _ change: some ContainerChange,
        in environment: Environment = .development,
        on store: TestStore
    ) throws {
        let scope = ScopeID(container: store.scope.container, environment: environment)
        // Production can hold what an import lacks.
        _ = try store.run(WriteRequest(change, scope: scope, caller: .administrator))
    }

    // MARK: What callers see

    private func shown(by store: TestStore) throws -> [String] {
        try store.settleIndexes()
        #expect(try DerivedRows.differences(in: store.engine) == [])
        let schema = try store.reader.storedSchema(of: store.scopeNumber(), in: .development)
        var shown = [schema.ckdb]
        for zone in Self.zones {
            let address = ZoneAddress(name: zone)
            guard let names = try? store.names(in: .private, zone: address, by: .alice) else {
                continue
            }
            for name in Self.names {
                guard
                    case .success(let view) = try store.fetch(
                        name,
                        in: .private,
                        zone: address,
                        by: .alice
                    )
                else {
                    #expect(!names.contains(name))
                    continue
                }
                #expect(names.contains(name))
                try check(view, against: schema)
                shown.append("\(zone)/\(name) \(view.type) \(view.fields.hex)")
            }
            if zone != Names.defaultZone {
                #expect(try store.changes(in: zone).records.map(\.name).sorted() == names)
            }
            shown += try found(in: address, on: store, schema, among: names)
        }
        return shown
    }

    private func check(_ view: RecordView, against schema: Schema) throws {
        let type = try #require(schema.recordType(view.type))
        let body = try RecordBody(stored: view.fields)
        for name in body.entries.map(body.name) where !name.contains("__") {
            #expect(type.field(name) != nil)
        }
    }

    /// What queries find of each type, by the fields that have an index.
    private func found(
        in zone: ZoneAddress,
        on store: TestStore,
        _ schema: Schema,
        among names: [String]
    ) throws -> [String] {
        var found: [String] = []
        for type in schema.recordTypes where type.name != "Users" {
            guard let field = type.field("f"), field.indexes.contains(.queryable) else { continue }
            let isNumber = field.typeName == "INT64"
            let predicate: Query.Predicate = isNumber ? .field("f") == 3 : .field("f") == "s"
            let query = Query(recordType: type.name, predicate: predicate)
            let results = try store.query(query, zone: zone).records.map(\.record.name)
            #expect(Set(results).isSubset(of: names))
            found.append("\(zone.name) \(type.name) \(results)")
        }
        return found
    }
}
