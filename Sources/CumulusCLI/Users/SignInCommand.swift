// `cumulus sign-in`: from a user's password, or an identity provider's ID token, to a token for the
// other commands.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct SignInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in",
        abstract: "Sign in, and print the session's token or keep it in a file.",
        discussion: help(
            "export CUMULUS_TOKEN=$(cumulus sign-in alice)",
            "cumulus sign-in alice --output alice.token --password-file alice.password",
            "cumulus sign-in alice --label \"Alice's laptop\" --json",
            "get-id-token | cumulus sign-in --id-token-file - --output my.token",
            note: """
                The token is shown once. It is good for 30 days, and for as long again when it is \
                used in the second half of them; 'cumulus session revoke' ends it before. A file \
                is readable by nobody else. An operator sets the first password with 'cumulus user \
                password', 'cumulus password' changes it, and 'cumulus register' makes a user \
                where the node lets users register. An operator trusts identity providers with \
                'cumulusd --issuers'.
                """
        )
    )

    @Argument(help: "Name of the user; not with --id-token-file.") var name: String?
    @OptionGroup var password: PasswordOption
    @Option(
        help: """
            File or pipe with an ID token of OpenID Connect that signs in, in place of name and \
            password; - is standard input.
            """
    )
    var idTokenFile: String?
    @Option(help: "What the list of sessions is to say about it.") var label: String?
    @OptionGroup var target: TokenOutput
    /// The name of --output in release 0.1.
    @Option(help: .hidden) var tokenFile: String?
    @OptionGroup var container: ContainerOption
    @OptionGroup(visibility: .hidden) var nodes: NodeOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (name == nil) != (idTokenFile == nil) else {
            throw ValidationError("name a user, or an ID token with --id-token-file.")
        }
        guard idTokenFile == nil || password.passwordFile == nil else {
            throw ValidationError("--password-file and --id-token-file exclude each other.")
        }
    }

    /// The file that gets the token.
    private var file: String? { target.output ?? tokenFile }

    func run() async throws {
        if let file { try KeyFile.checkWritable(file) }
        try output.show(try await signIn(by: try proof()), of: name, keptIn: file)
    }

    private enum Proof {
        case password(String, user: String)
        case idToken(String)
    }

    private func proof() throws -> Proof {
        if let name { return .password(try password.present(of: name), user: name) }
        return .idToken(try TokenFile.token(idTokenFile ?? "-", "an ID token"))
    }

    private func signIn(by proof: Proof) async throws -> AccessSession {
        try await nodes.asVisitor(of: container) { visitor in
            switch proof {
            case .password(let password, let name):
                try await visitor.signIn(name: name, password: password, label: label ?? "")
            case .idToken(let token):
                try await visitor.signIn(idToken: token, label: label ?? "")
            }
        }
    }
}

extension NodeOptions {
    /// Runs as nobody: a token that has ended would let nobody in who wants a new one.
    func asVisitor<Value>(
        of container: ContainerOption,
        _ body: (Container) async throws -> Value
    ) async throws -> Value {
        let configuration = try configuration(timeout: 10)
        let visitor = Container(identifier: container.name, configuration: configuration)
        let result = await Result { try await body(visitor) }
        await visitor.close()
        return try result.get()
    }
}

/// The place of a new token.
struct TokenOutput: ParsableArguments {
    @Option(name: .shortAndLong, help: "File that gets the token; standard output if left out.")
    var output: String?
}

extension OutputOptions {
    /// Prints a new session's token, or keeps it in a file that nobody else can read.
    func show(_ session: AccessSession, of name: String?, keptIn tokenFile: String?) throws {
        if let tokenFile { try KeyFile.write(session.token, to: tokenFile, isSecret: true) }
        let recordName = session.userRecordID.recordName
        let expires = session.expires.text
        let token = tokenFile.map { JSON.Member("tokenFile", .string($0)) }
        try show(
            .object([
                JSON.Member("user", name.map(JSON.string) ?? .null),
                JSON.Member("recordName", .string(recordName)),
                JSON.Member("expires", .string(expires)),
                token ?? JSON.Member("token", .string(session.token)),
            ]),
            rows: tokenFile.map {
                (name.map { [["user", $0]] } ?? []) + [
                    ["recordName", recordName], ["expires", expires],
                    ["token", "written to \($0)"],
                ]
            } ?? [[session.token]]
        )
    }
}
