// The schema language: reading and printing, which invert each other.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite struct SchemaLanguageTests {
    /// Tools print it like this where record names are sorted by.
    @Test func recordNamesMayBeSortable() throws {
        let text = #"DEFINE SCHEMA RECORD TYPE T ("___recordID" REFERENCE QUERYABLE SORTABLE);"#
        let schema = try Schema(ckdb: text)
        let field = schema.recordType("T")?.field("___recordID")
        #expect(field?.indexes == [.queryable, .sortable])
        #expect(try Schema(ckdb: schema.ckdb) == schema)
        for other in ["___createdBy", "of"] {
            #expect(throws: SchemaLanguageError.self) {
                try Schema(ckdb: #"DEFINE SCHEMA RECORD TYPE T ("\#(other)" REFERENCE SORTABLE);"#)
            }
        }
    }

    /// Else one long name would make the text of a large schema many times as long.
    @Test func longNamesAreNotAligned() throws {
        let long = String(repeating: "l", count: 200)
        let schema = try Self.roundTrip("DEFINE SCHEMA RECORD TYPE T (a INT64, \(long) STRING);")
        let lines = schema.ckdb.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
        #expect(lines.contains("\(long) STRING"))
        #expect(lines.contains { $0 == "a" + String(repeating: " ", count: 64) + "INT64," })
    }

    static func fixture(_ name: String) throws -> String {
        let file = Checkout.file("Tests/CumulusModelTests/Fixtures/\(name)")
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// Reads a text and checks that what it is read as survives printing.
    @discardableResult
    static func roundTrip(_ text: String) throws(SchemaLanguageError) -> Schema {
        let schema = try Schema(ckdb: text)
        let printed = schema.ckdb
        let again = try Schema(ckdb: printed)
        #expect(again == schema)
        #expect(Bytes(again.ckdb.utf8) == Bytes(printed.utf8))
        return schema
    }

    static func type(_ items: String) throws -> Schema.RecordType {
        let schema = try roundTrip("DEFINE SCHEMA RECORD TYPE T (\(items));")
        return try #require(schema.recordType("T"))
    }

    static let example = """
        DEFINE SCHEMA

            CREATE ROLE Moderator;

            RECORD TYPE Trail (
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE QUERYABLE,
                cover           ASSET,
                labels          LIST<STRING> QUERYABLE,
                lengthMeters    INT64 QUERYABLE SORTABLE,
                privateNote     ENCRYPTED STRING,
                region          REFERENCE QUERYABLE,
                start           LOCATION QUERYABLE,
                title           STRING QUERYABLE SEARCHABLE SORTABLE,
                GRANT READ, WRITE TO Moderator,
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

    @Test func aPrintedSchemaIsPrintedAsItStands() throws {
        #expect(try Schema(ckdb: Self.example).ckdb == Self.example)
    }

    @Test func aSchemaIsFoundByItsNames() throws {
        let schema = try Schema(ckdb: Self.example)
        #expect(schema.roles == ["Moderator"])
        #expect(schema.recordTypes.map(\.name) == ["Trail", "Users"])
        let title = try #require(schema.recordType("Trail")?.field("title"))
        #expect(title.typeName == "STRING")
        #expect(title.indexes == [.queryable, .sortable, .searchable])
        #expect(schema.recordType("trail") == nil)
        #expect(schema.recordType("Users")?.field("___recordID") == nil)
        let grant = Schema.Grant(role: "Moderator", permissions: [.read, .write])
        #expect(schema.recordType("Trail")?.grants.first == grant)
    }

    @Test(arguments: RandomSchemas.types)
    func everyTypeIsReadWithTheIndexesThatItCanCarry(type: DeclaredType) throws {
        for (word, index): (String, Schema.Indexes) in [
            ("", []), ("QUERYABLE", .queryable), ("SORTABLE", .sortable),
            ("SEARCHABLE", .searchable),
        ] {
            let item = "f \(type.name) \(word)"
            if type.possibleIndexes.contains(index) {
                let field = try #require(Self.type(item).field("f"))
                #expect(field.type == type)
                #expect(field.typeName == type.name)
                #expect(field.indexes == index)
            } else {
                #expect(throws: SchemaLanguageError.self) { try Self.type(item) }
            }
        }
    }

    @Test func numbersKeepWhatTheyPrefer() throws {
        let type = try Self.type(
            "a NUMBER, b NUMBER PREFERRED AS INT64, c NUMBER PREFERRED AS DOUBLE"
        )
        #expect(
            type.fields.map(\.type) == [
                .number(preferred: nil), .number(preferred: .int64), .number(preferred: .double),
            ]
        )
        let stored = type.fields.map(\.type.storedType)
        #expect(stored == [.one(.double), .one(.int64), .one(.double)])
    }

    @Test func keywordsMayBeInAnyCaseAndNamesMayNot() throws {
        let text = """
            define Schema create role r;
            record type T(a string queryable searchable Sortable,b list<int64>,
            c encrypted bytes,d number preferred as double,e list<Encrypted string>,
            grant read,create,write to r);
            """
        #expect(try Self.roundTrip(text) == Schema(ckdb: text.replacing("string", with: "STRING")))
        #expect(try Self.type("a STRING, A STRING").fields.map(\.name) == ["A", "a"])
    }

    @Test func commentsBlanksAndAByteOrderMarkAreNothing() throws {
        let plain = "DEFINE SCHEMA RECORD TYPE T ( a LIST < STRING > , b INT64 ) ;"
        let schema = try Schema(ckdb: plain)
        let blanks = ["\n", "\r\n", "\t", "// é \"\n", "-- ;\n", "/**/", "/* // */", "/***/"]
        for blank in blanks {
            #expect(try Schema(ckdb: plain.replacing(" ", with: blank + " ")) == schema)
        }
        #expect(try Schema(ckdb: "\u{FEFF}" + plain) == schema)
        #expect(try Schema(ckdb: plain + "// no end of line") == schema)
        #expect(try Schema(ckdb: "DEFINE SCHEMA").ckdb == "DEFINE SCHEMA\n")
    }

    @Test func namesAreQuotedWhereTheyMust() throws {
        for word in ["grant", "GRANT", "String", "as", "type", "sortable", "write"] {
            let text = try Schema(ckdb: "DEFINE SCHEMA RECORD TYPE \"\(word)\" (a BYTES);").ckdb
            #expect(text.contains("RECORD TYPE \"\(word)\" ("))
        }
        let roles = "CREATE ROLE \"a b\"; CREATE ROLE \"ab\"; CREATE ROLE \"9\";"
        let text = try Self.roundTrip("DEFINE SCHEMA \(roles)").ckdb
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(
            lines == [
                "DEFINE SCHEMA", "CREATE ROLE \"9\";", "CREATE ROLE \"a b\";", "CREATE ROLE ab;",
            ]
        )
    }

    @Test func keywordsAreNamesWhereOnlyANameCanStand() throws {
        let type = try Self.type("type STRING, list LIST<STRING>, to REFERENCE, \"grant\" STRING")
        #expect(type.fields.map(\.name) == ["grant", "list", "to", "type"])
    }

    @Test func systemFieldsAreListedOnlyWithAnIndex() throws {
        let all = SystemField.allCases.map { "\"\($0.rawValue)\" \($0.kind.name)" }
        let silent = try Self.type(all.joined(separator: ","))
        #expect(silent.fields.isEmpty)
        #expect(try Self.type("\"___etag\" STRING") == silent)
        let loud = try Self.type(all.map { $0 + " QUERYABLE" }.joined(separator: ","))
        #expect(loud.fields.map(\.name) == SystemField.allCases.map(\.rawValue).sorted())
    }

    @Test func grantsOfOneRoleComeTogether() throws {
        let type = try Self.type(
            """
            GRANT READ TO "_world", GRANT READ, CREATE TO "_icloud", a STRING,
            GRANT WRITE, READ TO "_world"
            """
        )
        #expect(
            type.grants == [
                .init(role: "_icloud", permissions: [.read, .create]),
                .init(role: "_world", permissions: [.read, .write]),
            ]
        )
    }

    @Test func aChangedValueIsInOrderAgain() throws {
        var schema = try Schema(ckdb: Self.example)
        schema.roles.insert("Zoe", at: 0)
        schema.recordTypes[1].name = "Account"
        #expect(schema.recordTypes.map(\.name) == ["Account", "Trail"])
        schema.recordTypes[1].fields[1].indexes = []
        schema.recordTypes[1].grants.append(.init(role: "Moderator", permissions: .create))
        schema.recordTypes[1].grants.append(.init(role: "Zoe", permissions: []))
        #expect(schema.recordType("Trail")?.field("___recordID") == nil)
        #expect(schema.recordType("Trail")?.grants.count == 4)
        #expect(try Schema(ckdb: schema.ckdb) == schema)
        #expect(Schema.Indexes(rawValue: 0xFF).rawValue == 7)
        #expect(Schema.Permissions(rawValue: 0xFF).rawValue == 7)
    }

    @Test func systemFieldsAreKnownByAllTheirNames() {
        let names: [SystemField: [String]] = [
            .recordID: ["recordID", "recordName", "___recordID"],
            .createTime: ["creationDate", "createdTimestamp", "___createTime"],
            .createdBy: ["creatorUserRecordID", "createdUserRecordName", "___createdBy"],
            .modTime: ["modificationDate", "modifiedTimestamp", "___modTime"],
            .modifiedBy: ["lastModifiedUserRecordID", "modifiedUserRecordName", "___modifiedBy"],
            .etag: ["recordChangeTag", "___etag"],
            .parent: ["parent", "___parent"],
            .share: ["share", "___share"],
        ]
        #expect(Set(names.keys) == Set(SystemField.allCases))
        for (field, names) in names {
            #expect(names.allSatisfy { SystemField(key: $0) == field })
        }
        #expect(["", "title", "___x", "RecordID"].allSatisfy { SystemField(key: $0) == nil })
    }
}

@Suite struct SchemaLanguageRoundTripTests {
    @Test func theLongTextSurvives() throws {
        let text = try SchemaLanguageTests.fixture("everything.ckdb")
        let schema = try SchemaLanguageTests.roundTrip(text)
        #expect(schema.roles == ["Editor", "Moderator", "Park Ranger", "Translator", "read"])
        #expect(schema.recordTypes.count == 34)
        let types = Set(schema.recordTypes.flatMap(\.fields).map(\.type))
        #expect(types == Set(RandomSchemas.types))
        let editor = schema.recordType("Trail")?.grants.first { $0.role == "Editor" }
        #expect(editor?.permissions == [.read, .create, .write])
    }

    @Test func schemasOfChanceSurvive() throws {
        var schemas = RandomSchemas(seed: 1)
        var seen: Set<Schema> = []
        for _ in 0..<2_000 {
            let schema = schemas.next()
            #expect(try SchemaLanguageTests.roundTrip(schema.ckdb) == schema)
            seen.insert(schema)
        }
        #expect(seen.count > 1_500)
    }

    /// A cut text is read like its last statement alone, behind the roles: that is quicker.
    @Test func theLongTextCutAnywhereIsReadOrRefused() throws {
        let text = try SchemaLanguageTests.fixture("everything.ckdb")
        let types = try #require(text.firstRange(of: "    RECORD TYPE")).lowerBound
        let statements = text[types...].split(separator: ";\n").map { Bytes(($0 + ";\n").utf8) }
        let roles = Bytes(text[..<types].utf8)
        var accepted = 0
        for (start, end) in [([], roles)] + statements.map({ (roles, $0) }) {
            for length in 0...end.count {
                accepted += try Self.survives(
                    String(decoding: start + end[..<length], as: UTF8.self)
                )
            }
        }
        #expect(statements.count > 30)
        #expect((statements.count..<1_500).contains(accepted))
    }

    @Test func damagedTextsAreReadOrRefused() throws {
        let long = Bytes(try SchemaLanguageTests.fixture("everything.ckdb").utf8)
        var schemas = RandomSchemas(seed: 2)
        // Short ones, so that damage is where it matters and reading is quick.
        let texts = (0..<1_000).map { _ in Bytes(schemas.next().ckdb.utf8) }
            .filter { (50..<800).contains($0.count) }
        var damage = TextDamage(seed: 3)
        var accepted = 0
        for number in 0..<20_000 {
            let text = damage.text(number % 100 == 0 ? long : texts[number % texts.count])
            accepted += try Self.survives(text)
        }
        #expect(texts.count > 100)
        #expect((1_000..<15_000).contains(accepted))
    }

    /// 1 if a text is a schema, and then checks that it survives printing; else 0.
    static func survives(_ text: String) throws -> Int {
        guard (try? Schema(ckdb: text)) != nil else { return 0 }
        try SchemaLanguageTests.roundTrip(text)
        return 1
    }
}
