// `cumulus login` and `cumulus logout`: who is signed in, for apps that are written for CloudKit.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in for apps that use CloudKit's interface on this machine.",
        discussion: help(
            "cumulus login alice --container iCloud.org.example.photos",
            "cumulus login --access-token-file alice.token --endpoint a.example.org,b.example.org",
            "cumulus login alice --password-file alice.password --json",
            note: """
                Writes addresses, container, environment and token to ~/.config/cumulus/\
                client.json, which nobody else can read; apps take them from there, and variables \
                such as CUMULUS_TOKEN go before them. XDG_CONFIG_HOME names another folder than \
                ~/.config. 'cumulus logout' takes it back. A container has one signed-in user on \
                this machine: another login replaces the first.
                """
        )
    )

    @Argument(help: "Name of the user; not with --access-token-file.") var name: String?
    @OptionGroup var password: PasswordOption
    @Option(
        help:
            "File with a token of the user, in place of name and password; - is standard input."
    )
    var accessTokenFile: String?
    @Option(help: "File that is written, in place of the one where apps look.") var file: String?
    @OptionGroup var nodes: NodeOptions
    @OptionGroup var scope: ScopeOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (name == nil) != (accessTokenFile == nil) else {
            throw ValidationError("name a user, or a token with --access-token-file.")
        }
        guard accessTokenFile == nil || password.passwordFile == nil else {
            throw ValidationError("--password-file and --access-token-file exclude each other.")
        }
    }

    func run() async throws {
        let target = try ClientFile(file)
        // The target is checked first: the token of a new session would be lost.
        try target.prepare()
        let token = try await token()
        let user = try await withContainer(token: token) { try await $0.userRecordID() }
        try target.write(
            ClientFile.Settings(
                endpoints: nodes.endpoints,
                container: scope.containerName,
                environment: try scope.environmentValue(),
                token: token,
                tls: nodes.named(.tls),
                authority: LoginCommand.absolute(nodes.named(.authority))
            )
        )
        try output.show(
            [
                "user": name.map(JSON.string) ?? .null, "recordName": .string(user.recordName),
                "container": .string(scope.containerName), "file": .string(target.path),
            ],
            rows: (name.map { [["user", $0]] } ?? []) + [
                ["recordName", user.recordName], ["container", scope.containerName],
                ["file", target.path],
            ]
        )
    }

    /// Apps run in other folders.
    private static func absolute(_ path: String) -> String {
        path.isEmpty ? path : URL(filePath: path).path
    }

    private func token() async throws -> String {
        guard let name else { return try given() }
        let password = try password.present(of: name)
        return try await withContainer(token: nil) {
            try await $0.signIn(name: name, password: password, label: "cumulus login").token
        }
    }

    private func given() throws -> String {
        let file = accessTokenFile ?? "-"
        let origin = file == "-" ? "standard input" : file
        let data =
            file == "-"
            ? try OpenFile.standardInput.readToEnd()
            : FileManager.default.contents(atPath: file)
        guard let data else { throw InputProblem("the token \(origin) can't be read") }
        let token = String(decoding: data, as: UTF8.self).trimmed
        guard !token.isEmpty, !token.contains(where: \.isWhitespace) else {
            throw InputProblem("\(origin) holds no token: it is one word")
        }
        return token
    }

    private func withContainer<Value>(
        token: String?,
        _ body: (Container) async throws -> Value
    ) async throws -> Value {
        var configuration = try nodes.configuration(timeout: 10)
        configuration.environment = try scope.environmentValue()
        configuration.accessToken = token
        configuration.connections = 1
        let container = Container(identifier: scope.containerName, configuration: configuration)
        let result = await Result { try await body(container) }
        await container.close()
        return try result.get()
    }
}

extension NodeOptions {
    /// The value of a flag or of the environment; empty for a default.
    fileprivate func named(_ name: Setting.Name) -> String {
        settings.first { $0.name == name && !$0.isStandard }?.value ?? ""
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Remove what 'cumulus login' wrote.",
        discussion: help(
            "cumulus logout",
            "cumulus logout --revoke --json",
            note: """
                Apps that run go on until they end. The session itself goes on, as after the \
                logout of other command lines: it ends 30 days after its last use, or at once with \
                --revoke, and so do apps that use its token. With --revoke the file stays if no \
                node can be reached. An access token of 'cumulus user token' ends as well.
                """
        )
    )

    @Option(help: "File that is removed, in place of the one where apps look.") var file: String?
    @Flag(help: "End the session too, on all nodes.") var revoke = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let target = try ClientFile(file)
        let settings = revoke ? try target.read() : nil
        if let settings { try await settings.endSession() }
        let existed = try target.remove()
        let session = settings == nil ? [] : [["session", "ended"]]
        try output.show(
            [
                "file": .string(target.path), "existed": .bool(existed),
                "revoked": .bool(settings != nil),
            ],
            rows: [["file", target.path], ["state", existed ? "removed" : "was not there"]]
                + session
        )
    }
}

extension ClientFile.Settings {
    /// Ends the session of the token; one that has ended already is no error.
    fileprivate func endSession() async throws {
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.timeout = .seconds(10)
        configuration.environment = environment
        configuration.accessToken = token
        configuration.connections = 1
        if let tls = Container.TLS(rawValue: tls) { configuration.tls = tls }
        if !authority.isEmpty { configuration.authority = authority }
        let container = Container(identifier: container, configuration: configuration)
        let result = await Result { try await container.signOut() }
        await container.close()
        try result.get()
    }
}
