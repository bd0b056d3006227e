// `cumulus sign-in`: from a user's password to a token for the other commands.

import ArgumentParser
import Cumulus

struct SignInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in",
        abstract: "Sign in with a password, and print the session's token or keep it in a file.",
        discussion: help(
            "export CUMULUS_TOKEN=$(cumulus sign-in alice)",
            "cumulus sign-in alice --token-file alice.token --password-file alice.password",
            "cumulus sign-in alice --label \"Alice's laptop\" --json",
            note: """
                The token is shown once. It is good for 30 days, and for as long again when it is \
                used in the second half of them; 'cumulus session revoke' ends it before. A file \
                is readable by nobody else. An operator sets the password with 'cumulus user \
                password'.
                """
        )
    )

    @Argument(help: "Name of the user.") var name: String
    @OptionGroup var password: PasswordOption
    @Option(help: "What the list of sessions is to say about it.") var label: String?
    @Option(help: "File that gets the token, in place of standard output.") var tokenFile: String?
    @OptionGroup var container: ContainerOption
    @OptionGroup var nodes: NodeOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let session = try await signIn(try password.present(of: name))
        if let tokenFile { try KeyFile.write(session.token, to: tokenFile, isSecret: true) }
        let recordName = session.userRecordID.recordName
        let expires = session.expires.text
        let token = tokenFile.map { JSON.Member("tokenFile", .string($0)) }
        try output.show(
            .object([
                JSON.Member("user", .string(name)),
                JSON.Member("recordName", .string(recordName)),
                JSON.Member("expires", .string(expires)),
                token ?? JSON.Member("token", .string(session.token)),
            ]),
            rows: tokenFile.map {
                [
                    ["user", name], ["recordName", recordName], ["expires", expires],
                    ["token", "written to \($0)"],
                ]
            } ?? [[session.token]]
        )
    }

    /// As nobody: a token that has ended would let nobody in who wants a new one.
    private func signIn(_ password: String) async throws -> AccessSession {
        let visitor = Container(
            identifier: container.name,
            configuration: try nodes.configuration(timeout: 10)
        )
        let result = await Result {
            try await visitor.signIn(name: name, password: password, label: label ?? "")
        }
        await visitor.close()
        return try result.get()
    }
}
