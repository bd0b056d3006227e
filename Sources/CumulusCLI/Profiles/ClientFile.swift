// The file in which an app that is written for CloudKit finds its server and its user.
//
// Written by `cumulus login`, removed by `cumulus logout`, read by CloudKit's surface, whose
// `ConnectionFile` knows the same places and names.

import CumulusModel
import CumulusSystem
import CumulusTerminal

struct ClientFile {
    /// The path of the file.
    let path: String
    /// Whether the path is the standard one; only its folder is made if it is missing.
    private var isStandard = false

    /// - Parameter named: A path that the command line names; nil: where apps look.
    init(_ named: String? = nil) throws {
        if let named = named ?? ClientFile.variable("CUMULUS_CLIENT_FILE") {
            path = named
        } else if let folder = ClientFile.folder {
            path = "\(folder)/client.json"
            isStandard = true
        } else {
            throw UsageProblem("there is no home directory: name the file with --file")
        }
    }

    /// The folder of the user's configuration of Cumulus; nil without a home directory.
    static var folder: String? {
        if let folder = variable("XDG_CONFIG_HOME") { return "\(folder)/cumulus" }
        return variable("HOME").map { "\($0)/.config/cumulus" }
    }

    private static func variable(_ name: String) -> String? {
        Setting.variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The settings that a file holds, in their order; those without a value are left out.
    struct Settings {
        var endpoints: [String]
        var container: String
        var environment: Environment
        var token: String
        var tls: String
        var authority: String

        init(
            endpoints: [String],
            container: String,
            environment: Environment,
            token: String,
            tls: String,
            authority: String
        ) {
            self.endpoints = endpoints
            self.container = container
            self.environment = environment
            self.token = token
            self.tls = tls
            self.authority = authority
        }

        /// nil for what a login doesn't write.
        init?(_ data: Data) {
            guard
                let values = try? JSONDecoder().decode([String: String].self, from: data),
                let endpoint = values["endpoint"], let container = values["container"],
                let environment = values["environment"].flatMap(Environment.init(name:)),
                let token = values["token"]
            else { return nil }
            self.init(
                endpoints: endpoint.split(separator: ",").map(String.init),
                container: container,
                environment: environment,
                token: token,
                tls: values["tls"] ?? "",
                authority: values["authority"] ?? ""
            )
        }

        var json: JSON {
            let members = [
                ("endpoint", endpoints.joined(separator: ",")), ("container", container),
                ("environment", environment.name), ("token", token), ("tls", tls),
                ("authority", authority),
            ]
            return .object(
                members.filter { !$0.1.isEmpty }.map { JSON.Member($0.0, .string($0.1)) }
            )
        }
    }

    /// Makes the folder where apps look, and throws if the file can't be written.
    func prepare() throws {
        if isStandard { KeyFile.makeFolder(URL(filePath: path).deletingLastPathComponent().path) }
        try KeyFile.checkWritable(path)
    }

    /// Writes the file whole or not at all; only its owner can read it.
    func write(_ settings: Settings) throws {
        try KeyFile.write(settings.json.text, to: path, isSecret: true)
    }

    /// The content of the file; nil if there is none.
    func read() throws -> Settings? {
        guard let data = FileManager.default.contents(atPath: path) else {
            if !FileManager.default.fileExists(atPath: path) { return nil }
            throw InputProblem("\(path) can't be read")
        }
        guard let settings = Settings(data) else {
            throw InputProblem("\(path) is not what 'cumulus login' writes; remove it by hand")
        }
        return settings
    }

    /// Removes the file; false if there was none.
    func remove() throws -> Bool {
        guard unlink(path) < 0 else { return true }
        guard errno == ENOENT else {
            throw OutputProblem("\(path) can't be removed: \(String(cString: strerror(errno)))")
        }
        return false
    }
}
