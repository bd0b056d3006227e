// Grants of a schema file, from `cumulus schema import` to what other users of a real node may do.

import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct AccessTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    /// Anyone reads, the signed-in create, only the creator changes; and a type that is the
    /// creator's alone.
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Comment (
                text STRING QUERYABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            RECORD TYPE Draft (
                text STRING QUERYABLE,
                GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud"
            );
        """

    private func run(
        _ words: [String],
        _ variables: [String: String],
        fails reason: String? = nil
    ) async throws -> String {
        let run = try await CommandLineRun(words, variables: variables)
        if let reason {
            #expect(run.code != 0 && run.errors.contains(reason), "\(words): \(run.errors)")
        } else {
            #expect(run.code == 0, "\(words): \(run.errors)")
        }
        return run.output
    }

    @Test func aSchemaOfTenLinesSaysWhoMayDoWhat() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let nobody = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_DATABASE": "public",
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        var (ada, ben) = (nobody, nobody)
        ada["CUMULUS_TOKEN"] = try await node.makeToken(of: "ada")
        ben["CUMULUS_TOKEN"] = try await node.makeToken(of: "ben")
        let file = "\(folder.path)/app.ckdb"
        try Self.schema.write(toFile: file, atomically: true, encoding: .utf8)
        _ = try await run(["schema", "import", file], nobody)

        let save = ["record", "save", "Comment", "first", "--field", "text=hello", "--force"]
        _ = try await run(save, nobody, fails: "signed-in user")
        _ = try await run(save, ada)
        for reader in [nobody, ada, ben] {
            #expect(try await run(["record", "get", "first"], reader).contains("hello"))
        }
        let denied = "WRITE operation not permitted: type 'Comment' grants it to _creator"
        _ = try await run(save, ben, fails: denied)
        _ = try await run(["record", "delete", "first"], ben, fails: denied)
        _ = try await run(save, ada)

        for (name, user) in [("hers", ada), ("his", ben)] {
            _ = try await run(["record", "save", "Draft", name, "--field", "text=note"], user)
        }
        let unseen = "READ operation not permitted: type 'Draft' grants it to _creator"
        _ = try await run(["record", "get", "hers"], ben, fails: unseen)
        let query = ["query", "Draft", "--where", "text == 'note'", "--json"]
        let found = try await run(query, ben)
        #expect(found.contains("his") && !found.contains("hers"))
        _ = try await run(query, nobody, fails: unseen)

        // The next import takes effect at once, for changes and for reads.
        let wide = Self.schema
            .replacing(#"GRANT WRITE TO "_creator""#, with: #"GRANT WRITE TO "_icloud""#)
            .replacing(#"GRANT READ, WRITE TO "_creator""#, with: #"GRANT READ TO "_world""#)
        try wide.write(toFile: file, atomically: true, encoding: .utf8)
        _ = try await run(["schema", "import", file], nobody)
        _ = try await run(save, ben)
        #expect(try await run(["record", "get", "hers"], nobody).contains("note"))
    }
}
