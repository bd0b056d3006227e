// Settings of a connection from the environment and from a file.
//
// Called once by `CKContainer.connection`. A setting that can't be read is reported by the first
// call, not here: an app has nowhere to catch an error when it makes a container.

internal import CumulusModel
internal import Foundation

/// Where settings come from: a variable wins over the file.
struct ConnectionFile {
    var variables: [String: String]
    /// The file's content; nil if there is no file.
    var read: (String) throws -> Data?

    /// The process's environment and files.
    static var system: ConnectionFile {
        ConnectionFile(variables: ProcessInfo.processInfo.environment) { path in
            guard FileManager.default.fileExists(atPath: path) else { return nil }
            return try Data(contentsOf: URL(filePath: path))
        }
    }

    /// The connection that the settings describe.
    ///
    /// - Throws: `invalidArguments`, with what to mend.
    func connection() throws(ServiceError) -> CumulusConnection {
        let settings = try settings()
        var connection = CumulusConnection(containerIdentifier: settings["container"])
        if let endpoint = settings["endpoint"] {
            connection.endpoints = endpoint.split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        connection.environment = try choice("environment", in: settings) ?? .development
        connection.tls = try choice("tls", in: settings) ?? .automatic
        connection.accessToken = settings["token"]
        connection.authority = settings["authority"]
        connection.deviceID = settings["device"] ?? connection.deviceID
        connection.serverKey = try serverKey(settings)
        if let path = settings["encryption-key-file"] {
            connection.encryptionKeys = try text(of: path, "encryption-key-file")
                .split(whereSeparator: \.isWhitespace).map(String.init)
        }
        return connection
    }

    private static let names = [
        "endpoint", "container", "environment", "token", "key", "key-id", "tls", "authority",
        "device", "encryption-key-file",
    ]

    private func settings() throws(ServiceError) -> [String: String] {
        var settings = try file()
        for name in ConnectionFile.names {
            let variable = "CUMULUS_" + name.uppercased().replacing("-", with: "_")
            // An empty variable is one that is not set.
            if let value = variables[variable], !value.isEmpty { settings[name] = value }
        }
        return settings
    }

    /// The path of the file, and whether it was asked for.
    private var path: (path: String, isNamed: Bool)? {
        if let path = variables["CUMULUS_CLIENT_FILE"], !path.isEmpty { return (path, true) }
        if let folder = variables["XDG_CONFIG_HOME"], !folder.isEmpty {
            return ("\(folder)/cumulus/client.json", false)
        }
        return variables["HOME"].map { ("\($0)/.config/cumulus/client.json", false) }
    }

    private func file() throws(ServiceError) -> [String: String] {
        guard let (path, isNamed) = path else { return [:] }
        guard let data = try data(of: path, "the file of the connection") else {
            guard isNamed else { return [:] }
            throw CumulusConnection.problem(
                "there is no file \(path), which CUMULUS_CLIENT_FILE names"
            )
        }
        guard let settings = try? JSONDecoder().decode([String: String].self, from: data) else {
            throw CumulusConnection.problem(
                "\(path) is not a JSON object of texts; write {\"endpoint\": \"host:7420\", …}"
            )
        }
        if let name = settings.keys.sorted().first(where: { !ConnectionFile.names.contains($0) }
        ) {
            let known = ConnectionFile.names.joined(separator: ", ")
            throw CumulusConnection.problem(
                "\(path): '\(name)' is no setting; there are \(known)"
            )
        }
        return settings
    }

    private func data(of path: String, _ what: String) throws(ServiceError) -> Data? {
        do {
            return try read(path)
        } catch {
            throw CumulusConnection.problem("\(what) \(path) can't be read: \(error)")
        }
    }

    private func text(of path: String, _ name: String) throws(ServiceError) -> String {
        guard let data = try data(of: path, name) else {
            throw CumulusConnection.problem("there is no file \(path), which '\(name)' names")
        }
        return String(decoding: data, as: UTF8.self)
    }

    private func serverKey(
        _ settings: [String: String]
    ) throws(ServiceError) -> CumulusConnection.Key? {
        guard let path = settings["key"] else { return nil }
        guard let id = settings["key-id"] else {
            throw CumulusConnection.problem(
                "a server's key needs its id too: set CUMULUS_KEY_ID"
            )
        }
        return CumulusConnection.Key(id: id, pem: try text(of: path, "key"))
    }

    private func choice<Choice: RawRepresentable<String>>(
        _ name: String,
        in settings: [String: String]
    ) throws(ServiceError) -> Choice? {
        guard let value = settings[name] else { return nil }
        guard let choice = Choice(rawValue: value) else {
            throw CumulusConnection.problem("'\(value)' is no value of the setting '\(name)'")
        }
        return choice
    }
}
