// `cumulus login`: makes a profile for the following commands, and for a user the file in which
// apps that are written for CloudKit find their server.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in for the following commands, and for apps on this machine.",
        discussion: help(
            "cumulus login alice --container iCloud.org.example.photos",
            "cumulus login --token-file alice.token --endpoint a.example.org,b.example.org",
            "cumulus login --token-file <(cumulus user token ada)",
            "cumulus login alice --profile work --endpoint a.example.org",
            "cumulus login --operator --token-file cumulus-data/operator.token",
            "cumulus login --operator --token-file carol.token --endpoint a:7420,b:7420",
            "cumulus login --operator --token-file <(ssh host cat data/operator.token)",
            note: """
                Keeps addresses, container, environment and token as a profile in ~/.config/\
                cumulus/profiles.json, which nobody else can read; XDG_CONFIG_HOME names another \
                folder than ~/.config. Commands take from the profile what no flag and no \
                variable names. It is called 'default', or 'operator' with --operator, unless \
                --profile names it, and it is in use from now on: 'cumulus use' chooses another, \
                'cumulus logout' removes it.

                A user's login also writes client.json in that folder, or the file that --file \
                names, and then no profile: apps that use CloudKit's interface take server and \
                user from there, and variables such as CUMULUS_TOKEN go before them. Apps have \
                one signed-in user on this machine: another login replaces the first.
                """
        )
    )

    @Argument(help: "Name of the user; not with --token-file.") var name: String?
    @Flag(name: .customLong("operator"), help: "Sign in as the operator of a node.")
    var isOperator = false
    @OptionGroup var password: PasswordOption
    @Option(
        help: """
            File or pipe with a token, in place of name and password; - is standard input.
            """
    )
    var tokenFile: String?
    /// The name of --token-file in release 0.1.
    @Option(help: .hidden) var accessTokenFile: String?
    @Option(help: "File for apps that is written, in place of a profile.") var file: String?
    @OptionGroup var nodes: NodeOptions
    @OptionGroup var scope: ScopeOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard tokenFile == nil || accessTokenFile == nil else {
            throw ValidationError("Name one --token-file.")
        }
        guard !isOperator else { return try validateOperator() }
        guard (name == nil) != (givenFile == nil) else {
            throw ValidationError(
                "name a user, who has a password, or a token with --token-file, not both."
            )
        }
        guard givenFile == nil || password.passwordFile == nil else {
            throw ValidationError("--password-file and --token-file exclude each other.")
        }
    }

    private func validateOperator() throws {
        guard name == nil, file == nil, password.passwordFile == nil else {
            throw ValidationError(
                "An operator shows a token: a name, --file and --password-file go without "
                    + "--operator."
            )
        }
        guard operatorFile != nil else {
            throw ValidationError(
                "name the operator's token, operator.token in the node's data directory, with "
                    + "--token-file."
            )
        }
    }

    private var givenFile: String? { tokenFile ?? accessTokenFile }

    private var operatorFile: String? { Setting(.operatorTokenFile, flag: givenFile).file }

    // MARK: The run

    func run() async throws {
        let name = try profileName()
        // A new login goes on where the profile of that name was, unless it is at another server.
        let known = nodes.isNamed ? nil : try name.flatMap { try ProfileChoice.known($0) }
        try await Setting.$profile.withValue(.success(known)) {
            try await isOperator ? signInOperator(name) : signInUser(name)
        }
    }

    /// The name of the profile; nil if the login keeps no profile.
    private func profileName() throws -> String? {
        guard file == nil else { return nil }
        let standard = isOperator ? ProfileChoice.ofOperators : ProfileChoice.ofUsers
        let name = output.profile.named ?? standard
        try Profile.check(name)
        guard ProfileFile.path == nil else { return name }
        guard isOperator || output.profile.profile != nil else { return nil }
        throw UsageProblem("there is no home directory for profiles: set HOME or XDG_CONFIG_HOME")
    }

    private func signInOperator(_ name: String?) async throws {
        try ProfileFile.prepare()
        let token = try OperatorOption.token(operatorFile ?? "-")
        var configuration = try nodes.configuration(timeout: 10)
        // An operator of the cluster has one token for all nodes: any of them may answer for it.
        configuration.endpoints = [try await nodes.answering(token)]
        let node = NodeOperator(configuration, token: token)
        let status = await Result { try await node.status() }
        await node.close()
        let nodeID = try status.get().nodeID
        var values = try values()
        values[.operatorToken] = token
        try keep(Profile(values), as: name)
        try output.show(
            [
                "as": "operator", "node": .string(nodeID), "profile": .string(name ?? ""),
                "file": .string(ProfileFile.path ?? ""),
            ],
            rows: [
                ["as", "operator"], ["node", nodeID], ["profile", name ?? ""],
                ["file", ProfileFile.path ?? ""],
            ]
        )
    }

    private func signInUser(_ profileName: String?) async throws {
        let target = try ClientFile(file)
        // The targets are checked first: the token of a new session would be lost.
        try target.prepare()
        if profileName != nil { try ProfileFile.prepare() }
        let token = try await token()
        let user = try await withContainer(token: token) { try await $0.userRecordID() }
        let values = try values()
        try target.write(
            ClientFile.Settings(
                endpoints: nodes.endpoints,
                container: scope.containerName,
                environment: try scope.environmentValue(),
                token: token,
                tls: values[.tls] ?? "",
                authority: values[.authority] ?? ""
            )
        )
        let kept = values.merging([.token: token]) { $1 }
        let person = try name ?? profileName.flatMap { try LoginCommand.user(of: token, in: $0) }
        try keep(Profile(kept, user: person), as: profileName)
        try show(person, user.recordName, profileName, target.path)
    }

    /// The name of the user whose token the profile has; nil for another token.
    private static func user(of token: String, in profile: String) throws -> String? {
        let known = try ProfileFile.read().profiles[profile]
        return known?.values[.token] == token ? known?.user : nil
    }

    /// Shows a user's login, in the words and the order of 'whoami'.
    private func show(
        _ user: String?,
        _ recordName: String,
        _ profile: String?,
        _ file: String
    ) throws {
        let endpoint = nodes.endpoints.joined(separator: ",")
        let environment = try scope.environmentValue().name
        let rows = [
            profile.map { ["profile", $0] }, ["endpoint", endpoint],
            ["container", scope.containerName], ["environment", environment], ["as", "user"],
            user.map { ["user", $0] }, ["recordName", recordName], ["file", file],
        ]
        try output.show(
            [
                "profile": profile.map(JSON.string) ?? .null, "endpoint": .string(endpoint),
                "container": .string(scope.containerName), "environment": .string(environment),
                "as": "user", "user": user.map(JSON.string) ?? .null,
                "recordName": .string(recordName), "file": .string(file),
            ],
            rows: rows.compactMap(\.self)
        )
    }

    /// What a profile keeps beside the token.
    private func values() throws -> [Setting.Name: String] {
        let authority = nodes.named(.authority)
        return [
            .endpoint: nodes.endpoints.joined(separator: ","), .container: scope.containerName,
            .environment: try scope.environmentValue().name, .tls: nodes.named(.tls),
            // Apps and later commands run in other folders.
            .authority: authority.isEmpty ? authority : URL(filePath: authority).path,
        ]
    }

    /// Keeps the profile, and puts it in use; without a name it does nothing.
    private func keep(_ profile: Profile, as name: String?) throws {
        guard let name else { return }
        var file = try ProfileFile.read()
        file.profiles[name] = profile
        file.current = name
        try file.write()
    }

    private func token() async throws -> String {
        guard let name else {
            let token = try TokenFile.token(givenFile ?? "-")
            guard token.hasPrefix(TokenFile.operatorPrefix) else { return token }
            throw UsageProblem(
                "\(InputFile.name(givenFile ?? "-")) holds an operator's token: add --operator"
            )
        }
        let password = try password.present(of: name)
        return try await withContainer(token: nil) {
            try await $0.signIn(name: name, password: password, label: "cumulus login").token
        }
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
    /// Whether a flag or the environment names the nodes.
    fileprivate var isNamed: Bool {
        settings.contains { $0.name == .endpoint && !$0.isStandard && !$0.isOfProfile }
    }

    /// The value of a flag, the environment or the profile; empty for a default.
    fileprivate func named(_ name: Setting.Name) -> String {
        settings.first { $0.name == name && !$0.isStandard }?.value ?? ""
    }
}
