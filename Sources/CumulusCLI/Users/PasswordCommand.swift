// `cumulus password`: users change their own passwords; operators use `cumulus user password`.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct PasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "Change your own password, which ends all your sessions, and sign in anew.",
        discussion: help(
            "export CUMULUS_TOKEN=$(cumulus password)",
            "cumulus password --token-file alice.token",
            "cumulus password --password-file old.password --new-password-file new.password --json",
            note: """
                It needs a token, and asks for the present password and twice for the new one. \
                Where standard input is no terminal it holds both, in a line each. All your \
                sessions end, on all devices, and 'cumulus login' has to be run again. It prints \
                the token of a new session, as 'cumulus sign-in' does. Access tokens that an \
                operator made stay good: 'cumulus session revoke' ends them. Who has lost the \
                password asks an operator ('cumulus user password'). With --json "user" is null: \
                a token doesn't tell the name, and "recordName" says whose it is.
                """
        )
    )

    @OptionGroup var passwords: PasswordChange
    @Option(help: "What the list of sessions is to say about the new one.") var label: String?
    @Option(help: "File that gets the token, in place of standard output.") var tokenFile: String?
    @OptionGroup var connection: Connection
    @OptionGroup var output: OutputOptions

    func run() async throws {
        // The check comes before passwords are typed in vain, or all sessions end and the new token
        // is lost.
        try connection.needToken()
        if let tokenFile { try KeyFile.checkWritable(tokenFile) }
        let (old, new) = try passwords.both()
        let session = try await connection.withContainer {
            try await $0.changePassword(from: old, to: new, label: label ?? "")
        }
        try output.show(session, of: nil, keptIn: tokenFile)
        guard !output.json else { return }
        complain("The password is changed, and all earlier sessions have ended; use the new token.")
    }
}
