// The refusal of a server's key says what is wrong, and nothing about which keys exist.

import Crypto
import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusTesting
import Testing

@Suite struct ServerKeyRefusalTests {
    private static let query = #"{"query": {"recordType": "Note"}}"#
    private static let path = "\(WebUser.base)/public/records/query"

    /// A request with a mistake; without one it is answered.
    private struct Attempt {
        var method = "POST"
        var target = ServerKeyRefusalTests.path
        var body = ServerKeyRefusalTests.query
        /// The text that is signed in place of the target.
        var signed: String?
        /// The difference of the date from now, in milliseconds.
        var offset: Int64 = 0

        func request(by key: TestServiceKey, of cluster: Bytes) throws -> WebRequest {
            let now = (TestServer.environment.wallClock() + offset) / 1_000 * 1_000
            let date = Timestamp(millisecondsSince1970: now).text.replacing(".000Z", with: "Z")
            let hash = Base64.encode(SHA256.hash(data: Bytes(body.utf8)))
            let signature = try key.sign(Bytes("\(date):\(hash):\(signed ?? target)".utf8))
            let headers = [
                "x-apple-cloudkit-request-keyid": cluster.hex + key.registered.id.hex,
                "x-apple-cloudkit-request-iso8601date": date,
                "x-apple-cloudkit-request-signaturev1": Base64.encode(signature),
            ]
            return WebRequest(method, target, headers: headers, body: Bytes(body.utf8))
        }
    }

    /// A node that knows one key; `ask` returns why a request is refused.
    private func withKey(
        _ body: (
            _ ask: (Attempt, TestServiceKey, Bytes) async throws -> String?,
            _ key: TestServiceKey,
            _ cluster: Bytes
        ) async throws -> Void
    ) async throws {
        try await withWebUser { user, server in
            let key = try TestServiceKey()
            let admin = server.nodeOperator()
            _ = try await admin.addKey(
                key.publicKey,
                label: "test",
                expires: nil,
                in: WebUser.scope.container,
                .development
            )
            await admin.close()
            func ask(
                _ attempt: Attempt,
                _ key: TestServiceKey,
                _ cluster: Bytes
            ) async throws -> String? {
                let answer = try await user.send(try attempt.request(by: key, of: cluster))
                if answer.status == 200 { return nil }
                #expect(answer.status == 401 && answer.code == "AUTHENTICATION_FAILED")
                return try #require(answer.json["reason"]?.string)
            }
            try await body(ask, key, server.node.clusterID)
        }
    }

    @Test func whatIsWrongIsTold() async throws {
        let minutes: Int64 = 60_000
        let mistakes: [(attempt: Attempt, words: [String])] = [
            (Attempt(offset: -11 * minutes), ["date", "10 minutes", "clock"]),
            (Attempt(offset: 11 * minutes), ["date", "10 minutes", "clock"]),
            (Attempt(offset: -2 * 365 * 1_440 * minutes), ["date", "10 minutes", "clock"]),
            (Attempt(signed: "https://node.example" + Self.path), ["signature", "PATH", "host"]),
            (Attempt(signed: Self.path.replacing("query", with: "lookup")), ["signature", "PATH"]),
            (
                Attempt(target: Self.path.replacing("public", with: "private")),
                ["public database", "private"]
            ),
            (
                Attempt(target: Self.path.replacing("public", with: "shared")),
                ["public database", "shared"]
            ),
            (
                Attempt(
                    method: "GET",
                    target: "\(WebUser.base)/public/users/current",
                    body: ""
                ),
                ["users/caller"]
            ),
        ]
        try await withKey { ask, key, cluster in
            #expect(try await ask(Attempt(), key, cluster) == nil)
            for mistake in mistakes {
                let reason = try #require(try await ask(mistake.attempt, key, cluster))
                for word in mistake.words { #expect(reason.contains(word), "\(reason)") }
            }
        }
    }

    /// A stranger gets the same answers, word by word, whether or not a key exists.
    @Test func noKeyIsToldApartFromOneThatIsUnknown() async throws {
        try await withKey { ask, key, cluster in
            let stranger = try TestServiceKey(2)
            let wrong = Attempt(signed: "/else")
            let refused = try await ask(wrong, key, cluster)
            #expect(refused != nil)
            #expect(try await ask(wrong, stranger, cluster) == refused)
            #expect(try await ask(Attempt(), stranger, cluster) == refused)
            #expect(try await ask(Attempt(), key, Bytes(repeating: 1, count: 16)) == refused)
            for attempt in [
                Attempt(target: Self.path.replacing("public", with: "private")),
                Attempt(target: "\(WebUser.base)/public/users/discover", body: "{}"),
            ] {
                let told = try await ask(attempt, key, cluster)
                #expect(try await ask(attempt, stranger, cluster) == told)
            }
        }
    }
}
