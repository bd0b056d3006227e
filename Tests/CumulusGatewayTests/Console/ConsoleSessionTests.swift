// The value in the console's cookie: how long it is good, and as bytes.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct ConsoleSessionTests {
    private func session(actor: ConsoleSession.Actor? = nil) -> ConsoleSession {
        ConsoleSession(
            digest: Bytes(repeating: 1, count: 32),
            expires: 1_000_000,
            secret: Bytes(repeating: 2, count: 16),
            actor: actor
        )
    }

    private let actor = ConsoleSession.Actor(
        scope: ScopeID(container: "iCloud.a", environment: .production),
        digest: Bytes(repeating: 3, count: 32),
        user: "_abc",
        isOwn: true
    )

    @Test func itEndsAfterItsTime() {
        var session = session()
        session.expires = 100_000_000
        #expect(session.isGood(now: 99_999_999))
        #expect(!session.isGood(now: 100_000_000))
        // One that claims to be good for longer was made by a wrong clock.
        #expect(session.isGood(now: 100_000_000 - ConsoleSession.life))
        #expect(!session.isGood(now: 100_000_000 - ConsoleSession.life - 60_000))
    }

    @Test func theSecretIsRepeatedAsAWhole() {
        let session = session()
        #expect(session.isRepeated(by: session.header))
        #expect(!session.isRepeated(by: nil))
        #expect(!session.isRepeated(by: ""))
        #expect(!session.isRepeated(by: String(session.header.dropLast())))
    }

    @Test func itReadsBackAndNothingElseDoes() throws {
        for session in [session(), session(actor: actor)] {
            let content = session.content
            #expect(try ConsoleSession(content: content) == session)
            for cut in Damage.truncations(of: content) {
                #expect(throws: MalformedBytes.self) { try ConsoleSession(content: cut) }
            }
            #expect(throws: MalformedBytes.self) { try ConsoleSession(content: content + [0]) }
            var dice = SeededGenerator(seed: 3)
            for _ in 0..<500 {
                _ = try? ConsoleSession(content: Damage.mutation(of: content, using: &dice))
            }
        }
    }

    /// Nodes seal both for browsers.
    @Test func itIsNoTokenOfAUser() throws {
        let token = WebToken(
            session: Bytes(repeating: 1, count: 32),
            scope: actor.scope,
            api: Bytes(repeating: 2, count: 32),
            made: 1,
            isKept: false
        )
        #expect(throws: MalformedBytes.self) { try ConsoleSession(content: token.content) }
        #expect(throws: MalformedBytes.self) { try WebToken(content: session().content) }
    }
}
