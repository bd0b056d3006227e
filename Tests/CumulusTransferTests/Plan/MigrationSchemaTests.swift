// The schema of the source's file joined with what is here.

import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusTransfer

@Suite struct MigrationSchemaTests {
    private func schema(_ types: String) throws -> Schema {
        try Schema(ckdb: "DEFINE SCHEMA\n" + types)
    }

    private let note = """
        CREATE ROLE editor;
        RECORD TYPE Note (title STRING QUERYABLE, secret ENCRYPTED STRING,
            GRANT READ TO "_world");
        RECORD TYPE Users (nick STRING);
        """

    @Test func typesFieldsAndGrantsOfBothAreThere() throws {
        let here = try schema(
            """
            RECORD TYPE Note (title STRING SORTABLE, stars INT64, GRANT WRITE TO "_creator");
            RECORD TYPE Own (a STRING);
            """
        )
        let joined = try MigrationSchema(schema(note), into: here, keepsOrigin: true)
        #expect(joined.types == ["Note"])
        #expect(joined.joined.roles == ["editor"])
        #expect(joined.joined.recordTypes.map(\.name) == ["Note", "Own", "Users"])
        let type = try #require(joined.joined.recordType("Note"))
        #expect(type.field("title")?.indexes == [.queryable, .sortable])
        #expect(type.field("stars") != nil)
        #expect(type.grants.map(\.role) == ["_creator", "_world"])
        #expect(type.field("originModified")?.indexes == [.queryable, .sortable])
        #expect(joined.columns["Note"]?["secret"] == .encrypted(.string))
        // Users have records of their own, which no migration marks.
        #expect(joined.columns["Users"] == ["nick": .one(.string)])
        // Nothing of what is here goes.
        #expect(SchemaDifference(from: here, to: joined.joined).removals.isEmpty)
        let again = try MigrationSchema(schema(note), into: joined.joined, keepsOrigin: true)
        #expect(again.joined == joined.joined)
    }

    @Test func typesOfCreatorsAreKnown() throws {
        let file = try schema(
            """
            CREATE ROLE editor;
            RECORD TYPE All (a STRING, GRANT READ TO "_world");
            RECORD TYPE Mine (a STRING, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
            RECORD TYPE Some (a STRING, GRANT READ TO "_creator", GRANT READ TO editor);
            RECORD TYPE Write (a STRING, GRANT WRITE TO "_world", GRANT READ TO "_creator");
            """
        )
        let hidden = try MigrationSchema(file, into: Schema(), keepsOrigin: true).hidden
        #expect(hidden == ["Mine", "Write"])
    }

    @Test func withoutOriginNothingIsAdded() throws {
        let joined = try MigrationSchema(schema(note), into: Schema(), keepsOrigin: false)
        #expect(joined.columns["Note"]?.keys.sorted() == ["secret", "title"])
    }

    @Test func anotherTypeOfOneFieldIsRefused() throws {
        let here = try schema("RECORD TYPE Note (title INT64);")
        var found = #expect(throws: InputProblem.self) {
            _ = try MigrationSchema(schema(note), into: here, keepsOrigin: true)
        }
        #expect(found?.message.contains("field 'title' of type 'Note' is STRING") == true)
        let own = try schema("RECORD TYPE Note (originCreated STRING);")
        found = #expect(throws: InputProblem.self) {
            _ = try MigrationSchema(own, into: Schema(), keepsOrigin: true)
        }
        #expect(found?.message.contains("--no-origin") == true)
        _ = try MigrationSchema(own, into: Schema(), keepsOrigin: false)
    }

    /// Fields of a migration into the source are good; an app's own one would lose its values.
    @Test func originFieldsOfTheSourceStay() throws {
        let times = "originCreated TIMESTAMP, originModified TIMESTAMP"
        let all =
            "\(times), originCreatedBy STRING, originModifiedBy STRING, originContainer STRING"
        let known = try schema("RECORD TYPE Note (\(all));")
        let joined = try MigrationSchema(known, into: Schema(), keepsOrigin: true)
        #expect(joined.columns["Note"]?.count == 5)
        let some = try schema("RECORD TYPE Note (\(times));")
        #expect(try MigrationSchema(some, into: Schema(), keepsOrigin: true).types == ["Note"])
        let own = try schema("RECORD TYPE Note (originContainer STRING);")
        let found = #expect(throws: InputProblem.self) {
            _ = try MigrationSchema(own, into: Schema(), keepsOrigin: true)
        }
        #expect(found?.message.contains("rename the field") == true)
    }
}
