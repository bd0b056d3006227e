// `cumulusd`: a node of Cumulus. Its subcommands, help texts and exit codes.
//
// Exit codes: 0 after a signal and a clean end, 1 when the node can't start, 64 for flags that make
// no sense, 70 when the store failed, or another process took it over, while the node was running,
// 74 when the output can't be written.
//
// Folder: the server, from its flags to its end. Read `Commands`, then `Wiring`.

import ArgumentParser
import CumulusModel
import CumulusSystem

/// Runs the node that the command line describes, and ends the process if it can't.
package func runServer() async { await Main.main() }

struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cumulusd",
        version: Release.version,
        subcommands: [Run.self, Config.self, Bound.self],
        defaultSubcommand: Run.self
    )

    static func main() async {
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
        let text = fullMessage(for: error)
        let ending = exitCode(for: error)
        guard ending == .success, !text.isEmpty else {
            let message = message(for: error)
            if message.isEmpty || Wiring.namedLogFormat() != .json { exit(withError: error) }
            Wiring.complain(message, in: .json)
            exit(withError: ending)
        }
        // The program's help is the help of the subcommand that runs by default.
        let shown = text == helpMessage() ? helpMessage(for: Run.self) : text
        // Help was asked for: the parser would not notice that it can't be written.
        let code = write(shown + "\n", to: STDOUT_FILENO)
        if code == 0 { exit() }
        complain("the output can't be written: \(systemText(code))")
        exit(withError: ExitCode(74))
    }
}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a node of Cumulus, the open record server.",
        usage: """
            cumulusd [<options>]
            cumulusd config show [<options>]
            """,
        discussion: """
            Examples:
              cumulusd --data /var/lib/cumulus
              cumulusd --listen 127.0.0.1:0 --profile small
              cumulusd --store postgres://cumulus@db.example/cumulus \\
                --store-password-file /etc/cumulus/database.password --standby
              CUMULUS_DATA=/srv/notes cumulusd --config /etc/cumulus.json
              cumulusd --data b --listen 127.0.0.1:7421 \\
                --cluster-key a/cluster.key --peers 127.0.0.1:7420
              cumulusd config show --config /etc/cumulus.json

            Each setting may also be a variable of the environment or stand in the file of \
            --config: '--log-level debug' is CUMULUS_LOG_LEVEL=debug, or "logLevel": "debug". \
            'cumulusd config show' prints what holds, and 'cumulusd config show --help' says \
            which goes before which.

            The line 'cumulusd ready on ADDRESS' on standard output says that it serves: a new \
            node of a cluster takes a state first. 'cumulusd listens on ADDRESS' comes before. \
            SIGTERM drains: calls in progress end, new ones are refused. A second signal ends it \
            at once.

            With --standby, 'cumulusd stands by while PROCESS holds the store' may come first.

            Exit codes: 0 ended by a signal, 1 could not start, 64 a flag that doesn't exist, 70 \
            the store failed or another process took it over, 74 the output can't be written, \
            130 ended by a second signal.
            """
    )
    @OptionGroup var flags: Flags

    func run() async throws {
        var format = Wiring.namedLogFormat()
        do {
            let configuration = try flags.configuration()
            format = try? configuration[\.node.logFormat]
            try await Wiring(configuration).run()
        } catch {
            Wiring.complain("\(error)", in: format)
            throw ExitCode(1)
        }
    }
}

struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at the settings.",
        subcommands: [Show.self]
    )

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every setting, its value, and where the value came from.",
            discussion: """
                Example: CUMULUS_LISTEN=127.0.0.1:7500 cumulusd config show --json

                A flag goes before the environment, that before the file of --config or \
                \(Configuration.fileVariable), and that before the default. The variables are \
                \(Settings.rows.map(\.variable).joined(separator: ", ")); an empty one is not set.

                Exit codes: 0 they can be used, 1 they can't, and why is said, 74 the \
                output can't be written.
                """
        )
        @OptionGroup var flags: Flags
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            do {
                let configuration = try flags.configuration()
                let text = json ? try encoded(configuration) : table(configuration)
                let code = write(text + "\n", to: STDOUT_FILENO)
                guard code == 0 else {
                    complain("the output can't be written: \(systemText(code))")
                    throw ExitCode(74)
                }
                try Wiring(configuration).check()
            } catch let problem as StartProblem {
                complain(problem.description)
                throw ExitCode(1)
            }
        }

        private func table(_ configuration: Configuration) -> String {
            let width = Settings.rows.map(\.name.count).max() ?? 0
            return Settings.rows.map { row in
                let value = configuration.value(of: row)
                let name = row.name + String(repeating: " ", count: width - row.name.count)
                return "\(name)  \(row.shown(value.value))  (\(value.origin))"
            }.joined(separator: "\n")
        }

        private func encoded(_ configuration: Configuration) throws -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            var values = configuration.values
            for row in Settings.rows {
                values[row.name] = values[row.name].map {
                    Configuration.Value(value: row.shown($0.value), origin: $0.origin)
                }
            }
            return String(decoding: try encoder.encode(values), as: UTF8.self)
        }
    }
}

/// One line on standard error.
func complain(_ message: String) {
    write("cumulusd: \(message)\n", to: STDERR_FILENO)
}
