// A web app: pages in browsers that may call the web services of one environment of a container,
// by an API token that everybody may read in them.
//
// Operators register web apps in the cluster, where `WebApps` of CumulusOperations keeps them, or
// name them in the file of `cumulusd --web-apps`. The rules for what an app may say are here, so
// that both are held to the same ones.

package struct WebApp: Hashable, Sendable {
    /// Unique in its scope.
    package var name: String
    package var scope: ScopeID
    /// The API token.
    package var token: String
    /// The origins of pages that may use it; empty means all.
    package var origins: [String]
    /// The URL to which users come back after signing in; empty: the page is sent a message.
    package var callback: String
    /// A name for people, which the page to sign in at shows; may be empty.
    package var title: String
    /// Milliseconds since 1970 UTC.
    package var created: Int64

    package init(
        name: String,
        scope: ScopeID,
        token: String,
        origins: [String] = [],
        callback: String = "",
        title: String = "",
        created: Int64 = 0
    ) {
        self.name = name
        self.scope = scope
        self.token = token
        self.origins = origins
        self.callback = callback
        self.title = title
        self.created = created
    }

    // MARK: Rules

    package static let shortestToken = 16
    package static let mostOrigins = 100
    /// Bytes of a callback, and of an origin.
    package static let mostURLBytes = 2_048
    /// Bytes of a picture.
    package static let mostLogoBytes = 64 << 10

    /// Why an app can't be registered.
    package func check() throws(ServiceError) {
        guard WebApp.isToken(token) else {
            throw WebApp.invalid(
                "an API token has \(WebApp.shortestToken) to \(Limits.standard.nameBytes) letters, "
                    + "digits, - and _; leave it out, and the node makes one"
            )
        }
        guard origins.count <= WebApp.mostOrigins else {
            throw WebApp.invalid("a web app has at most \(WebApp.mostOrigins) origins")
        }
        for origin in origins where !WebApp.isOrigin(origin) {
            throw WebApp.invalid(
                "an origin looks like https://app.example.com, without a path and a slash at its "
                    + "end; '\(origin.prefix(200))' is none"
            )
        }
        guard callback.isEmpty || WebApp.isCallback(callback) else {
            throw WebApp.invalid(
                "a callback is a URL of the app, such as https://app.example.com/signed-in or "
                    + "app:signed-in; http is for this machine only"
            )
        }
    }

    private static func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }

    package static func isToken(_ text: String) -> Bool {
        (shortestToken...Limits.standard.nameBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { isPlain($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-")
    }

    /// Whether it may be an origin, of a scheme of the app's own too.
    package static func isOrigin(_ text: String) -> Bool {
        text.utf8.count <= mostURLBytes && text.contains("://") && !text.hasSuffix("/")
            && isPrintable(text)
    }

    /// A URL of https, or of a scheme of the app's own, which browsers run no scripts for.
    package static func isCallback(_ url: String) -> Bool {
        guard url.utf8.count <= mostURLBytes else { return false }
        if let address = WebAddress(url) { return address.isSecret }
        let scheme = url.prefix { $0 != ":" }
        return scheme.utf8.first?.isASCIILetter == true && scheme.utf8.count < url.utf8.count
            && scheme.utf8.allSatisfy { isPlain($0) || "+.".utf8.contains($0) }
            && !reservedSchemes.contains(scheme.lowercased()) && isPrintable(url)
    }

    private static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"#\"<>\\;,".utf8.contains($0) }
    }

    private static let reservedSchemes: Set = [
        "http", "https", "javascript", "data", "vbscript", "blob", "file", "about", "filesystem",
    ]

    // MARK: Logos

    /// The kind of a picture, by its first bytes; nil if it is neither PNG nor JPEG.
    ///
    /// SVG is not taken: it may hold scripts.
    package static func mediaType(ofLogo bytes: Bytes) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            return "image/png"
        }
        return bytes.starts(with: [0xFF, 0xD8, 0xFF]) ? "image/jpeg" : nil
    }

    package static func check(logo: Bytes) throws(ServiceError) {
        guard logo.count <= mostLogoBytes, mediaType(ofLogo: logo) != nil else {
            throw invalid(
                "a logo is a PNG or a JPEG of at most \(mostLogoBytes >> 10) KiB, and this has "
                    + "\(logo.count) bytes; make it smaller, 256 pixels wide for example"
            )
        }
    }
}
