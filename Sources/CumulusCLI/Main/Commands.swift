// `cumulus`, the command line: the list of its commands. `Program` of `CumulusTerminal` runs them.
//
// Folder: the command line itself: its commands, and how it reaches a node. Read `Commands`, then
// `Connection`.

import ArgumentParser
import CumulusModel
import CumulusTerminal

/// Runs the command that the command line names, and ends the process if it fails.
package func runCommandLine() async {
    let profile = ProfileChoice.profile(of: Array(CommandLine.arguments.dropFirst()))
    await Setting.$profile.withValue(profile) { await Main.main() }
}

struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cumulus",
        abstract: "Talks to a Cumulus server: records, zones, users, import and export.",
        discussion: help(
            "cumulus login --operator --token-file cumulus-data/operator.token",
            "cumulus status",
            "cumulus record get hello",
            "cumulus import Place places.jsonl"
        ),
        version: Release.version,
        subcommands: [ConnectionTopic.self, ErrorTopic.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Records",
                subcommands: [
                    RecordCommand.self, AssetCommand.self, QueryCommand.self, ZoneCommand.self,
                    ShareCommand.self, ChangesCommand.self, SubscriptionCommand.self,
                    WatchCommand.self, NotificationCommand.self, ConflictsCommand.self,
                    ImportCommand.self, ExportCommand.self,
                ]
            ),
            CommandGroup(
                name: "Signing in",
                subcommands: [
                    LoginCommand.self, UseCommand.self, WhoAmICommand.self, LogoutCommand.self,
                    ConfigCommand.self, RegisterCommand.self, SignInCommand.self,
                    PasswordCommand.self, SessionCommand.self, PushCommand.self,
                ]
            ),
            CommandGroup(
                name: "Operator",
                subcommands: [
                    StatusCommand.self, TopCommand.self, ConsoleCommand.self, ClusterCommand.self,
                    OperatorCommand.self, BackupCommand.self,
                    ContainerCommand.self, SchemaCommand.self, IndexCommand.self,
                    PolicyCommand.self, UserCommand.self, RoleCommand.self, KeyCommand.self,
                    WebCommand.self, MigrateCommand.self,
                ]
            ),
        ]
    )

    static func main() async {
        await runProgram(advice: UnknownCommand.message)
    }
}
