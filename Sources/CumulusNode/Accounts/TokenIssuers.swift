// The identity providers whose ID tokens open sessions on this node, and the check of one token.
//
// Part of the node's configuration, made by `cumulusd` of the operator's file; asked by
// `SignInCalls`. Which keys an issuer has is looked up for each token, so that a key which the
// operator's file has lost counts no more.

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

    /// The subject for whom a token vouches.
    ///
    /// - Parameters:
    ///   - nonce: What the token has to have as nonce; empty: anything.
    ///   - now: Milliseconds since 1970 UTC.
    ///   - key: The cluster's, of which the ids of users are made.
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
