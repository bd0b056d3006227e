// `cumulus`, the command line: the list of its commands. `Program` of `CumulusTerminal` runs them.
//
// Folder: the command line itself: its commands, and how it reaches a node. Read `Commands`, then
// `Connection`.

import ArgumentParser
import CumulusModel
import CumulusTerminal

/// Runs the command that the command line names, and ends the process if it fails.
package func runCommandLine() async { await Main.main() }

struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cumulus",
        abstract: "Talks to a Cumulus server: records, zones, users, import and export.",
        discussion: help(
            "cumulus status --operator-token-file cumulus-data/operator.token",
            "cumulus record get hello",
            "cumulus import places.jsonl --type Place"
        ),
        version: Release.version,
        subcommands: [
            RecordCommand.self, AssetCommand.self, QueryCommand.self, ZoneCommand.self,
            ShareCommand.self, ChangesCommand.self, SubscriptionCommand.self, WatchCommand.self,
            NotificationCommand.self,
            ImportCommand.self, ExportCommand.self, RegisterCommand.self, SignInCommand.self,
            PasswordCommand.self, LoginCommand.self, LogoutCommand.self, SessionCommand.self,
            UserCommand.self, RoleCommand.self, KeyCommand.self, ClusterCommand.self,
            OperatorCommand.self,
            ConflictsCommand.self, PolicyCommand.self, SchemaCommand.self, IndexCommand.self,
            BackupCommand.self, ContainerCommand.self,
            StatusCommand.self, TopCommand.self, ConfigCommand.self,
        ]
    )

    static func main() async {
        await runProgram(advice: UnknownCommand.message)
    }
}
