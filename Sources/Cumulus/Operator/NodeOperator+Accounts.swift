// Containers, users and access tokens.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    package struct User: Sendable {
        package var name: String
        package var created: Timestamp
        /// The user's record name in the container that was asked for; empty without a container.
        package var recordName: String
    }

    package func containers() async throws -> [String] {
        try await list(.operatorListContainers) { try OperatorMessages.containers(wire: $0) }
    }

    /// Makes a container.
    ///
    /// Returns true if it was there already.
    package func createContainer(_ name: String) async throws -> Bool {
        try await call(.operatorCreateContainer, name: Bytes(name.utf8)) {
            try OperatorMessages.containerExisted(wire: $0)
        }
    }

    package func users(in container: String?) async throws -> [User] {
        try await list(.operatorListUsers, container: container) {
            try OperatorMessages.users(wire: $0).map(User.init)
        }
    }

    /// Makes a user, or finds the one with this name.
    package func addUser(
        _ name: String,
        in container: String?
    ) async throws -> (user: User, existed: Bool) {
        try await call(.operatorAddUser, name: Bytes(name.utf8), container: container) {
            let (user, existed) = try OperatorMessages.addedUser(wire: $0)
            return (User(user), existed)
        }
    }

    /// Makes an access token for a user.
    ///
    /// The node shows it only this once.
    package func addToken(forUser name: String) async throws -> String {
        try await call(.operatorAddToken, name: Bytes(name.utf8)) {
            String(decoding: try OperatorMessages.token(wire: $0), as: UTF8.self)
        }
    }
}

extension NodeOperator.User {
    fileprivate init(_ wire: WireUser) {
        name = wire.name
        created = Timestamp(millisecondsSince1970: wire.created)
        recordName = wire.recordName
    }
}
