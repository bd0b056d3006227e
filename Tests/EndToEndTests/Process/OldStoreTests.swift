// Data directories that release 0.1 wrote, of two nodes of one cluster: this release opens them
// alone and together, and shows what was exported then.
//
// `Fixtures/store-0.1.tar.gz` holds both, with tokens of three users and what they exported; the
// first node had ended by SIGTERM, the second by SIGKILL.

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
            let words = ["export", "--type", type, "--database", "private", "--zone", "Trips"]
            let run = try await cumulus(words, as: "ada", at: node)
            #expect(run.output == (try text("out/private-Trips-\(type).jsonl")), "\(run.errors)")
        }
        let words = ["export", "--type", "Album", "--database", "public"]
        let run = try await cumulus(words, as: "ada", at: node)
        #expect(run.output == (try text("out/public-Album.jsonl")), "\(run.errors)")
    }

    @Test(arguments: [0, 1]) func aNodeShowsWhatItHeld(number: Int) async throws {
        let node = try await start(number)
        try await expectOldContent(at: node)
        // The next start finds the present format.
        #expect(try await node.end(SIGTERM) == .exit(0))
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
}
