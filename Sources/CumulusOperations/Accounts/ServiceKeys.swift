// Service keys, with which servers come in that are no user's device. A key opens the public
// database of one environment of a container.
//
// An operator registers a P-256 public key. The server keeps the private key and signs each
// greeting (`ServiceKeyProof` of CumulusWire). A key is checked like a session, through
// `Credential`. It is a user of its own: it has a record name, the role of everybody who is signed
// in, and the roles that operators give to it. The newest register of a key counts; a revocation
// stays.

import Crypto
package import CumulusModel
package import CumulusStorage

package enum ServiceKeys {
    package struct Key: Hashable, Sendable {
        /// The uncompressed point in X9.63 form, 65 bytes.
        package var publicKey: Bytes
        /// The only scope in which the key is valid.
        package var scope: ScopeID
        /// A text for people.
        package var label: String
        /// Milliseconds since 1970 UTC.
        package var created: Int64
        /// Milliseconds since 1970 UTC; 0 means never.
        package var expires: Int64

        package init(
            publicKey: Bytes,
            scope: ScopeID,
            label: String,
            created: Int64 = 0,
            expires: Int64 = 0
        ) {
            self.publicKey = publicKey
            self.scope = scope
            self.label = label
            self.created = created
            self.expires = expires
        }

        /// 16 bytes, derived from the public key and the scope: registered twice, it is the same
        /// key.
        package var id: Bytes {
            var input = CanonicalWriter()
            input.raw(Bytes("cumulus service key id".utf8))
            input.scope(scope)
            input.raw(publicKey)
            return Bytes(SHA256.hash(data: input.bytes).prefix(16))
        }

        /// The name of the key's own user record: `_` and 32 hexadecimal digits.
        package var recordName: String {
            let input = Bytes("cumulus service key user".utf8) + id
            return "_" + Bytes(SHA256.hash(data: input).prefix(16)).hex
        }

        func isExpired(now: Int64) -> Bool { expires != 0 && expires <= now }
    }

    package static let idBytes = 16

    /// The one answer to every key that is refused, whatever the cause.
    package static let refusal = ServiceError(
        .notAuthenticated,
        """
        the service key is not valid: it is unknown or of another container or environment, has \
        expired or was revoked, or the signature is wrong; 'cumulus key list' shows an operator \
        which ones are good
        """
    )

    /// The refusal of a service key where only users are served.
    package static let userNeeded = ServiceError(
        .permissionFailure,
        """
        a service key works in the public database only, and has no sessions, subscriptions or \
        feed; use a user's access token
        """
    )

    /// The key with an id; nil if it doesn't let its bearer into the scope.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package static func find<Reader: RowReader & ~Copyable>(
        _ id: Bytes,
        of scope: ScopeID,
        now: Int64,
        in reader: borrowing Reader
    ) throws(EngineError) -> Key? {
        guard let cluster = try reader.scope(.cluster),
            try !isRevoked(id, cluster, in: reader),
            let key = try stored(id, cluster, in: reader),
            key.scope == scope, !key.isExpired(now: now)
        else { return nil }
        return key
    }

    /// The keys of a scope, expired ones too, oldest first.
    ///
    /// - Parameter withRevoked: Whether revoked keys are listed, too.
    package static func all<Reader: RowReader & ~Copyable>(
        of scope: ScopeID,
        withRevoked: Bool = false,
        in reader: borrowing Reader
    ) throws(EngineError) -> [Key] {
        guard let cluster = try reader.scope(.cluster) else { return [] }
        var keys: [Key] = []
        for (parts, _) in try reader.registers(cluster, AccountRegister.key) {
            guard let id = parts.first, let key = try stored(id, cluster, in: reader),
                key.scope == scope
            else { continue }
            if !withRevoked, try isRevoked(id, cluster, in: reader) { continue }
            keys.append(key)
        }
        return keys.sorted { ($0.created, $0.recordName) < ($1.created, $1.recordName) }
    }

    static func isRevoked<Reader: RowReader & ~Copyable>(
        _ id: Bytes,
        _ cluster: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        try reader.register(cluster, AccountRegister.revoked, [id])?.value != nil
    }

    /// The key in the register of an id; nil without a register.
    static func stored<Reader: RowReader & ~Copyable>(
        _ id: Bytes,
        _ cluster: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Key? {
        guard let value = try reader.register(cluster, AccountRegister.key, [id])?.value else {
            return nil
        }
        return try reader.decoding(id) { () throws(MalformedBytes) in try Key(value) }
    }

    /// Whether bytes are a public key that can be registered.
    package static func check(publicKey: Bytes) throws(ServiceError) {
        guard (try? P256.Signing.PublicKey(x963Representation: publicKey)) != nil else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a service key is a public key on the curve P-256, of 65 bytes in X9.63 form"
            )
        }
    }
}

// MARK: - Bytes

extension ServiceKeys.Key {
    var value: Bytes {
        var writer = CanonicalWriter()
        writer.delimited(publicKey)
        writer.scope(scope)
        writer.delimited(label.utf8)
        writer.varint(zigzag(created))
        writer.varint(zigzag(expires))
        return writer.bytes
    }

    /// Bytes after the known parts belong to a later release.
    init(_ value: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(value)
        publicKey = try reader.delimitedBytes()
        scope = try reader.scope()
        label = try reader.text()
        created = try reader.signed()
        expires = try reader.signed()
    }
}

// MARK: - Changes

/// Registers a service key.
package struct AddServiceKey: AccountChange {
    private let key: ServiceKeys.Key

    package struct Outcome: Hashable, Sendable {
        package var key: ServiceKeys.Key
        package var existed: Bool
        /// Whether the key is new, or has another label or time than before.
        var isChanged: Bool
    }

    package init(_ key: ServiceKeys.Key) {
        self.key = key
    }

    package static var isOperators: Bool { true }

    package func keeps(_ outcome: Outcome) -> Bool { outcome.isChanged }

    /// Plans the register; a known key gets the new label and time, and keeps its date of creation.
    package func plan(
        for asker: Asker,
        in cluster: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard try transaction.scope(key.scope) != nil else {
            return .failure(Containers.unknown(key.scope.container))
        }
        guard try !ServiceKeys.isRevoked(key.id, cluster, in: transaction) else {
            return .failure(
                ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "this key was revoked and stays so; make a new one"
                )
            )
        }
        let known = try ServiceKeys.stored(key.id, cluster, in: transaction)
        var key = key
        key.created = known?.created ?? transaction.now
        let outcome = Outcome(key: key, existed: known != nil, isChanged: key != known)
        guard outcome.isChanged else { return .success(([], outcome)) }
        let register = Commit.Register(
            namespace: AccountRegister.key,
            key: [key.id],
            value: key.value
        )
        return .success(([register], outcome))
    }
}

/// Ends a service key.
package struct RevokeServiceKey: AccountChange {
    private let id: Bytes

    package struct Outcome: Hashable, Sendable {
        /// The key's label; empty if the key is unknown.
        package var label: String
        /// Whether the key was registered and not revoked yet.
        package var existed: Bool
    }

    package init(_ id: Bytes) {
        self.id = id
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    package func keeps(_ outcome: Outcome) -> Bool { outcome.existed }

    /// Plans the revocation; no register for a key that is unknown or revoked already.
    package func plan(
        for asker: Asker,
        in cluster: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        let known = try ServiceKeys.stored(id, cluster, in: transaction)
        let label = known?.label ?? ""
        guard known != nil, try !ServiceKeys.isRevoked(id, cluster, in: transaction) else {
            return .success(([], Outcome(label: label, existed: false)))
        }
        let register = Commit.Register(namespace: AccountRegister.revoked, key: [id], value: [])
        return .success(([register], Outcome(label: label, existed: true)))
    }
}
