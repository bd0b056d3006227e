// An identity provider that an operator trusts, and which of its ID tokens count. This is decided
// from values, without network and clock.
//
// Read from the file of `cumulusd --issuers`. The node asks it for each token; a `TokenVerifier`
// then checks the signature with the key that it returns.

package import CumulusModel

package struct TrustedIssuer: Hashable, Sendable {
    /// The issuer's URL, as its tokens name it.
    package let url: String
    /// The client ids of the apps whose tokens count here.
    let audiences: [String]
    let algorithms: Set<TokenAlgorithm>
    /// The path of a file with its keys.
    package let keyFile: String
    /// Whether the first sign-in of a subject makes a user.
    let makesUsers: Bool
    /// The names of users that an operator made, by subjects.
    let users: [String: String]
    /// The claim that gives a new user its display name; empty if none does.
    let displayNameClaim: String
    /// Whether a new user gets the address that the issuer has verified.
    let givesEmail: Bool
    /// How browsers sign in at the provider's own page; nil if they don't.
    package let web: IssuerWebSignIn?

    /// How much clocks may differ, in seconds.
    private static let leeway: Int64 = 60

    /// The key that must have signed a token for it to count.
    ///
    /// - Parameters:
    ///   - nonce: The nonce that the app asked for; empty if it asked for none.
    ///   - now: Milliseconds since 1970 UTC.
    package func key(
        for token: IDToken,
        among keys: TokenKeys,
        nonce: String,
        now: Int64
    ) throws(IDToken.Problem) -> TokenKey {
        guard token.issuer.isSame(as: url) else {
            throw IDToken.Problem("another issuer made it")
        }
        guard algorithms.contains(token.algorithm) else {
            throw IDToken.Problem("\(token.algorithm.rawValue) is not allowed for its issuer")
        }
        guard token.audiences.contains(where: isAudience) else {
            throw IDToken.Problem("it is for another audience")
        }
        if let party = token.authorizedParty {
            guard isAudience(party) else { throw IDToken.Problem("it is for another party") }
        } else if token.audiences.count > 1 {
            throw IDToken.Problem("it has several audiences, and no azp")
        }
        let seconds = now / 1_000
        guard seconds < token.expires + TrustedIssuer.leeway else {
            throw IDToken.Problem("it has expired")
        }
        if let notBefore = token.notBefore, seconds < notBefore - TrustedIssuer.leeway {
            throw IDToken.Problem("it is not valid yet")
        }
        guard nonce.isEmpty || token.nonce?.isSame(as: nonce) ?? false else {
            throw IDToken.Problem("its nonce is another one")
        }
        guard let key = keys.key(for: token) else {
            throw IDToken.Problem("the issuer has no such key of that kind")
        }
        return key
    }

    private func isAudience(_ name: String) -> Bool {
        audiences.contains { $0.isSame(as: name) }
    }

    /// A subject whose token counts, with what it may do here.
    ///
    /// - Parameter userID: The id that every node of the cluster makes for the subject.
    package func subject(of token: IDToken, userID: Bytes) -> ProvenSubject {
        let user = users.first { $0.key.isSame(as: token.subject) }?.value
        let name = displayNameClaim.isEmpty ? nil : token.displayName(by: displayNameClaim)
        return ProvenSubject(
            issuer: url,
            subject: token.subject,
            userID: userID,
            user: user,
            mayBeMade: makesUsers,
            displayName: name ?? "",
            email: givesEmail ? token.email : nil
        )
    }
}

extension String {
    /// Compares bytes: texts that only look the same are different.
    fileprivate func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

// MARK: - The operator's file

extension TrustedIssuer {
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// The issuers that an operator's file names.
    package static func all(_ text: Bytes) throws(Problem) -> [TrustedIssuer] {
        let json: JSON
        do throws(JSONReader.Problem) {
            json = try JSONReader.read(text)
        } catch {
            throw Problem("it is not JSON: \(error.message)")
        }
        guard case .object(let members) = json, case .array(let elements)? = json["issuers"],
            members.count == 1
        else { throw Problem("it is no JSON object with nothing but a list 'issuers'") }
        var issuers: [TrustedIssuer] = []
        for element in elements {
            let issuer = try TrustedIssuer(element)
            guard !issuers.contains(where: { $0.url.isSame(as: issuer.url) }) else {
                throw Problem("it has the issuer '\(issuer.url)' twice")
            }
            issuers.append(issuer)
        }
        return issuers
    }

    private init(_ json: JSON) throws(Problem) {
        let setting = try IssuerSetting(json)
        url = try setting.url()
        audiences = try setting.texts("audiences") ?? []
        guard !audiences.isEmpty, audiences.allSatisfy(IDToken.isName) else {
            throw setting.problem("'audiences' lists the client ids of your apps, at least one")
        }
        let names = try setting.texts("algorithms") ?? [TokenAlgorithm.rs256.rawValue]
        algorithms = Set(names.compactMap(TokenAlgorithm.init))
        guard !names.isEmpty, names.allSatisfy({ TokenAlgorithm(rawValue: $0) != nil }) else {
            throw setting.problem("'algorithms' lists some of RS256, ES256 and EdDSA")
        }
        keyFile = try setting.text("keys") ?? ""
        guard !keyFile.isEmpty else {
            throw setting.problem("'keys' is the path of a file with the issuer's key set (JWKS)")
        }
        makesUsers = try setting.flag("makesUsers")
        users = try setting.names("users")
        displayNameClaim = try setting.text("displayName") ?? "name"
        givesEmail = try setting.flag("email")
        web = try setting.web(audiences)
    }
}

/// The entry of one issuer in the file.
private struct IssuerSetting {
    private static let keys = [
        "issuer", "audiences", "algorithms", "keys", "makesUsers", "users", "displayName", "email",
        "web",
    ]
    private let json: JSON

    init(_ json: JSON) throws(TrustedIssuer.Problem) {
        self.json = json
        guard case .object(let members) = json else {
            throw TrustedIssuer.Problem("each of its issuers is a JSON object")
        }
        let keys = IssuerSetting.keys
        if let unknown = members.first(where: { !keys.contains($0.key) }) {
            throw problem(
                "'\(unknown.key)' is no setting; known are \(keys.joined(separator: ", "))"
            )
        }
    }

    func problem(_ what: String) -> TrustedIssuer.Problem {
        let name = json["issuer"]?.asText
        return TrustedIssuer.Problem(name.map { "issuer '\($0)': \(what)" } ?? what)
    }

    /// The issuer's URL: https, or http on this machine only.
    func url() throws(TrustedIssuer.Problem) -> String {
        guard let url = try text("issuer"), IDToken.isName(url),
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }),
            !url.contains("?")
        else { throw problem("'issuer' is the provider's URL, as its tokens have it in 'iss'") }
        if url.hasPrefix("https://") { return url }
        let host = url.dropFirst("http://".count).prefix { $0 != "/" }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } : host.prefix { $0 != ":" }
        guard url.hasPrefix("http://"), ["localhost", "127.0.0.1", "[::1"].contains(name) else {
            throw problem("an issuer that is not on this machine has a URL with https")
        }
        return url
    }

    func text(_ key: String) throws(TrustedIssuer.Problem) -> String? {
        guard let value = json[key] else { return nil }
        guard let text = value.asText else { throw problem("'\(key)' is a text") }
        return text
    }

    func texts(_ key: String) throws(TrustedIssuer.Problem) -> [String]? {
        guard let value = json[key] else { return nil }
        guard case .array(let elements) = value else { throw problem("'\(key)' is a list") }
        let texts = elements.compactMap(\.asText)
        guard texts.count == elements.count else { throw problem("'\(key)' is a list of texts") }
        return texts
    }

    func flag(_ key: String) throws(TrustedIssuer.Problem) -> Bool {
        switch json[key] {
        case nil: return false
        case .bool(let flag)?: return flag
        default: throw problem("'\(key)' is true or false")
        }
    }

    func web(_ audiences: [String]) throws(TrustedIssuer.Problem) -> IssuerWebSignIn? {
        guard let value = json["web"] else { return nil }
        return try IssuerWebSignIn(value, of: try url(), audiences)
    }

    /// The names of users, by subjects.
    func names(_ key: String) throws(TrustedIssuer.Problem) -> [String: String] {
        guard let value = json[key] else { return [:] }
        guard case .object(let members) = value else {
            throw problem("'\(key)' has a user's name for each subject")
        }
        var names: [String: String] = [:]
        for member in members {
            guard IDToken.isName(member.key), let name = member.value.asText,
                (try? Names.checkIdentifier(Bytes(name.utf8)[...], "user name")) != nil
            else { throw problem("'\(key)' has a user's name for each subject") }
            names[member.key] = name
        }
        return names
    }
}
