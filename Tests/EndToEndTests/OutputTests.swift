// What becomes of a command's output: a pipe that nobody reads any more, a disk that is full.

import CumulusTesting
import Foundation
import Testing

@testable import CumulusCLI

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
            ["schema", "import", schema], ["zone", "create", "Notes", "--database", "private"],
            ["import", file, "--type", "Note", "--zone", "Notes", "--database", "private"],
        ] {
            let run = try await CommandLineRun(words, variables: variables)
            #expect(run.code == 0, "\(run.errors)")
        }
    }

    // MARK: Pipes

    /// As any tool does: the first lines are what its reader wanted, and the rest is not fetched.
    ///
    /// The output of each is longer than what a pipe holds.
    @Test func aListEndsWithItsReader() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        try await fill(2_000, variables)
        let place = ["--zone", "Notes", "--database", "private"]
        let token = "\(folder.path)/notes.token"
        for words in [
            ["record", "list"] + place, ["record", "list", "--json"] + place,
            ["export", "--type", "Note"] + place, ["query", "Note", "--all"] + place,
            ["query", "Note", "--all", "--json"] + place,
            ["changes", "records", "Notes", "--token-file", token],
            ["changes", "records", "Notes", "--token-file", token, "--json"],
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
        // What nobody saw is shown again the next time.
        #expect(!FileManager.default.fileExists(atPath: token))
    }

    // MARK: Full disks

    @Test func whatCanNotBeWrittenEndsWith74() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        try await fill(1, variables)
        let place = ["--zone", "Notes", "--database", "private"]
        for words in [
            ["--help"], ["record", "list", "--help"], ["--version"], ["config", "show"], ["status"],
            ["record", "list"] + place, ["record", "list", "--json"] + place,
            ["export", "--type", "Note"] + place, ["record", "get", "n0"] + place,
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
}
