// `cumulus share` by itself: wrong usage, and the messages when something does not exist.

import CumulusTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct ShareCommandTests {
    /// What the command line itself refuses; no node is asked.
    @Test(arguments: [
        (["create", "Trips", "--public", "readOnly", "--reader", "ada@example.org"], "--public"),
        (["create", "Trips", "--writer", "ada"], "ada"),
        (["set", "Trips"], "--title or --public"), (["add", "Trips"], "--reader"),
        (["list", "--user", "bo", "--token", "t"], "--user"),
        (["stop", "Trips", "--operator-token-file", "t"], "--operator-token-file"),
        (["leave", "Trips"], "--owner"), (["set", "Trips", "--public", "all"], "readWrite"),
    ])
    func wrongUsageIsExplained(words: [String], hint: String) async throws {
        let run = try await CommandLineRun(["share"] + words)
        #expect(run.code == 64 && run.output.isEmpty)
        #expect(run.errors.contains(hint), "\(run.errors)")
    }

    @Test(arguments: [
        "create", "set", "add", "remove", "list", "show", "stop", "metadata", "accept", "leave",
    ])
    func eachCommandHasHelpWithAnExample(name: String) async throws {
        let run = try await CommandLineRun(["share", name, "--help"])
        #expect(run.code == 0 && run.output.contains("cumulus share \(name) "))
        #expect(run.output.contains("--json"))
    }

    /// The operator names the user, sees no title, and stops a share by its zone or root.
    @Test func anOperatorListsAndStopsShares() async throws {
        try await Story.play(on: 1) { story in
            let bo = try story.otherDevice(of: "bo", in: "private")
            let node = story.cluster.nodes[0]
            let admin = [
                "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TLS": "never",
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
            for zone in ["Trips", "Plans"] {
                try await story.change(["zone", "create", zone], by: bo)
            }
            try await story.change(["share", "create", "Trips", "--title", "Secret"], by: bo)
            let oslo = ["record", "save", "Note", "oslo", "--zone", "Plans"]
            try await story.change(oslo + ["--field", "text=Hej"], by: bo)
            let open = ["share", "create", "Plans", "--root", "oslo", "--public", "readOnly"]
            try await story.change(open, by: bo)
            let list = ["share", "list", "--user", "bo", "--json"]
            let found = try await story.ask(list, by: admin)
            #expect(found.contains("Trips") && found.contains(#""root": "oslo""#), "\(found)")
            #expect(!found.contains("Secret") && !found.contains("Hej"))
            let some = try await story.ask(list + ["--zone", "Trips"], by: admin)
            #expect(some.contains("Trips") && !some.contains("oslo"))
            let stop = ["share", "stop", "Plans", "--user", "bo"]
            let run = try await CommandLineRun(stop, variables: admin)
            #expect(run.code == 1 && run.errors.contains("share list --user bo"), "\(run.errors)")
            _ = try await story.ask(stop + ["--root", "oslo"], by: admin)
            #expect(!(try await story.ask(["share", "list"], by: bo)).contains("oslo"))
            let unknown = ["share", "list", "--user", "eve"]
            #expect(try await CommandLineRun(unknown, variables: admin).code == 1)
        }
    }

    @Test func whatIsNotThereIsSaidPlainly() async throws {
        try await Story.play(on: 1) { story in
            let ada = try story.otherDevice(of: "ada", in: "private")
            try await story.change(["zone", "create", "Trips"], by: ada)
            func refusal(_ words: [String]) async throws -> String {
                let run = try await CommandLineRun(["share"] + words, variables: ada)
                #expect(run.code == 1 && run.output.isEmpty, "\(words)")
                return run.errors
            }
            #expect(try await refusal(["show", "Trips"]).contains("not shared as a whole"))
            for words in [["create"], ["show"]] {
                let said = try await refusal(words + ["Trips", "--root", "nope"])
                #expect(said.contains("no record 'nope'") && said.contains("record list"))
            }
            #expect(try await refusal(["stop", "Trips"]).contains("cumulus share list"))
            #expect(try await refusal(["accept", "cumulus:/share/short"]).contains("22 letters"))
            try await story.change(["share", "create", "Trips"], by: ada)
            #expect(try await refusal(["create", "Trips"]).contains("cumulus share set"))
            let bob = "bob@example.org"
            #expect(try await refusal(["remove", "Trips", bob]).contains("not in the share"))
            try await story.change(["share", "add", "Trips", "--writer", bob], by: ada)
            let shown = try await story.ask(["share", "show", "Trips"], by: ada)
            #expect(shown.contains("\(bob) (privateUser, readWrite, pending)"))
            try await story.change(["share", "remove", "Trips", "BOB@example.org"], by: ada)
            #expect(!(try await story.ask(["share", "show", "Trips"], by: ada)).contains(bob))
        }
    }

    /// A user who joined by the URL invites nobody, and is not invited while the share is open.
    @Test func whoJoinedByTheURLIsExplained() async throws {
        try await Story.play(on: 1) { story in
            let ada = try story.otherDevice(of: "ada", in: "private")
            let bo = try story.otherDevice(of: "bo", in: "shared")
            try await story.change(["zone", "create", "Trips"], by: ada)
            try await story.change(["share", "create", "Trips", "--public", "readOnly"], by: ada)
            let shown = try await story.ask(["share", "show", "Trips"], by: ada)
            let url = try #require(shown.firstMatch(of: /cumulus:\/share\/[A-Za-z0-9_-]{22}/))
            let owner = try #require(shown.firstMatch(of: /_[0-9a-f]{32}/)).output.description
            _ = try await story.ask(["share", "accept", url.output.description], by: bo)
            func refusal(_ words: [String], by device: Story.Device) async throws -> String {
                let run = try await CommandLineRun(["share"] + words, variables: device)
                #expect(run.code == 1 && run.output.isEmpty, "\(words)")
                return run.errors
            }
            let add = ["add", "Trips", "--writer"]
            let hers = try await refusal(add + ["eve@example.org", "--owner", owner], by: bo)
            #expect(hers.contains("owner and administrators"), "\(hers)")
            let joined = try await story.ask(["share", "show", "Trips", "--json"], by: ada)
            let guest = try #require(
                joined.matches(of: /_[0-9a-f]{32}/).map(\.output.description).last { $0 != owner }
            )
            let ours = try await refusal(add + [guest], by: ada)
            #expect(ours.contains("cumulus share set Trips --public none"), "\(ours)")
        }
    }
}
