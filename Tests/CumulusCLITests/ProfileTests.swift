// Profiles: their file, which of them a command takes, and what goes before its values.

import ArgumentParser
import CumulusModel
import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

/// A folder of configuration of its own.
private struct Home {
    let folder = FileManager.default.temporaryDirectory.appending(path: "profiles-\(UUID())")

    var path: String { "\(folder.path)/cumulus/profiles.json" }

    /// Runs with these variables beside the folder, and removes it.
    func use(
        _ variables: [String: String] = [:],
        _ body: () async throws -> Void
    ) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let all = ["XDG_CONFIG_HOME": folder.path].merging(variables) { $1 }
        try await Setting.$variables.withValue(all) { try await body() }
    }

    func write(_ text: String, to name: String = "profiles.json") throws {
        let folder = folder.appending(path: "cumulus")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: folder.appending(path: name))
    }
}

private let work = Profile(
    [
        .endpoint: "a.example.org:7420,b:1", .container: "iCloud.x", .environment: "production",
        .tls: "always", .authority: "/ca.pem", .token: "cumulus_1",
    ],
    user: "ada"
)
private let node = Profile([.endpoint: "127.0.0.1:7421", .operatorToken: "cumulus_operator_2"])

@Suite struct ProfileFileTests {
    private let home = Home()

    @Test func whatIsWrittenIsReadAgainByItsOwnerOnly() async throws {
        try await home.use {
            #expect(try ProfileFile.read() == ProfileFile())
            let file = ProfileFile(profiles: ["work": work, "node": node], current: "work")
            try file.write()
            #expect(try ProfileFile.read() == file)
            let attributes = try FileManager.default.attributesOfItem(atPath: home.path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let names = try FileManager.default.contentsOfDirectory(
                atPath: home.folder.appending(path: "cumulus").path
            )
            #expect(names == ["profiles.json"])
            try ProfileFile().write()
            #expect(try ProfileFile.read() == ProfileFile())
        }
    }

    @Test func theFormStays() {
        let file = ProfileFile(profiles: ["node": node, "work": work], current: "node")
        #expect(
            file.text == """
                {"current": "node", "profiles": {
                  "node": {"endpoint": "127.0.0.1:7421", "operator-token": "cumulus_operator_2"},
                  "work": {"endpoint": "a.example.org:7420,b:1", "container": "iCloud.x", \
                "environment": "production", "tls": "always", "authority": "/ca.pem", \
                "token": "cumulus_1", "user": "ada"}
                }}
                """
        )
    }

    /// A later release may keep more.
    @Test func membersThatAreNotKnownAreLeftOut() throws {
        let text = #"{"current": "gone", "new": 1, "profiles": {"a": {"endpoint": "x", "c": "d"}}}"#
        let file = try #require(ProfileFile(Data(text.utf8)))
        #expect(file == ProfileFile(profiles: ["a": Profile([.endpoint: "x"])]))
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"profiles": []}"#, #"{"profiles": {"a": {}}}"#,
        #"{"profiles": {"a": {"endpoint": 1}}}"#, #"{"current": 1, "profiles": {}}"#,
        #"{"profiles": {"a": {"endpoint": "x"}}"#,
    ])
    func aDamagedFileIsNamed(text: String) async throws {
        try await home.use {
            try home.write(text)
            let problem = #expect(throws: InputProblem.self) { try ProfileFile.read() }
            #expect(problem?.message.contains(home.path) == true)
            // A command that asks nobody runs nevertheless.
            let profile = ProfileChoice.profile(of: ["config", "show"])
            try Setting.$profile.withValue(profile) {
                #expect(throws: InputProblem.self) { try Setting.profile.get() }
                _ = try Main.parseAsRoot(["cluster", "init", "cluster.key"])
            }
        }
    }

    @Test func aLoginOfTheFirstReleaseIsAProfile() async throws {
        try await home.use {
            try home.write(
                #"{"endpoint": "a:1", "container": "c", "environment": "production", "#
                    + #""token": "t"}"#,
                to: "client.json"
            )
            let file = try ProfileFile.read()
            #expect(file.current == "default")
            let values = try file.profile("default").values
            #expect(values[.token] == "t" && values[.environment] == "production")
            #expect(values[.tls] == nil)
            // What no login wrote is none of the command line's business.
            try home.write(#"{"endpoint": "a:1"}"#, to: "client.json")
            #expect(try ProfileFile.read() == ProfileFile())
        }
    }

    @Test func aNewTokenGoesToTheProfileAndToApps() async throws {
        try await home.use {
            try ProfileFile(profiles: ["work": work, "node": node], current: "node").write()
            let client = try ClientFile()
            var settings = ClientFile.Settings(
                endpoints: ["a:1"],
                container: "c",
                environment: .development,
                token: "cumulus_1",
                tls: "",
                authority: ""
            )
            try client.write(settings)
            let chosen = ProfileChoice.profile(of: ["password", "--profile", "work"])
            let name = try Setting.$profile.withValue(chosen) { try ProfileFile.renew("new") }
            #expect(name == "work")
            #expect(try ProfileFile.read().profile("work").values[.token] == "new")
            #expect(try client.read()?.token == "new")
            // Another user's file stays.
            settings.token = "other"
            try client.write(settings)
            _ = try Setting.$profile.withValue(chosen) { try ProfileFile.renew("newer") }
            #expect(try client.read()?.token == "other")
        }
    }

    @Test(arguments: ["", "none", "-a", "a b", "a/b", String(repeating: "a", count: 65)])
    func namesThatCanNotBe(name: String) {
        #expect(throws: UsageProblem.self) { try Profile.check(name) }
    }
}

@Suite struct ProfileChoiceTests {
    private let home = Home()

    /// The settings of `config show`, as the whole program would find them.
    private func settings(_ words: String...) throws -> [Setting.Name: Setting] {
        let words = ["config", "show"] + words
        return try Setting.$profile.withValue(ProfileChoice.profile(of: words)) {
            let show = try #require(try Main.parseAsRoot(words) as? ConfigCommand.Show)
            return Dictionary(uniqueKeysWithValues: show.settings.map { ($0.name, $0) })
        }
    }

    private func keep() throws {
        try ProfileFile(profiles: ["work": work, "node": node], current: "work").write()
    }

    @Test func aProfileGivesWhatIsNotNamed() async throws {
        try await home.use(["CUMULUS_CONTAINER": "iCloud.v"]) {
            try keep()
            let settings = try settings("--environment", "development")
            #expect(settings[.profile]?.value == "work")
            #expect(settings[.profile]?.origin == "cumulus use")
            #expect(settings[.endpoint]?.value == "a.example.org:7420,b:1")
            #expect(settings[.endpoint]?.origin == "profile work")
            #expect(settings[.container]?.origin == "environment CUMULUS_CONTAINER")
            #expect(settings[.environment]?.origin == "flag")
            #expect(settings[.token]?.value == "cumu…")
            #expect(settings[.token]?.origin == "profile work")
            #expect(settings[.database]?.value == "private")
            #expect(settings[.authority]?.value == "/ca.pem")
            #expect(settings[.timeout]?.origin == "default")
            #expect(settings[.operatorToken]?.value == "")
        }
    }

    @Test func aFlagGoesBeforeAVariableAndThatBeforeTheChoice() async throws {
        try await home.use(["CUMULUS_CLIENT_PROFILE": "node"]) {
            try keep()
            let byVariable = try settings()
            #expect(byVariable[.endpoint]?.value == "127.0.0.1:7421")
            #expect(byVariable[.profile]?.origin == "environment CUMULUS_CLIENT_PROFILE")
            #expect(byVariable[.operatorToken]?.value == "cumu…")
            let byFlag = try settings("--profile=work")
            #expect(byFlag[.profile]?.value == "work" && byFlag[.profile]?.origin == "flag")
            let none = try settings("--profile", "none")
            #expect(none[.endpoint]?.origin == "default" && none[.profile]?.value == "")
        }
    }

    /// Who asks is said once: by the flag or the variable, if there is one.
    @Test func whatSaysWhoAsksGoesBeforeTheProfile() async throws {
        try await home.use {
            try keep()
            let callers = [
                ["--token-file", "f"], ["--key", "f", "--key-id", "i"], ["--token", "t"],
            ]
            for words in callers.map({ ["record", "list"] + $0 }) {
                try Setting.$profile.withValue(ProfileChoice.profile(of: words)) {
                    let list = try #require(try Main.parseAsRoot(words) as? RecordCommand.List)
                    let user = list.connection.user
                    #expect(!user.isOfProfile, "\(words)")
                    #expect(user.role == (words.contains("--key") ? .server : .user), "\(words)")
                }
            }
            let file = try settings("--operator-token-file", "f", "--profile", "node")
            #expect(file[.operatorToken]?.value == "")
        }
    }

    /// A flag that leads elsewhere would hand the token to a stranger.
    @Test func aTokenOfAProfileIsShownToItsOwnEndpointsOnly() async throws {
        try await home.use {
            try keep()
            for (words, isShown) in [
                (["record", "list"], true),
                (["record", "list", "--endpoint", "elsewhere.example.org"], false),
                (["record", "list", "--endpoint", "elsewhere.example.org", "--token", "t"], true),
            ] {
                try Setting.$profile.withValue(ProfileChoice.profile(of: words)) {
                    let list = try #require(try Main.parseAsRoot(words) as? RecordCommand.List)
                    let check = Result { try list.connection.user.checkAddressees() }
                    if case .failure(let problem as UsageProblem) = check {
                        #expect(!isShown && problem.message.contains("elsewhere"), "\(words)")
                    } else {
                        #expect(isShown, "\(words)")
                    }
                }
            }
        }
    }

    @Test func aProfileThatIsNotThereIsSaid() async throws {
        try await home.use {
            try keep()
            let words = ["record", "list", "--profile", "wrok"]
            try await Setting.$profile.withValue(ProfileChoice.profile(of: words)) {
                let list = try #require(try Main.parseAsRoot(words) as? RecordCommand.List)
                let problem = await #expect(throws: UsageProblem.self) { try await list.run() }
                let reason = "no profile 'wrok' (there are: node, work)"
                #expect(problem?.message.contains(reason) == true)
            }
            // Behind -- it is no option.
            let other = ProfileChoice.profile(of: ["record", "get", "--", "--profile", "wrok"])
            #expect(try other.get()?.name == "work")
        }
    }

    /// Without a request: the profile knows who its user is.
    @Test func aChosenProfileIsShownWithItsUser() {
        #expect(
            work.rows == [
                ["endpoint", "a.example.org:7420,b:1"], ["container", "iCloud.x"],
                ["environment", "production"], ["as", "user"], ["user", "ada"],
            ]
        )
        #expect(node.rows == [["endpoint", "127.0.0.1:7421"], ["as", "operator"]])
    }

    @Test func useChoosesAndLogoutTakesAway() async throws {
        try await home.use {
            try keep()
            func run(_ words: String...) async throws {
                var command = try #require(
                    try Main.parseAsRoot(words) as? any AsyncParsableCommand
                )
                try await command.run()
            }
            try await run("use", "node")
            #expect(try ProfileFile.read().current == "node")
            try await run("use", "none")
            #expect(try ProfileFile.read().current == nil)
            await #expect(throws: UsageProblem.self) { try await run("use", "wrok") }
            try await run("use", "node")
            try await run("logout", "work", "--json")
            let left = ProfileFile(profiles: ["node": node], current: "node")
            #expect(try ProfileFile.read() == left)
            await #expect(throws: UsageProblem.self) { try await run("logout", "--revoke") }
            try await run("logout")
            #expect(try ProfileFile.read() == ProfileFile())
            await #expect(throws: UsageProblem.self) { try await run("logout", "node") }
        }
    }
}
