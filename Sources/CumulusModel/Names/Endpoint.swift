// The address of a node: a host and a port, as people write them and nodes tell each other.

package enum Endpoint {
    /// The parts of "127.0.0.1:7420", "localhost:7420" or "[::1]:7420".
    ///
    /// nil if it is no address: a host has no spaces, nor a comma, which stands between addresses.
    package static func split(_ endpoint: String) -> (host: String, port: Int)? {
        guard endpoint.utf8.count <= Limits.standard.nameBytes,
            endpoint.utf8.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: ",") }),
            let colon = endpoint.lastIndex(of: ":"),
            let port = Int(endpoint[endpoint.index(after: colon)...]), (0...65_535).contains(port)
        else { return nil }
        var host = endpoint[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty ? nil : (String(host), port)
    }

    /// The port on which a node listens by default.
    package static let standardPort = 7_420
    /// The forms of an address, for error messages.
    package static let form = "host, host:port or cumulus://host:port"

    /// An address as people write it, made "host:port": without scheme and last slash, and with the
    /// standard port if it names none; nil if it is no address.
    package static func address(from text: String) -> String? {
        var text = Substring(text)
        if text.lowercased().hasPrefix("cumulus://") { text = text.dropFirst(10) }
        if text.hasSuffix("/") { text = text.dropLast() }
        guard !text.isEmpty, !text.contains("/") else { return nil }
        // An address of IPv6 without a port needs no brackets.
        if !text.hasPrefix("["), text.count(where: { $0 == ":" }) > 1 { text = "[\(text)]" }
        let hasPort = text.hasPrefix("[") ? !text.hasSuffix("]") : text.contains(":")
        let address = hasPort ? String(text) : "\(text):\(standardPort)"
        return split(address) == nil ? nil : address
    }

    /// Whether a host stands for all addresses of a machine: others can't be told to reach it.
    package static func isWildcard(_ host: String) -> Bool { ["0.0.0.0", "::"].contains(host) }
}
