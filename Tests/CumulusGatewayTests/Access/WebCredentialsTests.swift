// The credentials of requests, and the signatures of servers' keys.

import Crypto
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebCredentialsTests {
    private static let path = "/database/1/iCloud.org.example.notes/development/public"
    private static let publicKey = Base64.decode(
        "BCxPd+Zn38YlsQmuiyrP1TBOb9eeCdQ1RRUZMQUyLGp9kEch+y/tK3xso2tHGCGIfYNpwiCsGzaprc+skPjtivo="
    )
    /// The id of a cluster, then of a key in it.
    private static let keyID =
        String(repeating: "0f", count: 16) + String(repeating: "f0", count: 16)
    private static let now: Int64 = 1_768_465_800_000

    /// A request that was signed elsewhere.
    private struct Vector {
        var target: String
        var body: Bytes
        var date = "2026-01-15T08:30:00Z"
        var signature: String

        func signature(keyID: String = WebCredentialsTests.keyID) throws -> ServerSignature {
            let headers = [
                "x-apple-cloudkit-request-keyid": keyID,
                "x-apple-cloudkit-request-iso8601date": date,
                "x-apple-cloudkit-request-signaturev1": signature,
            ]
            let credentials = try WebCredentials(target: target) { headers[$0] }
            guard case .server(let signature) = credentials else {
                throw WebError.badRequest("no signature was read")
            }
            return signature
        }

        func isRight(for key: Bytes) throws -> Bool {
            try signature().isRight(body: body, publicKey: key)
        }
    }

    private static let post = Vector(
        target: path + "/records/query",
        body: Bytes(#"{"query":{"recordType":"Note"}}"#.utf8),
        signature: """
            MEUCIF+XLYzXHZqZNkuG9qwW+1s0ok3KBRfWTeoA+Leel5ePAiEAxWtlrOFf4DysFfprVtN2+4mNMmbAXXD34\
            bz5UUemxSs=
            """
    )
    private static let get = Vector(
        target: path + "/users/caller?ckjsBuildVersion=2420ProjectDev22&ckjsVersion=2.6.4",
        body: [],
        signature: """
            MEQCICFEa48f7TrsT+zPd30cbUKGubeym0dSQA4LGyIbVjTNAiARxcsIIhTSUtMtqzxxQR7nh26v3hvxKfwKR\
            Fg8klXeZw==
            """
    )

    @Test func signaturesMadeElsewhereAreRight() throws {
        let key = try #require(Self.publicKey)
        #expect(try Self.post.isRight(for: key))
        #expect(try Self.get.isRight(for: key))
        #expect(try Self.post.signature().isCurrent(now: Self.now))
        #expect(try Self.post.signature().clusterID == Bytes(repeating: 0x0F, count: 16))
        #expect(try Self.post.signature().keyID == Bytes(repeating: 0xF0, count: 16))
    }

    @Test func anotherRequestIsNotSigned() throws {
        let key = try #require(Self.publicKey)
        for index in Self.post.body.indices {
            var changed = Self.post
            changed.body[index] ^= 1
            #expect(try !changed.isRight(for: key))
        }
        var other = Self.post
        other.target = Self.path + "/records/modify"
        #expect(try !other.isRight(for: key))
        other = Self.get
        other.target += "5"
        #expect(try !other.isRight(for: key))
        other = Self.post
        other.date = "2026-01-15T08:30:01Z"
        #expect(try !other.isRight(for: key))
        let stranger = P256.Signing.PrivateKey().publicKey.x963Representation
        #expect(try !Self.post.isRight(for: Bytes(stranger)))
        #expect(try !Self.post.isRight(for: [1, 2, 3]))
    }

    @Test func theDateMustBeNear() throws {
        let signature = try Self.post.signature()
        for minutes: Int64 in [-10, 10] {
            #expect(signature.isCurrent(now: Self.now + minutes * 60_000))
            #expect(!signature.isCurrent(now: Self.now + minutes * 66_000))
        }
    }

    /// Clients differ in what they sign; each form is taken, and a proxy's prefix is no part of it.
    @Test(arguments: [true, false], [true, false])
    func eachFormOfTheMessageIsTaken(hashesNothing: Bool, signsQuery: Bool) throws {
        let key = P256.Signing.PrivateKey()
        let path = Self.path + "/users/caller"
        let hash = hashesNothing ? "" : Base64.encode(SHA256.hash(data: Bytes()))
        let signed = signsQuery ? path + "?a=b" : path
        let message = Bytes("2026-01-15T08:30:00Z:\(hash):\(signed)".utf8)
        let signature = try key.signature(for: message)
        for bytes in [signature.derRepresentation, signature.rawRepresentation] {
            let vector = Vector(
                target: "/proxy" + path + "?a=b",
                body: [],
                signature: Base64.encode(bytes)
            )
            #expect(try vector.isRight(for: Bytes(key.publicKey.x963Representation)))
        }
    }

    private func refusal(_ target: String, _ headers: [String: String] = [:]) -> WebError.Code? {
        do {
            _ = try WebCredentials(target: target) { headers[$0] }
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aRequestShowsOneThing() throws {
        let headers = [
            "x-apple-cloudkit-request-keyid": Self.keyID,
            "x-apple-cloudkit-request-signaturev1": "AA==",
            "x-apple-cloudkit-request-iso8601date": "2026-01-15T08:30:00Z",
        ]
        #expect(refusal("/a") == .authenticationFailed)
        #expect(refusal("/a", headers) == nil)
        #expect(refusal("/a?ckAPIToken=x") == nil)
        #expect(refusal("/a?ckAPIToken=x", headers) == .authenticationFailed)
        for name in headers.keys {
            var lacking = headers
            lacking[name] = nil
            #expect(refusal("/a", lacking) == .authenticationFailed, "\(name)")
            lacking[name] = "?"
            #expect(refusal("/a", lacking) == .authenticationFailed, "\(name)")
        }
        let tokens = try WebCredentials(target: "/a?ckAPIToken=x&ckWebAuthToken=a%252Bb") { _ in nil
        }
        guard case .tokens(let api, let user) = tokens else {
            Issue.record("tokens were taken for a signature")
            return
        }
        #expect(api == ["x"])
        #expect(user.contains("a+b"))
        for date in ["2026-01-15T08:30:00.000Z", "2026-01-15T08:30:00+01:00", "2026-01-15"] {
            var wrong = headers
            wrong["x-apple-cloudkit-request-iso8601date"] = date
            #expect(refusal("/a", wrong) == .authenticationFailed, "\(date)")
        }
    }

    @Test func anAccessTokenIsReadFromTheHeaderAlone() throws {
        let token = "cumulus_5ff8eb68"
        func credentials(_ header: String, _ target: String = "/a") throws -> WebCredentials {
            try WebCredentials(target: target) { $0 == "authorization" ? header : nil }
        }
        for header in ["Bearer \(token)", "bearer \(token)", "BEARER   \(token)"] {
            guard case .bearer(let read) = try credentials(header) else {
                Issue.record("\(header) was taken for something else")
                continue
            }
            #expect(read == token)
        }
        for header in ["Bearer ", "Bearer a b", "Basic \(token)", token, ""] {
            #expect(throws: WebError.self, "\(header)") { try credentials(header) }
        }
        #expect(throws: WebError.self) {
            try credentials("Bearer \(token)", "/a?ckAPIToken=x")
        }
        // A proxy's own password is no credential, and stands in nobody's way.
        guard case .tokens = try credentials("Basic YTpi", "/a?ckAPIToken=x") else {
            Issue.record("the API token was not read")
            return
        }
    }
}
