// What the sign-in page seals: it reads back, nothing else does, and its time is bounded.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct SignInStateTests {
    private static let browser = Bytes(repeating: 5, count: 32)

    private static func state(_ step: SignInState.Step) -> SignInState {
        SignInState(
            scope: ScopeID(container: "iCloud.a", environment: .production),
            api: Bytes(repeating: 2, count: 32),
            origin: "https://app.example.com",
            step: step,
            made: 1_000_000_000
        )
    }

    static let states: [SignInState] = [
        state(.link), state(.form(browser: browser)),
        state(
            .provider(
                browser: browser,
                SignInState.Errand(
                    issuer: "https://id.example.org",
                    verifier: "v",
                    nonce: "n",
                    isKept: true
                )
            )
        ),
    ]

    @Test(arguments: states)
    func itReadsBackAndNothingElseDoes(state: SignInState) throws {
        let content = state.content
        #expect(try SignInState(content: content) == state)
        for cut in Damage.truncations(of: content) {
            #expect(throws: MalformedBytes.self) { try SignInState(content: cut) }
        }
        #expect(throws: MalformedBytes.self) { try SignInState(content: content + [0]) }
        var dice = SeededGenerator(seed: 5)
        for _ in 0..<1_000 {
            _ = try? SignInState(content: Damage.mutation(of: content, using: &dice))
        }
        // The token of a session is sealed for the same purpose.
        #expect(throws: MalformedBytes.self) { try WebToken(content: content) }
    }

    @Test func aTokenIsNoState() {
        let state = Self.states[0]
        let token = WebToken(
            session: state.api,
            scope: state.scope,
            api: state.api,
            made: state.made,
            isKept: true
        )
        #expect(throws: MalformedBytes.self) { try SignInState(content: token.content) }
    }

    /// Apps renew links every 14 minutes.
    @Test(arguments: zip(states, [20, 10, 20] as [Int64]))
    func itIsGoodForAWhile(state: SignInState, minutes: Int64) {
        let end = state.made + minutes * 60_000
        #expect(state.isFresh(now: state.made) && state.isFresh(now: end - 1))
        #expect(!state.isFresh(now: end))
        #expect(state.isFresh(now: state.made - 59_999) && !state.isFresh(now: state.made - 60_000))
    }
}
