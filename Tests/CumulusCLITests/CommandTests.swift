// The commands as a user meets them: help texts, arguments, settings, exit codes, tables.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

/// A subcommand and the words that lead to it.
struct CommandPath: CustomTestStringConvertible, Sendable {
    var words: [String]
    var type: any ParsableCommand.Type
    var testDescription: String { words.joined(separator: " ") }

    /// Every command that does something itself, without groups of commands and pages of help.
    static let leaves = all.filter {
        $0.type.configuration.subcommands.isEmpty && $0.type.configuration.shouldDisplay
    }
    /// The groups of commands.
    static let groups = all.filter { !$0.type.configuration.subcommands.isEmpty }

    private static let all = paths(["cumulus"], Main.self)

    private static func paths(_ words: [String], _ type: any ParsableCommand.Type) -> [CommandPath]
    {
        let children = type.configuration.subcommands
        return [CommandPath(words: words, type: type)]
            + children.flatMap { paths(words + [$0._commandName], $0) }
    }

    /// The lines of its help that show how it is called.
    func examples(in help: String) -> [Substring] {
        help.split(separator: "\n").filter { line in
            line.hasPrefix("  ") && (line + " ").contains(words.joined(separator: " ") + " ")
        }
    }
}

@Suite struct HelpTests {
    @Test func everyNounIsThere() {
        let nouns = Set(CommandPath.leaves.map { $0.words[1] })
        #expect(
            nouns == [
                "record", "zone", "import", "export", "user", "container", "status",
                "config", "cluster", "changes", "conflicts", "backup", "policy", "query", "schema",
                "index", "asset", "subscription", "watch", "notification", "role",
                "session", "sign-in", "login", "logout", "key", "share", "register", "password",
                "top", "use", "whoami", "console", "operator", "web", "push", "migrate",
            ]
        )
    }

    @Test(arguments: CommandPath.leaves)
    func everyCommandExplainsItself(command: CommandPath) {
        let help = Main.helpMessage(for: command.type, columns: 400)
        #expect(help.contains("--json"))
        #expect(help.contains("cumulus help connection") && help.contains("cumulus help errors"))
        #expect(!command.examples(in: help).isEmpty)
        #expect(help.contains("Example:\n") || help.contains("Examples:\n"))
    }

    /// Every example is a line that the command line takes, in the spelling of today.
    @Test(arguments: CommandPath.leaves)
    func examplesCanBeCopied(command: CommandPath) throws {
        let help = Main.helpMessage(for: command.type, columns: 400)
        for line in command.examples(in: help) where !line.contains(where: "\"'<>|$=".contains) {
            let words = line.split(separator: " ").drop { $0 != "cumulus" }.dropFirst()
            #expect(throws: Never.self, "\(line)") { try Main.parseAsRoot(words.map(String.init)) }
        }
        #expect(!help.contains("--operator-token-file <"))
    }

    /// What all commands share is shown once.
    @Test func sharedOptionsStandOnOnePage() throws {
        let page = Main.helpMessage(for: ConnectionTopic.self, columns: 80)
        let shared = [
            "--profile", "--endpoint", "--tls", "--authority", "--timeout", "--container",
            "--environment", "--token-file", "--token", "--key", "--key-id", "--session",
        ]
        for option in shared { #expect(page.contains("\n  \(option) <"), "\(option)") }
        for name in Setting.Name.allCases {
            #expect(name.variable.map(page.contains) ?? true, "\(name)")
        }
        let get = Main.helpMessage(for: RecordCommand.Get.self, columns: 80)
        #expect(shared.allSatisfy { !get.contains("\n  \($0) <") })
        let errors = Main.helpMessage(for: ErrorTopic.self, columns: 400)
        #expect(errors.contains("Exit codes: 0 done, 1 "))
        for code in ["64", "65", "69", "70", "74", "141"] { #expect(errors.contains(", \(code) ")) }
    }

    /// Each of their examples is one that the command line takes.
    @Test(arguments: CommandPath.groups)
    func everyGroupShowsHowItIsUsed(group: CommandPath) throws {
        let help = Main.helpMessage(for: group.type, columns: 400)
        let start = try #require(help.range(of: "Examples?:\n", options: .regularExpression))
        let lines = help[start.upperBound...].split(separator: "\n").prefix { $0.hasPrefix("  ") }
        #expect(lines.contains { $0.hasPrefix("  \(group.testDescription) ") })
        for line in lines {
            #expect(line.hasPrefix("  cumulus "), "\(line)")
            // Quotes and redirections are the shell's to take away.
            guard !line.contains(where: "\">".contains) else { continue }
            let words = line.split(separator: " ").dropFirst().map(String.init)
            #expect(throws: Never.self, "\(line)") { try Main.parseAsRoot(words) }
        }
    }
}

@Suite struct ArgumentTests {
    @Test(arguments: [
        [], ["--merge", "record", "--group", "a,b"], ["--merge", "groups"], ["--group", "a"],
        ["--group", "a,b", "--group", "b,c"],
    ]) func policiesThatCanNotBe(words: [String]) {
        #expect(throws: (any Error).self) {
            try Main.parseAsRoot(["policy", "set", "Page"] + words)
        }
    }

    private func parse<Command: ParsableCommand>(
        _ words: String...,
        as type: Command.Type
    ) throws -> Command {
        try #require(try Main.parseAsRoot(words) as? Command)
    }

    @Test func aSaveGathersItsFields() throws {
        let command = try parse(
            "record",
            "save",
            "Place",
            "home",
            "--field",
            "a=b=c",
            "--field",
            "e=",
            "--json-fields",
            "{\"n\": 2, \"gone\": null}",
            "--increment",
            "visits=-3",
            "--parent",
            "town",
            "--zone",
            "Z",
            "--database",
            "private",
            "--tag",
            "0a1b",
            as: RecordCommand.Save.self
        )
        let record = try command.record()
        #expect(record.recordType == "Place")
        #expect(record.recordID == Record.ID(recordName: "home", zoneID: .init(zoneName: "Z")))
        #expect(record["a"] == "b=c")
        #expect(record["e"] == "")
        #expect(record["n"] == 2)
        #expect(record.changedKeys() == ["a", "e", "gone", "n"])
        #expect(record.increments == ["visits": -3])
        #expect(record.parent?.recordName == "town")
        #expect(try command.connection.scope() == .private)
        #expect(record.recordChangeTag == "0a1b")
    }

    @Test func aSubscriptionGathersItsParts() throws {
        let command = try #require(
            try Main.parseAsRoot(
                """
                subscription save s --query City --zone Z --on create --on delete --once \
                --extensions --alert-key NEW --alert-arg name --alert-arg size --sound bell \
                --badge --collapse-id c --keys name,size --where TRUEPREDICATE \
                --webhook orders
                """.split(separator: " ").map(String.init)
            ) as? SubscriptionCommand.Save
        )
        let subscription = try command.subscription()
        let zone = RecordZone.ID(zoneName: "Z")
        let kind = Subscription.Kind.query(recordType: "City", predicate: .all, zone: zone)
        #expect(subscription.id == "s" && subscription.kind == kind)
        let options: Subscription.Options = [
            .firesOnRecordCreation, .firesOnRecordDeletion, .firesOnce,
        ]
        #expect(subscription.options == options)
        #expect(subscription.allowsExtensions)
        var info = Subscription.NotificationInfo()
        info.alertLocalizationKey = "NEW"
        info.alertLocalizationArgs = ["name", "size"]
        info.soundName = "bell"
        info.shouldBadge = true
        info.collapseIDKey = "c"
        info.desiredKeys = ["name", "size"]
        info.webhook = "orders"
        #expect(subscription.notificationInfo == info)
        #expect(info.json["webhook"] == "orders")
    }

    @Test(
        arguments: [
            ([], .database()), (["--type", "T"], .database(recordType: "T")),
            (["--zone", "Z"], .zone(.init(zoneName: "Z"))),
            (["--zone", "Z", "--type", "T"], .zone(.init(zoneName: "Z"), recordType: "T")),
            (["--query", "T"], .query(recordType: "T", predicate: .all)),
        ] as [([String], Subscription.Kind)]
    )
    func theOptionsSayWhatASubscriptionWatches(
        words: [String],
        kind: Subscription.Kind
    ) throws {
        let command = try Main.parseAsRoot(["subscription", "save", "s"] + words)
        let save = try #require(command as? SubscriptionCommand.Save)
        #expect(try save.subscription() == Subscription(id: "s", kind: kind))
    }

    @Test func aWebhookHasAName() {
        #expect {
            try Main.parseAsRoot(["subscription", "save", "s", "--webhook", ""])
        } throws: { error in
            Main.message(for: error).contains("--webhook needs a name")
        }
    }

    @Test(
        arguments: [
            ([:], [], .public), (["CUMULUS_TOKEN": "t"], [], .private),
            ([:], ["--token", "t"], .private),
            (["CUMULUS_TOKEN": "t", "CUMULUS_DATABASE": "public"], [], .public),
            (["CUMULUS_DATABASE": "public"], ["--database", "shared"], .shared),
        ] as [([String: String], [String], DatabaseScope)]
    )
    func theDatabaseIsPrivateForWhoHasAToken(
        variables: [String: String],
        words: [String],
        scope: DatabaseScope
    ) throws {
        try Setting.$variables.withValue(variables) {
            let commands: [any ParsableCommand] = try [
                ["record", "get", "n"], ["record", "list"], ["zone", "list"], ["changes", "zones"],
                ["import", "T", "f"], ["asset", "info", "n", "f"],
            ].map { try Main.parseAsRoot($0 + words) }
            for command in commands {
                let connection = Mirror(reflecting: command).children
                    .compactMap { ($0.value as? OptionGroup<DatabaseConnection>)?.wrappedValue }
                    .first
                #expect(try connection?.scope() == scope, "\(type(of: command))")
            }
        }
    }

    @Test func zonesOfThePublicDatabaseAreNotMade() async throws {
        let command = try parse("zone", "create", "Notes", as: ZoneCommand.Create.self)
        let problem = await #expect(throws: UsageProblem.self) { try await command.run() }
        #expect(problem?.message.contains("--token or CUMULUS_TOKEN") == true)
    }

    @Test func zonesOfTheSharedDatabaseAreLeft() async throws {
        let words = ["zone", "delete", "Trips", "--database", "shared", "--token", "t"]
        let problem = try await problem(of: words)
        #expect(problem?.contains("'cumulus share leave Trips --owner RECORD-NAME'") == true)
    }

    /// What a command says before it asks a node.
    private func problem(
        of words: [String],
        _ variables: [String: String] = [:]
    ) async throws -> String? {
        try await Setting.$variables.withValue(variables) {
            var command = try #require(
                try Main.parseAsRoot(words) as? any AsyncParsableCommand
            )
            return await #expect(throws: UsageProblem.self, "\(words)") {
                try await command.run()
            }?.message
        }
    }

    /// An example is the empty token of a failed `CUMULUS_TOKEN=$(cumulus sign-in ada)`.
    @Test(arguments: [
        ["zone", "list"], ["record", "list", "--database", "public"], ["share", "accept", "u"],
        ["session", "list"], ["password", "--password-file", "f", "--new-password-file", "g"],
    ])
    func anEmptyTokenIsNotNobody(words: [String]) async throws {
        let problem = try await problem(of: words, ["CUMULUS_TOKEN": ""])
        #expect(problem?.contains("CUMULUS_TOKEN is empty: 'cumulus sign-in NAME'") == true)
        let error = #expect(throws: (any Error).self) {
            try Main.parseAsRoot(words + ["--token", ""])
        }
        #expect(Main.message(for: try #require(error)).contains("--token is empty"))
    }

    @Test(arguments: [
        ["record", "save", "T", "n", "--field", "a=1"], ["record", "get", "n"],
        ["record", "delete", "n"], ["record", "list"], ["query", "T", "--zone", "Z"],
        ["changes", "records", "Z"], ["changes", "records", "Z", "--follow"],
        ["share", "show", "Z"],
        ["share", "list", "--zone", "Z"], ["share", "set", "Z", "--title", "t"],
        ["share", "remove", "Z", "_b"], ["asset", "info", "r", "f"],
        ["asset", "get", "r", "f", "--output", "-"],
    ])
    func ownersAreNamedInTheSharedDatabaseOnly(words: [String]) async throws {
        let owned = words + ["--owner", "_a", "--token", "t"]
        let problem = try await problem(of: owned)
        #expect(problem?.contains("private one: add --database shared") == true)
        let shared = words + ["--database", "shared", "--token", "t"]
        #expect(try await self.problem(of: shared)?.contains("with --owner") == true)
    }

    @Test(arguments: [
        ["record", "save", "T"], ["record", "get"], ["record", "save", "T", "n", "--field", "a"],
        ["record", "save", "T", "n", "--tag", "maybe"], ["import", "f"],
        ["import", "T", "f", "--batch", "0"], ["import", "T", "f", "--batch", "401"],
        ["import", "T", "f", "--parallel", "0"], ["record", "list", "--limit", "0"], ["export"],
        ["changes", "zones", "--follow", "--limit", "1"],
        ["zone", "list", "--database", "theirs"], ["status", "--timeout", "0"],
        ["subscription", "save"], ["subscription", "save", "s", "--query", "T", "--where", "a ="],
        ["subscription", "save", "s", "--query", "T", "--on", "rename"],
        ["subscription", "delete"], ["notification", "read"], ["notification", "read", "12"],
        ["notification", "read", "--all", "000102030405060708090a0b0c0d0e0f"],
        ["status", "--environment", "staging"], ["status", "--endpoint", ","],
        ["export", "T", "--json"], ["nonsense"], ["sign-in"], ["user", "password"],
        ["login"], ["login", "u", "--token-file", "f"], ["logout", "u", "--file", "f"],
        ["login", "--token-file", "f", "--password-file", "g"],
        ["login", "--token-file", "f", "--access-token-file", "g"], ["use", "a", "b"],
        ["login", "--operator"], ["login", "u", "--operator", "--token-file", "f"],
        ["login", "--operator", "--token-file", "f", "--file", "g"],
        ["record", "list", "--token", "t", "--token-file", "f"],
        ["status", "--token-file", "f", "--operator-token-file", "g"],
        ["session", "revoke"], ["session", "revoke", "00", "--all"],
        ["user", "handle", "add", "u"], ["user", "profile", "u", "--discoverable", "maybe"],
        ["migrate"], ["migrate", "--schema", "s"],
        ["migrate", "--schema", "s", "--source-key", "k"],
        ["migrate", "--schema", "s", "--source-key", "k", "--source-key-id", "i", "--user", "u"],
        ["migrate", "--schema", "s", "--source-token-file", "t", "--follow", "--verify"],
        ["migrate", "--schema", "s", "--source-token-file", "t", "--every", "0"],
        ["migrate", "--schema", "s", "--source-token-file", "t", "--source-environment", "x"],
        ["key", "add"], ["key", "add", "f", "--days", "0"], ["key", "revoke"],
        ["register"], ["password", "u"], ["password", "--password-file", "f"],
        ["password", "--new-password-file", "f"], ["record", "list", "--token", ""],
        ["query", "T", "--database", "shared"],
        ["query", "T", "--database", "shared", "--owner", "_a"],
    ])
    func wrongUsageEndsWith64(words: [String]) throws {
        let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(words) }
        #expect(Main.exitCode(for: try #require(error)) == ExitCode(64))
    }

    /// An option that would change nothing is refused.
    @Test(arguments: [
        ["status", "--replicas", "1"], ["status", "--token", "t"], ["status", "--session", "f"],
        ["status", "--container", "c"], ["top", "--endpoint", "a:1", "--endpoint", "b:2"],
        ["top", "--endpoint", "a:1,b:2"], ["backup", "/b", "--endpoint", "a:1,b:2"],
        ["cluster", "leave", "--endpoint", "a:1,b:2"],
        ["cluster", "verify", "5d", "--endpoint", "a:1,b:2"],
        ["cluster", "status", "--zones", "--endpoint", "a:1,b:2"],
        ["cluster", "status", "--zones", "--all"],
        ["schema", "deploy", "--environment", "production"],
        ["schema", "diff", "--environment", "production"],
        ["user", "list", "--environment", "production"],
        ["user", "token", "u", "--container", "c"], ["user", "disable", "u", "--container", "c"],
        ["user", "password", "u", "--token", "t"], ["sign-in", "u", "--token", "t"],
        ["sign-in", "u", "--environment", "production"],
        ["login", "u", "--token", "t"], ["logout", "--endpoint", "a:1"],
        ["register", "u", "--token", "t"], ["register", "u", "--environment", "production"],
        ["session", "list", "--operator-token-file", "f"],
        ["session", "list", "--user", "u", "--token", "t"],
        ["session", "list", "--user", "u", "--key", "f"], ["key", "list", "--token", "t"],
        ["session", "revoke", "--all", "--user", "u", "--container", "c"],
        ["cluster", "status", "--container", "c"],
        ["cluster", "status", "--environment", "production"],
        ["record", "get", "n", "--replicas", "1"],
        ["record", "list", "--operator-token-file", "f"],
        ["zone", "list", "--encryption-key-file", "f"],
        ["query", "T", "--count", "--limit", "5"], ["query", "T", "--count", "--sort", "a"],
        ["query", "T", "--count", "--keys", "a"], ["query", "T", "--count", "--near", "a,1,2"],
        ["query", "T", "--explain", "--keys", "a"],
        ["subscription", "save", "s", "--zone", "Z", "--where", "a == 1"],
        ["subscription", "save", "s", "--on", "create"], ["subscription", "save", "s", "--once"],
        ["subscription", "save", "s", "--extensions"],
        ["subscription", "save", "s", "--zone", "Z", "--keys", "a"],
        ["subscription", "save", "s", "--query", "T", "--type", "T"],
        ["conflicts", "list", "--token", "t"], ["conflicts", "list", "--session", "f"],
        ["conflicts", "list", "--mine", "--operator-token-file", "f"],
        ["asset", "get", "r", "f", "-o", "-", "--force"],
    ])
    func anOptionThatDoesNothingIsRefused(words: [String]) throws {
        let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(words) }
        #expect(Main.exitCode(for: try #require(error)) == ExitCode(64))
    }

    /// Wherever the addresses come from, nobody has to guess which node is meant.
    @Test(arguments: [
        ["backup", "/b"], ["cluster", "leave"], ["cluster", "verify", "5d"], ["top"],
    ])
    func whatIsDoneToOneNodeNeedsOneAddress(words: [String]) throws {
        try Setting.$variables.withValue(["CUMULUS_ENDPOINT": "a:1,b:2,c:3"]) {
            let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(words) }
            let message = Main.message(for: try #require(error))
            #expect(message.contains("about one node, and CUMULUS_ENDPOINT names 3"), "\(message)")
            #expect(message.contains("--endpoint"), "\(message)")
            _ = try Main.parseAsRoot(words + ["--endpoint", "b:2"])
        }
    }

    @Test(arguments: [
        ["record", "save", "T", "n", "--replicas", "1"], ["record", "delete", "n", "--replicas=1"],
        ["asset", "put", "T", "n", "f", "x", "--replicas", "1"],
        ["import", "f", "--type=T", "--replicas=1"],
        ["zone", "create", "Z", "--replicas", "1"], ["zone", "delete", "Z", "--replicas", "1"],
        ["record", "get", "n", "--encryption-key-file", "f", "--session", "s", "--token", "t"],
        ["schema", "export", "--environment", "production", "--container", "c"],
        ["cluster", "status", "--zones", "--environment", "production", "--container", "c"],
        ["conflicts", "list", "--mine", "--token", "t", "--session", "f"],
        ["conflicts", "list", "--operator-token-file", "f"],
        ["session", "revoke", "--all", "--user", "u", "--operator-token-file", "f"],
        ["session", "list", "--token", "t", "--container", "c"],
        ["sign-in", "u", "--container", "c", "-o", "f", "--password-file", "g"],
        ["session", "revoke", "--all", "--user", "u", "--token-file", "f"],
        ["session", "list", "--token-file", "f"], ["record", "list", "--token-file", "f"],
        ["status", "--token-file", "f"], ["conflicts", "list", "--token-file", "f"],
        ["import", "T", "f"], ["export", "T", "-o", "f"], ["schema", "export", "-o", "f"],
        ["use"], ["use", "a"], ["whoami", "--profile", "a"], ["console", "--print"],
        ["login", "--operator", "--token-file", "f", "--profile", "a"], ["logout", "a"],
        ["user", "list", "--endpoint", "a:1,b:2"], ["cluster", "status", "--endpoint", "a,b,c"],
        ["operator", "list", "--endpoint", "a", "--endpoint", "b"],
        ["conflicts", "list", "--endpoint", "a,b"], ["container", "list", "--endpoint", "a,b"],
        ["session", "list", "--user", "u", "--endpoint", "a,b"],
        ["backup", "/b", "--endpoint", "a:1"], ["cluster", "leave", "--endpoint", "a:1"],
        // As in release 0.1.
        ["import", "f", "--type", "T"], ["export", "--type", "T"],
        ["status", "--operator-token-file", "f"], ["login", "--access-token-file", "f"],
        ["sign-in", "u", "--token-file", "f"],
        ["login", "u", "--container", "c", "--environment", "production", "--file", "f"],
        ["login", "--token-file", "-", "--endpoint", "a:1,b:2", "--tls", "never"],
        ["logout", "--file", "f", "--revoke", "--json"],
        ["register", "u", "--container", "c", "--output", "f", "--password-file", "g"],
        ["password", "--password-file", "f", "--new-password-file", "g", "--token", "t"],
        ["query", "T", "--database", "shared", "--owner", "_a", "--zone", "Z"],
    ])
    func anOptionThatDoesSomethingIsTaken(words: [String]) throws {
        _ = try Main.parseAsRoot(words)
    }

    @Test(arguments: [
        ["--field", "a=1", "--field", "a=2"], ["--asset", "a=b", "--asset", "a=c"],
        ["--field", "a=1", "--asset", "a=b"], ["--field", "a=1", "--json-fields", "{\"a\": 2}"],
        ["--asset", "a=b", "--json-fields", "{\"a\": null}"],
    ])
    func aFieldHasOneValue(words: [String]) throws {
        let error = #expect(throws: (any Error).self) {
            try Main.parseAsRoot(["record", "save", "T", "n"] + words)
        }
        let found = try #require(error)
        #expect(Main.exitCode(for: found) == ExitCode(64))
        #expect(Main.message(for: found).contains("'a' stands twice"))
    }

    @Test func oneFileIsAListOnlyIfToldSo() throws {
        func field(_ words: String...) throws -> FieldValue? {
            let put = try Main.parseAsRoot(["asset", "put", "T", "n", "f", #filePath] + words)
            return try #require(put as? AssetCommand.Put).record()["f"]
        }
        let asset = FieldValue.asset(try AssetFile.asset(#filePath))
        #expect(try field() == asset)
        #expect(try field("--list") == .list([asset]))
        #expect(try field(#filePath) == .list([asset, asset]))
    }

    @Test func keysMayBeNone() throws {
        let get = RecordCommand.Get.self
        #expect(try parse("record", "get", "a", as: get).keys.list == nil)
        #expect(try parse("record", "get", "a", "--keys", "", as: get).keys.list == [])
        #expect(try parse("record", "get", "a", "--keys", "b,c", as: get).keys.list == ["b", "c"])
    }
}

@Suite struct SettingTests {
    private func settings(
        _ variables: [String: String],
        _ words: String...
    ) throws -> [String: Setting] {
        try Setting.$variables.withValue(variables) {
            let command = try Main.parseAsRoot(["config", "show"] + words)
            let show = try #require(command as? ConfigCommand.Show)
            return Dictionary(uniqueKeysWithValues: show.settings.map { ($0.name.rawValue, $0) })
        }
    }

    @Test func defaultsStandAlone() throws {
        let settings = try settings([:])
        #expect(settings.values.allSatisfy { $0.origin == "default" })
        #expect(settings.count == Setting.Name.allCases.count)
        #expect(settings["endpoint"]?.value == "127.0.0.1:7420")
        #expect(settings["container"]?.value == "iCloud.dev.cumulus")
        #expect(settings["environment"]?.value == "development")
    }

    @Test func everyVariableIsNamed() throws {
        let names = [
            "ENDPOINT", "TOKEN", "CONTAINER", "ENVIRONMENT", "OPERATOR_TOKEN_FILE", "SESSION",
            "ENCRYPTION_KEY_FILE", "TLS", "AUTHORITY", "DATABASE", "KEY", "KEY_ID",
        ].map { "CUMULUS_\($0)" }
        let variables = Dictionary(uniqueKeysWithValues: names.map { ($0, "always") })
        var found = try settings(
            variables.merging([
                "CUMULUS_ENDPOINT": "a:1",
                "CUMULUS_ENVIRONMENT": "production", "CUMULUS_DATABASE": "public",
            ]) { $1 }
        ).values.map(\.origin)
        found.removeAll { $0 == "default" }
        // A token's file stands in for CUMULUS_TOKEN, and a profile is looked for elsewhere.
        let file = try self.settings(["CUMULUS_TOKEN_FILE": "f"])["token-file"]
        #expect(file?.origin == "environment CUMULUS_TOKEN_FILE")
        #expect(Set(found) == Set(names.map { "environment \($0)" }))
        let help = Main.helpMessage(for: ConfigCommand.Show.self, columns: 400)
        #expect(names.filter { !help.contains($0) } == [])
    }

    @Test func aFlagGoesBeforeTheEnvironmentAndThatBeforeTheDefault() throws {
        let variables = ["CUMULUS_ENDPOINT": "a:1", "CUMULUS_CONTAINER": "c", "CUMULUS_TOKEN": ""]
        let settings = try settings(variables, "--endpoint", "b:2,c:3", "--endpoint", "d:4")
        #expect(settings["endpoint"]?.value == "b:2,c:3,d:4")
        #expect(settings["endpoint"]?.origin == "flag")
        #expect(settings["container"]?.origin == "environment CUMULUS_CONTAINER")
        #expect(settings["token"]?.origin == "default")
    }

    /// A flag says who asks, whatever the environment says of the other way.
    @Test func aKeyByFlagGoesBeforeATokenOfTheEnvironment() throws {
        let variables = ["CUMULUS_TOKEN": "t", "CUMULUS_KEY": "f", "CUMULUS_KEY_ID": "i"]
        let byKey = try settings(variables, "--key", "g")
        #expect(byKey["token"]?.value == "" && byKey["key"]?.value == "g")
        #expect(byKey["key-id"]?.value == "i" && byKey["database"]?.value == "public")
        let byToken = try settings(variables, "--token", "u")
        #expect(byToken["key"]?.value == "" && byToken["key-id"]?.value == "")
        #expect(byToken["database"]?.value == "private")
    }

    @Test(arguments: [
        (["--database", "sharde"], [:], "(--database)"),
        ([], ["CUMULUS_DATABASE": "sharde"], "(CUMULUS_DATABASE)"),
        (["--endpoint", "127.0.0.1:999999"], [:], "(--endpoint)"),
        ([], ["CUMULUS_TLS": "maybe"], "(CUMULUS_TLS)"),
    ]) func aWrongValueIsNamedWithItsSource(
        words: [String],
        variables: [String: String],
        source: String
    ) throws {
        let error = Setting.$variables.withValue(variables) {
            #expect(throws: (any Error).self) {
                try Main.parseAsRoot(["record", "get", "a"] + words)
            }
        }
        #expect(Main.message(for: try #require(error)).contains(source))
    }

    /// The node would say that no user has it.
    @Test func anOperatorsTokenIsNoUsers() async throws {
        let token = "cumulus_operator_" + String(repeating: "5a", count: 32)
        let words = ["record", "get", "a", "--token", token, "--endpoint", "127.0.0.1:1"]
        let get = try #require(try Main.parseAsRoot(words) as? RecordCommand.Get)
        let problem = await #expect(throws: UsageProblem.self) { try await get.run() }
        let message = try #require(problem?.message)
        #expect(message.contains("--token is an operator's") && !message.contains("5a5a"))
        #expect(message.contains("--token-file"))
    }

    @Test func aTokenIsNeverShownWhole() throws {
        let token = "cumulus_" + String(repeating: "0123456789abcdef", count: 4)
        #expect(try settings(["CUMULUS_TOKEN": token])["token"]?.value == "cumulus_0123…")
        let settings = try settings(["CUMULUS_TOKEN": "cumulus_0123456789"])
        #expect(settings["token"]?.value == "cumu…")
        #expect(try self.settings([:], "--token", "abc")["token"]?.value == "a…")
    }
}

@Suite struct UsageTests {
    @Test func wrongUsageIsAnErrorToo() throws {
        let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(["record", "get"]) }
        let usage = try #require(error)
        let failure = try #require(Failure(ofUsage: usage))
        #expect(failure.code == .validationFailure && failure.message.contains("<names>"))
        let others: [any Error] = [ExitCode(64), CleanExit.helpRequest()]
        #expect(others.allSatisfy { Failure(ofUsage: $0).map(\.message) == nil })
    }

    /// Also for programs, which see no usage.
    @Test func wrongUsageSaysWhatIsValid() throws {
        let words = ["share", "create", "Trips", "--reader", "notanything", "--json"]
        let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(words) }
        let usage = try #require(error)
        let message = try #require(Failure(ofUsage: usage)).message
        #expect(message.contains("'notanything'") && message.contains(Person.help))
        #expect(!message.contains("Usage:") && !message.contains("\n"))
    }

    @Test(
        arguments: [
            (
                "recrd get nix --json",
                "there is no command 'recrd'; did you mean 'record'? See 'cumulus --help'"
            ),
            (
                "--json record gett nix",
                "there is no command 'record gett'; did you mean 'record get'? See 'cumulus "
                    + "record --help'"
            ),
            ("frobnicate now", "there is no command 'frobnicate'; see 'cumulus --help'"),
            ("record get --nonsense", nil), ("help recrd", nil), ("--endpoint a recrd", nil),
            ("record", nil), ("", nil),
            (
                "bench save --json",
                "'bench' is a program: type 'cumulus-bench' in place of 'cumulus bench'"
            ),
        ] as [(String, String?)]
    )
    func aCommandThatIsNotThereIsNamed(line: String, message: String?) {
        let words = line.split(separator: " ").map(String.init)
        #expect(UnknownCommand.message(words) == message)
    }
}

@Suite struct TableTests {
    @Test func columnsAreAligned() {
        let table = Table.aligned([["A", "LONG", "C"], ["aaa", "b", "c"], ["é", ""]])
        #expect(table == "A    LONG  C\naaa  b     c\né    ")
    }

    @Test func whatATerminalActsOnIsNotPrinted() {
        #expect(Table.aligned([["a\u{1B}[2J\n\u{9B}b"]]) == "a\u{FFFD}[2J\u{FFFD}\u{FFFD}b")
    }

    @Test(arguments: [
        ["asset", "get", "r", "f"], ["asset", "get", "r", "f", "-o", "x", "--range", "5"],
        ["asset", "get", "r", "f", "-o", "x", "--range", "5-4"], ["asset", "put", "T", "r", "f"],
        ["asset", "get", "r", "f", "-o", "-", "--json"], ["asset", "info", "r"],
    ]) func assetCommandsThatCanNotBe(words: [String]) {
        #expect(throws: (any Error).self) { try Main.parseAsRoot(words) }
    }
}
