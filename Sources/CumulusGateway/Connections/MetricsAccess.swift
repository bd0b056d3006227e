// Who is told the metrics: this machine, hosts that the operator names, and holders of a token.
//
// Made by `cumulusd` from `--metrics-from` and `--metrics-token-file`; `OperatorPages` asks it.

import Crypto
package import CumulusModel

package struct MetricsAccess: Sendable {
    /// The answer to a caller.
    enum Verdict: Equatable {
        case told
        /// It may be told, but not under the host that it named.
        case wrongHost
        /// It showed no token, or another one.
        case wrongToken
        case refused
    }

    private let hosts: AddressList
    private let token: (@Sendable () -> Bytes)?

    /// - Parameters:
    ///   - hosts: The addresses that are told without a token.
    ///   - token: The SHA-256 of the token that is good now; nil if the node has no token for
    ///     metrics.
    package init(hosts: AddressList = AddressList(), token: (@Sendable () -> Bytes)? = nil) {
        self.hosts = hosts
        self.token = token
    }

    /// - Parameters:
    ///   - address: The caller's, 4 or 16 bytes.
    ///   - isOwnHost: The request names a host of the node. A page in a browser could have let its
    ///     own name lead here, but it knows no token.
    func verdict(
        _ address: Bytes,
        _ authorization: String?,
        isLoopback: Bool,
        isOwnHost: Bool
    ) -> Verdict {
        if isRight(authorization) { return .told }
        if isLoopback || hosts.contains(address) { return isOwnHost ? .told : .wrongHost }
        return token == nil ? .refused : .wrongToken
    }

    private func isRight(_ authorization: String?) -> Bool {
        guard let token, let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return false }
        let shown = authorization[space...].drop { $0 == " " }
        // Digests are compared: how long that takes tells nothing of the token.
        return Bytes(SHA256.hash(data: Bytes(shown.utf8))) == token()
    }

    package static let shortestToken = 16

    /// What is kept of a token; nil if it is too short to be one.
    package static func digest(of token: String) -> Bytes? {
        token.utf8.count < shortestToken ? nil : Bytes(SHA256.hash(data: Bytes(token.utf8)))
    }
}
