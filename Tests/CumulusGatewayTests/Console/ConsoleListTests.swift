// Records that the console lists without an index, and a schema that it reads before an import.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct ConsoleListTests {
    private static let schema =
        WebUser.schema + """

            RECORD TYPE Memo (
                title STRING, GRANT READ TO "_world", GRANT CREATE TO "_icloud"
            );
            RECORD TYPE Other (
                title STRING, GRANT READ TO "_world", GRANT CREATE TO "_icloud"
            );
            """

    /// Saves records of two types by turns, whose names are in the order of the numbers.
    private func save(_ count: Int, in database: Database) async throws {
        for number in 0..<count {
            let id = Record.ID(recordName: "r\(100 + number)")
            var record = Record(
                recordType: number.isMultiple(of: 2) ? "Memo" : "Other",
                recordID: id
            )
            record["title"] = .string("title \(number)")
            _ = try await database.save(record)
        }
    }

    private func names(_ answer: ConsoleUser.Answer) -> [String] {
        answer.entries("records").compactMap { $0["recordName"]?.string }
    }

    @Test func aTypeWithoutAnIndexIsListedPageByPage() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            try await server.importSchema(Self.schema)
            let user = try await server.container(user: "ann")
            try await save(11, in: user.publicCloudDatabase)
            await user.close()
            let query = try await browser.post(
                "query",
                inScope(["database": "public", "type": "Memo"])
            )
            #expect(query.status == 400)

            let list = "list?\(scopeQuery)&database=public&type=Memo&limit=2"
            var found: [String] = []
            var after: String? = ""
            var pages = 0
            while let start = after {
                let answer = try await browser.get(start.isEmpty ? list : "\(list)&after=\(start)")
                #expect(answer.status == 200, "\(answer.json.text)")
                found += names(answer)
                after = answer.json["after"]?.string
                pages += 1
            }
            #expect(found == ["r100", "r102", "r104", "r106", "r108", "r110"])
            #expect(pages >= 3 && pages <= 4)
            let first = try await browser.get(list)
            #expect(first.entries("records").first?.field("title") == "title 0")
        }
    }

    @Test func privateRecordsAreListedForTheirUserOnly() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            try await server.importSchema(Self.schema)
            let token = try await server.makeUser("ann")
            let user = server.container(token: token)
            try await save(3, in: user.privateCloudDatabase)
            await user.close()
            let list = "list?\(scopeQuery)&database=private&type=Memo"
            #expect(try await browser.get(list).status != 200)
            #expect(try await browser.get("\(list)&as=user").status == 403)
            let act = inScope(["accessToken": .string(token)])
            #expect(try await browser.post("user", act).status == 200)
            let answer = try await browser.get("\(list)&as=user")
            #expect(names(answer) == ["r100", "r102"])
            #expect(answer.json["after"] == nil)
        }
    }

    @Test func aListNamesAType() async throws {
        try await withConsole { browser, _ in
            #expect(try await browser.get("list?\(scopeQuery)").status == 401)
            _ = try await browser.signIn()
            for query in ["database=public", "type=Note", "database=public&type=Note&limit=x"] {
                #expect(try await browser.get("list?\(scopeQuery)&\(query)").status == 400)
            }
        }
    }

    @Test func aTextIsReadBeforeItIsImported() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            let before = try await browser.get("schema?\(scopeQuery)").json["text"]
            let text = WebUser.schema.replacing(
                "price DOUBLE",
                with: "price DOUBLE, extra STRING SORTABLE"
            )
            let answer = try await browser.post("schema/parse", inScope(["text": .string(text)]))
            #expect(answer.status == 200, "\(answer.json.text)")
            #expect(answer.entries("changes").contains("+ field Note.extra STRING SORTABLE"))
            let note = try #require(answer.entries("types").first { $0["name"] == "Note" })
            guard case .array(let fields)? = note["fields"] else {
                return #expect(Bool(false), "\(note)")
            }
            let extra = try #require(fields.first { $0["name"] == "extra" })
            #expect(extra["indexes"] == .array(["SORTABLE"]))
            #expect(extra["possible"] == .array(["QUERYABLE", "SORTABLE", "SEARCHABLE"]))
            // The text in its usual form means the same.
            let usual = try #require(answer.json["text"])
            let again = try await browser.post("schema/parse", inScope(["text": usual]))
            #expect(again.json["text"] == usual)
            #expect(try await browser.get("schema?\(scopeQuery)").json["text"] == before)
        }
    }

    @Test func aMistakeInATextHasItsPlace() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            let text = "DEFINE SCHEMA\nRECORD TYPE X (\n a FOO\n);"
            let answer = try await browser.post("schema/parse", inScope(["text": .string(text)]))
            #expect(answer.status == 400)
            #expect(answer.json["reason"]?.string?.hasPrefix("3:4: ") == true)
        }
    }
}
