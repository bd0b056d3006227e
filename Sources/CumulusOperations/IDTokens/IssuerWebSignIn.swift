// How browsers sign in at a provider's own page, from the operator's file: the key `web` of an
// issuer.
//
// `TrustedIssuer` reads it with the rest of the file. The node itself does not use it; its HTTP
// gateway sends users to the page.

import CumulusModel

package struct IssuerWebSignIn: Hashable, Sendable {
    /// A name for people, on the button; the issuer's URL if the file has none.
    package let name: String
    /// The id by which the provider knows the node; one of the audiences.
    package let clientID: String
    /// The path of a file with the secret of that id; empty if the provider gave none.
    package let secretFile: String
    /// The URLs of the provider: where users sign in, and where a code becomes tokens.
    package let authorization: String
    package let token: String
    /// The scopes that are asked for, `openid` among them.
    package let scopes: [String]

    private static let keys = [
        "name", "clientID", "secretFile", "authorization", "token", "scopes",
    ]

    /// - Parameter audiences: The audiences whose tokens count.
    init(
        _ json: JSON,
        of issuer: String,
        _ audiences: [String]
    ) throws(TrustedIssuer.Problem) {
        func problem(_ what: String) -> TrustedIssuer.Problem {
            TrustedIssuer.Problem("issuer '\(issuer)': \(what)")
        }
        func text(_ key: String) throws(TrustedIssuer.Problem) -> String? {
            guard let value = json[key] else { return nil }
            guard let text = value.asText, !text.isEmpty else {
                throw problem("'\(key)' of 'web' is a text")
            }
            return text
        }
        func url(_ key: String) throws(TrustedIssuer.Problem) -> String {
            guard let url = try text(key), IDToken.isName(url),
                url.hasPrefix("https://") || url.hasPrefix("http://")
            else { throw problem("'\(key)' of 'web' is a URL of the provider, with https") }
            return url
        }
        guard case .object(let members) = json else {
            throw problem("'web' is an object; it says how browsers sign in there")
        }
        if let unknown = members.first(where: { !IssuerWebSignIn.keys.contains($0.key) }) {
            let known = IssuerWebSignIn.keys.joined(separator: ", ")
            throw problem("'\(unknown.key)' is no setting of 'web'; known are \(known)")
        }
        name = try text("name") ?? issuer
        let client = try text("clientID") ?? ""
        clientID = client
        guard audiences.contains(where: { $0.utf8.elementsEqual(client.utf8) }) else {
            throw problem("'clientID' of 'web' is one of 'audiences', or its tokens don't count")
        }
        secretFile = try text("secretFile") ?? ""
        authorization = try url("authorization")
        token = try url("token")
        scopes = try (text("scopes") ?? "openid").split(separator: " ").map { String($0) }
        guard scopes.contains("openid") else {
            throw problem("'scopes' of 'web' has openid, such as 'openid email'")
        }
    }
}
