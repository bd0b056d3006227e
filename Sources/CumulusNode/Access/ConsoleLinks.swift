// Links that sign an operator in to the console: which ones are right, and which were used.
//
// Asked by the gateway. The console never sees the token: it gets its SHA-256, as from an operator
// who typed the token. A link is right for a minute and for one run of the node, and once.

import Crypto
package import CumulusModel
import CumulusOperations
package import CumulusWire
import Synchronization

/// The links that were used in the last minute.
final class ConsoleLinks: Sendable {
    /// More are refused: nobody opens so many in a minute.
    private static let capacity = 100
    /// The client's clock is the node's, but for the way of the greeting.
    private static let lead: Int64 = 5_000

    /// When each nonce can be forgotten, in milliseconds since 1970 UTC.
    private let used = Mutex<[Bytes: Int64]>([:])

    /// Notes a link whose code is right; false if it is too old, or was used.
    func use(_ link: ConsoleLink, now: Int64) -> Bool {
        guard link.time <= now + ConsoleLinks.lead, link.time > now - ConsoleLink.life else {
            return false
        }
        return used.withLock { used in
            used = used.filter { $0.value > now }
            guard used[link.nonce] == nil, used.count < ConsoleLinks.capacity else { return false }
            used[link.nonce] = link.time + ConsoleLink.life
            return true
        }
    }
}

extension Node {
    /// Uses up a link, and writes it down in the audit log.
    ///
    /// Returns the SHA-256 of the operator token, or nil if the link is wrong, was used, or is too
    /// old.
    ///
    /// - Parameter address: IP address of the caller: 4 or 16 bytes; empty if it has none.
    package func redeem(_ link: ConsoleLink, from address: Bytes) -> Bytes? {
        let token = configuration.operatorToken
        guard !token.isEmpty else { return nil }
        let code = HMAC<SHA256>.authenticationCode(
            for: ConsoleLink.message(of: incarnation.value, time: link.time, nonce: link.nonce),
            using: SymmetricKey(data: token)
        )
        let now = environment.wallClock()
        guard Bytes(code).isEqualInConstantTime(to: link.code),
            consoleLinks.use(link, now: now)
        else { return nil }
        let line = AuditLine(
            time: now,
            role: "operator",
            address: address,
            method: "CONSOLE_LINK",
            epoch: gate.epochs.accounts
        )
        audit?.note(line, of: nil, now: environment.now())
        return Bytes(SHA256.hash(data: token))
    }
}
