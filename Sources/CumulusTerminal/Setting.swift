// The settings that commands share: what each is, and where its value comes from.
//
// Flag before environment before default. `NodeOptions`, the groups of options of `cumulus` and the
// options of `cumulus-bench` ask here; `cumulus config show` prints them all with their sources.
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
        case endpoint
        case token
        case key
        case keyID = "key-id"
        case container
        case environment
        case database
        case operatorTokenFile = "operator-token-file"
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
            case .replicas, .timeout: nil
            default: "CUMULUS_" + rawValue.uppercased().replacing("-", with: "_")
            }
        }
    }

    package var name: Name
    package var value: String
    package var origin: String

    /// The environment's variables; replaced by tests.
    @TaskLocal package static var variables = ProcessInfo.processInfo.environment

    /// An empty variable is one that is not set.
    package init(_ name: Name, flag: String?, standard: String = "") {
        self.name = name
        if let flag {
            (value, origin) = (flag, "flag")
        } else if let variable = name.variable, let text = Setting.variables[variable],
            !text.isEmpty
        {
            (value, origin) = (text, "environment \(variable)")
        } else {
            (value, origin) = (standard, "default")
        }
    }

    /// A value that no variable stands in for.
    package init(_ name: Name, only flag: String?) {
        self.name = name
        (value, origin) = (flag ?? "", flag == nil ? "default" : "flag")
    }

    /// Whether neither a flag nor the environment sets it.
    package var isStandard: Bool { origin == "default" }

    /// The origin of the value, as people wrote it: the option or the variable.
    package var source: String {
        switch origin {
        case "flag": "--\(name.rawValue)"
        case "default": origin
        default: name.variable ?? origin
        }
    }

    /// The path; nil if it is empty.
    package var file: String? { value.isEmpty ? nil : value }
}
