// `cumulus user delete` and `cumulus container delete`: what they say before, whom they ask, and
// which backups they name; and `cumulus operator` with `cumulus status` of two nodes.

import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct DeleteCommandTests {
    private let folder: TestFolder
    private let key: String

    init() throws {
        folder = try TestFolder()
        key = "\(folder.path)/key"
        let hex = String(repeating: "5b", count: 32)
        try Data(hex.utf8).write(to: URL(filePath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    private func start(
        _ name: String,
        beside peer: NodeProcess? = nil
    ) async throws -> NodeProcess {
        var arguments = ["--cluster-key", key]
        if let peer { arguments += ["--peers", try peer.endpoint] }
        return try await NodeProcess.ready(data: "\(folder.path)/\(name)", arguments: arguments)
    }

    private func variables(_ node: NodeProcess, token: String? = nil) throws -> [String: String] {
        var variables = [
            "CUMULUS_ENDPOINT": try node.endpoint,
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        variables["CUMULUS_TOKEN"] = token
        return variables
    }

    private func run(_ words: [String], _ variables: [String: String]) async throws -> String {
        let run = try await CommandLineRun(words, variables: variables)
        #expect(run.code == 0, "\(words): \(run.errors)")
        return run.output
    }

    @Test func usersAndContainersAreDeletedOnceSomebodySaysSo() async throws {
        let node = try await start("a")
        let admin = try variables(node)
        _ = try await run(["user", "add", "alice"], admin)
        let token = try await run(["user", "token", "alice"], admin)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let alice = try variables(node, token: token)
        _ = try await run(["record", "save", "Note", "note", "--field", "n=1"], alice)
        _ = try await run(["backup", "\(folder.path)/monday"], admin)
        // Nobody can be asked here.
        let asked = try await CommandLineRun(["user", "delete", "alice"], variables: admin)
        #expect(asked.code != 0 && asked.errors.contains("--yes"))
        #expect(asked.errors.contains("records") && asked.errors.contains("monday"))
        _ = try await run(["record", "get", "note"], alice)
        let gone = try await run(["user", "delete", "alice", "--yes", "--json"], admin)
        #expect(gone.contains("\"records\": 1") && gone.contains("monday"))
        let refused = try await CommandLineRun(["record", "get", "note"], variables: alice)
        #expect(refused.code != 0)
        _ = try await run(["container", "create", "iCloud.other"], admin)
        let other = try await run(["container", "delete", "iCloud.other", "--yes"], admin)
        #expect(other.contains("deleted"))
        let again = try await CommandLineRun(
            ["container", "create", "iCloud.other"],
            variables: admin
        )
        #expect(again.code != 0 && again.errors.contains("was deleted"))
    }

    @Test func anOperatorOfTheClusterAsksAllNodes() async throws {
        let first = try await start("a")
        let second = try await start("b", beside: first)
        let token = try await run(["operator", "add", "carol"], variables(first))
        let file = "\(folder.path)/carol.token"
        try Data(token.utf8).write(to: URL(filePath: file))
        let endpoints = "\(try first.endpoint),\(try second.endpoint)"
        let words = [
            "status", "--endpoint", endpoints, "--operator-token-file", file, "--json",
        ]
        let isTaken = try await eventually(seconds: 30) {
            try await CommandLineRun(words, variables: [:]).code == 0
        }
        #expect(isTaken)
        let status = try await run(words, [:])
        #expect(status.components(separatedBy: "\"endpoint\":").count >= 3)
        _ = try await run(["operator", "remove", "carol"], variables(second))
        let isEnded = try await eventually(seconds: 30) {
            let run = try await CommandLineRun(words, variables: [:])
            return run.code != 0 && run.output.components(separatedBy: "problem").count >= 3
        }
        #expect(isEnded)
    }
}
