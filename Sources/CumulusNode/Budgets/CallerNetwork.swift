// The part of an address that one caller has to itself.
//
// Called wherever something is counted per address: budgets, attempts to sign in, lines of the
// audit log, and connections of the HTTP listener. Synchronous, without state.

package import CumulusModel

package enum CallerNetwork {
    private static let mapped = Bytes(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// An IPv4 address as it is, also where it stands inside IPv6; of IPv6 the first 64 bits.
    ///
    /// - Parameter address: 4 or 16 bytes, or empty.
    package static func of(_ address: Bytes) -> Bytes {
        guard address.count == 16 else { return address }
        return Bytes(address.starts(with: mapped) ? address.suffix(4) : address.prefix(8))
    }
}
