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
            "cumulus password --output alice.token",
            "cumulus password --password-file old.password --new-password-file new.password --json",
            note: """
                It needs a token, and asks for the present password and twice for the new one. \
                Where standard input is no terminal it holds both, in a line each. All your \
                sessions end, on all devices. It prints the token of a new session, as 'cumulus \
                sign-in' does; a profile whose token it took gets the new one, and so does the \
                file for apps. Access tokens that an operator made stay good: 'cumulus session \
                revoke' ends them. Who has lost the password asks an operator ('cumulus user \
                password'). With --json "user" is null: a token doesn't tell the name, and \
                "recordName" says whose it is.
                """
        )
    )

    @OptionGroup var passwords: PasswordChange
    @Option(help: "What the list of sessions is to say about the new one.") var label: String?
    @OptionGroup var target: TokenOutput
    @OptionGroup var connection: Connection
    @OptionGroup var output: OutputOptions

    /// The file that gets the token.
    private var file: String? { target.output }

    func run() async throws {
        // The check comes before passwords are typed in vain, or all sessions end and the new token
        // is lost.
        try connection.needToken()
        if let file { try KeyFile.checkWritable(file) }
        let (old, new) = try passwords.both()
        let session = try await connection.withContainer {
            try await $0.changePassword(from: old, to: new, label: label ?? "")
        }
        let profile = try connection.isOfProfile ? ProfileFile.renew(session.token) : nil
        try output.show(session, of: nil, keptIn: file)
        guard !output.json else { return }
        let kept = profile.map { "the profile '\($0)' has the new token." } ?? "use the new token."
        complain("The password is changed, and all earlier sessions have ended; \(kept)")
    }
}
