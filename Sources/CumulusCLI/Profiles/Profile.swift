// A profile: a server, a container and who asks, under a name.
//
// `cumulus login` makes one, `ProfileFile` keeps it, `Setting` takes values from it.
//
// Folder: profiles, and the commands that make, choose, show and remove them. Read `Profile`,
// `ProfileFile`, `ProfileChoice`, then the commands.

import CumulusModel
import CumulusTerminal

struct Profile: Equatable {
    /// The values by their settings; none is empty.
    var values: [Setting.Name: String]
    /// How people know the user; nil for an operator, and for a user of whom only a token is known.
    var user: String?

    /// The settings that a profile keeps, in the order in which they are written.
    static let names: [Setting.Name] = [
        .endpoint, .container, .environment, .tls, .authority, .token, .operatorToken,
    ]

    init(_ values: [Setting.Name: String], user: String? = nil) {
        self.values = values.filter { !$0.value.isEmpty }
        self.user = user
    }

    /// The kind of caller that its token belongs to.
    var role: CallerRole {
        values[.operatorToken] != nil ? .operator : values[.token] != nil ? .user : .nobody
    }

    /// The addresses of its nodes, as they were written.
    var endpoint: String { values[.endpoint] ?? "" }

    /// What the file holds of it.
    var json: JSON {
        let kept = Profile.names.compactMap { name in
            values[name].map { JSON.Member(name.rawValue, .string($0)) }
        }
        return .object(kept + (user.map { [JSON.Member("user", .string($0))] } ?? []))
    }

    /// nil for what is no object of texts with an address.
    ///
    /// Members of later releases are left out.
    init?(_ json: JSON) {
        guard case .object(let members) = json else { return nil }
        var values: [Setting.Name: String] = [:]
        var user: String?
        for member in members {
            guard case .string(let text) = member.value else { return nil }
            if member.key == "user" { user = text }
            guard let name = Setting.Name(rawValue: member.key), Profile.names.contains(name) else {
                continue
            }
            values[name] = text
        }
        guard values[.endpoint]?.isEmpty == false else { return nil }
        self.init(values, user: user)
    }

    /// The profile that a file for apps amounts to.
    init(_ client: ClientFile.Settings) {
        self.init([
            .endpoint: client.endpoints.joined(separator: ","), .container: client.container,
            .environment: client.environment.name, .token: client.token, .tls: client.tls,
            .authority: client.authority,
        ])
    }

    /// Throws for a name that is hard to type, or means no profile.
    static func check(_ name: String) throws {
        let signs = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@")
        guard name != ProfileChoice.none, !name.hasPrefix("-"), !name.isEmpty, name.count <= 64,
            name.allSatisfy(signs.contains)
        else {
            throw UsageProblem(
                "'\(name)' can't be a profile's name: it has 1 to 64 letters, digits and . _ - @, "
                    + "and 'none' means no profile"
            )
        }
    }
}

/// The kind of caller that a command is for its node.
enum CallerRole: String {
    case user
    case `operator`
    /// A program with a key that an operator registered.
    case server
    case nobody
}
