// What a client carries from node to node, so that it never sees the past again.

import CumulusModel
import CumulusTesting
import Testing

@testable import Cumulus

@Suite struct SeenTokensTests {
    @Test func aCallCarriesTheTokensOfOtherNodes() {
        var seen = SeenTokens([[9]])
        #expect(seen.tokens(for: 1) == [[9]])
        seen.note([1], of: 1, over: 1)
        #expect(seen.tokens(for: 1) == [[9]])
        #expect(seen.tokens(for: 2) == [[9], [1]])
        // Node 2 answered, and says how far it is.
        seen.note([2], of: 2, over: 2)
        seen.forget([[9], [1]], coveredBy: 2)
        #expect(seen.tokens(for: 1) == [[2]])
        #expect(seen.tokens(for: 2).isEmpty)
        #expect(seen.all == [[2]])
    }

    /// What a node told meanwhile is not forgotten.
    @Test func aNewerTokenStays() {
        var seen = SeenTokens([])
        seen.note([1], of: 1, over: 1)
        let carried = seen.tokens(for: 2)
        seen.note([3], of: 1, over: 1)
        seen.forget(carried, coveredBy: 2)
        #expect(seen.tokens(for: 2) == [[3]])
    }

    /// Over two connections to one node, what is older may come later.
    @Test func ofTwoConnectionsBothTokensStay() {
        var seen = SeenTokens([])
        seen.note([5], of: 1, over: 1)
        seen.note([3], of: 1, over: 2)
        #expect(Set(seen.tokens(for: 2)) == [[5], [3]])
        #expect(seen.tokens(for: 1).isEmpty)
        // One that was begun after the end of another brings what is newer.
        seen.end(2, before: 4)
        seen.note([4], of: 1, over: 3)
        #expect(Set(seen.tokens(for: 2)) == [[5], [3], [4]])
        seen.end(1, before: 4)
        seen.note([6], of: 1, over: 4)
        #expect(Set(seen.tokens(for: 2)) == [[4], [6]])
    }

    /// A node where nothing was committed meanwhile tells the token that the call brought.
    @Test func theTokenOfTheNodeThatAnswersStays() {
        var seen = SeenTokens([[9], [1]])
        let carried = seen.tokens(for: 1)
        seen.note([1], of: 1, over: 1)
        seen.forget(carried, coveredBy: 1)
        #expect(seen.all == [[1]])
        #expect(seen.tokens(for: 2) == [[1]])
    }

    /// A call carries 64 tokens at most; more go ahead.
    @Test func aSessionOfManyTokensIsGood() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let reader = server.container(token: token)
        for number in 0..<70 {
            let writer = server.container(token: token)
            let id = Record.ID(recordName: "\(number)")
            try await writer.privateCloudDatabase.save(Record(recordType: "Note", recordID: id))
            reader.join(writer.session)
            await writer.close()
        }
        let id = Record.ID(recordName: "69")
        #expect(try await reader.privateCloudDatabase.record(for: id).recordID == id)
        // The answer's token covers them.
        #expect(reader.session.text.utf8.count < 1_000)
        await reader.close()
        try await server.stop()
    }

    /// Commands follow each other, and each begins with the session of the previous one.
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
