// Tokens of users' sessions in browsers: where and how long they are good, and as bytes.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebTokenTests {
    private let scope = ScopeID(container: "iCloud.a", environment: .production)
    private let api = Bytes(repeating: 2, count: 32)

    private func token(isKept: Bool = false, seen: WebSeen? = nil) -> WebToken {
        WebToken(
            session: Bytes(repeating: 1, count: 32),
            scope: scope,
            api: api,
            made: 1_000_000,
            isKept: isKept,
            seen: seen
        )
    }

    @Test func itIsGoodForItsAppAndItsTime() {
        let token = token()
        let development = ScopeID(container: "iCloud.a", environment: .development)
        #expect(token.isGood(in: scope, api: api, now: 1_000_000))
        #expect(token.isGood(in: scope, api: api, now: 1_000_000 + WebToken.idle - 1))
        #expect(!token.isGood(in: scope, api: api, now: 1_000_000 + WebToken.idle))
        #expect(!token.isGood(in: development, api: api, now: 1_000_000))
        #expect(!token.isGood(in: scope, api: [1], now: 1_000_000))
        #expect(token.isGood(in: scope, api: api, now: 1_000_000 - 59_999))
        #expect(!token.isGood(in: scope, api: api, now: 1_000_000 - 60_000))
        let kept = self.token(isKept: true)
        #expect(kept.isGood(in: scope, api: api, now: 1_000_000 + WebToken.kept - 1))
        #expect(!kept.isGood(in: scope, api: api, now: 1_000_000 + WebToken.kept))
    }

    @Test func itReadsBackAndNothingElseDoes() throws {
        let seen = WebSeen(token: [1, 2, 3], made: 999_000)
        for token in [token(), token(isKept: true), token(seen: seen)] {
            let content = token.content
            #expect(try WebToken(content: content) == token)
            for cut in Damage.truncations(of: content) {
                #expect(throws: MalformedBytes.self) { try WebToken(content: cut) }
            }
            #expect(throws: MalformedBytes.self) { try WebToken(content: content + [0]) }
            var dice = SeededGenerator(seed: 3)
            for _ in 0..<500 {
                _ = try? WebToken(content: Damage.mutation(of: content, using: &dice))
            }
        }
    }

    @Test func whatWasSeenCountsForItsScopeAndItsTime() throws {
        let seen = WebSeen(token: [1, 2, 3], made: 1_000_000)
        #expect(seen.isGood(now: 1_000_000 + WebSeen.time - 1))
        #expect(!seen.isGood(now: 1_000_000 + WebSeen.time))
        #expect(!seen.isGood(now: 1_000_000 - 60_000))
        let content = seen.content(in: scope)
        #expect(try WebSeen(content: content, in: scope) == seen)
        let development = ScopeID(container: "iCloud.a", environment: .development)
        #expect(throws: MalformedBytes.self) { try WebSeen(content: content, in: development) }
        for cut in Damage.truncations(of: content) + [content + [0]] {
            #expect(throws: MalformedBytes.self) { try WebSeen(content: cut, in: scope) }
        }
        #expect(throws: MalformedBytes.self) { try WebSeen(content: token().content, in: scope) }
        #expect(throws: MalformedBytes.self) { try WebToken(content: content) }
    }

    @Test func anAPITokenAdmitsItsOrigins() {
        #expect(WebAPIToken(scope: scope).admits(origin: "https://a"))
        let bound = WebAPIToken(scope: scope, origins: ["https://a"])
        #expect(bound.admits(origin: "https://a"))
        #expect(!bound.admits(origin: "https://a.b"))
    }
}
