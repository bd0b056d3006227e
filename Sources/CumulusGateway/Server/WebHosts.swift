// The hosts under whose names browsers find the pages that hold cookies, the console and the page
// to sign in at, and the metrics.
//
// `cumulusd` makes it from the operator's configuration, and `HTTPServer` asks it. A page elsewhere
// can make its own name resolve to the node (DNS rebinding). The browser then treats the node's
// answers as that page's, but its `Host` header still holds the page's name.

import CumulusModel
import NIOCore

package struct WebHosts: Sendable {
    private let names: Set<String>

    /// - Parameter names: Names without ports, beside localhost and all IP addresses.
    package init(_ names: [String] = []) {
        self.names = Set(names.map { $0.lowercased() }).union(["localhost"])
    }

    /// - Parameter authority: The request's `Host`.
    package func admits(_ authority: String) -> Bool {
        guard let host = WebHosts.host(of: authority) else { return false }
        // No page can let an address lead elsewhere than to the machine that has it.
        return names.contains(host) || (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    /// The answer for a host that is not admitted.
    static func refusal(of authority: String) -> WebError {
        let host = host(of: authority)?.prefix(200) ?? "NAME"
        var error = WebError(
            .accessDenied,
            "this node has no pages for the host '\(authority.prefix(200))'; if browsers reach the "
                + "node by it, start cumulusd with --web-host \(host)"
        )
        error.status = 421
        return error
    }

    /// The host in lower case, without a port and without the dot that ends a whole name; nil if
    /// the text names no host.
    private static func host(of authority: String) -> String? {
        // The port may be empty: RFC 3986, section 3.2.3.
        let named = authority.hasSuffix(":") ? authority.dropLast() : authority[...]
        guard let address = WebAddress("http://" + named), address.target == "/" else {
            return nil
        }
        return address.host.hasSuffix(".") ? String(address.host.dropLast()) : address.host
    }

    /// Whether a text is a host without a port.
    package static func isHost(_ text: String) -> Bool { host(of: text) == text.lowercased() }

    /// Whether a text has the form of a host and a port; an empty one has.
    static func isAuthority(_ text: String) -> Bool {
        text.utf8.allSatisfy {
            $0.isASCIILetter || $0.isASCIIDigit || "-._~!$&'()*+,;=%:[]".utf8.contains($0)
        }
    }
}
