// The settings that commands share: what each is, and where its value comes from.
//
// Flag before environment before default. The groups of options in `Connection.swift` ask here;
// `cumulus config show` prints them all with their sources.

import Foundation

/// One value and where it comes from.
struct Setting: Equatable {
    /// In the order in which they are shown.
    enum Name: String, CaseIterable, Comparable {
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

        static func < (one: Name, other: Name) -> Bool { one.place < other.place }

        private var place: Int { Name.allCases.firstIndex(of: self) ?? 0 }

        /// nil means what differs from one command to the next has none.
        var variable: String? {
            switch self {
            case .replicas, .timeout: nil
            default: "CUMULUS_" + rawValue.uppercased().replacing("-", with: "_")
            }
        }
    }

    var name: Name
    var value: String
    var origin: String

    /// The environment's variables; replaced by tests.
    @TaskLocal static var variables = ProcessInfo.processInfo.environment

    /// An empty variable is one that is not set.
    init(_ name: Name, flag: String?, standard: String = "") {
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
    init(_ name: Name, only flag: String?) {
        self.name = name
        (value, origin) = (flag ?? "", flag == nil ? "default" : "flag")
    }

    /// Neither a flag nor the environment says it.
    var isStandard: Bool { origin == "default" }

    /// nil if there is none.
    var file: String? { value.isEmpty ? nil : value }
}
