// Data directories that release 0.1 wrote, of two nodes of one cluster: this release opens them
// alone and together, shows what was exported then, and goes on with the tokens of its users.
//
// `Fixtures/store-0.1.tar.gz` holds both, with tokens of three users and what they exported; the
// first node had ended by SIGTERM, the second by SIGKILL.

import Crypto
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct OldStoreTests {
    private let folder: TestFolder

    init() async throws {
        folder = try TestFolder()
        let archive = Checkout.file("Tests/EndToEndTests/Fixtures/store-0.1.tar.gz").path
        let tar = try ChildProcess(
            ["/usr/bin/env", "tar", "-xzf", archive, "-C", folder.path],
            variables: ["PATH": "/usr/bin:/bin"],
            output: "\(folder.path)/tar.out",
            errors: "\(folder.path)/tar.err"
        )
        guard case .exit(0) = try await tar.waitForEnd(seconds: 30) else {
            throw ChildProcess.Failure("the archive can't be unpacked")
        }
    }

    /// One of the two nodes, with the key of their cluster.
    private func start(_ number: Int, peers: String = "") async throws -> NodeProcess {
        try await NodeProcess.ready(
            data: "\(folder.path)/n\(number)",
            arguments: ["--peers", peers, "--cluster-key", "\(folder.path)/n0/cluster.key"]
        )
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/\(file)", encoding: .utf8)
    }

    private func cumulus(
        _ words: [String],
        as user: String,
        at node: NodeProcess
    ) async throws -> CommandLineRun {
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint,
            "CUMULUS_CONTAINER": "iCloud.dev.old",
            "CUMULUS_TOKEN": try text("\(user).tok").trimmingCharacters(
                in: .whitespacesAndNewlines
            ),
        ]
        return try await CommandLineRun(words, variables: variables)
    }

    private func expectOldContent(at node: NodeProcess) async throws {
        for type in ["Album", "Photo"] {
            let words = ["export", type, "--database", "private", "--zone", "Trips"]
            let run = try await cumulus(words, as: "ada", at: node)
            #expect(run.output == (try text("out/private-Trips-\(type).jsonl")), "\(run.errors)")
        }
        let words = ["export", "Album", "--database", "public"]
        let run = try await cumulus(words, as: "ada", at: node)
        #expect(run.output == (try text("out/public-Album.jsonl")), "\(run.errors)")
    }

    /// The digests of all scopes in what `cumulus status --json` printed.
    private func digests(in status: String) -> [Substring] {
        status.matches(of: /"digest": "(?<digest>[0-9a-f]+)"/).map(\.output.digest)
    }

    private let shared = [
        "--database", "shared", "--owner", "_4bc74fc86763ee9a5b0149c07cf156a8", "--zone", "Trips",
    ]

    @Test(arguments: [0, 1]) func aNodeShowsWhatItHeld(number: Int) async throws {
        let node = try await start(number)
        try await expectOldContent(at: node)
        // The next start finds the present format.
        #expect(try await node.end(SIGTERM) == .exit(0))
        let files = try FileManager.default.contentsOfDirectory(
            atPath: "\(folder.path)/n\(number)/store"
        )
        #expect(files.contains("journal.end") && !files.contains("END"))
        try await expectOldContent(at: start(number))
    }

    @Test func bothGoOnTogether() async throws {
        let first = try await start(0)
        let second = try await start(1, peers: first.endpoint)
        try await expectOldContent(at: second)
        for user in ["bob", "eve"] {
            let run = try await cumulus(
                ["zone", "list", "--database", "shared"],
                as: user,
                at: second
            )
            #expect(run.output.contains("Trips") == (user == "bob"), "\(run.errors)")
        }
    }

    @Test func schemaFilesAndSumsAreTheSame() async throws {
        let node = try await start(0)
        let operatorsToken = ["--operator-token-file", node.operatorTokenFile]
        let status = try await cumulus(["status", "--json"] + operatorsToken, as: "ada", at: node)
        let found = digests(in: status.output)
        #expect(found.count == 5)
        #expect(found == digests(in: try text("out/status.json")))
        #expect(status.output.contains("\"assetsNotWhole\": 0,"))
        let schema = try await cumulus(["schema", "export"] + operatorsToken, as: "ada", at: node)
        #expect(schema.output == (try text("out/schema.ckdb")), "\(schema.errors)")
        let file = "\(folder.path)/p1"
        let get = ["asset", "get", "p1", "image", "--zone", "Trips", "--output", file]
        let asset = try await cumulus(get, as: "ada", at: node)
        let sum = Bytes(SHA256.hash(data: try Data(contentsOf: URL(filePath: file)))).hex
        #expect(try text("out/files.sha256").hasPrefix("\(sum)  f1\n"), "\(asset.errors)")
    }

    @Test func tokensOfThatTimeAreGoodForWhatCameAfter() async throws {
        let node = try await start(0)
        let changes = [
            "changes", "records", "Trips", "--since", "\(folder.path)/changes.tok", "--json",
        ]
        let told = try await cumulus(changes, as: "ada", at: node)
        for name in ["a4", "bobs", "cloudkit.zoneshare", "a3", "p2", "p32"] {
            #expect(told.output.contains("\"\(name)\""), "\(name): \(told.output) \(told.errors)")
        }
        #expect(!told.output.contains("\"a1\""))
        let watch = ["watch", "--since", "\(folder.path)/watch.tok", "--once"]
        let news = try await cumulus(watch, as: "ada", at: node)
        for line in [/created .* bobs/, /deleted .* a3/, /zone deleted .* Garden/, /updated .* a4/]
        {
            #expect(news.output.contains(line), "\(news.output) \(news.errors)")
        }
        // What happens now is told from where that run ended.
        let fields = ["--field", "stars=5", "--force"]
        let save = ["record", "save", "Album", "a1", "--zone", "Trips"] + fields
        #expect(try await cumulus(save, as: "ada", at: node).code == 0)
        let next = try await cumulus(watch, as: "ada", at: node)
        #expect(next.output.contains(/updated .* a1/) && !next.output.contains("bobs"))
        let changed = try await cumulus(changes, as: "ada", at: node)
        #expect(changed.output.contains("\"a1\"") && !changed.output.contains("\"a4\""))
    }

    @Test func usersMayWhatTheyMight() async throws {
        let node = try await start(0)
        let words = ["record", "list"] + shared
        let bob = try await cumulus(words, as: "bob", at: node)
        #expect(bob.output.contains("bobs") && bob.output.contains("p1"), "\(bob.errors)")
        let eve = try await cumulus(words, as: "eve", at: node)
        #expect(eve.code == 1 && eve.errors.contains("zoneNotFound"))
        for (password, code) in [("correct horse battery", Int32(0)), ("wrong", 1)] {
            let file = "\(folder.path)/password"
            try password.write(toFile: file, atomically: true, encoding: .utf8)
            let signIn = ["sign-in", "ada", "--password-file", file]
            #expect(try await cumulus(signIn, as: "ada", at: node).code == code)
        }
    }
}
