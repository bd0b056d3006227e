// The identity providers whose ID tokens open sessions on this node, and the check of one token.
//
// It is part of the node's configuration, which `cumulusd` reads from the operator's file;
// `SignInCalls` asks it. The keys of an issuer are looked up for each token, so a key that the
// operator removed from the file is no longer valid.

import CumulusModel
package import CumulusOperations

package struct TokenIssuers: Sendable {
    /// The issuer of a URL and its keys now; nil for a URL that the operator does not name.
    package typealias Find =
        @Sendable (_ url: String) -> (issuer: TrustedIssuer, keys: TokenKeys)?

    private let find: Find
    private let verifier: any TokenVerifier

    package init(verifier: any TokenVerifier, find: @escaping Find) {
        self.verifier = verifier
        self.find = find
    }

    /// Checks a token and returns its subject.
    ///
    /// - Parameters:
    ///   - nonce: The nonce that the token must contain; empty accepts any.
    ///   - now: Milliseconds since 1970 UTC.
    ///   - key: The cluster's key, from which the ids of users are made.
    func prove(
        _ token: IDToken,
        nonce: String,
        now: Int64,
        key: Bytes
    ) async throws(IDToken.Problem) -> ProvenSubject {
        guard let (issuer, keys) = find(token.issuer) else {
            throw IDToken.Problem("its issuer is not in the file of --issuers")
        }
        let signer = try issuer.key(for: token, among: keys, nonce: nonce, now: now)
        guard await verifier.isSigned(token.content, with: token.signature, by: signer) else {
            throw IDToken.Problem("its signature is wrong")
        }
        let id = Subjects.userID(of: token.subject, at: token.issuer, key: key)
        return issuer.subject(of: token, userID: id)
    }
}
