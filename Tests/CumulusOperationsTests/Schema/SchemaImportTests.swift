// Schemas that operators import and deploy: what changes, what can't, and what production refuses.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SchemaImportTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func scope(_ environment: Environment) -> ScopeID {
        ScopeID(container: store.scope.container, environment: environment)
    }

    private func run(
        _ source: SchemaImport.Source,
        in environment: Environment,
        by caller: Caller = .administrator,
        limits: Limits = .standard
    ) throws -> [String] {
        let request = WriteRequest(
            SchemaImport(source, limits: limits),
            scope: scope(environment),
            caller: caller
        )
        return try store.run(request).get().changes.map(\.description)
    }

    private func file(_ types: String, drops: Bool = false) throws -> SchemaImport.Source {
        .file(try Schema(ckdb: "DEFINE SCHEMA\n" + types), drops: drops)
    }

    private func stored(_ environment: Environment = .development) throws -> Schema {
        let number = try #require(try store.reader.scope(scope(environment)))
        return try store.reader.storedSchema(of: number, in: environment)
    }

    /// Saves in production; returns the code and the message of the refusal.
    private func save(_ item: SaveItem, by caller: Caller = .alice) throws -> String? {
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: [item])
        let request = WriteRequest(
            modify,
            scope: scope(.production),
            caller: caller,
            requestID: store.newRequestID()
        )
        let outcome = try store.run(request).get()
        guard case .failure(let failure) = outcome.saves[0] else { return nil }
        #expect(failure.error.code == .invalidArguments)
        return failure.error.message
    }

    private static let trail = """
        CREATE ROLE Moderator;
        RECORD TYPE Trail (
            "___recordID" REFERENCE QUERYABLE,
            title STRING QUERYABLE SEARCHABLE,
            length INT64,
            labels LIST<STRING>,
            note ENCRYPTED STRING,
            rating NUMBER PREFERRED AS INT64,
            GRANT READ TO "_world",
            GRANT READ, WRITE TO Moderator
        );
        """

    /// The text is that of CloudKit's tool, as teams compare the files.
    @Test func anExportIsTheFileThatWasImported() throws {
        let file = """
            DEFINE SCHEMA

                CREATE ROLE editor;

                RECORD TYPE Recipe (
                    "___createTime" TIMESTAMP,
                    "___createdBy"  REFERENCE,
                    "___etag"       STRING,
                    "___modTime"    TIMESTAMP,
                    "___modifiedBy" REFERENCE,
                    "___recordID"   REFERENCE QUERYABLE,
                    cover           ASSET,
                    title           STRING QUERYABLE SEARCHABLE SORTABLE,
                    GRANT WRITE TO "_creator",
                    GRANT CREATE TO "_icloud",
                    GRANT READ TO "_world"
                );

                RECORD TYPE Users (
                    "___createTime" TIMESTAMP,
                    "___createdBy"  REFERENCE,
                    "___etag"       STRING,
                    "___modTime"    TIMESTAMP,
                    "___modifiedBy" REFERENCE,
                    "___recordID"   REFERENCE,
                    roles           LIST<INT64>,
                    GRANT WRITE TO "_creator",
                    GRANT READ TO "_world"
                );

            """
        _ = try run(.file(Schema(ckdb: file), drops: false), in: .development)
        #expect(try stored().ckdb == file)
    }

    @Test func aFileBecomesTheSchema() throws {
        let changes = try run(file(Self.trail), in: .development)
        #expect(changes.first == "+ role Moderator")
        #expect(changes.contains("+ field Trail.title STRING QUERYABLE SEARCHABLE"))
        let schema = try stored()
        #expect(schema.roles == ["Moderator"])
        let trail = try #require(schema.recordType("Trail"))
        #expect(
            trail.fields.map { "\($0.name) \($0.typeName) \($0.indexes.rawValue)" } == [
                "___recordID REFERENCE 1", "labels LIST<STRING> 0", "length INT64 0",
                "note ENCRYPTED STRING 0", "rating INT64 0", "title STRING 5",
            ]
        )
        // A new type begins with grants that the file doesn't have, so they are taken away.
        #expect(
            trail.grants.map { "\($0.role) \($0.permissions.rawValue)" } == [
                "Moderator 5", "_world 1",
            ]
        )
        #expect(try run(file(Self.trail), in: .development) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func whatIsStoredCanBeImportedAgain() throws {
        try store.save([
            SaveItem(
                "a",
                ["s": "x", "n": 1, "l": ["x"], "p": .location(.init(latitude: 1, longitude: 2))]
            )
        ])
        let text = try stored().ckdb
        #expect(try Schema(ckdb: text) == stored())
        #expect(try run(.file(Schema(ckdb: text), drops: false), in: .development) == [])
    }

    @Test func indexesAreChosenFieldByField() throws {
        try store.save([SaveItem("a", ["s": "x", "n": 1])])
        let before = try stored().ckdb
        #expect(before.contains("s               STRING QUERYABLE SEARCHABLE SORTABLE"))
        let after = before.replacing(" SEARCHABLE SORTABLE", with: "")
        let changes = try run(.file(Schema(ckdb: after), drops: false), in: .development)
        #expect(
            changes == [
                "~ field Note.s indexes: QUERYABLE SEARCHABLE SORTABLE -> QUERYABLE"
            ]
        )
        let sorted = Query(
            recordType: "Note",
            predicate: .field("s") == "x",
            sortDescriptors: [.init(key: "s")]
        )
        let error = try #require(throws: ServiceError.self) { try store.query(sorted) }
        #expect(error.message.hasPrefix("Field 's' is not marked sortable"))
        let unsorted = Query(recordType: "Note", predicate: .field("s") == "x")
        #expect(try store.query(unsorted).records.count == 1)
    }

    @Test func nothingIsTakenAway() throws {
        try store.save([SaveItem("a", ["s": "x", "n": 1])])
        let rows = try store.allRows()
        for types in [
            "", "RECORD TYPE Note (s STRING);", "RECORD TYPE Note (s INT64, n INT64);",
            "RECORD TYPE Other (x INT64); RECORD TYPE Note (n INT64);",
        ] {
            let error = try #require(throws: ServiceError.self) {
                try run(file(types), in: .development)
            }
            #expect(error.code == .invalidArguments)
            #expect(error.message.hasPrefix("nothing was changed"))
            #expect(error.message.contains(types.isEmpty ? "- type Note" : "field Note."))
        }
        #expect(try store.allRows() == rows)
    }

    @Test func aPlanChangesNothing() throws {
        let rows = try store.allRows()
        let plan = try SchemaImport(file(Self.trail)).plan(for: store.scope, store.reader).get()
        #expect(plan.changes.count > 5)
        #expect(try store.allRows() == rows)
    }

    @Test func operatorsOnly() throws {
        for caller in [Caller.alice, .anonymous] {
            let error = try #require(throws: ServiceError.self) {
                try run(file(Self.trail), in: .development, by: caller)
            }
            #expect(error.code == .permissionFailure)
        }
    }

    // MARK: Production

    @Test func productionTakesOnlyWhatIsDeployed() throws {
        let type = try save(SaveItem("a", ["s": "x"]))
        #expect(type?.hasPrefix("Cannot create new type Note in production schema") == true)
        try store.save([SaveItem("a", ["s": "x", "n": 1])])
        let changes = try run(.development, in: .production)
        #expect(changes.contains("+ field Note.s STRING QUERYABLE SEARCHABLE SORTABLE"))
        #expect(try save(SaveItem("a", ["s": "x"])) == nil)
        let field = try save(SaveItem("a", ["t": "x"]))
        let refusal = "Cannot create or modify field 't' in record 'Note' in production schema"
        #expect(field?.hasPrefix(refusal) == true)
        #expect(try save(SaveItem("a", ["e": .list([])]))?.contains("field 'e'") == true)
        #expect(try save(SaveItem("a", increments: ["i": 1]))?.contains("field 'i'") == true)
        #expect(try save(SaveItem("a", increments: ["n": 1])) == nil)
        #expect(try run(.development, in: .production) == [])
    }

    @Test func deployingTakesNothingAway() throws {
        try store.save([SaveItem("a", ["s": "x"])])
        _ = try run(.development, in: .production)
        let before = try stored(.production)
        // Development goes on with another field and fewer indexes.
        try store.save([SaveItem("a", ["t": 1])])
        let text = try stored().ckdb.replacing(" SEARCHABLE", with: "")
        _ = try run(.file(Schema(ckdb: text), drops: false), in: .development)
        let changes = try run(.development, in: .production)
        #expect(changes.count == 2)
        #expect(changes.contains("+ field Note.t INT64 QUERYABLE SORTABLE"))
        let after = try stored(.production)
        #expect(before.recordTypes.count == after.recordTypes.count)
        #expect(after == (try stored()))
    }

    @Test func usersRecordsNeedNoType() throws {
        let own = "_" + String(repeating: "a", count: 32)
        let caller = Caller(role: .user(own))
        let mine = SaveItem(own, ["nick": "x"], type: "Users")
        #expect(try save(mine, by: caller)?.contains("field 'nick' in record 'Users'") == true)
        let types = """
            RECORD TYPE Users (
                nick STRING, GRANT WRITE TO "_creator", GRANT READ TO "_world"
            );
            """
        #expect(
            try run(file(types), in: .development) == ["+ field Users.nick STRING"]
        )
        #expect(try run(.development, in: .production) == ["+ field Users.nick STRING"])
        #expect(try save(mine, by: caller) == nil)
    }

    @Test func usersRolesCanBeIndexed() throws {
        let types = """
            RECORD TYPE Users (
                roles LIST<INT64> QUERYABLE, GRANT WRITE TO "_creator", GRANT READ TO "_world"
            );
            """
        #expect(
            try run(file(types), in: .development) == [
                "~ field Users.roles indexes: none -> QUERYABLE"
            ]
        )
        #expect(try run(file(types), in: .development) == [])
        #expect(try stored().ckdb.contains("roles           LIST<INT64> QUERYABLE"))
    }

    @Test func aSchemaThatFitsIntoNoCommitIsRefused() throws {
        let name = String(repeating: "T", count: 250)
        let fields = (0..<250).map { "f\($0) INT64" }.joined(separator: ", ")
        let types = (0..<60).map { "RECORD TYPE \(name)\($0) (\(fields));" }.joined()
        var limits = Limits.standard
        (limits.schemaBytes, limits.fieldsPerSchema) = (1 << 30, 1 << 20)
        let error = try #require(throws: ServiceError.self) {
            try run(file(types), in: .development, limits: limits)
        }
        #expect(error.code == .limitExceeded && error.message.contains("commit"))
        #expect(try stored().recordTypes.map(\.name) == ["Users"])
    }

    /// The registers of new fields count as bytes of their commit.
    @Test func aBatchOfNewTypesThatFitsIntoNoCommitIsRefused() throws {
        let name = String(repeating: "T", count: 250)
        let fields = Dictionary(
            uniqueKeysWithValues: (0..<250).map { ("f\($0)", FieldValue?.some(1)) }
        )
        let saves = (0..<100).map { SaveItem("r\($0)", fields, type: "\(name)\($0)") }
        var limits = Limits.standard
        (limits.schemaBytes, limits.fieldsPerSchema) = (1 << 30, 1 << 20)
        let outcome = try store.modify(
            ModifyRecords(database: .private, policy: .changedKeys, saves: saves, limits: limits),
            by: .alice
        )
        #expect(outcome.codes.contains(.limitExceeded))
        #expect(outcome.codes.contains(nil))
        let commits = try store.reader.rows(.log, .all(.commit)).map(\.value.count)
        #expect(commits.allSatisfy { $0 <= Limits.standard.frameBytes })
    }

    /// Increments count as bytes of their commit, too.
    @Test func aCommitFitsIntoAFrameWhateverItsSavesAreMadeOf() throws {
        let long = String(repeating: "f", count: 240)
        let increments = Dictionary(
            uniqueKeysWithValues: (0..<250).map { ("\(long)\($0)", Int64(1)) }
        )
        let name = String(repeating: "T", count: 250)
        let saves = (0..<40).map {
            SaveItem("r\($0)", type: "\(name)\($0)", increments: increments)
        }
        var limits = Limits.standard
        (limits.schemaBytes, limits.fieldsPerSchema) = (1 << 30, 1 << 20)
        let codes = try store.modify(
            ModifyRecords(database: .private, policy: .changedKeys, saves: saves, limits: limits),
            by: .alice
        ).codes
        #expect(codes.contains(nil))
        #expect(codes.contains(.limitExceeded))
        let commits = try store.reader.rows(.log, .all(.commit)).map(\.value.count)
        #expect(commits.allSatisfy { $0 <= Limits.standard.frameBytes - 64 << 10 })
    }

    /// A failed item adds no field to the schema, and takes no room.
    @Test func whatFailsSaysNothingAboutTheSchema() throws {
        var limits = Limits.standard
        limits.recordBytes = 1_000
        let large = FieldValue.string(String(repeating: "x", count: 2_000))
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            isAtomic: false,
            saves: [SaveItem("a", ["x": large]), SaveItem("b", ["x": 1])],
            limits: limits
        )
        let outcome = try store.modify(modify, by: .alice)
        #expect(outcome.codes == [.limitExceeded, nil])
        #expect(try stored().recordType("Note")?.field("x")?.typeName == "INT64")
    }

    @Test func eachCallHasItsEnvironment() throws {
        for (source, environment) in [
            (try file(Self.trail), Environment.production), (.development, .development),
        ] {
            let error = try #require(throws: ServiceError.self) {
                try run(source, in: environment)
            }
            #expect(error.message.contains("names the other environment"))
        }
    }
}
