// The proxies whose word counts on where a request comes from, as `--trusted-proxies` names them.
//
// `cumulusd` makes it. `HTTPServer` asks it for each request, `ConnectionLimiter` for each
// connection. Any client can write an address into a head. So the lists of proxies are read from
// their ends, as far as the proxies that added to them are trusted.

import CumulusModel

package struct TrustedProxies: Sendable {
    /// The origin of a request.
    struct Origin: Equatable, Sendable {
        /// 4 or 16 bytes, or empty.
        var address: Bytes
        /// A proxy speaks for the caller, and says who that is.
        var isForwarded: Bool
    }

    private let trusted: AddressList

    /// Nobody is trusted.
    package init() { trusted = AddressList() }

    /// - Parameter text: As `AddressList` reads it.
    package init(_ text: String) throws(AddressList.Problem) {
        trusted = try AddressList(text)
    }

    /// - Parameter address: 4 or 16 bytes, or empty.
    func contains(_ address: Bytes) -> Bool { trusted.contains(address) }

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
