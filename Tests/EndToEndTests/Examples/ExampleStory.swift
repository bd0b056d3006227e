// The story of an example app, as its folder `Demo` tells it: people use the app, each in a process
// of their own, on a cluster of three nodes, one of which is killed on the way.
//
// `cluster/demo` plays the same file. A line of it is one of
//
//     ada: COMMAND       Ada's app does it, and it has to succeed
//     ada& COMMAND       Ada's app begins it; her next line waits for its end
//     ada: quit          her app ends; her next line starts it again
//     admin: COMMAND     the operator of node 1 runs a command of the command line
//     kill 2             node 2 is killed
//     start 2            and started again
//     same FILE FILE     two files have to be equal
//
// Ada's apps ask node 1 first, Bo's node 2. A guest is not signed in, and asks node 3. A number
// behind a name is another device of that person. PHOTOS stands for the folder of photographs,
// FOLDER for one that is gone afterwards.
//
// Folder: the examples at work. Read `ExampleStory`, `ExampleRun`, then `ExampleTests`.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

final class ExampleStory {
    /// Where Debian's package `lomiri-wallpapers-16.04` puts its photographs.
    private static let photos = "/usr/share/backgrounds"

    let cluster: FaultCluster
    let folder: TestFolder
    private let app: String
    private var tokens: [String: String] = [:]
    private var runs: [String: ExampleRun] = [:]

    private init(_ app: String) throws {
        self.app = app
        cluster = try FaultCluster()
        folder = try TestFolder()
    }

    /// Plays the story of an app; all nodes must hold the same at its end.
    ///
    /// - Parameter body: The checks after that.
    static func play(
        _ app: String,
        then body: (ExampleStory) async throws -> Void = { _ in }
    ) async throws {
        let demo = Checkout.file("Sources/Examples/\(app)/Demo")
        try #require(
            FileManager.default.fileExists(atPath: "\(photos)/sunset_by_Aitzol_Berasategi.jpg"),
            "there are no photographs; type: apt-get install lomiri-wallpapers-16.04"
        )
        let text = try String(contentsOf: demo.appending(path: "story.txt"), encoding: .utf8)
        let story = try ExampleStory(app)
        try await story.cluster.use {
            try await story.cluster.start()
            #expect(try await story.cluster.haveMet())
            try await story.setUp(demo.appending(path: "schema.ckdb").path)
            for (index, line) in text.split(
                separator: "\n",
                omittingEmptySubsequences: false
            ).enumerated() where !line.isEmpty && !line.hasPrefix("#") {
                do {
                    try await story.play(String(line))
                } catch {
                    Issue.record("line \(index + 1) of the story, '\(line)': \(error)")
                    throw error
                }
            }
            for name in story.runs.keys.sorted() { try await story.quit(name) }
            try await story.expectAgreement()
            try await body(story)
        }
    }

    // MARK: Setting up

    private func setUp(_ schema: String) async throws {
        tokens["ada"] = cluster.token
        tokens["bo"] = try await cluster.nodes[0].makeToken(of: "bo")
        try await administer(["schema", "import", schema])
        // Every node knows the schema and the users.
        try await expectAgreement()
        for node in cluster.nodes {
            let isKnown = try await eventually(seconds: 20) {
                try await ask(["zone", "list"], at: node, as: "bo").code == 0
            }
            try #require(isKnown, "a node does not know Bo")
        }
    }

    /// Runs a command of the command line as the operator of the first node.
    private func administer(_ words: [String]) async throws {
        let node = cluster.nodes[0]
        let run = try await CommandLineRun(
            words,
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TLS": "never",
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        )
        try #require(run.code == 0, "\(words): \(run.errors)")
    }

    /// Runs a command of the command line, on the public database.
    func ask(
        _ words: [String],
        at node: NodeProcess? = nil,
        as user: String = "ada"
    ) async throws -> CommandLineRun {
        try await CommandLineRun(
            words,
            variables: [
                "CUMULUS_ENDPOINT": try (node ?? cluster.nodes[0]).endpoint,
                "CUMULUS_TLS": "never", "CUMULUS_TOKEN": tokens[user] ?? "",
            ]
        )
    }

    private func expectAgreement() async throws {
        let isEqual = try await eventually(seconds: 30) {
            var scopes: [JSON?] = []
            for node in cluster.nodes { scopes.append(try await cluster.status(node)["scopes"]) }
            return scopes.allSatisfy { $0 == scopes[0] }
        }
        try #require(isEqual, "the nodes don't hold the same")
    }

    // MARK: Lines

    private func play(_ line: String) async throws {
        let line = line.replacing("PHOTOS", with: Self.photos).replacing(
            "FOLDER",
            with: folder.path
        )
        let words = line.split(separator: " ").map(String.init)
        switch words[0] {
        case "admin:": try await administer(Array(words.dropFirst()))
        case "kill": try await cluster.nodes[try number(words)].end(SIGKILL)
        case "start": try await cluster.restart(try number(words))
        case "same":
            let files = try words.dropFirst().map { try Data(contentsOf: URL(filePath: $0)) }
            #expect(files.count == 2 && files[0] == files[1], "\(line)")
        case let name where name.hasSuffix(":") || name.hasSuffix("&"):
            let step = line.dropFirst(name.count).trimmingCharacters(in: .whitespaces)
            try await play(step, by: String(name.dropLast()), waits: name.hasSuffix(":"))
        default: throw ChildProcess.Failure("the line is not one of those that a story may have")
        }
    }

    /// The index of the node that a line names.
    private func number(_ words: [String]) throws -> Int {
        guard words.count == 2, let number = Int(words[1]), (1...3).contains(number) else {
            throw ChildProcess.Failure("a number from 1 to 3 is missing")
        }
        return number - 1
    }

    private func play(_ step: String, by name: String, waits: Bool) async throws {
        if step == "quit" { return try await quit(name) }
        let run = try runs[name] ?? start(name)
        runs[name] = run
        try await run.finish()
        try run.begin(step)
        if waits { try await run.finish() }
    }

    private func quit(_ name: String) async throws {
        try await runs.removeValue(forKey: name)?.quit()
    }

    private func start(_ name: String) throws -> ExampleRun {
        let user = String(name.prefix { $0.isLetter })
        let first = ["ada": 0, "bo": 1][user] ?? 2
        let order = [first, (first + 1) % 3, (first + 2) % 3]
        return try ExampleRun(
            app,
            as: name,
            // A node that was killed keeps its address.
            endpoints: try order.map { try cluster.nodes[$0].endpoint },
            token: tokens[user],
            in: folder.path
        )
    }
}
