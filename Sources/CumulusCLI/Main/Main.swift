// `cumulus`: the command line. Which commands there are, and how each way to fail becomes one line
// on standard error and an exit code.
//
// Folder: the command line itself: its commands, its ways to fail, and how it reaches a node. Read
// `Main`, then `Connection`.

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
            ImportCommand.self, ExportCommand.self, SignInCommand.self, LoginCommand.self,
            LogoutCommand.self, SessionCommand.self,
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
            complain(failure.message)
            exit(withError: failure.code)
        }
        let text = fullMessage(for: error)
        guard exitCode(for: error) == .success, !text.isEmpty else { exit(withError: error) }
        // Help was asked for: the parser would not notice that it can't be written.
        do {
            try StandardOutput.write(line: text)
        } catch {
            end(with: error)
        }
        exit()
    }
}

/// Wrong usage that shows only when the command runs; the parser would advise about all commands.
struct UsageProblem: Error {
    var message: String

    init(_ message: String) {
        self.message = message
    }
}

/// An error of the work itself: its line and its exit code.
struct Failure {
    var message: String
    var code: ExitCode

    /// nil for what the argument parser reports, which is wrong usage and help.
    ///
    /// Also nil for the exit code of what was reported already.
    init?(_ error: any Error) {
        switch error {
        case let error as ServiceError where error.isOfFullDisk:
            message = error.message
            code = .badOutput
        case let error as ServiceError:
            message = "\(error)"
            code = error.isUnreachable ? .unreachable : .refused
        case let problem as UsageProblem:
            message = problem.message
            code = .validationFailure
        case let problem as InputProblem:
            message = problem.message
            code = .badInput
        case let problem as OutputProblem:
            message = problem.message
            code = .badOutput
        case let error as CocoaError:
            message = error.localizedDescription
            code = .badInput
        case is ExitCode: return nil
        default:
            // The parser's errors are not public. It has codes of its own for all of them.
            guard Main.exitCode(for: error) == .failure else { return nil }
            message = "\(error)"
            code = .internalError
        }
    }
}

extension ServiceError {
    /// What was downloaded found no room on this machine.
    fileprivate var isOfFullDisk: Bool { code == .internalError && reason == .diskFull }
}
