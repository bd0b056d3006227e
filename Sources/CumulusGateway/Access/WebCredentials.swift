// A request's credentials: an API token, perhaps with a user's token, or the signature of a
// server's key; never both.
//
// Read from the URL and the headers before anything is looked up. Whether a token or a key is good
// is for the node's registers to say.
//
// Folder: who calls. Read `WebCredentials`, then `ServerSignature` and `WebToken`.

import CumulusModel

package enum WebCredentials: Sendable {
    /// Each token in all readings of what was sent; a user's token is empty if there was none.
    case tokens(api: [String], user: [String])
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
        switch (query["ckAPIToken"], signature) {
        case (nil, nil):
            throw WebError(
                .authenticationFailed,
                "no auth method found: send ckAPIToken, or sign the request with a server's key"
            )
        case (.some, .some):
            throw WebError(
                .authenticationFailed,
                "a request shows an API token or the signature of a server's key, not both"
            )
        case (let token?, nil):
            let user = query["ckWebAuthToken"] ?? ""
            self = .tokens(
                api: WebText.readings(of: token),
                user: user.isEmpty ? [] : WebText.readings(of: user)
            )
        case (nil, let signature?): self = .server(signature)
        }
    }

    /// The refusal of a bad API token, whatever the cause.
    package static let refusal = WebError(
        .authenticationFailed,
        "the API token is not valid here: it is unknown, or of another container or environment"
    )
}
