// `cumulus role` between two nodes: a role that is given at one node counts at the other, until it
// is taken away.

import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct RoleCommandTests {
    private let folder: TestFolder
    private let key: String

    init() throws {
        folder = try TestFolder()
        key = "\(folder.path)/key"
        let hex = String(repeating: "5a", count: 32)
        try Data(hex.utf8).write(to: URL(filePath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    private static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Moderator;
            RECORD TYPE Comment (
                text STRING QUERYABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator",
                GRANT WRITE TO Moderator
            );
            RECORD TYPE Report (
                text STRING QUERYABLE,
                GRANT CREATE TO "_icloud", GRANT READ TO Moderator
            );
        """

    private func start(
        _ name: String,
        beside peer: NodeProcess? = nil
    ) async throws -> NodeProcess {
        var arguments = ["--cluster-key", key]
        if let peer { arguments += ["--peers", try peer.endpoint] }
        return try await NodeProcess.ready(data: "\(folder.path)/\(name)", arguments: arguments)
    }

    /// What a command needs to know to ask a node, as its operator or as a user.
    private func variables(_ node: NodeProcess, token: String? = nil) throws -> [String: String] {
        var variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_DATABASE": "public",
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        variables["CUMULUS_TOKEN"] = token
        return variables
    }

    private func run(
        _ words: [String],
        _ variables: [String: String],
        fails reason: String? = nil
    ) async throws -> String {
        let run = try await CommandLineRun(words, variables: variables)
        if let reason {
            #expect(run.code == 1 && run.errors.contains(reason), "\(words): \(run.errors)")
        } else {
            #expect(run.code == 0, "\(words): \(run.errors)")
        }
        return run.output
    }

    /// Whether a command succeeds within a time in which commits arrive.
    private func succeeds(_ words: [String], _ variables: [String: String]) async throws -> Bool {
        try await eventually(seconds: 20) {
            try await CommandLineRun(words, variables: variables).code == 0
        }
    }

    /// Whether a command says something within a time in which commits arrive: in its output, or
    /// as its error if it fails.
    private func says(
        _ text: String,
        _ words: [String],
        _ variables: [String: String]
    ) async throws -> Bool {
        try await eventually(seconds: 20) {
            let run = try await CommandLineRun(words, variables: variables)
            return (run.code == 0 ? run.output : run.errors).contains(text)
        }
    }

    @Test func aRoleIsGivenAtOneNodeAndUsedAtAnother() async throws {
        let first = try await start("a")
        let second = try await start("b", beside: first)
        let ada = try variables(second, token: try await first.makeToken(of: "ada"))
        let ben = try variables(second, token: try await first.makeToken(of: "ben"))
        let (one, other) = (try variables(first), try variables(second))
        let file = "\(folder.path)/app.ckdb"
        try Self.schema.write(toFile: file, atomically: true, encoding: .utf8)
        _ = try await run(["schema", "import", file], one)

        // Unknown names say what to do.
        let assign = ["role", "assign", "ben", "Moderator"]
        let advice = "add one with 'cumulus user add cem'"
        _ = try await run(["role", "assign", "cem", "Moderator"], one, fails: advice)
        let unknown = "the schema has no role 'Admin': it has Moderator; add 'CREATE ROLE Admin;'"
        _ = try await run(["role", "assign", "ben", "Admin"], one, fails: unknown)
        _ = try await run(["role", "list", "--role", "Admin"], one, fails: unknown)

        #expect(try await says("CREATE ROLE Moderator", ["schema", "export"], other))
        let save = ["record", "save", "Comment", "first", "--field", "text=hello", "--force"]
        let report = ["record", "save", "Report", "spam", "--field", "text=spam"]
        #expect(try await succeeds(report, ada))
        _ = try await run(save, ada)
        let denied = "WRITE operation not permitted: type 'Comment' grants it to Moderator"
        #expect(try await says(denied, save, ben))
        let unread = "READ operation not permitted: type 'Report' grants it to Moderator; you have"
        let query = ["query", "Report", "--where", "text == 'spam'", "--json"]
        _ = try await run(query, ben, fails: unread)

        // Given at the first node, used at the second.
        let state = try await run(assign, one)
        #expect(state.contains("assigned") && !state.contains("already"))
        #expect(try await run(assign, one).contains("was assigned already"))
        #expect(try await succeeds(save, ben))
        #expect(try await run(query, ben).contains("spam"))
        for filter in [[], ["--user", "ben"], ["--role", "Moderator"]] {
            let listed = try await run(["role", "list", "--json"] + filter, other)
            #expect(listed.contains("\"ben\"") && listed.contains("\"Moderator\""))
        }
        let hers = ["role", "list", "--user", "ada", "--json"]
        #expect(try await !run(hers, other).contains("Moderator"))

        // Taken away at the second, gone there at once.
        let unassign = ["role", "unassign", "ben", "Moderator"]
        #expect(try await run(unassign, other).contains("unassigned"))
        _ = try await run(save, ben, fails: denied)
        _ = try await run(query, ben, fails: unread)
        _ = try await run(save, ada)
        #expect(try await !run(["role", "list", "--json"], other).contains("ben"))
    }
}
