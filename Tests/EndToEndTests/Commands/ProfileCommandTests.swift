// Profiles with real processes: what a login keeps, the following commands use; and what is said of
// a server that is not there, or is another one.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct ProfileCommandTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// A home, and nothing else that says where the node is or who asks.
    private var variables: [String: String] { ["HOME": folder.path] }

    /// Runs a command that succeeds; returns what it prints.
    private func run(_ words: [String], _ more: [String: String] = [:]) async throws -> String {
        let all = variables.merging(more) { $1 }
        let run = try await CommandLineRun(words, variables: all)
        #expect(run.code == 0, "\(words): \(run.errors)")
        return run.output
    }

    private func json(_ words: [String]) async throws -> JSON {
        try JSONReader.read(try await run(words + ["--json"]).utf8)
    }

    @Test func whatALoginKeepsTheNextCommandsUse() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let endpoint = try node.endpoint
        // A pipe: bash replaces <(...) by the path of one.
        let login = try await CommandLineRun(
            ["login", "--operator", "--endpoint", endpoint],
            variables: variables.merging(["TOKEN": try node.operatorToken]) { $1 },
            prefix: ["/bin/bash", "-c", #""$0" "$@" --token-file <(printf "%s\n" "$TOKEN")"#]
        )
        #expect(login.code == 0, "\(login.errors)")
        let file = "\(folder.path)/.config/cumulus/profiles.json"
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)

        _ = try await run(["user", "add", "ada"])
        let token = try await run(["user", "token", "ada"])
        let tokenFile = "\(folder.path)/ada.token"
        try Data(token.utf8).write(to: URL(filePath: tokenFile))
        _ = try await run([
            "login", "--token-file", tokenFile, "--endpoint", endpoint, "--profile", "ada",
        ])
        _ = try await run(["record", "save", "Note", "one", "--field", "text=Hello"])
        #expect(try await run(["record", "get", "one", "--profile", "ada"]).contains("Hello"))

        let who = try await json(["whoami"])
        #expect(who["profile"] == "ada" && who["as"] == "user" && who["accepted"] == .bool(true))
        #expect(who["endpoint"] == .string(endpoint) && who["recordName"] != .null)
        let named = try await run(["whoami", "--token-file", tokenFile])
        #expect(named.contains("not of the profile"), "\(named)")
        let admin = try await json(["whoami", "--profile", "operator"])
        #expect(admin["as"] == "operator" && admin["accepted"] == .bool(true))
        #expect(admin["node"] != .null)
        guard case .array(let profiles) = try await json(["use"]) else {
            throw ChildProcess.Failure("no list of profiles")
        }
        #expect(profiles.map { $0["profile"] } == ["ada", "operator"])
        #expect(profiles.map { $0["inUse"] } == [.bool(true), .bool(false)])
        #expect(try await !run(["use", "--json"]).contains("cumulus_"))

        // Signing out ends the token for everybody who has it.
        _ = try await run(["logout", "--revoke"])
        let again = ["whoami", "--token-file", tokenFile, "--endpoint", endpoint]
        let refused = try await CommandLineRun(again, variables: variables)
        #expect(refused.code == 1 && refused.output.contains("refused: "), "\(refused.output)")
        _ = try await run(["use", "operator"])
        #expect(try await run(["status"]).contains("ready"))
        // A variable goes before the profile, whose token is not shown there.
        let nowhere = "127.0.0.1:\(TestPort.free())"
        let other = variables.merging(["CUMULUS_ENDPOINT": nowhere]) { $1 }
        let hidden = try await CommandLineRun(["status"], variables: other)
        #expect(hidden.code == 64 && hidden.errors.contains("name a token"), "\(hidden.errors)")
        let both = ["status", "--endpoint", "\(endpoint),\(nowhere)"]
        let told = try await CommandLineRun(both, variables: variables)
        #expect(told.output.contains("name a token") && !told.output.contains("UsageProblem"))
        let operatorFile = "\(folder.node)/operator.token"
        let elsewhere = ["status", "--token-file", operatorFile]
        #expect(try await CommandLineRun(elsewhere, variables: other).code == 69)
        // Mistakes that look like something else are named.
        let nobody = try await CommandLineRun(["record", "list"], variables: variables)
        #expect(nobody.code == 0 && nobody.errors.contains("'operator' is an operator's"))
        let unsaid = ["login", "--token-file", operatorFile, "--endpoint", endpoint]
        let mistaken = try await CommandLineRun(unsaid, variables: variables)
        #expect(mistaken.code == 64 && mistaken.errors.contains("add --operator"))
        // Any node may answer for an operator of the cluster.
        let cluster = unsaid + ["--operator", "--endpoint", nowhere, "--profile", "cluster"]
        #expect(try await CommandLineRun(cluster, variables: variables).code == 0)
        _ = try await run(["logout", "cluster"])
        // Any node answers for the others, except where one is meant.
        let several = ["--token-file", operatorFile, "--endpoint", "\(nowhere),\(endpoint)"]
        #expect(try await run(["user", "list"] + several).contains("ada"))
        #expect(try await run(["cluster", "status"] + several).contains("this node"))
        let backup = try await CommandLineRun(["backup", "/b"] + several, variables: variables)
        #expect(backup.code == 64 && backup.errors.contains("about one node"), "\(backup.errors)")
        let away = ["--token-file", operatorFile, "--endpoint", "\(nowhere),127.0.0.1:1"]
        let unheard = try await CommandLineRun(["user", "list"] + away, variables: variables)
        #expect(unheard.code == 69, "\(unheard.errors)")
        #expect(unheard.errors.contains(nowhere) && unheard.errors.contains("127.0.0.1:1:"))
        _ = try await run(["use", "operator"])
        let early = ["status", "--token-file", "/none"]
        let none = try await CommandLineRun(early, variables: variables)
        #expect(none.errors.contains("when it starts"), "\(none.errors)")
        _ = try await run(["logout"])
        #expect(try await json(["use"]) == .array([]))
    }

    @Test func theConsoleIsOpenedWithoutTheToken() async throws {
        let port = TestPort.free()
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--http", "127.0.0.1:\(port)"]
        )
        let operatorFile = "\(folder.path)/token"
        try Data(try node.operatorToken.utf8).write(to: URL(filePath: operatorFile))
        let asked = ["console", "--token-file", operatorFile, "--endpoint", try node.endpoint]
        let url = try await run(asked + ["--print"])
        #expect(url.hasPrefix("http://127.0.0.1:\(port)/console#link="), "\(url)")
        #expect(try !url.contains(node.operatorToken))
        // No program opens a browser here: the URL is shown instead.
        let shown = try await CommandLineRun(asked, variables: ["PATH": "/nonexistent"])
        #expect(shown.code == 0 && shown.output.contains("#link=") && !shown.errors.isEmpty)

        // The HTTP port is no node's.
        let start = ContinuousClock.now
        let wrong = try await CommandLineRun(
            ["zone", "list", "--endpoint", "127.0.0.1:\(port)", "--token", "cumulus_x"],
            variables: variables
        )
        #expect(wrong.code == 69)
        #expect(wrong.errors.contains("127.0.0.1:\(port) is an HTTP port"), "\(wrong.errors)")
        #expect(wrong.errors.contains("--listen"), "\(wrong.errors)")
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test func aNodeWithoutHTTPHasNoConsole() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let operatorFile = "\(folder.path)/token"
        try Data(try node.operatorToken.utf8).write(to: URL(filePath: operatorFile))
        let run = try await CommandLineRun(
            ["console", "--token-file", operatorFile, "--endpoint", try node.endpoint],
            variables: variables
        )
        #expect(run.code == 65 && run.errors.contains("--http"), "\(run.errors)")
    }

    /// Without the pauses between tries, for one address and for several.
    @Test func aServerThatIsNotThereIsSaidAtOnce() async throws {
        let ports = [TestPort.free(), TestPort.free()].map { "127.0.0.1:\($0)" }
        for endpoint in [ports[0], ports.joined(separator: ",")] {
            let start = ContinuousClock.now
            let run = try await CommandLineRun(
                ["zone", "list", "--endpoint", endpoint],
                variables: variables
            )
            #expect(run.code == 69)
            let first = "cannot reach \(ports[0]): connection refused; "
            #expect(run.errors.contains(first), "\(run.errors)")
            #expect(run.errors.contains("is cumulusd running there?"), "\(run.errors)")
            #expect(ContinuousClock.now - start < .seconds(5))
        }
    }
}
