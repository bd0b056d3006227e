// How much a schema may hold, and how much the saves of one caller may add to it.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Synchronization
import Testing

@Suite struct SchemaLimitTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func limits(_ change: (inout Limits) -> Void) -> Limits {
        var limits = Limits.standard
        change(&limits)
        return limits
    }

    private func save(
        _ items: [SaveItem],
        _ limits: Limits,
        allowance: (any SchemaAllowance)? = nil
    ) throws -> ModifyOutcome {
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: items,
            limits: limits
        )
        return try store.modify(modify.growingSchema(within: allowance), by: .alice)
    }

    private func types(_ range: Range<Int>) -> [SaveItem] {
        range.map { SaveItem("r\($0)", ["a": 1], type: "T\($0)") }
    }

    @discardableResult
    private func importing(
        _ source: SchemaImport.Source,
        _ environment: Environment,
        _ limits: Limits
    ) throws -> SchemaDifference {
        let scope = ScopeID(container: store.scope.container, environment: environment)
        let request = WriteRequest(
            SchemaImport(source, limits: limits),
            scope: scope,
            caller: .administrator
        )
        return try store.run(request).get()
    }

    private func file(_ types: Range<Int>, drops: Bool = false) throws -> SchemaImport.Source {
        let texts = types.map { "RECORD TYPE T\($0) (a INT64);" }
        return .file(try Schema(ckdb: "DEFINE SCHEMA\n" + texts.joined()), drops: drops)
    }

    // MARK: What a schema holds

    @Test func typesAreBounded() throws {
        let limits = limits { $0.typesPerSchema = 3 }
        let outcome = try save(types(0..<5), limits)
        #expect(outcome.codes == [nil, nil, nil, .limitExceeded, .limitExceeded])
        guard case .failure(let failure) = outcome.saves[3] else { return }
        #expect(failure.error.message.contains("typesPerSchema"))
        // Types that exist already can be saved.
        #expect(try save(types(0..<3), limits).codes == [nil, nil, nil])
        #expect(try save(types(3..<4), limits).codes == [.limitExceeded])
        let size = try store.reader.storedSchemaSize(of: store.scopeNumber())
        #expect(size.types == 3 && size.fields == 3)
    }

    @Test func fieldsAndNamesAreBounded() throws {
        let few = limits { $0.fieldsPerSchema = 3 }
        #expect(try save(types(0..<4), few).codes == [nil, nil, nil, .limitExceeded])
        let long = String(repeating: "n", count: 200)
        let short = limits { $0.schemaBytes = 400 }
        #expect(try save([SaveItem("l", [long: 1], type: "T0")], short).codes == [nil])
        #expect(
            try save([SaveItem("l", ["\(long)2": 1], type: "T0")], short).codes == [.limitExceeded]
        )
    }

    /// An item that fails for another reason takes no room.
    @Test func whatFailsTakesNoRoom() throws {
        let limits = limits { $0.typesPerSchema = 1 }
        let items = [SaveItem("n", ["a": 1], type: "New", parent: "nobody")] + types(0..<1)
        #expect(try save(items, limits).codes == [.referenceViolation, nil])
    }

    @Test func whatIsDroppedMakesRoom() throws {
        let limits = limits { $0.typesPerSchema = 3 }
        #expect(try save(types(0..<3), limits).codes == [nil, nil, nil])
        try importing(file(0..<1, drops: true), .development, limits)
        #expect(try save(types(1..<4), limits).codes == [nil, nil, .limitExceeded])
    }

    /// Nodes that don't know of each other may exceed the limits.
    @Test func aSchemaBeyondTheLimitOnlyStopsToGrow() throws {
        #expect(try save(types(0..<5), .standard).codes == Array(repeating: nil, count: 5))
        let limits = limits { $0.typesPerSchema = 3 }
        #expect(try save(types(0..<5), limits).codes == Array(repeating: nil, count: 5))
        #expect(try save(types(5..<6), limits).codes == [.limitExceeded])
        try importing(file(0..<5), .development, limits)
        #expect(throws: ServiceError.self) { try importing(file(0..<6), .development, limits) }
        #expect(throws: ServiceError.self) { try importing(.development, .production, limits) }
        try importing(file(0..<3, drops: true), .development, limits)
        try importing(.development, .production, limits)
        try importing(.production, .development, limits)
    }

    /// A schema that was exported can be imported again, however long its names are.
    @Test(arguments: [1, 10, 250]) func theTextOfALargestSchemaFitsIntoARequest(
        fields: Int
    ) throws {
        let limits = Limits.standard
        let types = min(limits.typesPerSchema, limits.fieldsPerSchema / fields)
        let length = limits.schemaBytes / (types * fields) - 24
        let field = Schema.Field(
            name: "",
            type: .type(.list(.timestamp)),
            indexes: .queryable
        )
        let all = (0..<types).map { type in
            let fields = (0..<fields).map { number in
                var field = field
                let name = "f\(number)" + String(repeating: "n", count: max(0, length))
                field.name = String(name.prefix(limits.nameBytes))
                return field
            }
            return Schema.RecordType(
                name: "RecordTypeNumber\(type)",
                fields: fields,
                grants: Schema.usualGrants
            )
        }
        let schema = Schema(roles: [], recordTypes: all)
        #expect(SchemaSize(of: schema).fields == types * fields)
        #expect(schema.ckdb.utf8.count < limits.requestBytes)
    }

    // MARK: What one caller adds

    /// Allows this many types.
    private final class Allowance: SchemaAllowance {
        let left: Mutex<Int>

        init(_ types: Int) {
            left = Mutex(types)
        }

        func refusal(of growth: SchemaSize) -> ServiceError? {
            growth.types <= left.withLock { $0 } ? nil : ServiceError(.requestRateLimited, "wait")
        }

        func spend(_ growth: SchemaSize) { left.withLock { $0 -= growth.types } }
    }

    @Test func aCallerAddsWhatItMayAndNoMore() throws {
        let allowance = Allowance(3)
        let outcome = try save(types(0..<5), .standard, allowance: allowance)
        let refused = ServiceError.Code.requestRateLimited
        #expect(outcome.codes == [nil, nil, nil, refused, refused])
        #expect(allowance.left.withLock { $0 } == 0)
        // Known types cost nothing.
        #expect(try save(types(0..<3), .standard, allowance: allowance).codes == [nil, nil, nil])
        #expect(try save(types(3..<4), .standard, allowance: Allowance(1)).codes == [nil])
    }
}
