// The settings that commands share: what each is, and where its value comes from.
//
// Flag before environment before profile before default. `NodeOptions`, the groups of options of
// `cumulus` and the options of `cumulus-bench` ask here; `cumulus config show` prints them all with
// their sources. Only `cumulus` has profiles.
//
// Folder: what programs that talk to nodes have of a terminal: settings, which nodes are asked, how
// they fail, standard output and error, progress, and what a signal cleans up. It is a target of
// its own because two programs need it: `cumulus`, which is for everybody, and `cumulus-bench`,
// which is for people who work on nodes. Read `Setting` and `NodeOptions`, then `Program`,
// `Failure` and `StandardOutput`.

import CumulusSystem

/// One value and where it comes from.
package struct Setting: Equatable {
    /// The names in the order in which they are shown.
    package enum Name: String, CaseIterable, Comparable {
        case profile
        case endpoint
        case token
        case tokenFile = "token-file"
        case key
        case keyID = "key-id"
        case container
        case environment
        case database
        case operatorTokenFile = "operator-token-file"
        case operatorToken = "operator-token"
        case session
        case encryptionKeyFile = "encryption-key-file"
        case tls
        case authority
        case replicas
        case timeout

        package static func < (one: Name, other: Name) -> Bool { one.place < other.place }

        private var place: Int { Name.allCases.firstIndex(of: self) ?? 0 }

        /// nil means what differs from one command to the next has none.
        package var variable: String? {
            switch self {
            case .operatorToken, .replicas, .timeout: nil
            // `cumulusd` has a setting 'profile', too, and its variables.
            case .profile: "CUMULUS_CLIENT_PROFILE"
            default: "CUMULUS_" + rawValue.uppercased().replacing("-", with: "_")
            }
        }
    }

    package var name: Name
    package var value: String
    package var origin: String

    /// The environment's variables; replaced by tests.
    @TaskLocal package static var variables = ProcessInfo.processInfo.environment

    /// The values that a profile keeps of settings.
    package struct Profile: Sendable {
        package var name: String
        /// What chose it, as `origin` says it of a setting.
        package var origin: String
        /// Values that are not empty.
        package var values: [Name: String]

        package init(name: String, origin: String, values: [Name: String]) {
            self.name = name
            self.origin = origin
            self.values = values
        }
    }

    /// The profile of the command; nil if no profile was chosen.
    ///
    /// A failure says why the chosen one can't be used: then no setting has a value of it, and
    /// commands that ask a node throw it.
    @TaskLocal package static var profile: Result<Profile?, any Error> = .success(nil)

    /// The profile, if it can be used.
    package static var usableProfile: Profile? { try? profile.get() }

    /// An empty variable is one that is not set.
    package init(_ name: Name, flag: String?, standard: String = "") {
        self.name = name
        if let flag {
            (value, origin) = (flag, "flag")
        } else if let variable = name.variable, let text = Setting.variables[variable],
            !text.isEmpty
        {
            (value, origin) = (text, "environment \(variable)")
        } else if let profile = Setting.usableProfile, let text = profile.values[name] {
            (value, origin) = (text, "profile \(profile.name)")
        } else {
            (value, origin) = (standard, "default")
        }
    }

    /// A value that no variable stands in for.
    package init(_ name: Name, only flag: String?) {
        self.name = name
        (value, origin) = (flag ?? "", flag == nil ? "default" : "flag")
    }

    /// The profile itself, as a setting.
    package static var ofProfile: Setting {
        var setting = Setting(.profile, only: nil)
        guard let profile = usableProfile else { return setting }
        (setting.value, setting.origin) = (profile.name, profile.origin)
        return setting
    }

    /// The value with all but its beginning left out, for a secret that is shown.
    package var masked: Setting {
        guard !value.isEmpty else { return self }
        var shown = self
        // Tokens share their beginning; four of the 64 digits behind it tell them apart.
        let beginnings = ["cumulus_operator_", "cumulus_"].filter(value.hasPrefix)
        let common = beginnings.first.map { $0.count + 64 == value.count ? $0.count : 0 } ?? 0
        shown.value = value.prefix(common + (common > 0 ? 4 : min(4, value.count / 2))) + "…"
        return shown
    }

    /// Whether neither a flag nor the environment nor a profile sets it.
    package var isStandard: Bool { origin == "default" }

    /// Whether a profile sets it.
    package var isOfProfile: Bool { origin.hasPrefix("profile ") }

    /// The origin of the value, as people wrote it: the option, the variable or the profile.
    package var source: String {
        if origin == "flag" { return "--\(name.rawValue)" }
        return isStandard || isOfProfile ? origin : name.variable ?? origin
    }

    /// The path; nil if it is empty.
    package var file: String? { value.isEmpty ? nil : value }
}
