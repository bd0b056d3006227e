// The session of an operator who signed in to the console: a sealed value in a browser's cookie.
//
// Made and read by `Console`. Only nodes of the cluster can read or make it. It holds no token: of
// the operator token it has the SHA-256, so another token in the node's file ends all sessions.

import Crypto
package import CumulusModel

package struct ConsoleSession: Hashable, Sendable {
    /// How long one is good, in milliseconds: 8 hours.
    package static let life: Int64 = 8 * 3_600_000
    private static let digestBytes = 32
    private static let secretBytes = 16
    /// Tells it from the other values that nodes seal for browsers.
    private static let label = "console"

    /// The user for whom the operator acts beside its own work.
    package struct Actor: Hashable, Sendable {
        package var scope: ScopeID
        /// SHA-256 of the token of the user's session.
        package var digest: Bytes
        /// The user record name.
        package var user: String
        /// The console opened the session, and ends it.
        package var isOwn: Bool

        package init(scope: ScopeID, digest: Bytes, user: String, isOwn: Bool) {
            self.scope = scope
            self.digest = digest
            self.user = user
            self.isOwn = isOwn
        }
    }

    /// SHA-256 of the operator token that was shown.
    package var digest: Bytes
    /// Milliseconds since 1970 UTC.
    package var expires: Int64
    /// The secret that each changing request has to repeat in a header; pages of other origins
    /// can't read it.
    package var secret: Bytes
    /// nil: the operator acts as no user.
    package var actor: Actor?

    package init(digest: Bytes, expires: Int64, secret: Bytes, actor: Actor? = nil) {
        self.digest = digest
        self.expires = expires
        self.secret = secret
        self.actor = actor
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isGood(now: Int64) -> Bool {
        // Clocks of two nodes differ a little.
        now < expires && expires - now < ConsoleSession.life + 60_000
    }

    /// The secret as text, for the header.
    package var header: String { Base64URL.encode(secret) }

    /// Whether a header repeats the secret; takes as long whatever is wrong with it.
    package func isRepeated(by header: String?) -> Bool {
        let shown = SHA256.hash(data: Bytes((header ?? "").utf8))
        return shown == SHA256.hash(data: Bytes(self.header.utf8))
    }

    // MARK: Bytes

    /// The content that is sealed.
    package var content: Bytes {
        var writer = CanonicalWriter()
        writer.delimited(ConsoleSession.label.utf8)
        writer.delimited(digest)
        writer.varint(zigzag(expires))
        writer.delimited(secret)
        writer.varint(actor == nil ? 0 : 1)
        guard let actor else { return writer.bytes }
        writer.delimited(actor.scope.container.utf8)
        writer.varint(UInt64(actor.scope.environment.rawValue))
        writer.delimited(actor.digest)
        writer.delimited(actor.user.utf8)
        writer.varint(actor.isOwn ? 1 : 0)
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        guard try reader.text() == ConsoleSession.label else {
            throw MalformedBytes("not a session of the console")
        }
        digest = try reader.delimitedBytes()
        expires = try reader.signed()
        secret = try reader.delimitedBytes()
        if try reader.varint() != 0 { actor = try Actor(from: &reader) }
        guard digest.count == ConsoleSession.digestBytes,
            secret.count == ConsoleSession.secretBytes, reader.isAtEnd
        else { throw MalformedBytes("a session of the console has another length") }
    }
}

extension ConsoleSession.Actor {
    fileprivate init(from reader: inout CanonicalReader) throws(MalformedBytes) {
        let container = try reader.text()
        let number = UInt8(truncatingIfNeeded: try reader.varint())
        guard let environment = Environment(rawValue: number) else {
            throw MalformedBytes("a user of the console is in no environment")
        }
        self.init(
            scope: ScopeID(container: container, environment: environment),
            digest: try reader.delimitedBytes(),
            user: try reader.text(),
            isOwn: try reader.varint() != 0
        )
    }
}
