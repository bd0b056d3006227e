// Signing in, sessions and passwords.
//
// `accounts.proto`. Names are bytes here; the node checks them.

import CCumulusWire
package import CumulusModel

/// A `SignInRequest`, or a `RegisterRequest`, which has the first three fields.
package struct SignInRequest: Hashable, Sendable {
    package var name: Bytes
    package var password: Bytes
    package var label: String
    package var idToken: Bytes = []
    /// What the ID token has to have as nonce; empty: anything.
    package var nonce: String = ""

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

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: name)
        writer.field(2, bytes: password)
        writer.field(3, text: label)
        writer.field(4, bytes: idToken)
        writer.field(5, text: nonce)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__sign_in_request__unpack)
        name = message.raw.name.swiftBytes
        password = message.raw.password.swiftBytes
        label = message.raw.label.swiftText
        idToken = message.raw.id_token.swiftBytes
        nonce = message.raw.nonce.swiftText
    }
}

/// A `SignInResponse`, or one of the others that open a session.
package struct OpenedSession: Hashable, Sendable {
    package var token: Bytes
    /// Milliseconds since 1970 UTC.
    package var expires: Int64
    /// User record name.
    package var user: String

    package init(token: Bytes, expires: Int64, user: String) {
        self.token = token
        self.expires = expires
        self.user = user
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: token)
        writer.field(2, signed: expires)
        writer.field(3, text: user)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__sign_in_response__unpack)
        token = message.raw.token.swiftBytes
        expires = message.raw.expires
        user = message.raw.user.swiftText
    }
}

package struct ChangePasswordRequest: Hashable, Sendable {
    package var oldPassword: Bytes
    package var newPassword: Bytes
    package var label: String

    package init(oldPassword: Bytes, newPassword: Bytes, label: String = "") {
        self.oldPassword = oldPassword
        self.newPassword = newPassword
        self.label = label
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: oldPassword)
        writer.field(2, bytes: newPassword)
        writer.field(3, text: label)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__change_password_request__unpack)
        oldPassword = message.raw.old_password.swiftBytes
        newPassword = message.raw.new_password.swiftBytes
        label = message.raw.label.swiftText
    }
}

/// A session as its user and operators see it.
package struct WireSession: Hashable, Sendable {
    /// SHA-256 of its token.
    package var id: Bytes
    /// `SessionKind`, or a number that this release doesn't know.
    package var kind: UInt32
    package var label: String
    package var device: Bytes
    package var opened: Int64
    /// 0: never.
    package var expires: Int64
    package var isThis: Bool

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

    /// The bytes of a `SessionsResponse`.
    package static func answer(_ sessions: ArraySlice<WireSession>) -> Bytes {
        var writer = CanonicalWriter()
        for session in sessions {
            writer.message(1) { writer in
                writer.field(1, bytes: session.id)
                writer.field(2, varint: UInt64(session.kind))
                writer.field(3, text: session.label)
                writer.field(4, bytes: session.device)
                writer.field(5, signed: session.opened)
                writer.field(6, signed: session.expires)
                writer.field(7, varint: session.isThis ? 1 : 0)
            }
        }
        return writer.bytes
    }

    package static func list(wire bytes: Bytes) throws(MalformedMessage) -> [WireSession] {
        let message = try CMessage(answer: bytes, cumulus__v1__sessions_response__unpack)
        return elements(message.raw.n_sessions, message.raw.sessions).map { raw in
            WireSession(
                id: raw.id.swiftBytes,
                kind: UInt32(raw.kind.rawValue),
                label: raw.label.swiftText,
                device: raw.device.swiftBytes,
                opened: raw.opened,
                expires: raw.expires,
                isThis: raw.is_this != 0
            )
        }
    }
}

package struct RevokeSessionsRequest: Hashable, Sendable {
    /// SHA-256 of a token; empty: all sessions.
    package var id: Bytes
    /// A name, of operators; empty: the caller's own.
    package var user: Bytes

    package init(id: Bytes, user: Bytes = []) {
        self.id = id
        self.user = user
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: id)
        writer.field(2, bytes: user)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__revoke_sessions_request__unpack)
        id = message.raw.id.swiftBytes
        user = message.raw.user.swiftBytes
    }
}

package struct SetUserStateRequest: Hashable, Sendable {
    package var user: Bytes
    package var isDisabled: Bool

    package init(user: Bytes, isDisabled: Bool) {
        self.user = user
        self.isDisabled = isDisabled
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        writer.field(2, varint: isDisabled ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_user_state_request__unpack)
        user = message.raw.user.swiftBytes
        isDisabled = message.raw.is_disabled != 0
    }
}

package struct SetPasswordRequest: Hashable, Sendable {
    package var user: Bytes
    package var password: Bytes

    package init(user: Bytes, password: Bytes) {
        self.user = user
        self.password = password
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        writer.field(2, bytes: password)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_password_request__unpack)
        user = message.raw.user.swiftBytes
        password = message.raw.password.swiftBytes
    }
}

/// Messages of accounts that have one field.
package enum AccountMessages {
    /// `SessionsRequest`.
    package static func sessions(ofUser name: Bytes) -> Bytes {
        OperatorMessages.request(name: name)
    }

    package static func sessionsUser(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__sessions_request__unpack)
        return message.raw.user.swiftBytes
    }

    /// `RevokeSessionsResponse`, or `SetUserStateResponse`.
    package static func done(_ isChanged: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: isChanged ? 1 : 0)
        return writer.bytes
    }

    package static func isDone(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        let message = try CMessage(bytes[...], cumulus__v1__revoke_sessions_response__unpack)
        return message.raw.existed != 0
    }
}
