// Who may do what, decided by a verb, by what is known of the record, and by what its type grants
// or a share allows. These functions work on values and read nothing.
//
// Called through `RecordAccess` for what is shown and for what is changed. `MethodTable` decides
// before that which methods a caller may call at all, an operator's among them.
//
// Folder: what callers may do with records. Read `Authorisation` and `AccessRights`, then
// `RecordAccess`, `AccessReader` for reads, `ZoneBatch+DeleteRights` for deletes, and
// `RepeatedRequest` for requests that come again. `AssignedRoles` holds the roles that operators
// give to users.

package import CumulusModel

package enum Authorisation {
    package enum Verb: Hashable, Sendable {
        case read
        case create
        case write
        /// The verb that grants and errors call WRITE, too.
        case delete

        fileprivate var permission: Schema.Permissions {
            switch self {
            case .read: .read
            case .create: .create
            case .write, .delete: .write
            }
        }

        fileprivate var name: String {
            switch self {
            case .read: "READ"
            case .create: "CREATE"
            case .write, .delete: "WRITE"
            }
        }
    }

    /// What rights on a record depend on.
    package struct RecordFacts: Hashable, Sendable {
        /// The type's name, as callers know it.
        package var type: String
        /// The creator of the life that is shown; nil if the record does not exist yet.
        package var createdBy: String?

        package init(type: String, createdBy: String?) {
            self.type = type
            self.createdBy = createdBy
        }
    }

    /// What rights on a record of another user's zone depend on.
    package struct SharedFacts: Hashable, Sendable {
        package var name: String
        package var type: String
        /// The roots, visible to the caller, below which the record hangs; its own name if it is a
        /// root.
        package var roots: Set<String>
        /// Whether a share names the record as its root.
        package var isRoot: Bool

        package init(name: String, type: String, roots: Set<String> = [], isRoot: Bool = false) {
            self.name = name
            self.type = type
            self.roots = roots
            self.isRoot = isRoot
        }
    }

    /// Why a caller may not apply a verb to a record of the public database; nil if it may.
    ///
    /// An operator reads everything and saves nothing. A caller without a token changes nothing.
    /// Everybody else has the role `_world`, `_icloud` if signed in, `_creator` of its own records,
    /// and the roles that operators gave to it. It may do what one of these roles is granted.
    ///
    /// - Parameter roles: The roles of the schema that the caller was given.
    package static func refusal(
        _ verb: Verb,
        _ record: RecordFacts,
        granted grants: Grants,
        to caller: Caller,
        with roles: Set<String>
    ) -> ServiceError? {
        if caller.role == .operator, verb == .read { return nil }
        if verb != .read, let refusal = changeRefusal(of: caller) { return refusal }
        let user = caller.signedInUser
        if grants.allow(verb.permission, to: user, with: roles, of: record.createdBy) {
            return nil
        }
        return notPermitted(verb, record, grants, caller, roles)
    }

    /// Why a participant may not apply a verb to a record of another user's zone; nil if it may.
    ///
    /// What it may not see does not exist for it. Administrators change a share. Only the owner
    /// deletes a share; a participant who deletes it leaves it. A root is changed like any record,
    /// but neither moved nor deleted.
    ///
    /// - Parameter record: Where the record is, or where it is to be created.
    package static func refusal(
        _ verb: Verb,
        _ record: SharedFacts,
        _ view: AccessRights.View
    ) -> ServiceError? {
        let isShare = record.type == Names.shareType
        guard let held = view.permission(below: record.roots) else {
            return verb == .create ? outside : .recordNotFound
        }
        switch verb {
        case .read: return nil
        case .create where isShare: return notShareable
        case .write where isShare:
            return view.administers.contains(record.name) ? nil : administratorsOnly(verb)
        case .delete where isShare || record.isRoot:
            return ownersOnly(verb, isShare ? "share" : "root of a share")
        case .create, .write, .delete:
            return held == .readWrite ? nil : readOnly(verb)
        }
    }

    /// How far a caller's right to read records of a type reaches.
    package static func reading(
        _ grants: Grants,
        by caller: Caller,
        with roles: Set<String>
    ) -> Grants.Coverage {
        if caller.role == .operator { return .all }
        return grants.coverage(.read, of: caller.signedInUser, with: roles)
    }

    /// Why a caller may not bring assets into a database; nil if it may.
    ///
    /// The type that the assets are for is known only when a record is saved that names them.
    package static func uploadRefusal(
        in database: DatabaseID,
        by caller: Caller
    ) -> ServiceError? {
        database.kind == .public ? changeRefusal(of: caller) : nil
    }

    /// Why a participant may not bring assets into a zone; nil if it may write to some of it.
    static func uploadRefusal(_ view: AccessRights.View) -> ServiceError? {
        let held = view.permission(below: Set(view.trees.map(\.root)))
        return held == .readWrite ? nil : readOnly(.create)
    }

    /// The database that a call is about.
    ///
    /// The private database is always the caller's own.
    package static func database(
        _ kind: DatabaseScope,
        for caller: Caller
    ) throws(ServiceError) -> DatabaseID {
        switch (kind, caller.role) {
        case (.public, _): return .public
        case (_, .user(let name)): return DatabaseID(kind: kind, owner: name)
        case (_, .server): throw ServiceKeys.userNeeded
        case (_, .anonymous):
            throw ServiceError(
                .notAuthenticated,
                "the \(kind.name) database needs a signed-in user; connect with an access token"
            )
        case (_, .operator):
            throw ServiceError(
                .permissionFailure,
                "an operator reads public data only; use a user's access token"
            )
        }
    }

    // MARK: Errors

    /// The refusal of a change by a caller without a token.
    package static let userNeeded = ServiceError(
        .notAuthenticated,
        "changes need a signed-in user; connect with an access token"
    )

    package static let signInNeeded = ServiceError(
        .notAuthenticated,
        "this needs a signed-in user or an operator; connect with a token"
    )

    /// Why a caller may change nothing in the public database, whatever is granted; nil for users.
    static func changeRefusal(of caller: Caller) -> ServiceError? {
        switch caller.role {
        case .user, .server: nil
        case .anonymous:
            ServiceError(
                .notAuthenticated,
                "changing the public database needs a signed-in user; connect with an access token"
            )
        case .operator:
            ServiceError(
                .permissionFailure,
                "an operator saves no records; use a user's access token"
            )
        }
    }

    /// Why a caller can't read any record of a type.
    static func notReadable(
        _ type: String,
        _ grants: Grants,
        _ caller: Caller,
        _ roles: Set<String>
    ) -> ServiceError {
        notPermitted(.read, RecordFacts(type: type, createdBy: nil), grants, caller, roles)
    }

    /// The refusal of a new record, or a new parent, that is in no tree that the caller may write
    /// to.
    static let outside = ServiceError(
        .permissionFailure,
        """
        CREATE operation not permitted: a record of the shared database needs a parent that is \
        shared with you for writing
        """
    )

    private static let notShareable = ServiceError(
        .permissionFailure,
        "CREATE operation not permitted: only its owner shares a zone or what is in it"
    )

    private static func readOnly(_ verb: Verb) -> ServiceError {
        ServiceError(
            .permissionFailure,
            """
            \(verb.name) operation not permitted: the share lets you read; ask its owner for \
            readWrite
            """
        )
    }

    private static func administratorsOnly(_ verb: Verb) -> ServiceError {
        ServiceError(
            .permissionFailure,
            """
            \(verb.name) operation not permitted: only the share's owner and administrators change \
            who is in it and what they may do; ask one of them
            """
        )
    }

    /// - Parameter what: What only its owner may change.
    static func ownersOnly(_ verb: Verb, _ what: String) -> ServiceError {
        ServiceError(
            .permissionFailure,
            "\(verb.name) operation not permitted: the \(what) is its owner's to change"
        )
    }

    private static func notPermitted(
        _ verb: Verb,
        _ record: RecordFacts,
        _ grants: Grants,
        _ caller: Caller,
        _ roles: Set<String>
    ) -> ServiceError {
        let needed = grants.roles(with: verb.permission)
        var held = [Grants.world]
        if let user = caller.signedInUser {
            held += [Grants.signedIn]
            if user == record.createdBy { held += [Grants.creator] }
            held += roles.sorted()
        }
        let granted = needed.isEmpty ? "no role" : needed.joined(separator: ", ")
        let advice =
            needed.isEmpty
            ? "import a schema that grants it"
            : caller.signedInUser == nil
                ? "connect with an access token" : "you have \(held.joined(separator: ", "))"
        return ServiceError(
            .permissionFailure,
            """
            \(verb.name) operation not permitted: type '\(record.type)' grants it to \(granted); \
            \(advice)
            """
        )
    }
}

extension Caller {
    /// The caller's user record name; nil unless somebody is signed in.
    var signedInUser: String? {
        switch role {
        case .user(let name), .server(let name): name
        case .anonymous, .operator: nil
        }
    }
}
