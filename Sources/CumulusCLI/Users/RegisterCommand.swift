// `cumulus register`: a person makes a user for itself, on a node that lets users register.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Make a user with a password, and sign in.",
        discussion: help(
            "export CUMULUS_TOKEN=$(cumulus register alice)",
            "cumulus register alice --output alice.token --password-file alice.password",
            "cumulus register alice --label \"Alice's laptop\" --json",
            note: """
                For nodes that run with 'cumulusd --registration'; on others an operator makes \
                users with 'cumulus user add'. It prints the token of a new session, as 'cumulus \
                sign-in' does. The name is for good, and the password has 8 to 256 bytes.
                """
        )
    )

    @Argument(help: "Name of the new user.") var name: String
    @OptionGroup var password: PasswordOption
    @Option(help: "What the list of sessions is to say about it.") var label: String?
    @OptionGroup var target: TokenOutput
    /// The name of --output in release 0.1.
    @Option(help: .hidden) var tokenFile: String?
    @OptionGroup var container: ContainerOption
    @OptionGroup(visibility: .hidden) var nodes: NodeOptions
    @OptionGroup var output: OutputOptions

    /// The file that gets the token.
    private var file: String? { target.output ?? tokenFile }

    func run() async throws {
        // The file is checked first: the name stays taken even if the token can't be written.
        if let file { try KeyFile.checkWritable(file) }
        let password = try password.new(of: name)
        let session = try await nodes.asVisitor(of: container) {
            try await $0.register(name: name, password: password, label: label ?? "")
        }
        try output.show(session, of: name, keptIn: file)
    }
}
