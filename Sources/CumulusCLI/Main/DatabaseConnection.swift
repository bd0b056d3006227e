// The database in which a command works, and the owner of its zone: a group of options.
//
// Used by all commands on records, zones, shares and changes.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

/// Options for commands on records and zones: they ask as a user, in one of its databases.
struct DatabaseConnection: ParsableArguments {
    @Option(help: "public, private or shared (default: private with a token, else public).")
    var database: String?
    @OptionGroup var user: Connection

    func validate() throws {
        _ = try scope()
    }

    private var setting: Setting {
        let standard = user.isSignedIn ? "private" : "public"
        return Setting(.database, flag: database, standard: standard)
    }

    var settings: [Setting] { user.settings + [setting] }

    func scope() throws -> DatabaseScope {
        switch setting.value {
        case "public": .public
        case "private": .private
        case "shared": .shared
        default:
            throw ValidationError(
                "'\(setting.value)' is not public, private or shared (\(setting.source))."
            )
        }
    }

    /// Runs with the database, as `Connection.withContainer` does.
    ///
    /// - Parameters:
    ///   - owner: The owner of the zone, if the command is about one.
    ///   - ofUsers: It means the private database also without a token, for which the node then
    ///     asks: the public one has nothing that the command could be about.
    func withDatabase<Value>(
        of owner: OwnerOption? = nil,
        timeout standard: Double = 10,
        assets directory: String? = nil,
        replicas: ReplicasOption? = nil,
        encryption: EncryptionOption? = nil,
        ofUsers: Bool = false,
        _ body: (Database) async throws -> Value
    ) async throws -> Value {
        let scope = ofUsers && setting.isStandard ? .private : try scope()
        try owner?.check(scope)
        return try await user.withContainer(
            timeout: standard,
            assets: directory,
            replicas: replicas,
            encryption: encryption
        ) { try await body($0.database(with: scope)) }
    }
}

extension OwnerOption {
    /// Throws unless the owner is named where zones have other owners, and only there.
    fileprivate func check(_ scope: DatabaseScope) throws {
        switch (scope, owner) {
        case (.shared, nil):
            throw UsageProblem(
                "name the zone's owner with --owner; 'cumulus zone list --database shared' shows "
                    + "whose zones are shared with you"
            )
        case (.public, _?), (.private, _?):
            throw UsageProblem(
                "--owner names the owner of a zone of the shared database, and this is the "
                    + "\(scope) one: add --database shared, or leave --owner out"
            )
        case (.shared, _?), (.public, nil), (.private, nil): return
        }
    }
}
