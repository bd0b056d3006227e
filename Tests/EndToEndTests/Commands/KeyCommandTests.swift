// `cumulus key` at a node with a certificate: a program saves with its key, over TLS, until the key
// is revoked.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct KeyCommandTests {
    private let folder: TestFolder

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

    @Test func aProgramSavesWithItsKeyOverTLS() async throws {
        let certificate = ["cluster", "certificate", "127.0.0.1", "--directory", path("tls")]
        _ = try await run(certificate, [:])
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: [
                "--tls-certificate", path("tls/127.0.0.1.pem"),
                "--tls-key", path("tls/127.0.0.1.key"),
            ]
        )
        let admin = [
            "CUMULUS_ENDPOINT": try node.endpoint,
            "CUMULUS_AUTHORITY": path("tls/authority.pem"), "CUMULUS_TLS": "always",
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        let file = path("server.pem")
        let add = ["key", "add", file, "--label", "importer", "--days", "90", "--json"]
        let answer = try await run(add, admin).output
        let added = try JSONReader.read(answer.utf8)
        guard case .string(let id)? = added["id"] else {
            Issue.record("no id in \(answer)")
            return
        }
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        // The file is there by now: the same key.
        let repeated = try JSONReader.read(try await run(add, admin).output.utf8)
        guard case .bool(true)? = repeated["existed"] else {
            Issue.record("not registered before: \(repeated)")
            return
        }

        var program = admin
        program["CUMULUS_OPERATOR_TOKEN_FILE"] = nil
        program["CUMULUS_KEY"] = file
        program["CUMULUS_KEY_ID"] = id
        let save = ["record", "save", "Note", "note", "--field", "text=hello"]
        _ = try await run(save, program)
        _ = try await run(["record", "get", "note"], program)
        let flags = ["--key", file, "--key-id", id]
        _ = try await run(["record", "get", "note"] + flags, admin)
        let hers = try await run(save + ["--database", "private"], program, code: 1)
        #expect(hers.errors.contains("a service key works in the public database only"))
        let production = try await run(save + ["--environment", "production"], program, code: 1)
        #expect(production.errors.contains("the service key is not valid"))
        // What can't be is told before a node is asked.
        let both = program.merging(["CUMULUS_TOKEN": "t"]) { $1 }
        let refused = try await run(save, both, code: 64).errors
        #expect(refused.contains("a token (CUMULUS_TOKEN) or a server's key (CUMULUS_KEY)"))
        let half = try await run(save + ["--key", file], admin, code: 64)
        #expect(half.errors.contains("CUMULUS_KEY_ID"))

        #expect(try await run(["key", "list", "--json"], admin).output.contains(id))
        _ = try await run(["key", "revoke", id], admin)
        #expect(try await run(save, program, code: 1).errors.contains("is not valid"))
        #expect(try await !run(["key", "list", "--json"], admin).output.contains(id))
        let again = try await run(add, admin, code: 1)
        #expect(again.errors.contains("make a new one"))
    }
}
