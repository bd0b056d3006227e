// The proxies whose word counts on where a request comes from, as `--trusted-proxies` names them.
//
// `cumulusd` makes it. `HTTPServer` asks it for each request, `ConnectionLimiter` for each
// connection. Any client can write an address into a head. So the lists of proxies are read from
// their ends, as far as the proxies that added to them are trusted.

import CumulusModel

package struct TrustedProxies: Sendable {
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// The origin of a request.
    struct Origin: Equatable, Sendable {
        /// 4 or 16 bytes, or empty.
        var address: Bytes
        /// A proxy speaks for the caller, and says who that is.
        var isForwarded: Bool
    }

    private struct Network {
        var address: Bytes
        var bits: Int

        func contains(_ other: Bytes) -> Bool {
            guard other.count == address.count else { return false }
            let whole = bits / 8
            guard other.prefix(whole) == address.prefix(whole) else { return false }
            let rest = bits % 8
            return rest == 0 || (other[whole] ^ address[whole]) >> (8 - rest) == 0
        }
    }

    private let networks: [Network]

    /// Nobody is trusted.
    package init() { networks = [] }

    /// - Parameter text: Addresses, and networks such as 10.0.0.0/8, separated by commas.
    package init(_ text: String) throws(Problem) {
        var networks: [Network] = []
        let parts = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
        for part in parts {
            let words = part.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count == 1, let network = TrustedProxies.network(words[0]) else {
                throw Problem(
                    description: "'\(part)' is no address and no network; write something like "
                        + "127.0.0.1, 10.0.0.0/8 or fd00::/8"
                )
            }
            networks.append(network)
        }
        self.networks = networks
    }

    /// nil if the text is no network, or has bits behind its prefix: a mistake would trust many.
    private static func network(_ text: Substring) -> Network? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = ForwardedField.bytes(of: parts[0]) else { return nil }
        let most = 8 * address.count
        guard parts.count == 2 else { return Network(address: address, bits: most) }
        guard parts[1].utf8.allSatisfy({ $0.isASCIIDigit }), var bits = Int(parts[1]) else {
            return nil
        }
        // IPv4 inside IPv6 is kept as IPv4.
        if most == 32, parts[0].contains(":") { bits -= 96 }
        guard (0...most).contains(bits) else { return nil }
        let isBare = (bits..<most).allSatisfy { address[$0 / 8] & (0x80 >> ($0 % 8)) == 0 }
        return isBare ? Network(address: address, bits: bits) : nil
    }

    /// - Parameter address: 4 or 16 bytes, or empty.
    func contains(_ address: Bytes) -> Bool { networks.contains { $0.contains(address) } }

    /// The origin of a request.
    ///
    /// - Parameters:
    ///   - link: The address of the connection's other end.
    ///   - headers: Names in lower case.
    func origin(of link: Bytes, _ headers: [String: String]) -> Origin {
        guard contains(link) else { return Origin(address: link, isForwarded: false) }
        let lists = [
            headers["forwarded"].map { ForwardedField.addresses(ofForwarded: $0) },
            headers["x-forwarded-for"].map { ForwardedField.addresses(ofXForwardedFor: $0) },
        ].compactMap { $0 }
        let callers = lists.map { caller(in: $0, through: link) }
        guard let first = callers.first else { return Origin(address: link, isForwarded: false) }
        // A proxy may pass a field on that it knows nothing of: then its caller wrote it.
        let isClear = callers.allSatisfy { $0 == first }
        return Origin(address: isClear ? first : link, isForwarded: true)
    }

    /// The last address that is not trusted, or the first one if all are.
    ///
    /// A text that is no address ends the list: the proxy behind it stands for its caller.
    private func caller(in list: [Bytes?], through link: Bytes) -> Bytes {
        var caller = link
        for address in list.reversed() {
            guard let address else { return caller }
            caller = address
            if !contains(address) { return caller }
        }
        return caller
    }
}
