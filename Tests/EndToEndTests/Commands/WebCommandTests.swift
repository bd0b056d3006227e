// `cumulus web` at a node: an app is added, changed, listed and removed; and an app of the node's
// file gives way to it, which the node says when it starts.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebCommandTests {
    private let folder: TestFolder
    private static let png: Bytes = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]

    init() throws {
        folder = try TestFolder()
    }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func run(
        _ words: [String],
        _ variables: [String: String],
        code: Int32 = 0
    ) async throws -> CommandLineRun {
        let run = try await CommandLineRun(words, variables: variables)
        #expect(run.code == code, "\(words): \(run.errors)")
        return run
    }

    private func json(_ words: [String], _ variables: [String: String]) async throws -> JSON {
        try JSONReader.read(try await run(words + ["--json"], variables).output.utf8)
    }

    private func admin(_ node: NodeProcess) throws -> [String: String] {
        [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_CONTAINER": NodeProcess.container,
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
    }

    @Test func anAppIsAddedChangedListedAndRemoved() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let admin = try admin(node)
        try Data(Self.png).write(to: URL(filePath: path("logo.png")))
        let origin = "https://notes.example.com"
        let add = ["web", "add", "notes", "--origin", origin, "--logo", path("logo.png")]
        let added = try await json(add, admin)
        guard case .string(let token)? = added["apiToken"] else {
            Issue.record("no token in \(added)")
            return
        }
        #expect(added["logoBytes"] == .integer(9) && added["redirect"] == .null)
        let twice = try await run(add, admin, code: 1)
        #expect(twice.errors.contains("cumulus web set"))

        let set = ["web", "set", "notes", "--title", "My notes", "--redirect", "notes:in"]
        let changed = try await json(set, admin)
        #expect(changed["title"] == "My notes" && changed["redirect"] == "notes:in")
        #expect(changed["apiToken"] == .string(token) && changed["logoBytes"] == .integer(9))
        #expect(changed["origins"] == .array([.string(origin)]))
        let renewed = try await json(["web", "set", "notes", "--new-token", "--no-logo"], admin)
        #expect(renewed["apiToken"] != .string(token) && renewed["logoBytes"] == .integer(0))
        let list = try await run(["web", "list"], admin).output
        #expect(list.contains("My notes") && list.contains(origin))
        let other = try await run(["web", "list", "--environment", "production"], admin).output
        #expect(!other.contains("My notes"))

        // What can't be is told before a node is asked, or by the node.
        _ = try await run(["web", "add", "open"], admin, code: 64)
        _ = try await run(add + ["--any-origin"], admin, code: 64)
        let wrong = try await run(["web", "set", "notes", "--origin", "notes"], admin, code: 1)
        #expect(wrong.errors.contains("https://app.example.com"))
        let unknown = try await run(["web", "set", "nothing", "--title", "x"], admin, code: 1)
        #expect(unknown.errors.contains("cumulus web list"))
        #expect(try await json(["web", "remove", "notes"], admin)["existed"] == .bool(true))
        #expect(try await json(["web", "remove", "notes"], admin)["existed"] == .bool(false))
        #expect(try await !run(["web", "list", "--json"], admin).output.contains("notes"))
    }

    @Test func anAppOfTheFileGivesWay() async throws {
        let apps = """
            [{"container": "\(NodeProcess.container)", "environment": "development",
              "token": "0123456789abcdef"}]
            """
        try Data(apps.utf8).write(to: URL(filePath: path("apps.json")))
        let arguments = ["--http", "127.0.0.1:0", "--web-apps", path("apps.json")]
        let node = try await NodeProcess.ready(data: folder.node, arguments: arguments)
        let add = ["web", "add", "notes", "--any-origin", "--token", "0123456789abcdef"]
        _ = try await run(add, try admin(node))
        try await node.end(SIGTERM)
        let again = try await NodeProcess.ready(data: folder.node, arguments: arguments)
        _ = try await again.httpEndpoint()
        #expect(again.errors.contains("a web app of the file does not count"))
        try await again.end(SIGTERM)
    }
}
