// Service keys: what a server signs in its greeting, and how operators register, list and revoke
// keys.
//
// `accounts.proto`. Texts are bytes in requests; the node checks them.

import CCumulusWire
package import CumulusModel

/// What a server signs to show that it holds the private half of a service key.
package enum ServiceKeyProof {
    package static let nonceBytes = 32

    /// The bytes that are signed: good for one connection, one cluster and one scope; over TLS for
    /// one certificate, so that nobody in between can pass the signature on.
    ///
    /// Fixed by proto/README.md.
    ///
    /// - Parameters:
    ///   - scope: The one that the greeting names.
    ///   - certificate: The digest of the listener's, as the signer saw it; empty over plain TCP.
    package static func content(
        serverNonce: Bytes,
        clientNonce: Bytes,
        clusterID: Bytes,
        scope: ScopeID,
        certificate: Bytes
    ) -> Bytes {
        // No container's name holds a zero byte.
        let scope = Bytes(scope.container.utf8) + [0, scope.environment.rawValue]
        return Bytes("cumulus service key".utf8) + serverNonce + clientNonce + clusterID + scope
            + certificate
    }
}

/// A service key as operators see it.
package struct WireServiceKey: Hashable, Sendable {
    package var id: Bytes
    package var publicKey: Bytes
    package var label: String
    package var created: Int64
    /// 0: never.
    package var expires: Int64
    /// User record name.
    package var user: String

    package init(
        id: Bytes,
        publicKey: Bytes,
        label: String,
        created: Int64,
        expires: Int64,
        user: String
    ) {
        self.id = id
        self.publicKey = publicKey
        self.label = label
        self.created = created
        self.expires = expires
        self.user = user
    }

    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: id)
        writer.field(2, bytes: publicKey)
        writer.field(3, text: label)
        writer.field(4, signed: created)
        writer.field(5, signed: expires)
        writer.field(6, text: user)
    }

    fileprivate init(_ raw: Cumulus__V1__ServiceKey) {
        id = raw.id.swiftBytes
        publicKey = raw.public_key.swiftBytes
        label = raw.label.swiftText
        created = raw.created
        expires = raw.expires
        user = raw.user.swiftText
    }

    /// The bytes of a `ListKeysResponse`.
    package static func answer(_ keys: ArraySlice<WireServiceKey>) -> Bytes {
        var writer = CanonicalWriter()
        for key in keys { writer.message(1) { key.encode(to: &$0) } }
        return writer.bytes
    }

    package static func list(wire bytes: Bytes) throws(MalformedMessage) -> [WireServiceKey] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_keys_response__unpack)
        return elements(message.raw.n_keys, message.raw.keys).map(WireServiceKey.init)
    }
}

package struct AddKeyRequest: Hashable, Sendable {
    package var publicKey: Bytes
    package var label: String
    /// 0: never.
    package var expires: Int64

    package init(publicKey: Bytes, label: String, expires: Int64) {
        self.publicKey = publicKey
        self.label = label
        self.expires = expires
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: publicKey)
        writer.field(2, text: label)
        writer.field(3, signed: expires)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__add_key_request__unpack)
        publicKey = message.raw.public_key.swiftBytes
        label = message.raw.label.swiftText
        expires = message.raw.expires
    }
}

package struct AddKeyResponse: Hashable, Sendable {
    package var key: WireServiceKey
    package var existed: Bool

    package init(key: WireServiceKey, existed: Bool) {
        self.key = key
        self.existed = existed
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.message(1) { key.encode(to: &$0) }
        writer.field(2, varint: existed ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__add_key_response__unpack)
        guard let raw = message.raw.key?.pointee else {
            throw MalformedMessage(message: "the answer holds no key")
        }
        key = WireServiceKey(raw)
        existed = message.raw.existed != 0
    }
}

/// `RevokeKeyRequest` and its answer.
package enum RevokeKey {
    package static func request(_ id: Bytes) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: id)
        return writer.bytes
    }

    package static func id(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        try CMessage(bytes[...], cumulus__v1__revoke_key_request__unpack).raw.id.swiftBytes
    }

    package static func answer(existed: Bool) -> Bytes { AccountMessages.done(existed) }

    package static func existed(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        try CMessage(bytes[...], cumulus__v1__revoke_key_response__unpack).raw.existed != 0
    }
}
