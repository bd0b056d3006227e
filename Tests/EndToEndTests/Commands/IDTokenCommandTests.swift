// `cumulusd --issuers` and `cumulus sign-in --id-token-file`: files that the operator changes while
// the node runs, and mistakes in them. With a real provider it is done by `cluster/oidc`.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct IDTokenCommandTests {
    private let folder: TestFolder
    private let old: TestIssuer.Key
    private let new: TestIssuer.Key

    init() throws {
        folder = try TestFolder()
        (old, new) = (try .rsa("old"), try .p256("new"))
    }

    private func write(_ bytes: Bytes, _ name: String) throws {
        try Data(bytes).write(to: URL(filePath: "\(folder.path)/\(name)"), options: .atomic)
    }

    private func start() async throws -> NodeProcess {
        try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--issuers", "\(folder.path)/issuers.json"]
        )
    }

    private func token(_ subject: String, by key: TestIssuer.Key) throws -> Bytes {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        return try TestIssuer.token(TestIssuer.claims(subject, now: now), by: key)
    }

    private func signIn(
        _ token: Bytes,
        at node: NodeProcess,
        _ more: String...
    ) async throws -> CommandLineRun {
        try write(token + Bytes("\n".utf8), "id-token")
        return try await CommandLineRun(
            ["sign-in", "--id-token-file", "\(folder.path)/id-token"] + more,
            variables: ["CUMULUS_ENDPOINT": try node.endpoint]
        )
    }

    @Test func filesThatChangeCountAtOnce() async throws {
        try write(TestIssuer.file(), "issuers.json")
        try write(try TestIssuer.keySet([old]), "keys.json")
        let node = try await start()
        let first = try await signIn(try token("ada", by: old), at: node)
        #expect(first.code == 0, "\(first.errors)")
        let session = first.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let saved = try await CommandLineRun(
            ["record", "save", "Note", "note", "--field", "text=hello"],
            variables: ["CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": session]
        )
        #expect(saved.code == 0, "\(saved.errors)")

        try write(try TestIssuer.keySet([new]), "keys.json")
        let removed = try await signIn(try token("ada", by: old), at: node)
        #expect(removed.code == 1 && removed.errors.contains("(notAuthenticated 9)"))
        let rotated = try await signIn(try token("ada", by: new), at: node, "--json")
        let answer = try JSONReader.read(rotated.output.utf8)
        #expect(answer["user"] == .null && answer["recordName"] != nil)

        // What can't be read changes nothing.
        try write(Bytes("{".utf8), "keys.json")
        try write(Bytes("{".utf8), "issuers.json")
        #expect(try await signIn(try token("ada", by: new), at: node).code == 0)
        let log = try String(contentsOfFile: "\(folder.node).err", encoding: .utf8)
        #expect(log.contains("a renewed key set of \(TestIssuer.url) can't be used"))
        #expect(log.contains("a renewed file of issuers can't be used"))
        #expect(log.contains("an ID token was refused"))

        try write(TestIssuer.file(["makesUsers": .bool(false)]), "issuers.json")
        try write(try TestIssuer.keySet([new]), "keys.json")
        #expect(try await signIn(try token("ada", by: new), at: node).code == 0)
        #expect(try await signIn(try token("bob", by: new), at: node).code == 1)
    }

    @Test func aMistakeIsToldAtTheStart() async throws {
        for (file, why) in [
            (nil, "issuers.json can't be read"),
            (Bytes("{".utf8), "issuers.json: it is not JSON"),
            (TestIssuer.file(), "keys.json can't be read"),
        ] as [(Bytes?, String)] {
            if let file { try write(file, "issuers.json") }
            let node = try NodeProcess(
                data: folder.node,
                arguments: ["--issuers", "\(folder.path)/issuers.json"]
            )
            #expect(try await node.waitForEnd(seconds: 20) == .exit(1))
            let told = try String(contentsOfFile: "\(folder.node).err", encoding: .utf8)
            #expect(told.contains("issuers: ") && told.contains(why), "\(told)")
        }
    }

    @Test func aCommandThatSaysTwoThingsIsRefused() async throws {
        for words in [["sign-in"], ["sign-in", "ada", "--id-token-file", "-"]] {
            let run = try await CommandLineRun(words, variables: [:])
            #expect(run.code == 64 && run.errors.contains("--id-token-file"))
        }
        let empty = try await CommandLineRun(
            ["sign-in", "--id-token-file", "/dev/null"],
            variables: ["CUMULUS_ENDPOINT": "127.0.0.1:1"]
        )
        #expect(empty.code == 65 && empty.errors.contains("does not hold an ID token"))
    }
}
