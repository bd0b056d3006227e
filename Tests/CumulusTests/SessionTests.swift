// What a client carries from node to node, so that it never sees the past again.

import Testing

@testable import Cumulus

@Suite struct SeenTokensTests {
    @Test func aCallCarriesTheTokensOfOtherNodes() {
        var seen = SeenTokens([[9]])
        #expect(seen.tokens(for: 1) == [[9]])
        seen.note([1], of: 1)
        #expect(seen.tokens(for: 1) == [[9]])
        #expect(seen.tokens(for: 2) == [[9], [1]])
        // Node 2 answered, and says how far it is.
        seen.note([2], of: 2)
        seen.forget([[9], [1]])
        #expect(seen.tokens(for: 1) == [[2]])
        #expect(seen.tokens(for: 2).isEmpty)
        #expect(seen.all == [[2]])
    }

    /// What a node told meanwhile is not forgotten.
    @Test func aNewerTokenStays() {
        var seen = SeenTokens([])
        seen.note([1], of: 1)
        let carried = seen.tokens(for: 2)
        seen.note([3], of: 1)
        seen.forget(carried)
        #expect(seen.tokens(for: 2) == [[3]])
    }

    @Test func aSessionIsOneWord() throws {
        let session = Session(tokens: [[1, 2, 3], [255]])
        #expect(!session.text.contains(" "))
        #expect(Session(text: session.text) == session)
        #expect(Session(text: "") == Session(tokens: []))
        #expect(Session(text: "a b") == nil)
    }
}
