// The file that keeps all profiles, and which of them is in use.
//
// `login`, `use` and `logout` write it, every command reads it. It holds tokens: only its owner can
// read it, and it is written whole or not at all.

import CumulusModel
import CumulusSystem
import CumulusTerminal

struct ProfileFile: Equatable {
    /// By their names.
    var profiles: [String: Profile]
    /// The profile that commands use unless they name another; nil if no profile is in use.
    var current: String?

    init(profiles: [String: Profile] = [:], current: String? = nil) {
        self.profiles = profiles
        self.current = current
    }

    /// The path; nil without a home directory.
    static var path: String? { ClientFile.folder.map { "\($0)/profiles.json" } }

    /// The names of all profiles, in order.
    var names: [String] { profiles.keys.sorted() }

    // MARK: Bytes

    /// What stands in the file.
    var text: String {
        let members = names.compactMap { name in
            profiles[name].map { "  " + JSON.string(name).text + ": " + $0.json.text }
        }
        return """
            {"current": \(current.map(JSON.string)?.text ?? "null"), "profiles": {
            \(members.joined(separator: ",\n"))
            }}
            """
    }

    /// nil for what no login wrote.
    ///
    /// A current profile that does not exist counts as no current profile.
    init?(_ data: Data) {
        guard let json = try? JSONReader.read(Bytes(data)),
            case .object(let members)? = json["profiles"]
        else { return nil }
        profiles = [:]
        for member in members {
            guard let profile = Profile(member.value) else { return nil }
            profiles[member.key] = profile
        }
        switch json["current"] {
        case .string(let name)?: current = profiles[name] == nil ? nil : name
        case .null?, nil: current = nil
        default: return nil
        }
    }

    // MARK: The disk

    /// Reads the file.
    ///
    /// Without it, what a login of release 0.1 wrote is the profile `default`.
    static func read() throws -> ProfileFile {
        guard let path else { return ProfileFile() }
        guard let data = FileManager.default.contents(atPath: path) else {
            if !FileManager.default.fileExists(atPath: path) { return ofFirstRelease() }
            throw InputProblem("the profiles \(path) can't be read")
        }
        guard let file = ProfileFile(data) else {
            throw InputProblem(
                "\(path) is not what 'cumulus login' writes: mend it, or remove it and sign in anew"
            )
        }
        return file
    }

    private static func ofFirstRelease() -> ProfileFile {
        guard let client = try? ClientFile().read() else { return ProfileFile() }
        return ProfileFile(
            profiles: [ProfileChoice.ofUsers: Profile(client)],
            current: ProfileChoice.ofUsers
        )
    }

    /// Throws if the file could not be written.
    static func prepare() throws {
        guard let path else { return }
        KeyFile.makeFolder(URL(filePath: path).deletingLastPathComponent().path)
        try KeyFile.checkWritable(path)
    }

    /// Writes the file; without a home directory it does nothing.
    func write() throws {
        guard let path = ProfileFile.path else { return }
        KeyFile.makeFolder(URL(filePath: path).deletingLastPathComponent().path)
        try KeyFile.write(text, to: path, isSecret: true)
    }

    /// Gives the profile of the command another token, and the apps of its user too.
    ///
    /// Returns the profile's name; nil if the command uses no profile, or one without a token.
    static func renew(_ token: String) throws -> String? {
        var file = try read()
        guard let name = Setting.usableProfile?.name,
            let old = file.profiles[name]?.values.updateValue(token, forKey: .token)
        else { return nil }
        try file.write()
        if let target = try? ClientFile(), var client = try? target.read(), client.token == old {
            client.token = token
            try target.write(client)
        }
        return name
    }

    /// The profile with that name.
    func profile(_ name: String) throws -> Profile {
        if let profile = profiles[name] { return profile }
        let known = names.isEmpty ? "" : " (there are: \(names.joined(separator: ", ")))"
        throw UsageProblem(
            "there is no profile '\(name)'\(known); 'cumulus login --profile \(name)' makes it"
        )
    }
}
