// An absolute URL of http or https, taken apart without resolving anything.
//
// Used for what an operator configures: where the node's own pages are, where providers are asked,
// where webhooks and web apps lead, and what security policies of pages name. Only plain characters
// are taken, so that an address can stand in a header or an attribute.

package struct WebAddress: Hashable, Sendable {
    package let isSecure: Bool
    /// The host in lower case; an IPv6 address has no brackets.
    package let host: String
    package let port: Int
    /// Empty, or it begins with a slash.
    package let path: String
    /// The text after the question mark; nil without one.
    package let query: String?

    /// nil for everything that is not such a URL; a fragment or a user's name is not allowed.
    package init?(_ text: String) {
        let isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://"), text.utf8.allSatisfy(WebAddress.isPlain) else {
            return nil
        }
        self.isSecure = isSecure
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard let (host, port) = WebAddress.parts(of: authority) else { return nil }
        self.host = host
        self.port = port ?? (isSecure ? 443 : 80)
        let target = rest.dropFirst(authority.count)
        path = String(target.prefix { $0 != "?" })
        let tail = target.dropFirst(path.count)
        query = tail.isEmpty ? nil : String(tail.dropFirst())
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-._~:/?[]!$&'()*+,;=%".utf8.contains(byte)
    }

    private static func parts(of authority: Substring) -> (host: String, port: Int?)? {
        var host = authority
        var end = Substring()
        if authority.first == "[" {
            guard let bracket = authority.firstIndex(of: "]") else { return nil }
            host = authority[..<bracket].dropFirst()
            end = authority[bracket...].dropFirst()
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            end = authority[colon...]
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ isName($0, isAddress: authority.first == "[") })
        else { return nil }
        if end.isEmpty { return (host.lowercased(), nil) }
        guard end.first == ":", let port = UInt16(end.dropFirst()), port > 0 else { return nil }
        return (host.lowercased(), Int(port))
    }

    private static func isName(_ byte: UInt8, isAddress: Bool) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".") || (isAddress && byte == UInt8(ascii: ":"))
    }

    /// The host, and its port unless it is the usual one.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// The origin as browsers write it.
    package var origin: String { (isSecure ? "https://" : "http://") + authority }

    /// Path and query as a request names them.
    package var target: String {
        (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? "")
    }

    /// The whole URL.
    package var text: String { origin + path + (query.map { "?" + $0 } ?? "") }

    /// Whether requests to it can't be read on their way.
    package var isSecret: Bool { isSecure || isLoopback }

    /// Whether the host is this machine.
    private var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
