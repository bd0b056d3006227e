// The permissions of roles on the records of one type in the public database.
//
// Part of `TypeSchema`, which has it from the registers. Asked by `Authorisation`, which makes the
// refusals, and by the writer, which lets a subscription fire once. hot: once per record of the
// public database.

package struct Grants: Hashable, Sendable {
    /// All callers, signed in or not.
    package static let world = "_world"
    /// All signed-in users.
    package static let signedIn = "_icloud"
    /// The user who created the record.
    package static let creator = "_creator"

    private var permissions: [String: Schema.Permissions] = [:]

    /// Grants no permission.
    package init() {}

    package init(_ grants: [Schema.Grant]) {
        for grant in grants { permissions[grant.role, default: []].formUnion(grant.permissions) }
    }

    /// The permissions of a role; setting them replaces the earlier ones.
    package subscript(_ role: String) -> Schema.Permissions {
        get { permissions[role] ?? [] }
        set { permissions[role] = newValue }
    }

    /// One for each role, in no order; some may be empty.
    package var list: [Schema.Grant] {
        permissions.map { Schema.Grant(role: $0.key, permissions: $0.value) }
    }

    /// The roles that may do something, ascending.
    package func roles(with permission: Schema.Permissions) -> [String] {
        permissions.filter { $0.value.isSuperset(of: permission) }.keys.sorted()
    }

    /// The records of the type that a permission covers.
    package enum Coverage: Hashable, Sendable {
        case all
        /// The records that the user created.
        case own
        case none
    }

    /// How far a permission of a user reaches.
    ///
    /// - Parameters:
    ///   - user: User record name; nil means a caller who is not signed in.
    ///   - roles: The roles of the schema that the user has.
    package func coverage(
        _ permission: Schema.Permissions,
        of user: String?,
        with roles: Set<String>
    ) -> Coverage {
        if self[Grants.world].isSuperset(of: permission) { return .all }
        guard user != nil else { return .none }
        if self[Grants.signedIn].isSuperset(of: permission) { return .all }
        if roles.contains(where: { self[$0].isSuperset(of: permission) }) { return .all }
        return self[Grants.creator].isSuperset(of: permission) ? .own : .none
    }

    /// Whether a user may do something with one record.
    ///
    /// - Parameters:
    ///   - user: User record name; nil means a caller who is not signed in.
    ///   - roles: The roles of the schema that the user has.
    ///   - creator: The user who created the record; nil means that it does not exist yet.
    package func allow(
        _ permission: Schema.Permissions,
        to user: String?,
        with roles: Set<String>,
        of creator: String?
    ) -> Bool {
        switch coverage(permission, of: user, with: roles) {
        case .all: true
        case .own: creator != nil && creator == user
        case .none: false
        }
    }

    /// The signed-in users who may read a record.
    package enum Readers: Hashable, Sendable {
        case everybody
        /// Its creator, unless that is nil, and the users with one of the roles.
        case some(creator: String?, roles: Set<String>)

        package static let nobody = Readers.some(creator: nil, roles: [])

        package func include(_ user: String, with roles: Set<String>) -> Bool {
            switch self {
            case .everybody: true
            case .some(let creator, let readers):
                creator == user || !readers.isDisjoint(with: roles)
            }
        }
    }

    /// The signed-in users who may read a record.
    ///
    /// - Parameter creator: User record name; nil means that it is not known.
    package func readers(ofRecordBy creator: String?) -> Readers {
        let roles = Set(roles(with: .read))
        if !roles.isDisjoint(with: [Grants.world, Grants.signedIn]) { return .everybody }
        return .some(
            creator: roles.contains(Grants.creator) ? creator : nil,
            roles: roles.subtracting(Schema.implicitRoles)
        )
    }
}
