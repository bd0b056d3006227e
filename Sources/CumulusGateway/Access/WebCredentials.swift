// A request's credentials: an API token, perhaps with a user's token; or an access token of a user,
// as scripts send it; or the signature of a server's key. A request shows one of the three.
//
// Read from the URL and the headers before anything is looked up. Whether a token or a key is good
// is for the node's registers to say.
//
// Folder: who calls. Read `WebCredentials`, then `ServerSignature` and `WebToken`.

import CumulusModel

package enum WebCredentials: Sendable {
    /// Each token in all readings of what was sent; a user's token is empty if there was none.
    case tokens(api: [String], user: [String])
    /// The access token that a script sends in `Authorization`; CloudKit has no such thing.
    case bearer(String)
    case server(ServerSignature)

    /// - Parameters:
    ///   - target: Path and query as they were sent.
    ///   - header: The value of a header by its name in lower case.
    package init(
        target: String,
        header: (String) -> String?
    ) throws(WebError) {
        let query = WebText.query(of: target)
        let signature = try ServerSignature(target: target, header: header)
        let bearer = try WebCredentials.bearer(header("authorization"))
        let shown = [query["ckAPIToken"] != nil, bearer != nil, signature != nil]
        guard shown.count(where: { $0 }) < 2 else {
            throw WebError(
                .authenticationFailed,
                "a request shows an API token, the signature of a server's key or an access token "
                    + "in Authorization, and no two of them"
            )
        }
        if let signature {
            self = .server(signature)
        } else if let bearer {
            self = .bearer(bearer)
        } else if let token = query["ckAPIToken"] {
            let user = query["ckWebAuthToken"] ?? ""
            self = .tokens(
                api: WebText.readings(of: token),
                user: user.isEmpty ? [] : WebText.readings(of: user)
            )
        } else {
            throw WebError(
                .authenticationFailed,
                "no auth method found: send ckAPIToken or an access token in Authorization, or "
                    + "sign the request with a server's key"
            )
        }
    }

    /// The token of a header such as `Bearer cumulus_5ff8...`.
    ///
    /// Another scheme is no credential here: a proxy may have passed on its own.
    private static func bearer(_ header: String?) throws(WebError) -> String? {
        guard let header, let space = header.firstIndex(of: " "),
            header[..<space].lowercased() == "bearer"
        else { return nil }
        let token = header[space...].drop { $0 == " " }
        guard !token.isEmpty, !token.contains(" ") else {
            throw WebError(.authenticationFailed, "Authorization has no token behind Bearer")
        }
        return String(token)
    }

    /// The refusal of a bad API token, whatever the cause.
    package static let refusal = WebError(
        .authenticationFailed,
        "the API token is not valid here: it is unknown, or of another container or environment"
    )
}
