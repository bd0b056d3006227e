// Who may do what: caller × database × verb, decided by values. Roles that the schema defines will
// have their place here.
//
// Called by operations before anything is read that the caller may not see. Which methods a caller
// may call at all, an operator's among them, is decided before that, by `MethodTable`.

package import CumulusModel

package enum Authorisation {
    package enum Verb: Hashable, Sendable {
        case read
        case create
        /// Update and delete.
        case write
    }

    /// CloudKit's built-in roles of the public database.
    private enum Role {
        case world
        case signedIn
        case creator
    }

    /// The default grants of every record type: the world reads, users create, creators write.
    private static func isGranted(_ verb: Verb, to role: Role) -> Bool {
        switch (role, verb) {
        case (.world, .read), (.signedIn, .create), (.creator, .write): true
        default: false
        }
    }

    /// The database that a call is about.
    ///
    /// The private one is always the caller's own.
    package static func database(
        _ kind: DatabaseScope,
        for caller: Caller
    ) throws(ServiceError) -> DatabaseID {
        switch (kind, caller.role) {
        case (.public, _): return .public
        case (_, .user(let name)): return DatabaseID(kind: kind, owner: name)
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

    /// A caller without a token changes nothing anywhere.
    package static let userNeeded = ServiceError(
        .notAuthenticated,
        "changes need a signed-in user; connect with an access token"
    )

    static let signInNeeded = ServiceError(
        .notAuthenticated,
        "this needs a signed-in user or an operator; connect with a token"
    )

    /// Why a caller may not do that to a record; nil if it may.
    ///
    /// `creator` is nil for a record that doesn't exist yet.
    package static func refusal(
        _ verb: Verb,
        in database: DatabaseID,
        creator: String?,
        by caller: Caller
    ) -> ServiceError? {
        guard database.kind == .public else { return nil }
        if isGranted(verb, to: .world) { return nil }
        switch caller.role {
        case .anonymous:
            return ServiceError(
                .notAuthenticated,
                "changing the public database needs a signed-in user; connect with an access token"
            )
        case .operator:
            return ServiceError(
                .permissionFailure,
                "an operator saves no records; use a user's access token"
            )
        case .user(let name):
            if isGranted(verb, to: .signedIn) { return nil }
            if creator == name, isGranted(verb, to: .creator) { return nil }
            return ServiceError(
                .permissionFailure,
                """
                \(verb.description) operation not permitted: only its creator may change a public \
                record
                """
            )
        }
    }
}

extension Authorisation.Verb {
    fileprivate var description: String {
        switch self {
        case .read: "READ"
        case .create: "CREATE"
        case .write: "WRITE"
        }
    }
}
