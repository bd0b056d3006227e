// How a program runs its command line: the command, and each way to fail as one line on standard
// error and an exit code.
//
// Called by `main` of the programs that talk to nodes; `Failure` has the lines and the codes.

package import ArgumentParser
import CumulusSystem

extension AsyncParsableCommand {
    /// Runs the command that the command line names; ends the process if there is none, or if it
    /// fails.
    ///
    /// - Parameter advice: Makes a message from words that the parser refuses; nil keeps the
    ///   parser's message.
    package static func runProgram(
        advice: (_ words: [String]) -> String? = { _ in nil }
    ) async {
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
            end(with: error, advice)
        }
    }

    private static func end(
        with error: any Error,
        _ advice: (_ words: [String]) -> String?
    ) -> Never {
        if let failure = Failure(error) {
            failure.report()
            exit(withError: failure.code)
        }
        if exitCode(for: error) == .validationFailure,
            let message = advice(Array(CommandLine.arguments.dropFirst()))
        {
            end(with: UsageProblem(message), advice)
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
            end(with: error, advice)
        }
        exit()
    }
}
