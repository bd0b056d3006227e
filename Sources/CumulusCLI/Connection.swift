// How a command reaches the server: the common options, and where each value comes from.
//
// Flag before environment before default. Every command that talks to a server has these options;
// `cumulus config show` prints what they come to.

import ArgumentParser
import Cumulus
import CumulusModel
import Foundation

struct Connection: ParsableArguments {
    @Option(help: "Address of a node, host:port; several with commas, or repeated.")
    var endpoint: [String] = []
    @Option(help: "Access token of a user.")
    var token: String?
    @Option(help: "Name of the container.")
    var container: String?
    @Option(help: "development or production.")
    var environment: String?
    @Option(help: "File with the operator's token, from the node's data directory.")
    var operatorTokenFile: String?
    @Option(help: "File that carries what was seen from one command to the next, on any node.")
    var session: String?
    @Option(help: "Encrypt connections: automatic (all but those to this machine), always, never.")
    var tls: String?
    @Option(help: "PEM file with the authority whose certificates nodes show.")
    var authority: String?
    @Option(help: "File with keys of encrypted fields, a line each; the first one seals.")
    var encryptionKeyFile: String?
    @Option(help: "How many other nodes are to hold a change before it is answered.")
    var replicas: Int?
    @Option(help: "Seconds that a call may take, retries included (default: 10; long work: more).")
    var timeout: Double?

    func validate() throws {
        _ = try environmentValue()
        _ = try tlsValue()
        guard timeout.map({ $0 > 0 && $0 <= 3_600 }) ?? true else {
            throw ValidationError("--timeout must be more than 0 and at most 3600 seconds.")
        }
        guard replicas.map({ (0...16).contains($0) }) ?? true else {
            throw ValidationError("--replicas must be from 0 to 16.")
        }
        guard !endpoints.isEmpty else { throw ValidationError("--endpoint names no address.") }
        for endpoint in endpoints where !Container.Configuration.isAddress(endpoint) {
            throw ValidationError(
                "'\(endpoint)' is not of the form host:port (\(endpointSetting.origin))."
            )
        }
    }

    // MARK: Settings

    /// One value and where it comes from.
    struct Setting: Equatable {
        var name: String
        var value: String
        var origin: String
    }

    /// The environment's variables; replaced by tests.
    @TaskLocal static var variables = ProcessInfo.processInfo.environment

    private func setting(
        _ name: String,
        flag: String?,
        variable: String?,
        standard: String
    ) -> Setting {
        if let flag { return Setting(name: name, value: flag, origin: "flag") }
        if let variable, let value = Connection.variables[variable], !value.isEmpty {
            return Setting(name: name, value: value, origin: "environment \(variable)")
        }
        return Setting(name: name, value: standard, origin: "default")
    }

    private var endpointSetting: Setting {
        setting(
            "endpoint",
            flag: endpoint.isEmpty ? nil : endpoint.joined(separator: ","),
            variable: "CUMULUS_ENDPOINT",
            standard: "127.0.0.1:7420"
        )
    }

    private var tokenSetting: Setting {
        setting("token", flag: token, variable: "CUMULUS_TOKEN", standard: "")
    }

    private var containerSetting: Setting {
        setting(
            "container",
            flag: container,
            variable: "CUMULUS_CONTAINER",
            standard: "iCloud.dev.cumulus"
        )
    }

    private var environmentSetting: Setting {
        setting(
            "environment",
            flag: environment,
            variable: "CUMULUS_ENVIRONMENT",
            standard: Environment.development.name
        )
    }

    private var operatorTokenSetting: Setting {
        setting(
            "operator-token-file",
            flag: operatorTokenFile,
            variable: "CUMULUS_OPERATOR_TOKEN_FILE",
            standard: ""
        )
    }

    private var tlsSetting: Setting {
        setting("tls", flag: tls, variable: "CUMULUS_TLS", standard: "automatic")
    }

    private var authoritySetting: Setting {
        setting("authority", flag: authority, variable: "CUMULUS_AUTHORITY", standard: "")
    }

    private var encryptionKeySetting: Setting {
        setting(
            "encryption-key-file",
            flag: encryptionKeyFile,
            variable: "CUMULUS_ENCRYPTION_KEY_FILE",
            standard: ""
        )
    }

    private var replicasSetting: Setting {
        setting(
            "replicas",
            flag: replicas.map { "\($0)" },
            variable: nil,
            standard: "as the node is set up"
        )
    }

    private var sessionSetting: Setting {
        setting("session", flag: session, variable: "CUMULUS_SESSION", standard: "")
    }

    /// All settings; of the token only its beginning.
    var settings: [Setting] {
        var token = tokenSetting
        if !token.value.isEmpty {
            token.value = token.value.prefix(min(4, token.value.count / 2)) + "…"
        }
        let timeout = setting(
            "timeout",
            flag: timeout.map { "\($0)" },
            variable: nil,
            standard: "10.0"
        )
        return [
            endpointSetting, token, containerSetting, environmentSetting, operatorTokenSetting,
            sessionSetting, encryptionKeySetting, tlsSetting, authoritySetting, replicasSetting,
            timeout,
        ]
    }

    var containerName: String { containerSetting.value }

    var endpoints: [String] {
        endpointSetting.value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    func environmentValue() throws -> Environment {
        let setting = environmentSetting
        guard let environment = Environment(name: setting.value) else {
            throw ValidationError(
                "'\(setting.value)' is neither development nor production (\(setting.origin))."
            )
        }
        return environment
    }

    private func tlsValue() throws -> Container.TLS {
        let setting = tlsSetting
        guard let tls = Container.TLS(rawValue: setting.value) else {
            throw ValidationError(
                "'\(setting.value)' is not automatic, always or never (\(setting.origin))."
            )
        }
        return tls
    }

    /// Which nodes, and how they are reached.
    private func configuration(timeout standard: Double) throws -> Container.Configuration {
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.timeout = .seconds(timeout ?? standard)
        configuration.tls = try tlsValue()
        configuration.authority = authoritySetting.value.isEmpty ? nil : authoritySetting.value
        return configuration
    }

    // MARK: Clients

    /// Runs with a container and closes it after.
    ///
    /// - Parameter directory: Where downloads of assets go; nil: the user's cache.
    func withContainer<Value>(
        connections: Int = 1,
        timeout standard: Double = 10,
        assets directory: String? = nil,
        _ body: (Container) async throws -> Value
    ) async throws -> Value {
        var configuration = try configuration(timeout: standard)
        configuration.assetDirectory = directory
        configuration.environment = try environmentValue()
        configuration.accessToken = tokenSetting.value.isEmpty ? nil : tokenSetting.value
        configuration.connections = connections
        if let replicas { configuration.writeConcern = .replicated(replicas) }
        configuration.session = try readSession()
        try checkSession()
        configuration.encryptionKeys = try readKeys()
        let container = Container(identifier: containerName, configuration: configuration)
        let result = await Result { try await body(container) }
        let written = Result { try write(container.session) }
        await container.close()
        // What the command failed of comes first.
        let value = try result.get()
        try written.get()
        return value
    }

    private var sessionFile: String? {
        let file = sessionSetting.value
        return file.isEmpty ? nil : file
    }

    private func readKeys() throws -> [EncryptionKey] {
        let file = encryptionKeySetting.value
        guard !file.isEmpty else { return [] }
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
        let session = Session(text: text.trimmingCharacters(in: .whitespacesAndNewlines))
        guard let session, !session.text.isEmpty else {
            throw InputProblem("\(sessionFile) holds no session; delete it to begin anew")
        }
        return session
    }

    /// Before anything is changed that then would not be told.
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

    /// Runs as the node's operator.
    func withOperator<Value>(
        timeout standard: Double = 10,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        var configuration = try configuration(timeout: standard)
        configuration.endpoints = [endpoints[0]]
        let node = NodeOperator(configuration, token: try operatorToken())
        let result = await Result { try await body(node) }
        await node.close()
        return try result.get()
    }

    private func operatorToken() throws -> String {
        let path = operatorTokenSetting.value
        guard !path.isEmpty else {
            throw ValidationError(
                """
                This needs the operator's token. Name its file, operator.token in the node's data \
                directory, with --operator-token-file or CUMULUS_OPERATOR_TOKEN_FILE.
                """
            )
        }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw InputProblem("the operator's token \(path) can't be read")
        }
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !token.isEmpty, token.utf8.count <= 1_024, !token.contains(where: \.isWhitespace)
        else { throw InputProblem("\(path) holds no operator's token: it is one word") }
        return token
    }
}

/// Which database, for commands on records and zones.
struct DatabaseOption: ParsableArguments {
    enum Name: String, CaseIterable, ExpressibleByArgument {
        case `public`
        case `private`
        case shared

        var scope: DatabaseScope {
            switch self {
            case .public: .public
            case .private: .private
            case .shared: .shared
            }
        }
    }

    @Option(help: "Which database.") var database = Name.public

    var scope: DatabaseScope { database.scope }
}

/// Which zone, for commands on records.
struct ZoneOption: ParsableArguments {
    @Option(help: "Zone of the records.")
    var zone = RecordZone.ID.default.zoneName

    var zoneID: RecordZone.ID { RecordZone.ID(zoneName: zone) }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
