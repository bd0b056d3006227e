// What becomes of a command's output: a pipe that nobody reads any more, a disk that is full, and
// the bars that people see on a terminal.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct OutputTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    /// Words before which a shell puts `cumulus`, with this done to its output.
    private static func shell(_ line: String) -> [String] { ["/bin/bash", "-c", line, "bash"] }

    /// Signs in to a node as a user and as its operator.
    private func variables(_ node: NodeProcess) async throws -> [String: String] {
        [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
    }

    /// Saves some records of 300 bytes in the zone Notes, which queries may search.
    private func fill(_ count: Int, _ variables: [String: String]) async throws {
        let (schema, file) = ("\(folder.path)/app.ckdb", "\(folder.path)/notes.jsonl")
        try #"DEFINE SCHEMA RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, text STRING);"#
            .write(toFile: schema, atomically: true, encoding: .utf8)
        let text = String(repeating: "x", count: 300)
        try (0..<count).map { #"{"recordName":"n\#($0)","text":"\#(text)"}"# }
            .joined(separator: "\n")
            .write(toFile: file, atomically: true, encoding: .utf8)
        for words in [
            ["schema", "import", schema], ["zone", "create", "Notes"],
            ["import", "Note", file, "--zone", "Notes"],
        ] {
            let run = try await CommandLineRun(words, variables: variables)
            #expect(run.code == 0, "\(run.errors)")
        }
    }

    /// A user has a record name in each container: it is told of one that was named.
    @Test func aRecordNameIsToldOfANamedContainerOnly() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        let container = ["--container", NodeProcess.container]
        for (words, tellsIt) in [(["user", "add", "bob"], false), (["user", "add", "eve"], true)] {
            let run = try await CommandLineRun(
                words + (tellsIt ? container : []),
                variables: variables
            )
            #expect(run.code == 0, "\(run.errors)")
            #expect(run.output.contains("recordName") == tellsIt)
        }
    }

    @Test func topPrintsAnObjectPerSample() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let run = try await CommandLineRun(
            ["top", "--samples", "2", "--json"],
            variables: try await variables(node)
        )
        #expect(run.code == 0, "\(run.errors)")
        let samples = try run.output.split(separator: "\n").map { try JSONReader.read($0.utf8) }
        #expect(samples.count == 2)
        for sample in samples {
            #expect(sample["ready"] == .bool(true))
            guard case .integer(let bytes)? = sample["residentBytes"] else {
                Issue.record("\(run.output)")
                continue
            }
            #expect(bytes > 1 << 20)
        }
    }

    @Test(arguments: ["cumulus", "cumulus-bench", "cumulusd", "cumulus-sim"])
    func helpThatCantBeWrittenIsAFailure(program: String) async throws {
        let words = [try ChildProcess.builtProgram(program), "--help"]
        let process = try ChildProcess(
            Self.shell(#"exec "$@" >/dev/full"#) + words,
            variables: [:],
            output: "/dev/null",
            errors: "/dev/null"
        )
        #expect(try await process.waitForEnd(seconds: 10) == .exit(74))
    }

    // MARK: Pipes

    /// As any tool does: the first lines are what its reader wanted, and the rest is not fetched.
    ///
    /// The output of each is longer than what a pipe holds.
    @Test func aListEndsWithItsReader() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        try await fill(2_000, variables)
        let place = ["--zone", "Notes"]
        let token = "\(folder.path)/notes.token"
        for words in [
            ["record", "list"] + place, ["record", "list", "--json"] + place,
            ["export", "Note"] + place, ["query", "Note", "--all"] + place,
            ["query", "Note", "--all", "--json"] + place,
            ["changes", "records", "Notes", "--since", token],
            ["changes", "records", "Notes", "--since", token, "--json"],
        ] {
            let run = try await CommandLineRun(
                words,
                variables: variables,
                prefix: Self.shell(#""$@" | head -n 1; exit ${PIPESTATUS[0]}"#)
            )
            #expect(run.code == 141, "\(words)")
            #expect(run.errors.isEmpty, "\(words): \(run.errors)")
            #expect(run.output.split(separator: "\n").count == 1, "\(words)")
        }
        // Changes that were not shown are shown the next time.
        #expect(!FileManager.default.fileExists(atPath: token))
    }

    // MARK: Full disks

    @Test func whatCanNotBeWrittenEndsWith74() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        try await fill(1, variables)
        let place = ["--zone", "Notes"]
        for words in [
            ["--help"], ["record", "list", "--help"], ["--version"], ["config", "show"], ["status"],
            ["record", "list"] + place, ["record", "list", "--json"] + place,
            ["export", "Note"] + place, ["record", "get", "n0"] + place,
            ["schema", "export"],
        ] {
            let run = try await CommandLineRun(
                words,
                variables: variables,
                prefix: Self.shell(#"exec "$@" >/dev/full"#)
            )
            #expect(run.code == 74, "\(words)")
            #expect(run.errors.split(separator: "\n").count == 1, "\(words): \(run.errors)")
            #expect(run.errors.contains("No space left on device"), "\(words): \(run.errors)")
        }
    }

    // MARK: Terminals

    /// Runs a command with a terminal for its complaints; returns what people saw there.
    private func watch(
        _ words: [String],
        _ variables: [String: String],
        output: String? = nil
    ) async throws -> String {
        let terminal = try TestTerminal()
        let process = try ChildProcess(
            [try ChildProcess.builtProgram("cumulus")] + words,
            variables: variables,
            output: output ?? terminal.path,
            errors: terminal.path
        )
        let ending = try await process.waitForEnd(seconds: 60)
        let text = terminal.shown()
        #expect(ending == .exit(0), "\(words): \(text)")
        return text
    }

    /// Each way to end it gives the terminal back as it was; nothing is wider or longer than it.
    @Test(arguments: [nil, SIGINT, SIGTERM] as [Int32?]) func topGivesItsTerminalBack(
        signal: Int32?
    ) async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let terminal = try TestTerminal(columns: 80, rows: 24)
        let before = terminal.localModes
        var variables = try await variables(node)
        variables["TERM"] = "xterm"
        let process = try ChildProcess(
            [try ChildProcess.builtProgram("cumulus"), "top"],
            variables: variables,
            input: terminal.far,
            output: terminal.path,
            errors: terminal.path
        )
        var text = ""
        let isDrawn = try await eventually(seconds: 20) {
            text += terminal.shown()
            return text.contains("METHOD")
        }
        try #require(isDrawn, "\(text)")
        #expect(terminal.localModes & tcflag_t(ECHO | ICANON) == 0)
        if let signal { process.kill(signal) } else { terminal.type("xq") }
        #expect(try await process.waitForEnd(seconds: 10) == .exit(0))
        text += terminal.shown()
        #expect(terminal.localModes == before)
        #expect(text.hasPrefix("\u{1B}[?1049h") && text.hasSuffix("\u{1B}[?1049l"), "\(text)")
        // The terminal adds carriage returns.
        let plain = String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\r" }))
        let screens = plain.split(separator: "\u{1B}[H").dropFirst()
        for screen in screens {
            let lines = screen.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 24)
            for line in lines {
                #expect(line.replacing(/\u{1B}\[[?0-9]*[A-Za-z]/, with: "").count <= 80, "\(line)")
            }
        }
        #expect(screens.count > 1)
    }

    @Test func longCommandsShowHowFarTheyAre() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        try await fill(500, variables)
        let place = ["--zone", "Notes"]
        let file = "\(folder.path)/notes.jsonl"
        let put = ["asset", "put", "Photo", "front", "image", file] + place
        let made = try await CommandLineRun(put, variables: variables)
        #expect(made.code == 0, "\(made.errors)")
        let get = ["asset", "get", "front", "image", "--output", "-"] + place
        for (words, text) in [
            (["export", "Note"] + place, " record"),
            (["export", "Note", "--output", "\(folder.path)/copy"] + place, " record"),
            (get, "[####"), (["backup", "\(folder.path)/backup"], "making the backup"),
            (["index", "verify"], "comparing"),
        ] {
            let shown = try await watch(words, variables, output: "\(folder.path)/out")
            #expect(shown.contains("\u{1B}[K") && shown.contains(text), "\(words): \(shown)")
            // It is gone at the end.
            let rest = shown.split(separator: "\r").last?.replacing("\u{1B}[K", with: "") ?? ""
            #expect(rest.isEmpty || rest.contains("exported"), "\(words): \(shown)")
        }
        // Content and bar would stand in each other's lines.
        let both = try await watch(["export", "Photo"] + place, variables)
        #expect(both.contains("front") && !both.contains("\u{1B}[K"))
    }
}
