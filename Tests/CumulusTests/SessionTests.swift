// What a client carries from node to node, so that it never sees the past again.

import CumulusModel
import CumulusTesting
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
        seen.forget([[9], [1]], coveredBy: 2)
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
        seen.forget(carried, coveredBy: 2)
        #expect(seen.tokens(for: 2) == [[3]])
    }

    /// A node where nothing was committed meanwhile tells the token that the call brought.
    @Test func theTokenOfTheNodeThatAnswersStays() {
        var seen = SeenTokens([[9], [1]])
        let carried = seen.tokens(for: 1)
        seen.note([1], of: 1)
        seen.forget(carried, coveredBy: 1)
        #expect(seen.all == [[1]])
        #expect(seen.tokens(for: 2) == [[1]])
    }

    /// One command after the other, each of which begins with what the last one saw.
    @Test func aSessionOutlivesReadsOfOneNode() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let id = Record.ID(recordName: "first")
        let writer = server.container(token: token)
        try await writer.privateCloudDatabase.save(Record(recordType: "Note", recordID: id))
        var session = writer.session
        await writer.close()
        for _ in 0..<4 {
            let reader = server.container(token: token)
            reader.join(session)
            _ = try await reader.privateCloudDatabase.record(for: id)
            session = reader.session
            await reader.close()
            #expect(!session.text.isEmpty)
        }
        try await server.stop()
    }

    @Test func aSessionIsOneWord() throws {
        let session = Session(tokens: [[1, 2, 3], [255]])
        #expect(!session.text.contains(" "))
        #expect(Session(text: session.text) == session)
        #expect(Session(text: "") == Session(tokens: []))
        #expect(Session(text: "a b") == nil)
    }
}
