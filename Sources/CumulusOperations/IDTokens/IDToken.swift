// An ID token of OpenID Connect as it was sent. Its claims and its signature are not believed yet.
//
// The node reads it when a caller signs in. `TrustedIssuer` decides from its claims whether it
// counts, and a `TokenVerifier` checks its signature. Sizes are bounded before anything is parsed.
//
// Folder: signing in with the ID tokens of identity providers. Read `IDToken`, then `TokenKeys`,
// `TrustedIssuer` and `Subjects`.

package import CumulusModel
package import CumulusStorage

package struct IDToken: Hashable, Sendable {
    /// Why a token does not count.
    ///
    /// This is written to the node's log, and never told to the caller.
    package struct Problem: Error, Hashable, Sendable {
        package let why: String

        package init(_ why: String) {
            self.why = why
        }
    }

    /// The most bytes of a whole token; tokens of providers have 1 to 4 KiB.
    package static let mostBytes = 16 << 10
    private static let mostHeaderBytes = 2 << 10

    package let algorithm: TokenAlgorithm
    /// The id of the issuer's key that made the signature; nil if the token doesn't say.
    package let keyID: String?
    package let issuer: String
    package let subject: String
    package let audiences: [String]
    /// The app for which the token was made; a token with several audiences has to name it.
    let authorizedParty: String?
    /// Seconds since 1970 UTC.
    let expires: Int64
    let notBefore: Int64?
    let nonce: String?
    private let emailAddress: String?
    /// Claims that are texts.
    private let texts: [String: String]
    /// The bytes that were signed.
    package let content: Bytes
    package let signature: Bytes

    /// Takes a token apart.
    package init(_ token: Bytes) throws(Problem) {
        guard token.count <= IDToken.mostBytes else { throw Problem("it is too long") }
        let parts = token.split(
            separator: UInt8(ascii: "."),
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard parts.count == 3 else { throw Problem("it does not consist of three parts") }
        guard parts[0].count <= IDToken.mostHeaderBytes else {
            throw Problem("its header is too long")
        }
        guard let signature = Base64URL.decode(parts[2]), !signature.isEmpty else {
            throw Problem("it has no signature")
        }
        self.signature = signature
        content = Bytes(token[..<parts[1].endIndex])

        let header = try IDToken.object(in: parts[0], "header")
        guard let name = header["alg"]?.asText, let algorithm = TokenAlgorithm(rawValue: name)
        else { throw Problem("its algorithm is not RS256, ES256 or EdDSA") }
        self.algorithm = algorithm
        // A token may demand extensions of its reader, or say that it is no ID token.
        guard header["crit"] == nil else { throw Problem("its header demands extensions") }
        if let type = header["typ"] {
            guard type.asText?.lowercased() == "jwt" else { throw Problem("it is no ID token") }
        }
        keyID = try header.text("kid")

        let claims = try IDToken.object(in: parts[1], "claims")
        issuer = try IDToken.name(claims, "iss")
        subject = try IDToken.name(claims, "sub")
        audiences = try IDToken.audiences(claims)
        authorizedParty = try claims.text("azp")
        guard let expires = try claims.time("exp") else { throw Problem("it has no exp") }
        self.expires = expires
        notBefore = try claims.time("nbf")
        nonce = try claims.text("nonce")
        // Apple's tokens have it as a boolean or as a text.
        let verified = claims["email_verified"]
        let isVerified = verified == .bool(true) || verified == "true"
        emailAddress = isVerified ? claims["email"]?.asText : nil
        texts = claims.texts
    }

    /// The user's address; nil unless the issuer says that it has verified it.
    package var email: Handle? {
        emailAddress.flatMap { try? Handle(.email, Bytes($0.utf8)) }
    }

    /// A claim that can name the user to others; nil if the token has no such claim.
    package func displayName(by claim: String) -> String? {
        texts[claim].flatMap { try? Names.checkText(Bytes($0.utf8)[...], claim) }
    }

    // MARK: Parts

    private static func object(
        in part: ArraySlice<UInt8>,
        _ what: String
    ) throws(Problem) -> JSON {
        guard let bytes = Base64URL.decode(part) else {
            throw Problem("its \(what) are not in base64url")
        }
        let json: JSON
        do throws(JSONReader.Problem) {
            json = try JSONReader.read(bytes)
        } catch {
            throw Problem("its \(what) are not JSON: \(error.message)")
        }
        guard case .object = json else { throw Problem("its \(what) are no JSON object") }
        return json
    }

    /// The name of an issuer or a subject: a text of 1 to 255 bytes without control characters.
    private static func name(_ claims: JSON, _ key: String) throws(Problem) -> String {
        guard let text = claims[key]?.asText, isName(text) else {
            throw Problem("its \(key) is no text of 1 to 255 bytes")
        }
        return text
    }

    static func isName(_ text: String) -> Bool {
        (1...Limits.standard.nameBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// The audiences, which a token gives as one text or as several.
    private static func audiences(_ claims: JSON) throws(Problem) -> [String] {
        switch claims["aud"] {
        case .string(let audience)?: return [audience]
        case .array(let elements)?:
            let audiences = elements.compactMap(\.asText)
            guard audiences.count == elements.count else { break }
            return audiences
        default: break
        }
        throw Problem("its aud is neither a text nor a list of texts")
    }
}

extension JSON {
    /// The text; nil if the value is something else.
    var asText: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The text of an object's member; nil if there is no such member.
    fileprivate func text(_ key: String) throws(IDToken.Problem) -> String? {
        guard let value = self[key] else { return nil }
        guard let text = value.asText else { throw IDToken.Problem("its \(key) is no text") }
        return text
    }

    /// Seconds since 1970 UTC, which may have a fraction; nil if there is no such claim.
    fileprivate func time(_ key: String) throws(IDToken.Problem) -> Int64? {
        guard let value = self[key] else { return nil }
        // Times go up to the year 9999.
        let range: Range<Int64> = 0..<253_402_300_800
        switch value {
        case .integer(let seconds) where range.contains(seconds): return seconds
        case .decimal(let seconds):
            guard let whole = Int64(exactly: seconds.rounded(.down)), range.contains(whole) else {
                break
            }
            return whole
        default: break
        }
        throw IDToken.Problem("its \(key) is no time")
    }

    /// The members of an object whose values are texts.
    fileprivate var texts: [String: String] {
        guard case .object(let members) = self else { return [:] }
        return members.reduce(into: [:]) { $0[$1.key] = $1.value.asText }
    }
}
