// Addresses and networks that an operator names in a setting, such as 127.0.0.1, 10.0.0.0/8.
//
// Made from `--trusted-proxies` by `TrustedProxies`, and from `--metrics-from` by `MetricsAccess`.

package import CumulusModel

package struct AddressList: Sendable {
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
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

    /// Nobody is on it.
    package init() { networks = [] }

    /// - Parameter text: Addresses, and networks such as 10.0.0.0/8, separated by commas.
    package init(_ text: String) throws(Problem) {
        var networks: [Network] = []
        let parts = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
        for part in parts {
            let words = part.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count == 1, let network = AddressList.network(words[0]) else {
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
    package func contains(_ address: Bytes) -> Bool {
        networks.contains { $0.contains(address) }
    }
}
