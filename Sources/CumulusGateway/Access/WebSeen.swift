// The data that a web client has seen, as it carries it from node to node: a causal token of the
// binary protocol, and when the node gave it.
//
// Part of a user's token, and of a header for callers without one. A node that has not read as far
// as the token says waits, and then asks its caller to try again. The node that has the rest may be
// lost for ever, so what a client carries is left out after a while.

package import CumulusModel

package struct WebSeen: Hashable, Sendable {
    /// The causal token.
    package var token: Bytes
    /// When it was given, in milliseconds since 1970 UTC.
    package var made: Int64

    /// How long what a client has seen counts, in milliseconds.
    package static let time: Int64 = 30 * 60_000
    /// Callers send it, and answers have it.
    package static let header = "X-Cumulus-Seen"
    /// The prefix of the content that is sealed for the header.
    private static let label = "what a caller has seen"

    package init(token: Bytes, made: Int64) {
        self.token = token
        self.made = made
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isGood(now: Int64) -> Bool {
        now - made > -WebLink.clockSkew && now - made < WebSeen.time
    }

    // MARK: Bytes

    func write(to writer: inout CanonicalWriter) {
        writer.delimited(token)
        writer.varint(zigzag(made))
    }

    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        token = try reader.delimitedBytes()
        made = try reader.signed()
    }

    /// The content that is sealed for the header.
    ///
    /// - Parameter scope: Where it was seen.
    package func content(in scope: ScopeID) -> Bytes {
        var writer = CanonicalWriter()
        writer.delimited(WebSeen.label.utf8)
        writer.delimited(scope.container.utf8)
        writer.varint(UInt64(scope.environment.rawValue))
        write(to: &writer)
        return writer.bytes
    }

    /// Reads what was sealed for the header; refuses what was seen elsewhere.
    package init(content: Bytes, in scope: ScopeID) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        guard try reader.text() == WebSeen.label, try reader.text() == scope.container,
            try reader.varint() == UInt64(scope.environment.rawValue)
        else { throw MalformedBytes("something else than what was seen here") }
        try self.init(reading: &reader)
        guard reader.isAtEnd else { throw MalformedBytes("what was seen has another length") }
    }
}

extension WebDoor {
    /// The value of the header.
    func text(of seen: WebSeen, in scope: ScopeID) -> String {
        Base64URL.encode(seal(seen.content(in: scope)))
    }

    /// The value of the header; nil if it is invalid here, and then no wait is needed.
    func seen(_ text: String?, in scope: ScopeID) -> WebSeen? {
        guard let text, let sealed = Base64URL.decode(text.utf8),
            let content = open(sealed)
        else { return nil }
        return try? WebSeen(content: content, in: scope)
    }
}
