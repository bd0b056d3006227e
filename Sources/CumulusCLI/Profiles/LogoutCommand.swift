// `cumulus logout`: takes a profile away, and the file in which apps find its user.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Remove a profile, and what 'cumulus login' wrote for apps with it.",
        discussion: help(
            "cumulus logout",
            "cumulus logout work",
            "cumulus logout --revoke --json",
            note: """
                Without a name it is the profile in use, and then no profile is in use. The file \
                for apps goes with the profile of its user. Apps that run go on until they end. \
                The session itself goes on, as after the logout of other command lines: it ends \
                30 days after its last use, or at once with --revoke, and so do apps that use its \
                token. With --revoke nothing is removed if no node can be reached. An access \
                token of 'cumulus user token' ends as well.
                """
        )
    )

    @Argument(help: "Name of the profile; the one in use if left out.") var name: String?
    @Option(help: "File for apps that is removed, and no profile.") var file: String?
    @Flag(help: "End the session too, on all nodes.") var revoke = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard name == nil || (file == nil && output.profile.profile == nil) else {
            throw ValidationError("Name one profile, or a file with --file.")
        }
    }

    func run() async throws {
        var profiles = file == nil ? try ProfileFile.read() : ProfileFile()
        let (name, profile) = try chosen(profiles)
        let target = try targetFile(isNeeded: profile == nil)
        let client = try read(target, isNeeded: revoke && profile == nil)
        // The file of another profile's user stays.
        let isApps = profile == nil || client?.token == profile?.values[.token]
        let isRevoked = revoke ? try await endSession(profile, client) : false
        if let name {
            profiles.profiles[name] = nil
            if profiles.current == name { profiles.current = nil }
            try profiles.write()
        }
        let isRemoved = isApps ? try target?.remove() ?? false : false
        try show(name, isApps ? target : nil, existed: name != nil || isRemoved, isRevoked)
    }

    /// The profile to be removed; nil if no profile is in use, or a file is named.
    private func chosen(_ profiles: ProfileFile) throws -> (String?, Profile?) {
        guard file == nil else { return (nil, nil) }
        guard let name = name ?? output.profile.named ?? profiles.current,
            name != ProfileChoice.none
        else { return (nil, nil) }
        return (name, try profiles.profile(name))
    }

    /// The file for apps; nil without a home directory.
    private func targetFile(isNeeded: Bool) throws -> ClientFile? {
        isNeeded ? try ClientFile(file) : try? ClientFile()
    }

    /// A file that nobody's login wrote matters only if its session is to be ended.
    private func read(
        _ target: ClientFile?,
        isNeeded: Bool
    ) throws -> ClientFile.Settings? {
        guard let target else { return nil }
        return isNeeded ? try target.read() : try? target.read()
    }

    private func endSession(
        _ profile: Profile?,
        _ client: ClientFile.Settings?
    ) async throws -> Bool {
        guard profile?.role != .operator else {
            throw UsageProblem(
                "--revoke ends a user's session, and this is an operator's profile: leave it out"
            )
        }
        guard let settings = profile.flatMap(ClientFile.Settings.init) ?? client else {
            return false
        }
        try await settings.endSession()
        return true
    }

    private func show(
        _ name: String?,
        _ target: ClientFile?,
        existed: Bool,
        _ isRevoked: Bool
    ) throws {
        let rows = [
            name.map { ["profile", $0] }, target.map { ["file", $0.path] },
            ["state", existed ? "removed" : "was not there"],
            isRevoked ? ["session", "ended"] : nil,
        ]
        try output.show(
            [
                "profile": name.map(JSON.string) ?? .null,
                "file": target.map { .string($0.path) } ?? .null, "existed": .bool(existed),
                "revoked": .bool(isRevoked),
            ],
            rows: rows.compactMap(\.self)
        )
    }
}

extension ClientFile.Settings {
    /// The settings of a user's profile; nil for another one.
    fileprivate init?(_ profile: Profile) {
        guard let token = profile.values[.token], let container = profile.values[.container],
            let environment = profile.values[.environment].flatMap(Environment.init(name:))
        else { return nil }
        self.init(
            endpoints: profile.endpoint.split(separator: ",").map(String.init),
            container: container,
            environment: environment,
            token: token,
            tls: profile.values[.tls] ?? "",
            authority: profile.values[.authority] ?? ""
        )
    }

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
