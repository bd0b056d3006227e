// Key sets of identity providers, and the operator's file that names them: what is read from them,
// and what is said about a mistake.

import CumulusModel
import CumulusOperations
import CumulusTesting
import Testing

@Suite struct TokenKeysTests {
    private func keys(_ members: [JSON]) throws -> [TokenKey] {
        let set: JSON = ["keys": .array(members)]
        return try TokenKeys(Bytes(set.text.utf8)).keys
    }

    @Test func eachKindIsRead() throws {
        let made: [TestIssuer.Key] = [try .rsa("a"), try .p256("b"), try .ed25519(nil)]
        let read = try TokenKeys(try TestIssuer.keySet(made)).keys
        #expect(read.map(\.id) == ["a", "b", nil])
        #expect(read.map(\.algorithm) == [.rs256, .es256, .edDSA])
    }

    @Test func otherKeysAreSkipped() throws {
        let good = try TestIssuer.Key.p256("good").jwk
        var others: [JSON] = [["kty": "oct", "k": "c2VjcmV0"], ["kty": "RSA"], "key", .null]
        for (name, value) in [
            ("use", "enc"), ("alg", "ES384"), ("crv", "P-384"), ("x", "AA="), ("y", .null),
            ("x", .string(Base64URL.encode(Bytes(repeating: 1, count: 33)))),
        ] as [(String, JSON)] {
            var other = good
            other[member: name] = value
            others.append(other)
        }
        // This key has 1024 bits.
        others.append([
            "kty": "RSA", "n": .string(Base64URL.encode(Bytes(repeating: 0xFF, count: 128))),
            "e": "AQAB",
        ])
        #expect(try keys(others + [good]).map(\.id) == ["good"])
        #expect(throws: TokenKeys.Problem.self) { try keys(others) }
    }

    /// Some providers write a leading zero byte, as if numbers had a sign.
    @Test func zerosInFrontMakeNoOtherNumber() throws {
        let key = try TestIssuer.Key.p256("one")
        var jwk = try key.jwk
        let plain = try keys([jwk])
        guard case .p256(let x, _) = plain[0].material else { return }
        jwk[member: "x"] = .string(Base64URL.encode([0] + x))
        #expect(try keys([jwk]) == plain)
    }

    @Test func aSetThatCantBeUsedIsTold() throws {
        let key = try TestIssuer.Key.p256("one").jwk
        for (text, why) in [
            ("", "not JSON"), ("[]", "no JSON object"), ("{\"keys\": {}}", "no JSON object"),
            ("{\"keys\": []}", "no public key"),
            ("{\"keys\": [\(key.text), \(key.text)]}", "same 'kid'"),
            ("{\"keys\": [\(Array(repeating: "1", count: 101).joined(separator: ","))]}", "100"),
            ("{\"keys\": []" + String(repeating: " ", count: TokenKeys.mostBytes), "KiB"),
        ] {
            let error = #expect(throws: TokenKeys.Problem.self) { try TokenKeys(Bytes(text.utf8)) }
            #expect(error?.description.contains(why) == true, "\(text.prefix(40))")
        }
    }

    @Test func aSetThatIsCutOrChangedTrapsNothing() throws {
        let set = try TestIssuer.keySet([try .p256("one"), try .ed25519("two")])
        var dice = SeededGenerator(seed: 3)
        for index in set.indices {
            #expect(throws: TokenKeys.Problem.self) { try TokenKeys(Bytes(set[..<index])) }
            var changed = set
            changed[index] ^= UInt8.random(in: 1...255, using: &dice)
            _ = try? TokenKeys(changed)
        }
    }

    // MARK: The operator's file

    static let mistakes: [(changes: [String: JSON?], why: String)] = [
        (["issuer": nil], "'issuer' is the provider's URL"),
        (["issuer": "id.example.org"], "https"),
        (["issuer": "http://id.example.org"], "https"),
        (["issuer": "http://localhost.example.org"], "https"),
        (["issuer": "https://id.example.org/?a=b"], "'issuer' is the provider's URL"),
        (["audiences": nil], "'audiences' lists"),
        (["audiences": .array([])], "'audiences' lists"),
        (["audiences": "notes-app"], "'audiences' is a list"),
        (["algorithms": .array([])], "'algorithms' lists"),
        (["algorithms": .array(["RS256", "HS256"])], "'algorithms' lists"),
        (["algorithms": .array(["none"])], "'algorithms' lists"),
        (["keys": nil], "'keys' is the path"),
        (["makesUsers": "yes"], "'makesUsers' is true or false"),
        (["users": .array([])], "'users' has a user's name"),
        (["users": ["ada": "_alice"]], "'users' has a user's name"),
        (["audience": "notes-app"], "'audience' is no setting; known are"),
        (["web": "https://id.example.org"], "'web' is an object"),
        (web(["clientID": "other-app"]), "'clientID' of 'web' is one of 'audiences'"),
        (web(["clientID": nil]), "'clientID' of 'web' is one of 'audiences'"),
        (web(["authorization": nil]), "'authorization' of 'web' is a URL"),
        (web(["token": "id.example.org/token"]), "'token' of 'web' is a URL"),
        (web(["scopes": "email"]), "'scopes' of 'web' has openid"),
        (web(["secretFile": .integer(1)]), "'secretFile' of 'web' is a text"),
        (web(["secret": "s"]), "'secret' is no setting of 'web'; known are"),
    ]

    /// Settings of how browsers sign in, with some changes.
    private static func web(_ changes: [String: JSON?] = [:]) -> [String: JSON?] {
        var web: JSON = [
            "clientID": .string(TestIssuer.app), "authorization": "https://id.example.org/auth",
            "token": "https://id.example.org/token",
        ]
        for (key, value) in changes { web[member: key] = value }
        return ["web": web]
    }

    @Test func aProviderSaysHowBrowsersSignIn() throws {
        #expect(try TrustedIssuer.all(TestIssuer.file()).first?.web == nil)
        let plain = try TrustedIssuer.all(TestIssuer.file(Self.web())).first?.web
        #expect(plain?.name == TestIssuer.url && plain?.secretFile == "")
        #expect(plain?.clientID == TestIssuer.app && plain?.scopes == ["openid"])
        #expect(plain?.authorization == "https://id.example.org/auth")
        #expect(plain?.token == "https://id.example.org/token")
        let more: [String: JSON?] = [
            "name": "Example", "secretFile": "secret", "scopes": "openid  email profile",
        ]
        let full = try TrustedIssuer.all(TestIssuer.file(Self.web(more))).first?.web
        #expect(full?.name == "Example" && full?.secretFile == "secret")
        #expect(full?.scopes == ["openid", "email", "profile"])
    }

    @Test func aFileOfIssuersThatIsCutOrChangedTrapsNothing() {
        let file = TestIssuer.file(Self.web(["name": "Example"]))
        var dice = SeededGenerator(seed: 4)
        for index in file.indices {
            let cut = Bytes(file[..<index])
            #expect(throws: TrustedIssuer.Problem.self) { try TrustedIssuer.all(cut) }
            var changed = file
            changed[index] ^= UInt8.random(in: 1...255, using: &dice)
            _ = try? TrustedIssuer.all(changed)
        }
    }

    @Test(arguments: mistakes.indices)
    func aMistakeOfTheOperatorIsTold(index: Int) {
        let (changes, why) = Self.mistakes[index]
        let error = #expect(throws: TrustedIssuer.Problem.self) {
            try TrustedIssuer.all(TestIssuer.file(changes))
        }
        #expect(error?.description.contains(why) == true, "\(error?.description ?? "")")
    }

    @Test func aFileThatIsNoListOfIssuersIsTold() throws {
        for text in ["", "[]", "{}", "{\"issuers\": 1}", "{\"issuers\": [1]}"] {
            #expect(throws: TrustedIssuer.Problem.self) {
                try TrustedIssuer.all(Bytes(text.utf8))
            }
        }
        let file = String(decoding: TestIssuer.file(), as: UTF8.self)
        let issuer = file.dropFirst("{\"issuers\": [".count).dropLast(2)
        #expect(throws: TrustedIssuer.Problem.self) {
            try TrustedIssuer.all(Bytes("{\"issuers\": [\(issuer), \(issuer)]}".utf8))
        }
        let local = TestIssuer.file(["issuer": "http://127.0.0.1:4593/api/oidc"])
        #expect(try TrustedIssuer.all(local).map(\.url) == ["http://127.0.0.1:4593/api/oidc"])
    }
}
