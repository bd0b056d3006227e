// Signing in, sessions and passwords; users who are deleted; operators.
//
// `accounts.proto`, `operator.proto`. Names are bytes here; the node checks them.

package import CumulusModel

/// A `SignInRequest`, or a `RegisterRequest`, which has the first three fields.
package struct SignInRequest: Coded, Hashable {
    package var name: Bytes = []
    package var password: Bytes = []
    package var label = ""
    package var idToken: Bytes = []
    /// What the ID token has to have as nonce; empty: anything.
    package var nonce = ""

    package init() {}

    package init(name: Bytes, password: Bytes, label: String = "") {
        self.name = name
        self.password = password
        self.label = label
    }

    package init(idToken: Bytes, nonce: String = "", label: String = "") {
        self.init(name: [], password: [], label: label)
        self.idToken = idToken
        self.nonce = nonce
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &name)
        try coder.bytes(2, &password)
        try coder.text(3, &label)
        try coder.bytes(4, &idToken)
        try coder.text(5, &nonce)
    }
}

/// A `SignInResponse`, or one of the others that open a session.
package struct OpenedSession: WireMessage, Hashable {
    package var token: Bytes = []
    /// Milliseconds since 1970 UTC.
    package var expires: Int64 = 0
    /// User record name.
    package var user = ""

    package init() {}

    package init(token: Bytes, expires: Int64, user: String) {
        self.token = token
        self.expires = expires
        self.user = user
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &token)
        try coder.signed(2, &expires)
        try coder.text(3, &user)
    }
}

package struct ChangePasswordRequest: Coded, Hashable {
    package var oldPassword: Bytes = []
    package var newPassword: Bytes = []
    package var label = ""

    package init() {}

    package init(oldPassword: Bytes, newPassword: Bytes, label: String = "") {
        self.oldPassword = oldPassword
        self.newPassword = newPassword
        self.label = label
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &oldPassword)
        try coder.bytes(2, &newPassword)
        try coder.text(3, &label)
    }
}

/// A user's name, of operators; empty: the caller's own.
package typealias SessionsRequest = BytesRequest

/// `Session`, as its user and operators see it.
package struct WireSession: Coded, Hashable {
    /// SHA-256 of its token.
    package var id: Bytes = []
    /// `SessionKind`, or a number that this release doesn't know.
    package var kind: UInt32 = 0
    package var label = ""
    package var device: Bytes = []
    package var opened: Int64 = 0
    /// 0: never.
    package var expires: Int64 = 0
    package var isThis = false

    package init() {}

    package init(
        id: Bytes,
        kind: UInt32,
        label: String,
        device: Bytes,
        opened: Int64,
        expires: Int64,
        isThis: Bool
    ) {
        self.id = id
        self.kind = kind
        self.label = label
        self.device = device
        self.opened = opened
        self.expires = expires
        self.isThis = isThis
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.number(2, &kind)
        try coder.text(3, &label)
        try coder.bytes(4, &device)
        try coder.signed(5, &opened)
        try coder.signed(6, &expires)
        try coder.flag(7, &isThis)
    }
}

package typealias SessionsResponse = MessageList<WireSession>

package struct RevokeSessionsRequest: Coded, Hashable {
    /// SHA-256 of a token; empty: all sessions.
    package var id: Bytes = []
    /// A name, of operators; empty: the caller's own.
    package var user: Bytes = []

    package init() {}

    package init(id: Bytes, user: Bytes = []) {
        self.id = id
        self.user = user
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.bytes(2, &user)
    }
}

/// Whether one existed.
package typealias RevokeSessionsResponse = FlagMessage

package struct SetUserStateRequest: Coded, Hashable {
    package var user: Bytes = []
    package var isDisabled = false

    package init() {}

    package init(user: Bytes, isDisabled: Bool) {
        self.user = user
        self.isDisabled = isDisabled
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.flag(2, &isDisabled)
    }
}

/// Whether it changed.
package typealias SetUserStateResponse = FlagMessage

package struct SetPasswordRequest: Coded, Hashable {
    package var user: Bytes = []
    package var password: Bytes = []

    package init() {}

    package init(user: Bytes, password: Bytes) {
        self.user = user
        self.password = password
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.bytes(2, &password)
    }
}

// MARK: - Lost passwords

/// The user's name.
package typealias MakeResetLinkRequest = BytesRequest

package struct MakeResetLinkResponse: WireMessage, Hashable {
    package var token = ""
    /// Milliseconds since 1970 UTC.
    package var expires: Int64 = 0
    /// Empty: the node has no page that takes the token.
    package var url = ""

    package init() {}

    package init(token: String, expires: Int64, url: String) {
        self.token = token
        self.expires = expires
        self.url = url
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &token)
        try coder.signed(2, &expires)
        try coder.text(3, &url)
    }
}

package struct ResetPasswordRequest: Coded, Hashable {
    package var token: Bytes = []
    package var password: Bytes = []

    package init() {}

    package init(token: Bytes, password: Bytes) {
        self.token = token
        self.password = password
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &token)
        try coder.bytes(2, &password)
    }
}

/// The user's name.
package typealias ResetPasswordResponse = BytesMessage

// MARK: - Deletions

/// A request to delete something for good, or to say what would go.
package struct DeletionRequest: Coded, Hashable {
    package var name: Bytes = []
    /// Nothing is to be deleted.
    package var onlyShows = false

    package init() {}

    package init(name: Bytes, onlyShows: Bool) {
        self.name = name
        self.onlyShows = onlyShows
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &name)
        try coder.flag(2, &onlyShows)
    }
}

package typealias DeleteUserRequest = DeletionRequest
package typealias DeleteContainerRequest = DeletionRequest

/// `Holdings`: what goes along with something that is deleted.
package struct WireHoldings: Coded, Hashable {
    package var zones: UInt64 = 0
    package var records: UInt64 = 0
    /// Bytes of the records' fields.
    package var bytes: UInt64 = 0
    package var assets: UInt64 = 0
    package var assetBytes: UInt64 = 0
    /// Shares that end.
    package var shares: UInt64 = 0
    /// Shares of others that the user leaves.
    package var joinedShares: UInt64 = 0
    package var subscriptions: UInt64 = 0
    /// Roles that users have.
    package var roles: UInt64 = 0
    /// Sessions and access tokens.
    package var sessions: UInt64 = 0
    package var handles: UInt64 = 0
    /// Keys of servers.
    package var keys: UInt64 = 0
    /// Users who have something in a container.
    package var users: UInt64 = 0

    package init() {}

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &zones)
        try coder.number(2, &records)
        try coder.number(3, &bytes)
        try coder.number(4, &assets)
        try coder.number(5, &assetBytes)
        try coder.number(6, &shares)
        try coder.number(7, &joinedShares)
        try coder.number(8, &subscriptions)
        try coder.number(9, &roles)
        try coder.number(10, &sessions)
        try coder.number(11, &handles)
        try coder.number(12, &keys)
        try coder.number(13, &users)
    }
}

/// `KnownBackup`: a backup that a node made.
package struct WireKnownBackup: Coded, Hashable {
    package var path = ""
    /// Milliseconds since 1970 UTC.
    package var made: Int64 = 0

    package init() {}

    package init(path: String, made: Int64) {
        self.path = path
        self.made = made
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &path)
        try coder.signed(2, &made)
    }
}

package struct DeletionResponse: WireMessage, Hashable {
    package var holdings = WireHoldings()
    /// Backups of the node that answers which may still hold what is deleted.
    package var backups: [WireKnownBackup] = []

    package init() {}

    package init(_ holdings: WireHoldings, backups: [WireKnownBackup]) {
        self.holdings = holdings
        self.backups = backups
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &holdings)
        try coder.list(2, &backups)
    }
}

package typealias DeleteUserResponse = DeletionResponse
package typealias DeleteContainerResponse = DeletionResponse

// MARK: - Operators

/// `Operator`: who has a token that every node of the cluster takes.
package struct WireOperator: Coded, Hashable {
    package var name = ""
    /// Milliseconds since 1970 UTC.
    package var created: Int64 = 0

    package init() {}

    package init(name: String, created: Int64) {
        self.name = name
        self.created = created
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
        try coder.signed(2, &created)
    }
}

package typealias ListOperatorsResponse = MessageList<WireOperator>
package typealias AddOperatorRequest = BytesRequest
/// The token, which is shown once.
package typealias AddOperatorResponse = BytesMessage
package typealias RemoveOperatorRequest = BytesRequest
package typealias RemoveOperatorResponse = EmptyMessage
