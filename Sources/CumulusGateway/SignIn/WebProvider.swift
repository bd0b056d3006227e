// An identity provider at whose own page users may sign in, and the two requests of that: where the
// browser is sent, and what the node asks then (OpenID Connect, the code flow with PKCE).
//
// Configured in the file of `--issuers`. All of it is values; `SignInPages` sends the requests and
// `WebClient` carries them. Whether the ID token counts, the node's own sign-in says.

import Crypto
package import CumulusModel

package struct WebProvider: Hashable, Sendable {
    /// A choice that the form offers.
    package struct Choice: Hashable, Sendable {
        package var issuer: String
        /// A name for people.
        package var name: String

        package init(issuer: String, name: String) {
            self.issuer = issuer
            self.name = name
        }
    }

    package var choice: Choice
    /// The id by which the provider knows this node.
    package var clientID: String
    /// nil: the provider asks for none.
    package var clientSecret: String?
    /// The address where users sign in.
    package var authorization: WebAddress
    /// The address where a code becomes tokens.
    package var token: WebAddress
    /// The requested scopes, `openid` among them.
    package var claims: [String]

    package init(
        _ choice: Choice,
        clientID: String,
        clientSecret: String? = nil,
        authorization: WebAddress,
        token: WebAddress,
        claims: [String] = ["openid"]
    ) {
        self.choice = choice
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.authorization = authorization
        self.token = token
        self.claims = claims
    }

    /// The URL to which the browser goes.
    package func start(_ errand: SignInState.Errand, state: String, back: String) -> String {
        let digest = SHA256.hash(data: Bytes(errand.verifier.utf8))
        let pairs = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", back),
            ("scope", claims.joined(separator: " ")), ("state", state), ("nonce", errand.nonce),
            ("code_challenge", Base64URL.encode(digest)), ("code_challenge_method", "S256"),
        ]
        return WebText.adding(pairs, to: authorization.text)
    }

    /// The request that turns a code into tokens.
    package struct Exchange: Hashable, Sendable {
        package var body: Bytes
        /// nil: the body says who asks.
        package var authorization: String?
    }

    package func exchange(_ code: String, verifier: String, back: String) -> Exchange {
        var pairs = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", back),
            ("code_verifier", verifier),
        ]
        guard let clientSecret else {
            pairs.append(("client_id", clientID))
            return Exchange(body: Bytes(WebText.form(pairs).utf8))
        }
        let who = WebText.percentEncoded(clientID) + ":" + WebText.percentEncoded(clientSecret)
        return Exchange(
            body: Bytes(WebText.form(pairs).utf8),
            authorization: "Basic " + Base64.encode(who.utf8)
        )
    }

    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    /// The ID token of the provider's answer.
    package static func idToken(status: Int, _ body: Bytes) throws(Problem) -> Bytes {
        let json = try? JSONReader.read(body)
        guard status == 200 else {
            // The code comes from a fixed list (RFC 6749, 5.2).
            let code = if case .string(let text)? = json?["error"] { text } else { "" }
            throw Problem("it answered \(status) \(code.prefix(100))")
        }
        guard case .string(let token)? = json?["id_token"] else {
            throw Problem("its answer has no id_token; is 'openid' among the scopes?")
        }
        return Bytes(token.utf8)
    }
}
