// `cumulus index` with a real node: indexes are built beside it, over a kill, and verified.

import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct IndexTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func cumulus(
        _ words: [String],
        _ variables: [String: String]
    ) async throws -> String {
        let run = try await CommandLineRun(words, variables: variables)
        #expect(run.code == 0, "\(run.errors)")
        return run.output
    }

    private func importSchema(_ fields: String, _ variables: [String: String]) async throws {
        let file = "\(folder.path)/app.ckdb"
        let grants = #"GRANT READ TO "_world", GRANT CREATE, WRITE TO "_icloud""#
        let text = "DEFINE SCHEMA RECORD TYPE Note (\(fields), \(grants));"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        _ = try await cumulus(["schema", "import", file], variables)
    }

    @Test func anIndexIsBuiltOverAKill() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        var variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_DATABASE": "public",
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        try await importSchema("n INT64, s STRING", variables)
        let lines = (0..<20_000).map { number in
            #"{"recordName":"r\#(number)","n":\#(number % 500),"s":"some words \#(number)"}"#
        }
        let file = "\(folder.path)/notes.jsonl"
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        _ = try await cumulus(["import", "Note", file], variables)
        let query = ["query", "Note", "--where", "n == 7", "--explain"]

        try await importSchema("n INT64 QUERYABLE, s STRING SEARCHABLE", variables)
        try await node.end(SIGKILL)
        let again = try await NodeProcess.ready(data: folder.node)
        variables["CUMULUS_ENDPOINT"] = try again.endpoint
        let found = try await cumulus(Array(query.dropLast()), variables)
        // Behind the names of the columns.
        #expect(found.split(separator: "\n").dropFirst().count == 40)
        while try await cumulus(["index", "list"], variables).contains("building") {
            try await Task.sleep(for: .milliseconds(50))
        }
        let verified = try await cumulus(["index", "verify", "Note"], variables)
        let rows = verified.split(separator: "\n").dropFirst().map { line in
            line.split(separator: " ").joined(separator: " ")
        }
        #expect(
            rows == [
                "Note n values INT64 ready 20000 0 0",
                "Note s words STRING ready 60000 0 0",
            ]
        )
        #expect(try await cumulus(query, variables).contains("index on 'n'"))

        let rebuilt = try await cumulus(["index", "rebuild", "Note", "--field", "n"], variables)
        #expect(rebuilt == "1 index, 1 ready\n")
        #expect(try await cumulus(query, variables).contains("index on 'n'"))
        try await again.end(SIGKILL)
    }

    @Test func indexesComeAndGo() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_DATABASE": "public",
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        try await importSchema("n INT64, s STRING", variables)
        _ = try await cumulus(["record", "save", "Note", "a", "--field", "n=7"], variables)
        let query = ["query", "Note", "--where", "n > 5", "--json"]
        let refused = try await CommandLineRun(query, variables: variables)
        #expect(refused.code == 1, "\(refused.output)")
        #expect(refused.errors.contains("Type is not marked indexable: Note"))
        #expect(refused.errors.contains("'cumulus index add Note FIELD --kind queryable'"))
        let sorted = ["query", "Note", "--sort", "n"]
        let order = try await CommandLineRun(sorted, variables: variables)
        #expect(order.errors.contains("'cumulus index add Note n --kind sortable'"))
        #expect(order.errors.contains("by 'n'"), "\(order.errors)")

        let add = ["index", "add", "Note", "n", "--kind"]
        let added = try await cumulus(add + ["queryable"], variables)
        #expect(added == "~ field Note.n indexes: none -> QUERYABLE\n1 change, made\n")
        let unsorted = try await CommandLineRun(query, variables: variables)
        #expect(unsorted.errors.contains("'cumulus index add Note n --kind sortable'"))
        let json = try await cumulus(add + ["sortable", "--json"], variables)
        #expect(json.contains("n indexes: QUERYABLE -> QUERYABLE SORTABLE"))
        #expect(try await cumulus(add + ["sortable"], variables) == "nothing to change\n")
        #expect(try await cumulus(query, variables).contains("\"a\""))
        let listed = try await cumulus(["index", "list", "Note"], variables)
        let words = listed.split(separator: "\n").last?.split(separator: " ")
        #expect(words?.prefix(5) == ["Note", "n", "QUERYABLE", "SORTABLE", "values"])

        let removed = try await cumulus(["index", "remove", "Note", "n"], variables)
        #expect(removed.hasPrefix("~ field Note.n indexes: QUERYABLE SORTABLE -> none\n"))
        #expect(try await CommandLineRun(query, variables: variables).code == 1)
        // The fields and what they hold are as they were.
        #expect(try await cumulus(["record", "get", "a"], variables).contains("7"))
        let nobody = try await CommandLineRun(
            add + ["queryable"],
            variables: ["CUMULUS_ENDPOINT": try node.endpoint]
        )
        #expect(nobody.code == 64 && nobody.errors.contains("this needs the operator's token"))
    }

    @Test func refusalsSayWhatToDo() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint,
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        for (words, code, message) in [
            (["verify", "Nothing"], 1 as Int32, "Did not find record type: Nothing"),
            (["list", "--field", "n"], 64, "Name the record type whose --field is meant."),
            (["add", "Nothing", "n"], 1, "Did not find record type: Nothing"),
            (["remove", "Users", "nope"], 1, "type Users has no field 'nope'"),
            (
                ["add", "Users", "roles", "--environment", "production"], 64,
                "'cumulus schema deploy --yes'"
            ),
            (["verify", "Users", "--field", "nope"], 1, "type Users has no field 'nope'"),
            (
                ["verify", "Users", "--field", "roles"], 1,
                "field 'roles' of type Users has no index"
            ),
        ] {
            let run = try await CommandLineRun(["index"] + words, variables: variables)
            #expect(run.code == code, "\(run.errors)")
            #expect(run.errors.contains(message), "\(run.errors)")
        }
    }
}
