// `cumulus query` and `cumulus schema` with a real node: what is found equals what a plain loop
// over the file finds, and a schema goes its way into production.

import Cumulus
import CumulusTesting
import CumulusTransfer
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct QueryTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private static let fixture = Checkout.file("Tests/CumulusTransferTests/Fixtures/places.jsonl")
        .path

    /// The lines of the fixture.
    private static func places() throws -> [Record] {
        try String(contentsOfFile: fixture, encoding: .utf8).split(separator: "\n").map {
            try Record(line: JSONReader.read($0.utf8), type: "Place")
        }
    }

    private func variables(_ node: NodeProcess) async throws -> [String: String] {
        [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_DATABASE": "public",
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
    }

    private func cumulus(
        _ words: [String],
        _ variables: [String: String]
    ) async throws -> CommandLineRun {
        let run = try await CommandLineRun(words, variables: variables)
        #expect(run.code == 0, "\(run.errors)")
        return run
    }

    /// The names that a query finds, in their order.
    private func names(
        _ words: [String],
        _ variables: [String: String]
    ) async throws -> [String] {
        let run = try await cumulus(["query", "Place", "--json", "--keys", ""] + words, variables)
        guard case .array(let records) = try JSONReader.read(run.output.utf8) else { return [] }
        return records.compactMap { record in
            guard case .string(let name)? = record["recordName"] else { return nil }
            return name
        }
    }

    private func expected(
        _ isMeant: (Record) -> Bool,
        by precedes: (Record, Record) -> Bool = { _, _ in false },
        namesFall: Bool = false
    ) throws -> [String] {
        let byName = try Self.places().filter(isMeant)
            .sorted { $0.recordID.recordName < $1.recordID.recordName }
        // Stable: names decide between equals.
        return (namesFall ? byName.reversed() : byName).sorted(by: precedes)
            .map(\.recordID.recordName)
    }

    @Test func queriesFindWhatALoopFinds() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        _ = try await cumulus(["import", "Place", Self.fixture], variables)

        let large = try await names(
            ["--where", "inhabitants > 1000 AND tags CONTAINS 'hill'", "--sort", "-inhabitants"],
            variables
        )
        #expect(
            try large
                == expected(
                    { ($0["inhabitants"]?.int64 ?? 0) > 1_000 && $0.has(tag: "hill") },
                    by: { ($0["inhabitants"]?.int64 ?? 0) > ($1["inhabitants"]?.int64 ?? 0) },
                    namesFall: true
                )
        )
        #expect(large.count > 5)

        let dated = try await names(
            [
                "--where", "founded >= CAST('1990-01-01', 'NSDate')", "--sort", "founded", "--all",
                "--limit", "7",
            ],
            variables
        )
        let start: Int64 = 631_152_000_000
        #expect(
            try dated
                == expected(
                    { $0.founded.map { $0 >= start } ?? false },
                    by: { ($0.founded ?? 0) < ($1.founded ?? 0) }
                )
        )
        #expect(dated.count > 14)

        let count = try await cumulus(
            ["query", "Place", "--where", "founded == nil", "--extensions", "--count"],
            variables
        )
        #expect(try count.output == "\(expected { $0.founded == nil }.count)\n")
    }

    @Test func refusalsSayWhatToDo() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        _ = try await cumulus(["import", "Place", Self.fixture], variables)
        for (words, code, message) in [
            (["--where", "inhabitants LIKE 'x'"], 64 as Int32, "LIKE"),
            (["--where", "nothing == 1"], 1, "Unknown field 'nothing'"),
            (
                ["--sort", "inhabitants"], 1,
                "operator: 'cumulus index add Place ___recordID --kind queryable'"
            ),
            (["--where", "recordName == 'a'"], 1, "'cumulus index add Place ___recordID"),
            (["--where", "inhabitants == nil"], 1, "a test for nil is not supported by CloudKit"),
            (["--count", "--all"], 64, "Give one of --all, --count and --explain"),
        ] {
            let run = try await CommandLineRun(["query", "Place"] + words, variables: variables)
            #expect(run.code == code, "\(run.errors)")
            #expect(run.errors.contains(message), "\(run.errors)")
        }
    }

    /// What a type without an index shows is what it shows with one.
    @Test func allRecordsOfATypeNeedNoIndex() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        _ = try await cumulus(["import", Self.fixture, "--type", "Place"], variables)
        _ = try await cumulus(["record", "save", "Other", "aaa"], variables)
        let all = try expected { _ in true }
        for isIndexed in [false, true] {
            if isIndexed {
                let add = ["index", "add", "Place", "recordName", "--kind", "queryable"]
                let added = try await cumulus(add, variables)
                let change = "~ field Place.___recordID indexes: none -> QUERYABLE"
                #expect(added.output == "\(change)\n1 change, made\n")
            }
            #expect(try await names(["--all"], variables) == all)
            #expect(try await names(["--limit", "3"], variables) == Array(all.prefix(3)))
            let count = try await cumulus(["query", "Place", "--count"], variables)
            #expect(count.output == "\(all.count)\n")
            let few = try await cumulus(["query", "Place", "--limit", "3"], variables)
            #expect(few.errors.contains("--all fetches them"))
            let plan = try await cumulus(["query", "Place", "--explain"], variables)
            #expect(plan.output.contains("no index") == !isIndexed, "\(plan.output)")
        }
        let unknown = try await CommandLineRun(["query", "Nothing"], variables: variables)
        #expect(unknown.code == 1 && unknown.errors.contains("Did not find record type: Nothing"))

        // All zones of the private database are searched.
        var mine = variables
        mine["CUMULUS_DATABASE"] = "private"
        _ = try await cumulus(["zone", "create", "Trips"], mine)
        _ = try await cumulus(["record", "save", "Other", "b", "--zone", "Trips"], mine)
        _ = try await cumulus(["record", "save", "Other", "a"], mine)
        let found = try await cumulus(["query", "Other"], mine)
        let rows = found.output.split(separator: "\n").dropFirst().map { line in
            line.split(separator: " ").prefix(2).joined(separator: " ")
        }
        #expect(rows == ["Trips b", "_defaultZone a"])
        let one = try await cumulus(["query", "Other", "--zone", "Trips", "--count"], mine)
        #expect(one.output == "1\n")
    }

    /// A full disk or a reader that has gone causes no crash and no exit code of success.
    @Test func whatCanNotBeWrittenIsToldByTheExitCode() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        _ = try await cumulus(["import", "Place", Self.fixture], variables)
        let program = try ChildProcess.builtProgram("cumulus")
        for (comparison, output, code) in [
            ("inhabitants > 0", "/dev/full", 74 as Int32), ("inhabitants > 0", "/dev/null", 0),
            ("nothing == 1", "/dev/null", 1),
        ] {
            let process = try ChildProcess(
                [program, "query", "Place", "--limit", "1", "--where", comparison],
                variables: variables,
                output: output,
                errors: "/dev/full"
            )
            guard case .exit(code) = try await process.waitForEnd(seconds: 20) else {
                Issue.record("\(comparison) into \(output) did not end with \(code)")
                continue
            }
        }
    }

    @Test func aSchemaGoesItsWayIntoProduction() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        let production = ["--environment", "production"]
        let file = "\(folder.path)/app.ckdb"
        let save = ["record", "save", "Note", "first", "--field", "title=Hello"]
        let tooEarly = try await CommandLineRun(save + production, variables: variables)
        #expect(tooEarly.errors.contains("Cannot create new type Note in production schema"))

        _ = try await cumulus(save, variables)
        _ = try await cumulus(["schema", "export", "--output", file], variables)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("        title           STRING QUERYABLE SEARCHABLE SORTABLE"))
        let wanted = text.replacing(/("___recordID" +REFERENCE),/, maxReplacements: 1) {
            "\($0.1) QUERYABLE,"
        }
        try Data(wanted.utf8).write(to: URL(filePath: file))
        let change = "~ field Note.___recordID indexes: none -> QUERYABLE"
        let check = try await cumulus(["schema", "validate", file], variables)
        #expect(check.output == "\(change)\n1 change, not made yet\n")
        let made = try await cumulus(["schema", "import", file], variables)
        #expect(made.output == "\(change)\n1 change, imported\n")
        let all = try await cumulus(["query", "Note", "--json"], variables)
        #expect(all.output.contains("first"))

        let difference = try await cumulus(["schema", "diff"], variables)
        #expect(difference.output.contains("+ type Note"))
        let shown = try await cumulus(["schema", "deploy"], variables)
        #expect(shown.errors.contains("--yes deploys it"))
        let still = try await CommandLineRun(save + production, variables: variables)
        #expect(still.code == 1)
        _ = try await cumulus(["schema", "deploy", "--yes"], variables)
        _ = try await cumulus(save + production, variables)
        let none = try await cumulus(["schema", "diff", "--json"], variables)
        #expect(try JSONReader.read(none.output.utf8)["changes"] == .array([]))
    }

    @Test func whatASchemaDropsStaysAwayOverAKill() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        var variables = try await variables(node)
        let file = "\(folder.path)/app.ckdb"
        let save = ["record", "save", "Note", "first"]
        _ = try await cumulus(save + ["--field", "title=Hello", "--field", "draft=yes"], variables)
        let short = """
            DEFINE SCHEMA RECORD TYPE Note (
                title STRING QUERYABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            """
        try Data(short.utf8).write(to: URL(filePath: file))
        let unasked = try await CommandLineRun(["schema", "import", file], variables: variables)
        #expect(unasked.code == 1)
        #expect(unasked.errors.contains("records hold of it): - field Note.draft STRING"))
        let check = try await cumulus(["schema", "validate", file], variables)
        #expect(check.output.contains("- field Note.draft STRING"))
        let dropped = try await cumulus(["schema", "import", file, "--drop"], variables)
        #expect(dropped.output.contains("- field Note.draft STRING"))
        let left = try await cumulus(["record", "get", "first"], variables)
        #expect(left.output.contains("Hello") && !left.output.contains("draft"))

        let plan = try await cumulus(["schema", "reset"], variables)
        #expect(plan.output.hasSuffix("1 change, 1 zone with all records, not made yet\n"))
        #expect(plan.errors.contains("--yes resets development"))
        let reset = try await cumulus(["schema", "reset", "--yes", "--json"], variables)
        let answer = try JSONReader.read(reset.output.utf8)
        #expect(answer["changes"] == .array(["- type Note"]))
        #expect(answer["zones"] == .integer(1) && answer["made"] == .bool(true))
        try await node.end(SIGKILL)

        let again = try await NodeProcess.ready(data: folder.node)
        variables["CUMULUS_ENDPOINT"] = try again.endpoint
        let gone = try await CommandLineRun(["record", "get", "first"], variables: variables)
        #expect(gone.errors.contains("Record not found"))
        _ = try await cumulus(save + ["--increment", "draft=5"], variables)
        let found = try await cumulus(["query", "Note", "--where", "draft == 5"], variables)
        #expect(found.output.contains("first"))
        let nothing = try await CommandLineRun(
            ["schema", "reset", "--environment", "production"],
            variables: variables
        )
        #expect(nothing.errors.contains("leave --environment out"))
        try await again.end(SIGKILL)
    }

    @Test func aWrongFileIsNamedWithItsLine() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        let file = "\(folder.path)/app.ckdb"
        try Data("DEFINE SCHEMA\nRECORD TYPE T (\n  a STRNG\n);\n".utf8)
            .write(to: URL(filePath: file))
        let run = try await CommandLineRun(["schema", "import", file], variables: variables)
        #expect(run.code == 65)
        #expect(run.errors.hasPrefix("cumulus: \(file):3:5: "), "\(run.errors)")
    }
}

extension Record {
    fileprivate func has(tag: String) -> Bool {
        self["tags"]?.list?.contains(.string(tag)) ?? false
    }

    /// Milliseconds since 1970.
    fileprivate var founded: Int64? { self["founded"]?.timestamp?.millisecondsSince1970 }
}
