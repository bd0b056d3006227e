// Which ID tokens count, judged from values: every wrong claim, and texts that are no tokens at
// all. `IDTokenSignInTests` of the node tests signatures.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct IDTokenTests {
    private static let now: Int64 = 1_750_000_000_000
    private static let seconds = now / 1_000

    private let key: TestIssuer.Key
    private let keys: TokenKeys

    init() throws {
        key = try .p256("one")
        keys = try TokenKeys(try TestIssuer.keySet([key, try .ed25519("two")]))
    }

    private func issuer(_ changes: [String: JSON?] = [:]) throws -> TrustedIssuer {
        try #require(try TrustedIssuer.all(TestIssuer.file(changes)).first)
    }

    private func token(
        _ changes: [String: JSON?] = [:],
        header: [String: JSON?] = [:]
    ) throws -> Bytes {
        let claims = TestIssuer.claims("ada", now: Self.now, changes)
        return try TestIssuer.token(claims, by: key, header: header)
    }

    /// Why a token does not count; nil if it does.
    private func problem(
        _ token: Bytes,
        nonce: String = "",
        at issuer: TrustedIssuer? = nil
    ) throws -> String? {
        let issuer = try issuer ?? self.issuer()
        do throws(IDToken.Problem) {
            let token = try IDToken(token)
            _ = try issuer.key(for: token, among: keys, nonce: nonce, now: Self.now)
            return nil
        } catch {
            return error.why
        }
    }

    @Test func aTokenThatCountsNamesItsKey() throws {
        let token = try IDToken(try token(["email": "Ada@example.org"]))
        #expect(token.subject == "ada" && token.issuer == TestIssuer.url)
        #expect(token.email == nil, "the issuer doesn't say that it is the user's")
        let found = try issuer().key(for: token, among: keys, nonce: "", now: Self.now)
        #expect(found.id == "one" && found.algorithm == .es256)
    }

    static let right: [(claims: [String: JSON?], header: [String: JSON?])] = [
        ([:], [:]),
        ([:], ["typ": nil]),
        ([:], ["typ": "jwt"]),
        // The key is the only one of its kind.
        ([:], ["kid": nil]),
        (["aud": .array([.string(TestIssuer.app)])], [:]),
        (
            ["aud": .array([.string(TestIssuer.app), "other"]), "azp": .string(TestIssuer.app)],
            [:]
        ),
        (["exp": .decimal(Double(seconds) - 58.5)], [:]),
        (["exp": .integer(seconds - 59)], [:]),
        (["nbf": .integer(seconds + 60)], [:]),
        (["extra": .array([.object([])])], ["x5t": "other"]),
    ]

    @Test(arguments: right.indices)
    func whatIsRightCounts(index: Int) throws {
        let (claims, header) = Self.right[index]
        #expect(try problem(token(claims, header: header)) == nil)
    }

    static let wrong: [(why: String, claims: [String: JSON?], header: [String: JSON?])] = [
        ("algorithm", [:], ["alg": "none"]),
        ("algorithm", [:], ["alg": "None"]),
        ("algorithm", [:], ["alg": "HS256"]),
        ("algorithm", [:], ["alg": "ES384"]),
        ("algorithm", [:], ["alg": "PS256"]),
        ("algorithm", [:], ["alg": nil]),
        ("algorithm", [:], ["alg": .integer(1)]),
        // The key exists, but is of another kind.
        ("no such key", [:], ["alg": "RS256"]),
        ("no such key", [:], ["alg": "EdDSA"]),
        ("no such key", [:], ["kid": "three"]),
        ("no such key", [:], ["kid": ""]),
        ("kid is no text", [:], ["kid": .integer(1)]),
        ("extensions", [:], ["crit": .array(["b64"]), "b64": .bool(false)]),
        ("no ID token", [:], ["typ": "at+jwt"]),
        ("another issuer", ["iss": .string(TestIssuer.url + "/")], [:]),
        ("its iss is", ["iss": nil], [:]),
        ("its iss is", ["iss": .array([.string(TestIssuer.url)])], [:]),
        ("another audience", ["aud": "other-app"], [:]),
        ("another audience", ["aud": .array([])], [:]),
        ("its aud is", ["aud": nil], [:]),
        ("its aud is", ["aud": .array([.string(TestIssuer.app), .integer(1)])], [:]),
        ("no azp", ["aud": .array([.string(TestIssuer.app), "other"])], [:]),
        ("another party", ["azp": "other"], [:]),
        ("expired", ["exp": .integer(seconds - 60)], [:]),
        ("no exp", ["exp": nil], [:]),
        ("exp is no time", ["exp": "tomorrow"], [:]),
        ("exp is no time", ["exp": .integer(.max)], [:]),
        ("exp is no time", ["exp": .decimal(1e300)], [:]),
        ("exp is no time", ["exp": .integer(-1)], [:]),
        ("not valid yet", ["nbf": .integer(seconds + 61)], [:]),
        ("nbf is no time", ["nbf": .null], [:]),
        ("its sub is", ["sub": nil], [:]),
        ("its sub is", ["sub": ""], [:]),
        ("its sub is", ["sub": "a\nb"], [:]),
        ("its sub is", ["sub": .string(String(repeating: "a", count: 256))], [:]),
        ("nonce is no text", ["nonce": .integer(1)], [:]),
    ]

    @Test(arguments: wrong.indices)
    func whatIsWrongIsTold(index: Int) throws {
        let (why, claims, header) = Self.wrong[index]
        let problem = try problem(token(claims, header: header))
        #expect(problem?.contains(why) == true, "\(problem ?? "it counts")")
    }

    @Test func aNonceIsComparedIfTheCallerNamesOne() throws {
        let token = try token(["nonce": "n-0S6"])
        #expect(try problem(token) == nil)
        #expect(try problem(token, nonce: "n-0S6") == nil)
        #expect(try problem(token, nonce: "n-0S7")?.contains("nonce") == true)
        #expect(try problem(self.token(), nonce: "n-0S6")?.contains("nonce") == true)
    }

    @Test func theIssuersSettingNamesTheAlgorithms() throws {
        let standard = try issuer(["algorithms": nil])
        #expect(try problem(token(), at: standard) == "ES256 is not allowed for its issuer")
        let own = try issuer(["algorithms": .array(["ES256"])])
        #expect(try problem(token(), at: own) == nil)
    }

    @Test func whatOccursTwiceIsNoClaim() throws {
        let header = "{\"alg\": \"ES256\", \"kid\": \"one\"}"
        let twice = "{\"iss\": \"\(TestIssuer.url)\", \"sub\": \"ada\", \"sub\": \"bob\"}"
        for (header, claims) in [
            (header, twice), ("{\"alg\": \"none\", \"alg\": \"ES256\"}", "{}"),
            (header, "[]"), (header, ""), (header, "{"), ("ES256", "{}"),
            (header, String(repeating: "[", count: 5_000)),
        ] {
            let token = try TestIssuer.token(header: header, claims: claims) { _ in [1] }
            #expect(throws: IDToken.Problem.self) { try IDToken(token) }
        }
    }

    @Test func sizesAreBoundedBeforeAnythingIsParsed() throws {
        let long = JSON.string(String(repeating: "a", count: IDToken.mostBytes))
        #expect(try problem(token(["extra": long])) == "it is too long")
        let header = JSON.string(String(repeating: "a", count: 2 << 10))
        #expect(try problem(token(header: ["extra": header])) == "its header is too long")
    }

    @Test(arguments: ["", ".", "..", "...", "a.b", "e30.e30.", "e30.e30.AA.AA", "e30.e30.A"])
    func otherTextsAreNoTokens(text: String) {
        #expect(throws: IDToken.Problem.self) { try IDToken(Bytes(text.utf8)) }
    }

    /// A reader never traps, and never reads a cut token as another token.
    @Test func aTokenThatIsCutOrChanged() throws {
        let token = try token(["email": "ada@example.org", "email_verified": .bool(true)])
        let whole = try IDToken(token)
        #expect(whole.email?.text == "ada@example.org")
        var dice = SeededGenerator(seed: 5)
        for index in token.indices {
            let cut = Bytes(token[..<index])
            if let read = try? IDToken(cut) { #expect(read.signature != whole.signature) }
            var changed = token
            changed[index] ^= UInt8.random(in: 1...255, using: &dice)
            if let read = try? IDToken(changed) {
                #expect(read.content != whole.content || read.signature != whole.signature)
            }
        }
    }

    /// Apple documents "a string or Boolean value".
    @Test func anAddressCountsIfItsIssuerSaysThatItIsTheUsers() throws {
        let yes: [JSON] = [.bool(true), "true"]
        let no: [JSON?] = [
            nil, .null, .bool(false), "false", "TRUE", "True", "yes", "1", "", " true",
            .integer(1), .decimal(1), .array(["true"]), ["true": .bool(true)],
        ]
        for claim in yes {
            let token = try token(["email": "ada@example.org", "email_verified": claim])
            #expect(try IDToken(token).email?.text == "ada@example.org", "\(claim.text)")
        }
        for claim in no {
            let token = try token(["email": "ada@example.org", "email_verified": claim])
            #expect(try IDToken(token).email == nil, "\(claim?.text ?? "without it")")
        }
    }

    @Test func whatNamesAUserIsTakenIfItCanBe() throws {
        let long = JSON.string(String(repeating: "a", count: 256))
        let changes: [String: JSON?] = [
            "name": "Ada \u{1F98A}", "nick": long, "email": "no address",
            "email_verified": .bool(true),
        ]
        let token = try IDToken(try token(changes))
        #expect(token.displayName(by: "name") == "Ada \u{1F98A}")
        #expect(token.displayName(by: "nick") == nil && token.displayName(by: "aud") != nil)
        #expect(token.displayName(by: "exp") == nil && token.email == nil)
        let proven = try issuer(["displayName": "nick"]).subject(of: token, userID: [1])
        #expect(proven.displayName.isEmpty && proven.mayBeMade && proven.user == nil)
        let mapped = try issuer(["users": ["ada": "alice"], "makesUsers": nil])
        #expect(mapped.subject(of: token, userID: [1]).user == "alice")
        #expect(!mapped.subject(of: token, userID: [1]).mayBeMade)
    }
}
