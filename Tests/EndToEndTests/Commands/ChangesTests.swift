// `cumulus changes` with a real node: a file carries the token from one run to the next, over a
// restart of the node too, and --follow shows each change as it is made.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct ChangesTests {
    private let folder: TestFolder
    private let tokenFile: String

    init() throws {
        folder = try TestFolder()
        tokenFile = "\(folder.path)/notes.token"
    }

    private func run(_ words: [String], _ variables: [String: String]) async throws
        -> CommandLineRun
    {
        try await CommandLineRun(words, variables: variables)
    }

    /// What changed since the last run: kind and name of each change.
    private func changes(_ variables: [String: String]) async throws -> [String] {
        let words = ["changes", "records", "Notes", "--since", tokenFile, "--json"]
        let run = try await run(words, variables)
        #expect(run.code == 0, "\(run.errors)")
        guard case .array(let items) = try JSONReader.read(run.output.utf8) else { return [] }
        return items.compactMap { item in
            guard case .string(let change)? = item["change"],
                case .string(let name)? = item["recordName"] ?? item["record"]?["recordName"]
            else { return nil }
            return "\(change) \(name)"
        }.sorted()
    }

    @Test func eachRunShowsWhatChangedSinceTheLast() async throws {
        let node = try await NodeProcess.ready(data: folder.node, port: TestPort.free())
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
        ]
        let place = ["--zone", "Notes"]
        func cumulus(_ words: String...) async throws {
            let run = try await run(words, variables)
            #expect(run.code == 0, "\(run.errors)")
        }
        try await cumulus("zone", "create", "Notes")
        for name in ["a", "b"] {
            let run = try await run(["record", "save", "Note", name] + place, variables)
            #expect(run.code == 0, "\(run.errors)")
        }
        #expect(try await changes(variables) == ["saved a", "saved b"])
        #expect(try await changes(variables) == [])
        _ = try await run(["record", "delete", "a"] + place, variables)
        try await node.end(SIGKILL)
        let second = try await NodeProcess.ready(data: folder.node, port: node.port)
        _ = try await run(["record", "save", "Note", "c"] + place, variables)
        #expect(try await changes(variables) == ["deleted a", "saved c"])

        // The zone is gone and made anew: the token is no good any more.
        try await cumulus("zone", "delete", "Notes")
        try await cumulus("zone", "create", "Notes")
        let expired = try await run(
            ["changes", "records", "Notes", "--since", tokenFile],
            variables
        )
        #expect(expired.code == 1)
        #expect(expired.errors.contains("changeTokenExpired"))
        let zones = try await run(["changes", "zones"], variables)
        #expect(zones.output.contains("changed  Notes"))
        try Data("nonsense!".utf8).write(to: URL(filePath: tokenFile))
        let damaged = try await run(
            ["changes", "records", "Notes", "--since", tokenFile],
            variables
        )
        #expect(damaged.code == 65)
        #expect(try await second.end(SIGTERM) == .exit(0))
    }

    /// Waits until the file says how far a run has shown changes, which is not `before`.
    private func token(after before: String) async throws -> String {
        for _ in 0..<3_000 {
            let text = (try? String(contentsOfFile: tokenFile, encoding: .utf8)) ?? ""
            if !text.isEmpty, text != before { return text }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("no page was shown")
        return before
    }

    @Test func changesAreFollowedUntilTheZoneIsGone() async throws {
        let node = try await NodeProcess.ready(data: folder.node, port: TestPort.free())
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
        ]
        let place = ["--zone", "Notes"]
        #expect(try await run(["zone", "create", "Notes"], variables).code == 0)
        #expect(try await run(["record", "save", "Note", "a"] + place, variables).code == 0)
        let words = [
            "changes", "records", "Notes", "--since", tokenFile, "--follow", "--json",
        ]
        async let following = run(words, variables)
        let first = try await token(after: "")
        #expect(try await run(["record", "save", "Note", "b"] + place, variables).code == 0)
        let second = try await token(after: first)
        #expect(try await run(["record", "delete", "a"] + place, variables).code == 0)
        _ = try await token(after: second)
        #expect(try await changes(variables) == [])
        #expect(try await run(["zone", "delete", "Notes"], variables).code == 0)
        let ended = try await following
        #expect(ended.code == 1)
        #expect(ended.errors.contains("was deleted"), "\(ended.errors)")
        let told = try ended.output.split(separator: "\n").map { line in
            let item = try JSONReader.read(line.utf8)
            guard case .string(let change)? = item["change"] else { return "" }
            guard case .string(let name)? = item["recordName"] ?? item["record"]?["recordName"]
            else { return change }
            return "\(change) \(name)"
        }
        #expect(told == ["saved a", "upToDate", "saved b", "upToDate", "deleted a", "upToDate"])
        #expect(try await node.end(SIGTERM) == .exit(0))
    }
}
