// The state in the sign-in page's URLs and forms, sealed by a node: the app, the progress of the
// sign-in, and when it began.
//
// Made and opened by `SignInPages`, and by `WebGateway` for the link in an error. Nodes keep
// nothing between the requests of a sign-in, so every node of the cluster can answer each of them.
// All but the link are bound to a cookie of the browser that loaded the page.

package import CumulusModel

package struct SignInState: Hashable, Sendable {
    /// How far it has come.
    package enum Step: Hashable, Sendable {
        /// An app was told where users sign in.
        case link
        /// A page with the form was loaded.
        case form(browser: Bytes)
        /// The user went to an identity provider.
        case provider(browser: Bytes, Errand)
    }

    /// The values that a node must know again when a provider sends the user back.
    package struct Errand: Hashable, Sendable {
        package var issuer: String
        /// The secret half of what the provider was shown (PKCE, RFC 7636).
        package var verifier: String
        /// The nonce that the ID token must have.
        package var nonce: String
        /// The user chose to stay signed in.
        package var isKept: Bool

        package init(issuer: String, verifier: String, nonce: String, isKept: Bool) {
            self.issuer = issuer
            self.verifier = verifier
            self.nonce = nonce
            self.isKept = isKept
        }
    }

    package var scope: ScopeID
    /// SHA-256 of the app's API token.
    package var api: Bytes
    /// The origin of the page that made the request; empty: the request named none.
    package var origin: String
    package var step: Step
    /// When it was sealed, in milliseconds since 1970 UTC.
    package var made: Int64

    /// How long a link is good, in milliseconds.
    ///
    /// Apps ask for a new one every 14 minutes.
    package static let linkLife: Int64 = 20 * 60_000
    /// The same for a page with the form.
    package static let formLife: Int64 = 10 * 60_000
    /// The same for a visit to a provider, at which users may have to register first.
    package static let providerLife: Int64 = 20 * 60_000
    private static let digestBytes = 32
    /// It separates this sealed content from others: tokens of sessions begin with a digest.
    private static let label = "sign-in"

    package init(scope: ScopeID, api: Bytes, origin: String, step: Step, made: Int64) {
        self.scope = scope
        self.api = api
        self.origin = origin
        self.step = step
        self.made = made
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isFresh(now: Int64) -> Bool {
        let life =
            switch step {
            case .link: SignInState.linkLife
            case .form: SignInState.formLife
            case .provider: SignInState.providerLife
            }
        // Clocks of two nodes differ a little.
        let age = now - made
        return age > -60_000 && age < life
    }

    // MARK: Bytes

    /// The content that is sealed.
    package var content: Bytes {
        var writer = CanonicalWriter()
        writer.delimited(SignInState.label.utf8)
        writer.delimited(scope.container.utf8)
        writer.varint(UInt64(scope.environment.rawValue))
        writer.delimited(api)
        writer.delimited(origin.utf8)
        writer.varint(zigzag(made))
        switch step {
        case .link: writer.varint(1)
        case .form(let browser):
            writer.varint(2)
            writer.delimited(browser)
        case .provider(let browser, let errand):
            writer.varint(3)
            writer.delimited(browser)
            writer.delimited(errand.issuer.utf8)
            writer.delimited(errand.verifier.utf8)
            writer.delimited(errand.nonce.utf8)
            writer.varint(errand.isKept ? 1 : 0)
        }
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        guard try reader.text() == SignInState.label else {
            throw MalformedBytes("it is no state of a sign-in")
        }
        let container = try reader.text()
        let number = UInt8(truncatingIfNeeded: try reader.varint())
        guard let environment = Environment(rawValue: number) else {
            throw MalformedBytes("a sign-in in no environment")
        }
        scope = ScopeID(container: container, environment: environment)
        api = try SignInState.digest(&reader)
        origin = try reader.text()
        made = try reader.signed()
        switch try reader.varint() {
        case 1: step = .link
        case 2: step = .form(browser: try SignInState.digest(&reader))
        case 3:
            step = .provider(
                browser: try SignInState.digest(&reader),
                Errand(
                    issuer: try reader.text(),
                    verifier: try reader.text(),
                    nonce: try reader.text(),
                    isKept: try reader.varint() != 0
                )
            )
        default: throw MalformedBytes("a sign-in at no step")
        }
        guard reader.isAtEnd else { throw MalformedBytes("a sign-in of another length") }
    }

    private static func digest(_ reader: inout CanonicalReader) throws(MalformedBytes) -> Bytes {
        let bytes = try reader.delimitedBytes()
        guard bytes.count == digestBytes else { throw MalformedBytes("a digest has 32 bytes") }
        return bytes
    }
}

extension WebDoor {
    /// The form in URLs and forms.
    func text(of state: SignInState) -> String { Base64URL.encode(seal(state.content)) }

    /// nil if no node of this cluster sealed it.
    func signInState(_ text: String) -> SignInState? {
        guard let sealed = Base64URL.decode(text.utf8), let content = open(sealed),
            let state = try? SignInState(content: content)
        else { return nil }
        return state
    }
}
