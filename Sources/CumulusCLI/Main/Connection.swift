// How a command reaches the server, as a user or as the operator: groups of options.
//
// Each command has those groups whose every option does something for it. Where the values come
// from is the business of `Setting`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct ContainerOption: ParsableArguments {
    @Option(help: "Name of the container.")
    var container: String?

    var setting: Setting {
        Setting(.container, flag: container, standard: "iCloud.dev.cumulus")
    }

    var name: String { setting.value }

    /// The container that a flag or the environment names; nil if none does.
    var named: String? { setting.isStandard ? nil : name }
}

/// A container and which of its two environments.
struct ScopeOptions: ParsableArguments {
    @OptionGroup var container: ContainerOption
    @Option(help: "development or production.")
    var environment: String?

    func validate() throws {
        _ = try environmentValue()
    }

    private var environmentSetting: Setting {
        Setting(.environment, flag: environment, standard: Environment.development.name)
    }

    var settings: [Setting] { [container.setting, environmentSetting] }

    /// Whether the command line names one.
    var isNamed: Bool { container.container != nil || environment != nil }

    var containerName: String { container.name }

    func environmentValue() throws -> Environment {
        let setting = environmentSetting
        guard let environment = Environment(name: setting.value) else {
            throw ValidationError(
                "'\(setting.value)' is neither development nor production (\(setting.source))."
            )
        }
        return environment
    }
}

// MARK: Users

/// Options for commands that ask as a user or as a server, or anonymously without a token and a
/// key.
struct Connection: ParsableArguments {
    @OptionGroup var nodes: NodeOptions
    @OptionGroup var scope: ScopeOptions
    @Option(help: "Access token of a user.")
    var token: String?
    @Option(help: "PEM file with a server's key, in place of a token.")
    var key: String?
    @Option(name: .customLong("key-id"), help: "The id of that key, of 'cumulus key list'.")
    var keyID: String?
    @Option(help: "File that carries what was seen from one command to the next, on any node.")
    var session: String?

    func validate() throws {
        guard token?.isEmpty != true else { throw ValidationError(emptyToken("--token")) }
    }

    /// Nobody means an empty token: what should have made it has failed.
    private func emptyToken(_ name: String) -> String {
        """
        \(name) is empty: 'cumulus sign-in NAME' gives a token; leave it out to ask without a user
        """
    }

    /// Throws for a variable that is there and empty, unless a server asks with its key, and for an
    /// operator's token as nodes make it: it is no user's, and need not travel.
    private func checkToken() throws {
        let shown = tokenSetting
        guard !shown.value.hasPrefix("cumulus_operator_") else {
            throw UsageProblem(
                "\(shown.source) is an operator's token, and this command asks as a user: "
                    + "'cumulus sign-in NAME' gives a user's token; commands of operators take the "
                    + "file of theirs with --operator-token-file"
            )
        }
        guard token == nil, let variable = Setting.Name.token.variable,
            Setting.variables[variable]?.isEmpty == true, keySetting.value.isEmpty
        else { return }
        throw UsageProblem(emptyToken(variable))
    }

    /// A flag of the one goes before the other one in the environment.
    private var tokenSetting: Setting {
        key == nil && keyID == nil ? Setting(.token, flag: token) : Setting(.token, only: token)
    }

    private var keySetting: Setting {
        token == nil ? Setting(.key, flag: key) : Setting(.key, only: key)
    }

    private var keyIDSetting: Setting {
        token == nil ? Setting(.keyID, flag: keyID) : Setting(.keyID, only: keyID)
    }

    /// Whether the caller is a user; a server has no private database.
    var isSignedIn: Bool { !tokenSetting.value.isEmpty }

    /// The key of a server; nil if the command asks as a user or as nobody.
    private func serviceKey() throws -> ServiceKey? {
        let (key, id) = (keySetting, keyIDSetting)
        guard key.value.isEmpty == id.value.isEmpty else {
            throw UsageProblem(
                "a server's key needs both its file and its id: --key or CUMULUS_KEY, and "
                    + "--key-id or CUMULUS_KEY_ID"
            )
        }
        guard let file = key.file else { return nil }
        guard !isSignedIn else {
            throw UsageProblem(
                "name a token (\(tokenSetting.source)) or a server's key (\(key.source)), not both"
            )
        }
        return try KeyFile.reading(file) { try ServiceKey(id: id.value, pem: $0) }
    }

    private var sessionSetting: Setting { Setting(.session, flag: session) }

    /// The settings; the token shows only its beginning.
    var settings: [Setting] {
        var token = tokenSetting
        if !token.value.isEmpty {
            // Tokens share their beginning; four of the 64 digits behind it tell them apart.
            let count = token.value.count
            token.value = token.value.prefix(count == 72 ? 12 : min(4, count / 2)) + "…"
        }
        return nodes.settings + scope.settings
            + [token, keySetting, keyIDSetting, sessionSetting]
    }

    /// Runs with a container and closes it after.
    ///
    /// - Parameters:
    ///   - directory: Where downloads of assets go; nil means the user's cache.
    ///   - replicas: The option of a command that changes something.
    ///   - encryption: The options of a command that shows or saves fields.
    func withContainer<Value>(
        timeout standard: Double = 10,
        assets directory: String? = nil,
        replicas: ReplicasOption? = nil,
        encryption: EncryptionOption? = nil,
        _ body: (Container) async throws -> Value
    ) async throws -> Value {
        try checkToken()
        var configuration = try nodes.configuration(timeout: standard)
        configuration.assetDirectory = directory
        configuration.environment = try scope.environmentValue()
        configuration.accessToken = isSignedIn ? tokenSetting.value : nil
        configuration.serviceKey = try serviceKey()
        configuration.connections = 1
        if let count = replicas?.replicas { configuration.writeConcern = .replicated(count) }
        configuration.session = try readSession()
        try checkSession()
        configuration.encryptionKeys = try encryption?.keys() ?? []
        let container = Container(identifier: scope.containerName, configuration: configuration)
        let result = await Result { try await body(container) }
        let written = Result { try write(container.session) }
        await container.close()
        // The command's own failure comes first.
        let value = try result.mapError(advised).get()
        try written.get()
        return value
    }

    /// Throws if nobody is signed in.
    func needToken() throws {
        try checkToken()
        guard !isSignedIn else { return }
        throw advised(
            ServiceError(
                .notAuthenticated,
                "this needs a signed-in user; connect with an access token"
            )
        )
    }

    /// A refusal of somebody without a token, with how to get one.
    private func advised(_ error: any Error) -> any Error {
        guard var error = error as? ServiceError, error.code == .notAuthenticated, !isSignedIn,
            keySetting.value.isEmpty
        else { return error }
        error.message += ": 'cumulus sign-in NAME' gives one, for --token or CUMULUS_TOKEN"
        return error
    }

    private var sessionFile: String? { sessionSetting.file }

    /// nil if there is no such file yet; any other one must hold what was seen.
    private func readSession() throws -> Session? {
        guard let sessionFile else { return nil }
        let text: String
        do {
            text = try String(contentsOfFile: sessionFile, encoding: .utf8)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        } catch {
            throw InputProblem("the session \(sessionFile) can't be read; delete it to begin anew")
        }
        let session = Session(text: text.trimmed)
        guard let session, !session.text.isEmpty else {
            throw InputProblem("\(sessionFile) holds no session; delete it to begin anew")
        }
        return session
    }

    /// The check comes before a change whose answer could not be reported.
    private func checkSession() throws {
        guard let sessionFile else { return }
        let folder = URL(filePath: sessionFile).deletingLastPathComponent().path
        guard access(folder, W_OK) == 0 else { throw Connection.unwritable(sessionFile) }
    }

    /// Nothing was seen where no node answered: then there is no file.
    private func write(_ session: Session) throws {
        guard let sessionFile, !session.text.isEmpty else { return }
        do {
            try Data(session.text.utf8).write(to: URL(filePath: sessionFile), options: .atomic)
        } catch {
            throw Connection.unwritable(sessionFile)
        }
    }

    private static func unwritable(_ sessionFile: String) -> OutputProblem {
        OutputProblem("the session can't be written to \(sessionFile)")
    }
}

/// An option for commands that change something.
struct ReplicasOption: ParsableArguments {
    @Option(help: "How many other nodes are to hold a change before it is answered.")
    var replicas: Int?

    func validate() throws {
        guard replicas.map({ (0...16).contains($0) }) ?? true else {
            throw ValidationError("--replicas must be from 0 to 16.")
        }
    }

    var setting: Setting {
        Setting(.replicas, flag: replicas.map { "\($0)" }, standard: "as the node is set up")
    }
}

/// Options for commands that show or save fields.
struct EncryptionOption: ParsableArguments {
    @Option(help: "File with keys of encrypted fields, a line each; the first one seals.")
    var encryptionKeyFile: String?

    var setting: Setting { Setting(.encryptionKeyFile, flag: encryptionKeyFile) }

    func keys() throws -> [EncryptionKey] {
        guard let file = setting.file else { return [] }
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw InputProblem("the keys \(file) can't be read")
        }
        let keys = text.split(whereSeparator: \.isWhitespace).map {
            EncryptionKey(text: String($0))
        }
        guard !keys.isEmpty, keys.allSatisfy({ $0 != nil }) else {
            throw InputProblem(
                "\(file) must hold keys of 64 hexadecimal digits, as 'openssl rand -hex 32' makes"
            )
        }
        return keys.compactMap(\.self)
    }
}

// MARK: The operator

struct OperatorOption: ParsableArguments {
    @Option(help: "File with the operator's token, from the node's data directory.")
    var operatorTokenFile: String?

    var setting: Setting { Setting(.operatorTokenFile, flag: operatorTokenFile) }

    /// Runs as the operator of one of the nodes.
    ///
    /// - Parameters:
    ///   - endpoint: The node's address; nil means the first of the nodes.
    ///   - standard: Seconds of a call, if no others are named.
    func withOperator<Value>(
        of nodes: NodeOptions,
        at endpoint: String? = nil,
        timeout standard: Double = 10,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        var configuration = try nodes.configuration(timeout: standard)
        configuration.endpoints = [endpoint ?? nodes.endpoints[0]]
        let node = NodeOperator(configuration, token: try token())
        let result = await Result { try await body(node) }
        await node.close()
        return try result.get()
    }

    private func token() throws -> String {
        guard let path = setting.file else {
            throw UsageProblem(
                """
                this needs the operator's token: name its file, operator.token in the node's data \
                directory, with --operator-token-file or CUMULUS_OPERATOR_TOKEN_FILE
                """
            )
        }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw InputProblem("the operator's token \(path) can't be read")
        }
        let token = text.trimmed
        guard !token.isEmpty, token.utf8.count <= 1_024, !token.contains(where: \.isWhitespace)
        else { throw InputProblem("\(path) holds no operator's token: it is one word") }
        return token
    }
}

/// Options for commands that ask as a node's operator.
struct OperatorConnection: ParsableArguments {
    @OptionGroup var nodes: NodeOptions
    @OptionGroup var role: OperatorOption

    func validate() throws {
        try nodes.checkSingle()
    }

    func withOperator<Value>(
        timeout standard: Double = 10,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        try await role.withOperator(of: nodes, timeout: standard, body)
    }
}
