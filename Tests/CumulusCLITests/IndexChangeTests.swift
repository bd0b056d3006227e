// `cumulus index add` and `remove`: what they make of a schema, and of nothing else in it.

import ArgumentParser
import CumulusModel
import Testing

@testable import CumulusCLI

@Suite struct IndexChangeTests {
    private static let text = """
        DEFINE SCHEMA
            CREATE ROLE Editor;
            RECORD TYPE City (
                name STRING SEARCHABLE, people INT64, photo ASSET, recordName STRING,
                GRANT READ TO "_world", GRANT WRITE TO Editor
            );
            RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE);
        """

    private func changes(
        _ type: String,
        _ fields: String...,
        kinds: Schema.Indexes? = nil,
        adds: Bool = true
    ) throws -> [String] {
        let schema = try Schema(ckdb: Self.text)
        let change = IndexChange(recordType: type, fields: fields, kinds: kinds, isAdded: adds)
        let changed = try change.applied(to: schema)
        // What is printed is read again as the same.
        #expect(try Schema(ckdb: changed.ckdb) == changed)
        return SchemaDifference(from: schema, to: changed).changes.map(\.description)
    }

    @Test func indexesComeAndGo() throws {
        #expect(
            try changes("City", "people")
                == ["~ field City.people indexes: none -> QUERYABLE SORTABLE"]
        )
        #expect(
            try changes("City", "name", "people", kinds: .queryable) == [
                "~ field City.name indexes: SEARCHABLE -> QUERYABLE SEARCHABLE",
                "~ field City.people indexes: none -> QUERYABLE",
            ]
        )
        #expect(
            try changes("City", "name", adds: false)
                == ["~ field City.name indexes: SEARCHABLE -> none"]
        )
        #expect(try changes("City", "name", kinds: .queryable, adds: false) == [])
        #expect(try changes("Note", "text", kinds: .queryable) == [])
    }

    /// A type may have a field of a name that elsewhere means the record's own name.
    @Test func systemFieldsHaveTheNamesOfQueries() throws {
        let added = "~ field City.___recordID indexes: none -> QUERYABLE"
        #expect(try changes("City", "recordID", kinds: .queryable) == [added])
        #expect(try changes("City", "___recordID", kinds: .queryable) == [added])
        #expect(
            try changes("City", "recordName", kinds: .queryable)
                == ["~ field City.recordName indexes: none -> QUERYABLE"]
        )
        #expect(
            try changes("Note", "recordName", adds: false)
                == ["~ field Note.___recordID indexes: QUERYABLE -> none"]
        )
        #expect(
            try changes("Note", "modifiedTimestamp", kinds: .sortable)
                == ["~ field Note.___modTime indexes: none -> SORTABLE"]
        )
    }

    @Test(
        arguments: [
            ("Town", "name", nil, "Did not find record type: Town; 'cumulus schema export'"),
            ("Note", "title", nil, "type Note has no field 'title'; it has text"),
            ("City", "photo", nil, "field 'photo' of type City holds ASSET, which can be in no"),
            ("City", "people", .searchable, "holds INT64, which can be queryable and sortable"),
        ] as [(String, String, Schema.Indexes?, String)]
    )
    func whatCanNotBeIsSaid(
        type: String,
        field: String,
        kinds: Schema.Indexes?,
        message: String
    ) throws {
        let error = #expect(throws: ServiceError.self) {
            try changes(type, field, kinds: kinds)
        }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test func kindsAreWordsWithCommas() throws {
        #expect(IndexKinds(argument: "queryable")?.indexes == .queryable)
        #expect(IndexKinds(argument: "Sortable, SEARCHABLE")?.indexes == [.sortable, .searchable])
        for word in ["", "queryable,", "index"] { #expect(IndexKinds(argument: word) == nil) }
        let words = ["index", "add", "City", "name", "people", "--kind", "queryable,sortable"]
        let command = try #require(try Main.parseAsRoot(words) as? IndexCommand.Add)
        #expect(command.options.type == "City" && command.options.fields == ["name", "people"])
        #expect(command.kind?.indexes == [.queryable, .sortable])
        for words in [["index", "add", "City"], ["index", "remove"]] {
            #expect(throws: (any Error).self) { try Main.parseAsRoot(words) }
        }
    }
}
