// What changes from one schema to another, and what of it would lose data.

import CumulusModel
import Testing

@Suite struct SchemaDifferenceTests {
    static func schema(_ body: String) throws -> Schema {
        try Schema(ckdb: "DEFINE SCHEMA " + body)
    }

    static func changes(_ old: String, _ new: String) throws -> [String] {
        SchemaDifference(from: try schema(old), to: try schema(new)).changes.map(\.description)
    }

    /// Changes of a type's items.
    static func itemChanges(_ old: String, _ new: String) throws -> [String] {
        try changes("RECORD TYPE T (\(old));", "RECORD TYPE T (\(new));")
    }

    @Test func equalSchemasHaveNoChanges() throws {
        var schemas = RandomSchemas(seed: 4)
        for _ in 0..<200 {
            let schema = schemas.next()
            let difference = SchemaDifference(from: schema, to: schema)
            #expect(difference.isEmpty)
            #expect(difference.changes.isEmpty)
        }
    }

    @Test func rolesComeAndGo() throws {
        let changes = try Self.changes(
            "CREATE ROLE A; CREATE ROLE C;",
            "CREATE ROLE \"B b\"; CREATE ROLE C; CREATE ROLE D;"
        )
        #expect(changes == ["- role A", "+ role B b", "+ role D"])
    }

    @Test func anAddedTypeComesWithAllThatItHolds() throws {
        let trail = """
            RECORD TYPE Trail (
                title STRING QUERYABLE, "___etag" STRING SORTABLE, GRANT READ TO "_world"
            );
            """
        #expect(
            try Self.changes("RECORD TYPE A (a STRING);", trail) == [
                "- type A",
                "+ type Trail",
                "~ field Trail.___etag indexes: none -> SORTABLE",
                "+ field Trail.title STRING QUERYABLE",
                "~ grants of Trail to _world: none -> READ",
            ]
        )
        #expect(try Self.changes(trail, "") == ["- type Trail"])
    }

    @Test func fieldsComeAndGo() throws {
        #expect(
            try Self.itemChanges("a STRING, b INT64 SORTABLE", "a STRING, c LIST<DOUBLE>") == [
                "- field T.b INT64 SORTABLE", "+ field T.c LIST<DOUBLE>",
            ]
        )
    }

    @Test func typesAndIndexesChangeEachOnItsOwn() throws {
        #expect(
            try Self.itemChanges("f STRING QUERYABLE", "f STRING SORTABLE QUERYABLE")
                == ["~ field T.f indexes: QUERYABLE -> QUERYABLE SORTABLE"]
        )
        #expect(
            try Self.itemChanges("f INT64 QUERYABLE", "f LIST<STRING>") == [
                "~ field T.f type: INT64 -> LIST<STRING>",
                "~ field T.f indexes: QUERYABLE -> none",
            ]
        )
        #expect(
            try Self.itemChanges("f NUMBER", "f NUMBER PREFERRED AS INT64")
                == ["~ field T.f type: NUMBER -> NUMBER PREFERRED AS INT64"]
        )
    }

    @Test func systemFieldsOnlyGetAndLoseIndexes() throws {
        let difference = SchemaDifference(
            from: try Self.schema("RECORD TYPE T (\"___recordID\" REFERENCE QUERYABLE);"),
            to: try Self.schema("RECORD TYPE T (\"___modTime\" TIMESTAMP QUERYABLE SORTABLE);")
        )
        #expect(
            difference.changes.map(\.description) == [
                "~ field T.___modTime indexes: none -> QUERYABLE SORTABLE",
                "~ field T.___recordID indexes: QUERYABLE -> none",
            ]
        )
        #expect(difference.removals.isEmpty)
    }

    @Test func grantsChangeRoleByRole() throws {
        #expect(
            try Self.itemChanges(
                "GRANT READ TO \"_world\", GRANT READ TO \"_icloud\", GRANT WRITE TO \"_creator\"",
                "GRANT READ, WRITE TO \"_icloud\", GRANT WRITE TO \"_creator\""
            ) == [
                "~ grants of T to _icloud: READ -> READ WRITE",
                "~ grants of T to _world: READ -> none",
            ]
        )
    }

    @Test func removalsAreWhatLosesData() throws {
        let old =
            "CREATE ROLE R; RECORD TYPE A (a STRING); RECORD TYPE B (a STRING, b INT64 SORTABLE,"
        let new = "RECORD TYPE B (a INT64, c STRING); RECORD TYPE C (c STRING);"
        let difference = SchemaDifference(
            from: try Self.schema(old + "GRANT READ TO R);"),
            to: try Self.schema(new)
        )
        #expect(
            difference.removals.map(\.description) == [
                "- type A", "~ field B.a type: STRING -> INT64", "- field B.b INT64 SORTABLE",
            ]
        )
        #expect(difference.changes.count == 8)
    }

    @Test func everyChangeNamesOneThingAndIsUndoneByTheWayBack() throws {
        var schemas = RandomSchemas(seed: 5)
        var old = schemas.next()
        for _ in 0..<1_000 {
            let new = schemas.next()
            let changes = SchemaDifference(from: old, to: new).changes
            #expect(changes.isEmpty == (old == new))
            #expect(Set(changes).count == changes.count)
            #expect(changes.allSatisfy { !$0.description.contains("\n") })
            let back = SchemaDifference(from: new, to: old).changes
            #expect(Self.wholes(changes, "+") == Self.wholes(back, "-"))
            #expect(Self.wholes(changes, "-") == Self.wholes(back, "+"))
            old = new
        }
    }

    /// The roles and types that come or go, as the sign says.
    static func wholes(_ changes: [SchemaDifference.Change], _ sign: String) -> [String] {
        changes.map(\.description).filter {
            $0.hasPrefix("\(sign) role") || $0.hasPrefix("\(sign) type")
        }
        .map { String($0.dropFirst()) }
    }
}
