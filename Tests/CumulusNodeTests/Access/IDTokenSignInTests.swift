// Signing in with ID tokens on a real node, with the library that checks signatures: each
// algorithm, every token that is not the issuer's, keys that come and go, and what the audit log
// says.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusTesting
import CumulusWire
import JWTKitTokens
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized, .timeLimit(.minutes(2))) struct IDTokenSignInTests {
    private static let clusterKey = Bytes(repeating: 7, count: 32)

    private func claims(
        _ subject: String = "ada",
        _ changes: [String: JSON?] = [:]
    ) -> JSON {
        TestIssuer.claims(subject, now: TestServer.environment.wallClock(), changes)
    }

    /// A node that trusts an issuer.
    private func withServer(
        _ keys: [TestIssuer.Key],
        file: Bytes = TestIssuer.file(),
        audit: (@Sendable ([UInt8]) -> Void)? = nil,
        _ body: (TestServer, TestIssuerFile, RawClient) async throws -> Void
    ) async throws {
        let issuer = try TestIssuerFile(file, keys: keys)
        let server = try await TestServer(
            clusterKey: Self.clusterKey,
            idTokens: issuer.issuers(JWTKitVerifier()),
            audit: audit
        )
        do {
            try await body(server, issuer, try RawClient(greeting: server.endpoint))
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    private func signIn(
        _ token: Bytes,
        _ client: RawClient,
        nonce: String = ""
    ) throws -> OpenedSession {
        let request = SignInRequest(idToken: token, nonce: nonce, label: "test")
        return try OpenedSession(wire: client.perform(.accountsSignIn, request.encoded())[0])
    }

    private func connect(_ session: OpenedSession, _ server: TestServer) throws -> RawClient {
        let token = String(decoding: session.token, as: UTF8.self)
        return try RawClient(greeting: server.endpoint, token: token)
    }

    /// Why a node's issuers refuse a token; nil if they don't.
    ///
    /// Attempts are not counted.
    private func problem(
        _ token: Bytes,
        _ issuers: TokenIssuers,
        nonce: String = ""
    ) async -> String? {
        do throws(IDToken.Problem) {
            _ = try await issuers.prove(
                try IDToken(token),
                nonce: nonce,
                now: TestServer.environment.wallClock(),
                key: Self.clusterKey
            )
            return nil
        } catch {
            return error.why
        }
    }

    // MARK: On a node

    @Test func eachAlgorithmOpensASessionOfOneUser() async throws {
        let keys: [TestIssuer.Key] = [try .rsa("a"), try .p256("b"), try .ed25519("c")]
        try await withServer(keys) { server, _, nobody in
            var users: Set<String> = []
            for key in keys {
                let token = try TestIssuer.token(claims("ada", ["name": "Ada"]), by: key)
                let session = try signIn(token, nobody)
                users.insert(session.user)
                let ada = try connect(session, server)
                _ = try ada.save([Record("note-\(key.algorithm)")])[0].get()
                let profile = try ada.perform(
                    .accountsProfile,
                    ProfileRequest([]).encoded()
                )
                #expect(try WireProfile(wire: profile[0]).displayName == "Ada")
            }
            #expect(users.count == 1)
            let bob = try signIn(try TestIssuer.token(claims("bob"), by: keys[1]), nobody)
            #expect(!users.contains(bob.user))
        }
    }

    /// What a sign-in is refused with.
    private func refusal(
        _ token: Bytes,
        _ client: RawClient,
        nonce: String = ""
    ) throws -> ServiceError {
        try error { _ = try signIn(token, client, nonce: nonce) }
    }

    @Test func oneTextForEveryWrongTokenAndALimit() async throws {
        let key = try TestIssuer.Key.p256("one")
        let right = try TestIssuer.token(claims(), by: key)
        let bob = try TestIssuer.token(claims("bob", ["nonce": "one"]), by: key)
        let wrong = [
            right, Bytes("not.a.token".utf8),
            try TestIssuer.token(claims(), by: try .p256("one", 2)),
            try TestIssuer.token(claims("bob", ["aud": "other"]), by: key),
            try TestIssuer.token(claims("bob", ["iss": "https://other.org"]), by: key),
            try TestIssuer.token(claims("bob"), by: key, header: ["alg": "none"]),
            Bytes(repeating: UInt8(ascii: "a"), count: 20_000),
        ]
        try await withServer([key]) { server, _, nobody in
            let ada = try connect(try signIn(right, nobody), server)
            let id = Subjects.userID(of: "ada", at: TestIssuer.url, key: Self.clusterKey)
            try RawClient.administering(server).setDisabled(true, "oidc-" + id.hex)
            #expect(try error { _ = try ada.fetch("note") }.code == .notAuthenticated)
            // One of them is valid but belongs to a disabled user.
            for token in wrong {
                let refused = try refusal(token, nobody)
                #expect(refused.code == .notAuthenticated)
                #expect(refused.message == Subjects.refusal.message)
            }
            #expect(try refusal(bob, nobody, nonce: "two").message == Subjects.refusal.message)
            // What succeeds costs nothing.
            for _ in 0..<3 { _ = try signIn(bob, nobody) }
            for _ in 0..<22 { _ = try refusal(wrong[1], nobody) }
            let limited = try refusal(bob, nobody)
            #expect(limited.code == .requestRateLimited && limited.retryAfterMilliseconds != nil)
        }
    }

    @Test func aKeyThatIsGoneSignsNothingMore() async throws {
        let (old, new) = (try TestIssuer.Key.p256("old", 1), try TestIssuer.Key.p256("new", 2))
        try await withServer([old]) { server, issuer, nobody in
            let first = try signIn(try TestIssuer.token(claims(), by: old), nobody)
            let early = try refusal(try TestIssuer.token(claims(), by: new), nobody)
            #expect(early.code == .notAuthenticated)
            try issuer.rotate(to: [new, old])
            for key in [old, new] {
                #expect(try signIn(TestIssuer.token(claims(), by: key), nobody).user == first.user)
            }
            try issuer.rotate(to: [new])
            let late = try refusal(try TestIssuer.token(claims(), by: old), nobody)
            #expect(late.code == .notAuthenticated)
            // Sessions that were opened with it go on.
            _ = try connect(first, server).save([Record("note")])[0].get()
        }
    }

    @Test func aNodeWithoutIssuersSaysSo() async throws {
        let server = try await TestServer()
        let nobody = try RawClient(greeting: server.endpoint)
        let token = try TestIssuer.token(claims(), by: try .p256("one"))
        let refused = try refusal(token, nobody)
        #expect(refused.code == .permissionFailure && refused.message.contains("--issuers"))
        var both = SignInRequest(idToken: token)
        both.name = Bytes("ada".utf8)
        let unclear = try error { _ = try nobody.perform(.accountsSignIn, both.encoded()) }
        #expect(unclear.code == .invalidArguments)
        try await server.stop()
    }

    @Test func theAuditLogNamesTheSubject() async throws {
        let lines = Mutex<[String]>([])
        let key = try TestIssuer.Key.ed25519("one")
        let keep: @Sendable ([UInt8]) -> Void = { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        try await withServer([key], audit: keep) { _, _, nobody in
            _ = try signIn(try TestIssuer.token(claims(), by: key), nobody)
            let forged = try TestIssuer.token(claims("eve"), by: try .ed25519("one", 2))
            _ = try refusal(forged, nobody)
            let found = lines.withLock { $0.filter { $0.contains("ACCOUNTS_SIGN_IN") } }
            #expect(found.count == 2)
            #expect(found.first?.contains("\"target\":\"\(TestIssuer.url) ada\"") == true)
            #expect(found.first?.contains("\"code\":0") == true)
            #expect(found.last?.contains("\"target\":\"\(TestIssuer.url) eve\"") == true)
            #expect(found.last?.contains("\"code\":9") == true)
            let signature = String(decoding: forged.suffix(40), as: UTF8.self)
            #expect(!found.joined().contains(signature))
        }
    }

    @Test func theLibrarySignsInWithAToken() async throws {
        let key = try TestIssuer.Key.p256("one")
        try await withServer([key]) { server, _, _ in
            let visitor = server.container()
            let token = try TestIssuer.token(claims("ada", ["nonce": "n-0S6"]), by: key)
            let text = String(decoding: token, as: UTF8.self)
            let session = try await visitor.signIn(idToken: text, nonce: "n-0S6", label: "phone")
            let error = await #expect(throws: ServiceError.self) {
                try await visitor.signIn(idToken: text, nonce: "other")
            }
            #expect(error?.code == .notAuthenticated)
            await visitor.close()
            let ada = server.container(token: session.token)
            #expect(try await ada.userRecordID() == session.userRecordID)
            #expect(try await ada.sessions().map(\.label) == ["phone"])
            await ada.close()
        }
    }

    /// One subject signs in at two nodes that don't hear of each other.
    @Test func twoNodesKnowOneUser() async throws {
        let key = try TestIssuer.Key.p256("one")
        let issuers = try TestIssuerFile(keys: [key]).issuers(JWTKitVerifier())
        let first = try await TestServer(clusterKey: Self.clusterKey, idTokens: issuers)
        let second = try await TestServer(clusterKey: Self.clusterKey, idTokens: issuers)
        var sessions: [OpenedSession] = []
        for server in [first, second] {
            let nobody = try RawClient(greeting: server.endpoint)
            let session = try signIn(try TestIssuer.token(claims(), by: key), nobody)
            _ = try connect(session, server).save([Record("note-\(sessions.count)")])[0].get()
            sessions.append(session)
        }
        #expect(sessions[0].user == sessions[1].user)
        second.follow([first])
        #expect(
            try await eventually {
                guard let ada = try? connect(sessions[0], second) else { return false }
                let notes = try ada.fetch("note-0", "note-1")
                return notes.allSatisfy { (try? $0.get()) != nil }
            }
        )
        let ada = try connect(sessions[1], second)
        #expect(try ada.sessions().count == 2)
        try await second.stop()
        try await first.stop()
    }

    // MARK: Signatures

    /// Changes a token: it is cut anywhere, or one byte is another one.
    @Test(arguments: ["RS256", "ES256", "EdDSA"])
    func noPieceOfATokenMayDiffer(algorithm: String) async throws {
        let key: TestIssuer.Key =
            switch algorithm {
            case "RS256": try .rsa("one")
            case "ES256": try .p256("one")
            default: try .ed25519("one")
            }
        let issuers = try TestIssuerFile(keys: [key]).issuers(JWTKitVerifier())
        let token = try TestIssuer.token(claims(), by: key)
        #expect(await problem(token, issuers) == nil)
        var dice = SeededGenerator(seed: 11)
        for index in token.indices {
            #expect(await problem(Bytes(token[..<index]), issuers) != nil, "cut at \(index)")
            var changed = token
            changed[index] ^= UInt8.random(in: 1...255, using: &dice)
            #expect(await problem(changed, issuers) != nil, "another byte at \(index)")
        }
        #expect(await problem(token + [UInt8(ascii: "A")], issuers) != nil)
        #expect(await problem(token + Bytes("AAAA".utf8), issuers) != nil)
    }

    /// The public key is no secret, and another key's signature is not this one's.
    @Test func noOtherSignatureCounts() async throws {
        let keys: [TestIssuer.Key] = [try .rsa("a"), try .p256("b"), try .ed25519("c")]
        let issuers = try TestIssuerFile(keys: keys).issuers(JWTKitVerifier())
        let text = claims().text
        for key in keys {
            for name in ["HS256", key.algorithm] {
                let header = "{\"alg\": \"\(name)\", \"kid\": \"\(key.id ?? "")\"}"
                let secrets = try [key.publicText, Bytes(key.jwk.text.utf8), []]
                for secret in secrets {
                    let token = try TestIssuer.token(header: header, claims: text) {
                        TestIssuer.hmac($0, secret)
                    }
                    #expect(await problem(token, issuers) != nil)
                }
                for signature: Bytes in [[], [0], Bytes(repeating: 0, count: 64)] {
                    let token = try TestIssuer.token(header: header, claims: text) { _ in
                        signature
                    }
                    #expect(await problem(token, issuers) != nil)
                }
            }
            // Under the name and the algorithm of another one.
            for other in keys where other.id != key.id {
                let header: [String: JSON?] = [
                    "alg": .string(other.algorithm), "kid": other.id.map(JSON.string),
                ]
                let token = try TestIssuer.token(claims(), by: key, header: header)
                #expect(await problem(token, issuers) == "its signature is wrong")
            }
        }
    }
}
