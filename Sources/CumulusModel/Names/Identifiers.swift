// Distinct types for scopes, databases, zones and the sources of commits.
//
// Used by every layer. Names are checked once, on entry (`Names.swift`).

/// Development or production: two separate worlds of one container.
public enum Environment: UInt8, CaseIterable, Sendable {
    /// Types and fields appear as records are saved.
    case development = 1
    /// Only deployed types and fields are accepted.
    case production = 2

    /// The name on command lines and in messages.
    public var name: String { self == .development ? "development" : "production" }

    /// The environment of that name.
    public init?(name: String) {
        guard let match = Environment.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// One (container, environment): what is replicated as a unit, with its own log and vector.
package struct ScopeID: Hashable, Sendable {
    package var container: String
    package var environment: Environment

    package init(container: String, environment: Environment) {
        self.container = container
        self.environment = environment
    }

    /// Scope 0: the cluster's own registers (users, tokens, members).
    ///
    /// No container can have this name.
    package static let cluster = ScopeID(container: "", environment: .production)
}

/// One of a container's databases, as the caller sees it.
public enum DatabaseScope: UInt8, CaseIterable, Sendable {
    /// All can read it; users write their own records.
    case `public` = 1
    /// A user's own.
    case `private` = 2
    /// The zones of other users' private databases that are shared with a user.
    case shared = 3

    /// The name on command lines and in messages.
    public var name: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }

    /// The database of that name.
    public init?(name: String) {
        guard let match = DatabaseScope.allCases.first(where: { $0.name == name }) else {
            return nil
        }
        self = match
    }
}

/// A database that holds records: the public one, or a user's private one.
package struct DatabaseID: Hashable, Sendable {
    package var kind: DatabaseScope
    /// User record name of the owner; empty for the public database.
    package var owner: String

    package init(kind: DatabaseScope, owner: String) {
        self.kind = kind
        self.owner = owner
    }

    package static let `public` = DatabaseID(kind: .public, owner: "")
}

/// One run of a node's process: the source of one sequence of commits.
///
/// Random, 64 bits.
package struct Incarnation: Hashable, Comparable, Sendable {
    package var value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }

    package static func < (left: Incarnation, right: Incarnation) -> Bool {
        left.value < right.value
    }
}

/// The name of one commit: the `seq`-th of an incarnation, from 1, without gaps.
package struct Dot: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var incarnation: Incarnation
    package var seq: UInt64

    /// A form for log messages: "9f3a44c1d2e0b7f5:12".
    package var description: String { "\(String(incarnation.value, radix: 16)):\(seq)" }

    package init(_ incarnation: Incarnation, _ seq: UInt64) {
        self.incarnation = incarnation
        self.seq = seq
    }

    package static func < (left: Dot, right: Dot) -> Bool {
        (left.incarnation, left.seq) < (right.incarnation, right.seq)
    }
}
