// Decides which IP addresses belong to the public Internet, because only they may be a webhook's
// target.
//
// Asked by `OutboundWebClient` with the address that it is about to connect to. Everything that the
// registries of special addresses (RFC 6890 and later ones) set aside is refused, so that an
// endpoint's name can't lead into the operator's own network.

package import CumulusModel

package enum PublicAddress {
    private struct Network {
        var prefix: Bytes
        var bits: Int

        init(_ prefix: Bytes, _ bits: Int) {
            self.prefix = prefix
            self.bits = bits
        }

        func holds(_ address: Bytes) -> Bool {
            let whole = bits / 8
            guard address.prefix(whole) == prefix.prefix(whole) else { return false }
            let rest = bits % 8
            return rest == 0 || (address[whole] ^ prefix[whole]) >> (8 - rest) == 0
        }
    }

    private static let setAside4 = [
        Network([0], 8), Network([10], 8), Network([100, 64], 10), Network([127], 8),
        Network([169, 254], 16), Network([172, 16], 12), Network([192, 0, 0], 24),
        Network([192, 0, 2], 24), Network([192, 88, 99], 24), Network([192, 168], 16),
        Network([198, 18], 15), Network([198, 51, 100], 24), Network([203, 0, 113], 24),
        // Multicast, and all that is reserved.
        Network([224], 3),
    ]

    /// Addresses that are given out; everything else is local or of no use.
    private static let given6 = Network([0x20], 3)
    private static let setAside6 = [
        // IETF protocols, Teredo among them; documentation; 6to4.
        Network([0x20, 0x01, 0x00], 23), Network([0x20, 0x01, 0x0D, 0xB8], 32),
        Network([0x20, 0x02], 16), Network([0x3F, 0xFF, 0x00], 20),
    ]
    /// IPv6 addresses that lead to the IPv4 address in their last four bytes.
    private static let holders4 = [
        Network([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96),
        Network([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96),
    ]

    /// - Parameter address: 4 or 16 bytes; anything else is not public.
    package static func isPublic(_ address: Bytes) -> Bool {
        switch address.count {
        case 4: return !setAside4.contains { $0.holds(address) }
        case 16:
            if holders4.contains(where: { $0.holds(address) }) {
                return isPublic(Bytes(address.suffix(4)))
            }
            return given6.holds(address) && !setAside6.contains { $0.holds(address) }
        default: return false
        }
    }
}
