// How a command reaches the server, as a user: groups of options.
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

/// The options that name the caller, in commands that users have.
struct CallerOptions: ParsableArguments {
    @Option(help: "File or pipe with a user's access token; - is standard input.")
    var tokenFile: String?
    @Option(help: "That token itself, which the list of processes shows.")
    var token: String?
    @Option(help: "PEM file with a server's key, in place of a token.")
    var key: String?
    @Option(name: .customLong("key-id"), help: "The id of that key, of 'cumulus key list'.")
    var keyID: String?
    @Option(help: "File that carries what was seen from one command to the next, on any node.")
    var session: String?
}

/// Options for commands that ask as a user or as a server, or anonymously without a token and a
/// key.
struct Connection: ParsableArguments {
    // `cumulus help connection` shows them.
    @OptionGroup(visibility: .hidden) var nodes: NodeOptions
    @OptionGroup(visibility: .hidden) var scope: ScopeOptions
    @OptionGroup(visibility: .hidden) var caller: CallerOptions

    var token: String? { caller.token }
    var tokenFile: String? { caller.tokenFile }
    var key: String? { caller.key }
    private var keyID: String? { caller.keyID }
    var session: String? { caller.session }

    func validate() throws {
        guard token?.isEmpty != true else { throw ValidationError(emptyToken("--token")) }
        guard token == nil || tokenFile == nil else {
            throw ValidationError("--token and --token-file exclude each other.")
        }
    }

    /// Nobody means an empty token: what should have made it has failed.
    private func emptyToken(_ name: String) -> String {
        """
        \(name) is empty: 'cumulus sign-in NAME' gives a token; leave it out to ask without a user
        """
    }

    /// The user's token; nil if no user asks.
    ///
    /// Throws for a variable that is there and empty, unless a server asks with its key, and for an
    /// operator's token as nodes make it: it is no user's, and need not travel.
    private func readToken() throws -> String? {
        try checkVariable()
        let (shown, file) = (tokenSetting, tokenFileSetting)
        let token = try file.file.map { try TokenFile.token($0) } ?? shown.value
        guard !token.hasPrefix(TokenFile.operatorPrefix) else {
            throw UsageProblem(
                "\(token == shown.value ? shown.source : file.source) is an operator's token, and "
                    + "this command asks as a user: 'cumulus sign-in NAME' gives a user's token; "
                    + "commands of operators take the file of theirs with --token-file"
            )
        }
        return token.isEmpty ? nil : token
    }

    private func checkVariable() throws {
        guard token == nil, tokenFile == nil, let variable = Setting.Name.token.variable,
            Setting.variables[variable]?.isEmpty == true, keySetting.value.isEmpty,
            tokenFileSetting.value.isEmpty
        else { return }
        throw UsageProblem(emptyToken(variable))
    }

    /// Whether a flag says that a server asks.
    private var isByKey: Bool { key != nil || keyID != nil }

    /// Whether a flag says that a user asks.
    private var isByToken: Bool { token != nil || tokenFile != nil }

    /// A flag of the one goes before the other one in the environment, and both before a profile.
    private var tokenSetting: Setting {
        if isByKey || tokenFile != nil { return Setting(.token, only: token) }
        let setting = Setting(.token, flag: token)
        guard setting.isOfProfile, !(keySetting.isStandard && tokenFileSetting.isStandard) else {
            return setting
        }
        return Setting(.token, only: nil)
    }

    private var tokenFileSetting: Setting {
        let isNamed = Setting.Name.token.variable.map { Setting.variables[$0]?.isEmpty == false }
        let isOther = isByKey || token != nil || (tokenFile == nil && isNamed == true)
        return isOther
            ? Setting(.tokenFile, only: tokenFile) : Setting(.tokenFile, flag: tokenFile)
    }

    private var keySetting: Setting {
        isByToken ? Setting(.key, only: key) : Setting(.key, flag: key)
    }

    private var keyIDSetting: Setting {
        isByToken ? Setting(.keyID, only: keyID) : Setting(.keyID, flag: keyID)
    }

    /// Whether the caller is a user; a server has no private database.
    var isSignedIn: Bool { !tokenSetting.value.isEmpty || !tokenFileSetting.value.isEmpty }

    /// What named the user's token; nil if the profile or nothing did.
    var tokenSource: String? {
        let setting = tokenSetting.value.isEmpty ? tokenFileSetting : tokenSetting
        return setting.isStandard || setting.isOfProfile ? nil : setting.source
    }

    /// Says that nobody asks, where the profile in use is an operator's: it looks like lost data.
    private func tellOfNobody() {
        let kept = Setting(.operatorToken, flag: nil)
        guard role == .nobody, kept.isOfProfile, let profile = Setting.usableProfile else { return }
        writeToStandardError(
            "cumulus: this asks without a user: the profile '\(profile.name)' is an operator's; "
                + "'cumulus use' chooses another\n"
        )
    }

    /// The kind of caller.
    var role: CallerRole {
        isSignedIn ? .user : keySetting.value.isEmpty ? .nobody : .server
    }

    /// Whether the user's token is the profile's.
    var isOfProfile: Bool { tokenSetting.isOfProfile }

    /// Throws if the profile's token would be shown to a node that is not the profile's.
    func checkAddressees() throws { try nodes.checkAddressees(of: tokenSetting) }

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
            let token = tokenSetting.value.isEmpty ? tokenFileSetting : tokenSetting
            throw UsageProblem(
                "name a token (\(token.source)) or a server's key (\(key.source)), not both"
            )
        }
        return try KeyFile.reading(file) { try ServiceKey(id: id.value, pem: $0) }
    }

    private var sessionSetting: Setting { Setting(.session, flag: session) }

    /// The settings; the token shows only its beginning.
    var settings: [Setting] {
        nodes.settings + scope.settings + [
            tokenSetting.masked, tokenFileSetting, keySetting, keyIDSetting, sessionSetting,
        ]
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
        try checkAddressees()
        let token = try readToken()
        tellOfNobody()
        var configuration = try nodes.configuration(timeout: standard)
        configuration.assetDirectory = directory
        configuration.environment = try scope.environmentValue()
        configuration.accessToken = token
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
        _ = try Setting.profile.get()
        guard try readToken() == nil else { return }
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
        error.message +=
            ": 'cumulus sign-in NAME' gives one, for --token-file or CUMULUS_TOKEN, and 'cumulus "
            + "login NAME' keeps one"
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
        let content = try InputFile.content(file, "the keys")
        guard let text = String(utf8: Bytes(content)[...]) else {
            throw InputProblem("the keys \(file) are no text in UTF-8")
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
