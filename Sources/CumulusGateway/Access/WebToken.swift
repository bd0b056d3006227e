// The token of a user's session in a browser: sealed by a node, renewed with every answer.
//
// It names the session's register, where it is good, and when it was made. Renewing it writes
// nothing: only its time is new, so an older token of the session works until its own time is up,
// and requests that run side by side never lose the session. Revoking the session ends them all.
// Since clients take the renewed one, it also carries what they have seen.

package import CumulusModel

package struct WebToken: Hashable, Sendable {
    /// SHA-256 of the token of the session that the user opened.
    package var session: Bytes
    /// The scope in which it is valid.
    package var scope: ScopeID
    /// SHA-256 of the API token with which the user signed in; it is good with that one only.
    package var api: Bytes
    /// When it was made, in milliseconds since 1970 UTC.
    package var made: Int64
    /// The user chose to stay signed in.
    package var isKept: Bool
    /// The data that its client has seen; nil if none.
    package var seen: WebSeen?

    /// How long a token is good, in milliseconds.
    package static let idle: Int64 = 30 * 60_000
    /// The same where the user chose to stay signed in.
    package static let kept: Int64 = 14 * 24 * 3_600_000
    private static let digestBytes = 32

    package init(
        session: Bytes,
        scope: ScopeID,
        api: Bytes,
        made: Int64,
        isKept: Bool,
        seen: WebSeen? = nil
    ) {
        self.session = session
        self.scope = scope
        self.api = api
        self.made = made
        self.isKept = isKept
        self.seen = seen
    }

    /// Whether it is good for a request.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isGood(in scope: ScopeID, api: Bytes, now: Int64) -> Bool {
        // Clocks of two nodes differ a little.
        let age = now - made
        return self.scope == scope && self.api == api && age > -60_000
            && age < (isKept ? WebToken.kept : WebToken.idle)
    }

    // MARK: Bytes

    /// The optional parts of a token.
    private struct Parts: OptionSet {
        let rawValue: UInt64

        static let kept = Parts(rawValue: 1)
        static let seen = Parts(rawValue: 2)
    }

    /// The content that is sealed.
    package var content: Bytes {
        var writer = CanonicalWriter()
        writer.delimited(session)
        writer.delimited(scope.container.utf8)
        writer.varint(UInt64(scope.environment.rawValue))
        writer.delimited(api)
        writer.varint(zigzag(made))
        let parts: Parts = [isKept ? .kept : [], seen == nil ? [] : .seen]
        writer.varint(parts.rawValue)
        seen?.write(to: &writer)
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        session = try reader.delimitedBytes()
        let container = try reader.text()
        let number = UInt8(truncatingIfNeeded: try reader.varint())
        guard let environment = Environment(rawValue: number) else {
            throw MalformedBytes("a web token of no environment")
        }
        scope = ScopeID(container: container, environment: environment)
        api = try reader.delimitedBytes()
        made = try reader.signed()
        let parts = Parts(rawValue: try reader.varint())
        isKept = parts.contains(.kept)
        seen = parts.contains(.seen) ? try WebSeen(reading: &reader) : nil
        guard session.count == WebToken.digestBytes, api.count == WebToken.digestBytes,
            reader.isAtEnd
        else { throw MalformedBytes("a web token of another length") }
    }
}

/// The registration of a web app for one environment of a container.
package struct WebAPIToken: Hashable, Sendable {
    /// How the page that signs a user in tells the app.
    package enum Callback: Hashable, Sendable {
        /// Sends a message to the window that opened it.
        case message
        /// Redirects to this URL.
        case redirect(String)
    }

    package var scope: ScopeID
    package var callback: Callback
    /// The origins of pages that may use it; empty means all.
    package var origins: [String]
    /// Unique in the scope; empty: it has none, which only apps of the file may lack.
    package var name = ""
    /// A name for people; may be empty.
    package var title = ""

    package init(scope: ScopeID, callback: Callback = .message, origins: [String] = []) {
        self.scope = scope
        self.callback = callback
        self.origins = origins
    }

    /// A web app that is registered in the cluster.
    package init(_ app: WebApp) {
        scope = app.scope
        callback = app.callback.isEmpty ? .message : .redirect(app.callback)
        origins = app.origins
        name = app.name
        title = app.title
    }

    /// Whether a page of that origin may use it.
    package func admits(origin: String) -> Bool { origins.isEmpty || origins.contains(origin) }

    /// How an app is told of a user that signed in.
    package enum SignIn: Hashable, Sendable {
        /// Sends a message to a page of one of these origins.
        case message(origins: [String])
        /// Redirects to this URL.
        case redirect(String)
    }

    /// nil if users can't sign in: a token is told only to pages that the operator registered.
    ///
    /// - Parameter origin: The origin of the page that asked for a user; empty if its request named
    ///   none.
    package func signIn(from origin: String) -> SignIn? {
        if case .redirect(let url) = callback { return .redirect(url) }
        if origin.isEmpty { return origins.isEmpty ? nil : .message(origins: origins) }
        return origins.contains(origin) ? .message(origins: [origin]) : nil
    }
}

extension WebDoor {
    /// The token for a session that a user opened.
    func text(of token: WebToken) -> String { Base64URL.encode(seal(token.content)) }
}
