// Containers, users, what opens their accounts, and access tokens.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    package struct User: Sendable {
        package var name: String
        /// 32 hexadecimal digits, the same in all containers; lines of the audit log have it.
        package var id: String
        package var created: Timestamp
        /// The user's record name in the container that was asked for; empty without a container.
        package var recordName: String
        /// An operator keeps the user out; only lists say it.
        package var isDisabled: Bool
    }

    package func containers() async throws -> [String] {
        try await list(.operatorListContainers) { try ListContainersResponse(wire: $0).texts }
    }

    /// Makes a container.
    ///
    /// Returns true if it was there already.
    package func createContainer(_ name: String) async throws -> Bool {
        try await call(.operatorCreateContainer, name: Bytes(name.utf8)) {
            try CreateContainerResponse(wire: $0).flag
        }
    }

    package func users(in container: String?) async throws -> [User] {
        try await list(.operatorListUsers, container: container) {
            try ListUsersResponse(wire: $0).elements.map(User.init)
        }
    }

    /// The user with a name, without its record name; nil if there is none.
    package func user(named name: String) async throws -> User? {
        let message = BytesRequest(Bytes(name.utf8)).encoded()
        // A node of an earlier release answers with all users.
        return try await list(.operatorListUsers, message: message) {
            try ListUsersResponse(wire: $0).elements.map(User.init)
        }.first { $0.name == name }
    }

    /// Makes a user, or finds the one with this name.
    package func addUser(
        _ name: String,
        in container: String?
    ) async throws -> (user: User, existed: Bool) {
        try await call(.operatorAddUser, name: Bytes(name.utf8), container: container) {
            let answer = try AddUserResponse(wire: $0)
            return (User(answer.user), answer.existed)
        }
    }

    /// Makes an access token for a user.
    ///
    /// The node shows it only this once.
    package func addToken(forUser name: String) async throws -> String {
        try await call(.operatorAddToken, name: Bytes(name.utf8)) {
            String(decoding: try AddTokenResponse(wire: $0).bytes, as: UTF8.self)
        }
    }

    /// Makes a link with which a user sets a new password, once and within an hour; the link that
    /// was made before is good for nothing then.
    ///
    /// The node shows it only this once.
    package func makeResetLink(
        forUser name: String
    ) async throws -> (token: String, url: String, expires: Timestamp) {
        try await call(.accountsMakeResetLink, name: Bytes(name.utf8)) {
            let answer = try MakeResetLinkResponse(wire: $0)
            let expires = Timestamp(millisecondsSince1970: answer.expires)
            return (answer.token, answer.url, expires)
        }
    }

    // MARK: Operators of the cluster

    /// The operators whose tokens every node takes, and when the tokens were made.
    package func operators() async throws -> [(name: String, created: Timestamp)] {
        try await list(.operatorListOperators) {
            try ListOperatorsResponse(wire: $0).elements.map {
                ($0.name, Timestamp(millisecondsSince1970: $0.created))
            }
        }
    }

    /// Makes a token for an operator, which every node of the cluster takes.
    ///
    /// The node shows it only this once.
    package func addOperator(_ name: String) async throws -> String {
        try await call(.operatorAddOperator, name: Bytes(name.utf8), repeats: false) {
            String(decoding: try AddOperatorResponse(wire: $0).bytes, as: UTF8.self)
        }
    }

    /// Ends the tokens of an operator.
    package func removeOperator(_ name: String) async throws {
        try await call(.operatorRemoveOperator, name: Bytes(name.utf8), repeats: false) { _ in }
    }

    // MARK: Deleting

    /// What goes along with something that is deleted, and backups that may still hold it.
    package struct Deletion: Sendable {
        package struct Backup: Sendable {
            /// On the machine of the node that made it.
            package var path: String
            package var made: Timestamp
        }

        /// What is counted; by its name in JSON.
        package enum Kind: String, CaseIterable, Sendable {
            case zones, records
            /// Bytes of the records' fields.
            case bytes
            case assets, assetBytes
            /// Shares that end.
            case shares
            /// Shares of others that the user leaves.
            case joinedShares
            case subscriptions, roles
            /// Sessions and access tokens.
            case sessions
            case handles
            /// Keys of servers.
            case keys
            /// Users who have something in a container.
            case users
        }

        package var counts: [Kind: UInt64]
        package var backups: [Backup]
    }

    /// Deletes a user with all that it has, for good; or only says what that is.
    package func deleteUser(_ name: String, onlyShows: Bool) async throws -> Deletion {
        let request = DeleteUserRequest(name: Bytes(name.utf8), onlyShows: onlyShows)
        return try await delete(.operatorDeleteUser, request)
    }

    /// Deletes a container with all that is in it, for good; or only says what that is.
    package func deleteContainer(_ name: String, onlyShows: Bool) async throws -> Deletion {
        let request = DeleteContainerRequest(name: Bytes(name.utf8), onlyShows: onlyShows)
        return try await delete(.operatorDeleteContainer, request)
    }

    private func delete(_ method: Method, _ request: DeletionRequest) async throws -> Deletion {
        try await call(method, message: request.encoded(), repeats: request.onlyShows) {
            Deletion(try DeletionResponse(wire: $0))
        }
    }

    // MARK: Who may come in

    /// Keeps a user out of the cluster, or lets it in again; its records stay.
    ///
    /// Returns false if nothing was changed: the user was not disabled.
    package func setState(of user: String, isDisabled: Bool) async throws -> Bool {
        let request = SetUserStateRequest(user: Bytes(user.utf8), isDisabled: isDisabled)
        return try await call(.operatorSetUserState, message: request.encoded()) {
            try RevokeSessionsResponse(wire: $0).flag
        }
    }

    /// Sets a user's password, which ends the sessions that were opened with another one.
    package func setPassword(of user: String, to password: String) async throws {
        let request = SetPasswordRequest(
            user: Bytes(user.utf8),
            password: Bytes(password.utf8)
        )
        try await call(.operatorSetPassword, message: request.encoded()) { _ in }
    }

    /// A user's sessions and access tokens, oldest first.
    package func sessions(of user: String) async throws -> [ListedSession] {
        let message = SessionsRequest(Bytes(user.utf8)).encoded()
        return try ListedSession.list(await core.read(.accountsSessions, message))
    }

    /// Ends one session of a user; returns false if the user has none with that id.
    package func revoke(_ id: ListedSession.ID, of user: String) async throws -> Bool {
        try await revoke(
            RevokeSessionsRequest(id: ListedSession.digest(id), user: Bytes(user.utf8))
        )
    }

    /// Ends all sessions and access tokens of a user, including sessions that other nodes open now.
    package func revokeAllSessions(of user: String) async throws {
        _ = try await revoke(RevokeSessionsRequest(id: [], user: Bytes(user.utf8)))
    }

    private func revoke(_ request: RevokeSessionsRequest) async throws -> Bool {
        try await call(.accountsRevoke, message: request.encoded()) {
            try RevokeSessionsResponse(wire: $0).flag
        }
    }
}

extension NodeOperator.Deletion {
    fileprivate init(_ response: DeletionResponse) {
        let held = response.holdings
        counts = [
            .zones: held.zones, .records: held.records, .bytes: held.bytes, .assets: held.assets,
            .assetBytes: held.assetBytes, .shares: held.shares,
            .joinedShares: held.joinedShares, .subscriptions: held.subscriptions,
            .roles: held.roles, .sessions: held.sessions, .handles: held.handles,
            .keys: held.keys, .users: held.users,
        ]
        backups = response.backups.map {
            Backup(path: $0.path, made: Timestamp(millisecondsSince1970: $0.made))
        }
    }
}

extension NodeOperator.User {
    fileprivate init(_ wire: WireUser) {
        name = wire.name
        id = wire.id.hex
        created = Timestamp(millisecondsSince1970: wire.created)
        recordName = wire.recordName
        isDisabled = wire.isDisabled
    }
}
