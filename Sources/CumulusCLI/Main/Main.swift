// `cumulus`: the command line. Which commands there are, and how each way to fail becomes one line
// on standard error and an exit code; `Failure` has the lines and the codes.
//
// Folder: the command line itself: its commands, its ways to fail, and how it reaches a node. Read
// `Main`, then `Failure` and `Connection`.

import ArgumentParser
import Cumulus
import CumulusBulk
import CumulusModel
import Foundation

@main
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
            ConflictsCommand.self, PolicyCommand.self, SchemaCommand.self, IndexCommand.self,
            BackupCommand.self, ContainerCommand.self,
            StatusCommand.self, TopCommand.self, Bench.self, ConfigCommand.self,
        ]
    )

    static func main() async {
        // A pipe that is closed is told by its error, before and after there are connections.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }

    private static func end(with error: any Error) -> Never {
        if let failure = Failure(error) {
            failure.report()
            exit(withError: failure.code)
        }
        if exitCode(for: error) == .validationFailure,
            let message = UnknownCommand.message(Array(CommandLine.arguments.dropFirst()))
        {
            end(with: UsageProblem(message))
        }
        let text = fullMessage(for: error)
        guard exitCode(for: error) == .success, !text.isEmpty else {
            if Failure.isJSON, let failure = Failure(ofUsage: error) {
                failure.report()
                exit(withError: failure.code)
            }
            exit(withError: error)
        }
        // Help was asked for: the parser would not notice that it can't be written.
        do {
            try StandardOutput.write(line: text)
        } catch {
            end(with: error)
        }
        exit()
    }
}
