// The history of notifications and the marks of what is read, on a real node and a real socket.

import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.timeLimit(.minutes(1))) struct NotificationTests {
    private func note(_ name: String) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        record["stars"] = 5
        return record
    }

    /// A connection of a user who subscribes to notes, and has saved some of these names since.
    private func client(
        _ server: TestServer,
        user: String = "ada",
        saving names: [String] = []
    ) async throws -> RawClient {
        let client = try RawClient(
            greeting: server.endpoint,
            token: try await server.makeUser(user)
        )
        try client.save([note("first")])
        let subscription = Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: .field("stars") > Int64(1))
        )
        let request = ModifySubscriptionsRequest(
            database: .private,
            saves: [WireSubscription(subscription)],
            deletes: []
        )
        let answer = try client.perform(
            .subscriptionsModify,
            request.encoded(),
            requestID: RawRequest.newID()
        )
        #expect(try ModifySubscriptionsResponse(wire: answer[0]).saves.map { $0?.code } == [nil])
        for name in names { try client.save([note(name)]) }
        return client
    }

    /// Reads a whole history: names, with a star for what is read.
    private func history(
        _ client: RawClient
    ) throws -> (told: [String], ids: [Bytes], token: Bytes) {
        let request = FollowFeedRequest(token: [], untilCheckpoint: true, isHistory: true)
        let pages = try client.perform(.feedsFollow, request.encoded())
            .map { try WireFeedPage(wire: $0) }
        let all = pages.flatMap(\.notifications)
        let last = try #require(pages.last)
        #expect(last.isCheckpoint && pages.allSatisfy { $0.reset == nil })
        let told = all.map { notification -> String in
            guard case .record(let news) = notification.news else { return "?" }
            return news.recordID.recordName + (notification.isRead ? "*" : "")
        }
        return (told, all.map(\.id.bytes), last.token)
    }

    @discardableResult
    private func mark(
        _ client: RawClient,
        _ ids: [Bytes] = [],
        upTo token: Bytes = [],
        requestID: Bytes = RawRequest.newID()
    ) throws -> [Bytes] {
        let request = MarkReadRequest(ids: ids, token: token)
        return try client.perform(.feedsMarkRead, request.encoded(), requestID: requestID)
    }

    @Test func whatIsMarkedIsReadInTheHistory() async throws {
        try await withServer { server in
            let client = try await client(server, saving: ["a", "b"])
            let (told, ids, token) = try history(client)
            #expect(told == ["a", "b"])
            // By an id, twice with one request id: the answer is the same.
            let requestID = RawRequest.newID()
            for _ in 0..<2 {
                #expect(try mark(client, [ids[1]], requestID: requestID) == [[]])
            }
            #expect(try history(client).told == ["a", "b*"])
            try client.save([note("c")])
            try mark(client, upTo: token)
            #expect(try history(client).told == ["a*", "b*", "c"])
            // What others have read is nothing to this user.
            let other = try await self.client(server, user: "bob", saving: ["a"])
            try mark(other, upTo: history(other).token)
            #expect(try history(other).told == ["a*"])
            #expect(try history(client).told == ["a*", "b*", "c"])
        }
    }

    @Test func requestsThatCanNotBeAreRefused() async throws {
        try await withServer { server in
            let client = try await client(server, saving: ["a"])
            let other = try await self.client(server, user: "bob")
            let id = Bytes(repeating: 1, count: 16)
            let many = try error { try mark(client, Array(repeating: id, count: 401)) }
            #expect(many.code == .limitExceeded && many.reason == .tooManyItems)
            for bytes in [[], Bytes(repeating: 1, count: 15), Bytes(repeating: 1, count: 17)] {
                let refused = try error { try mark(client, [id, bytes]) }
                #expect(refused.code == .invalidArguments && refused.reason == .invalidValue)
            }
            let foreign = try history(other).token
            #expect(try error { try mark(client, upTo: foreign) }.code == .invalidArguments)
            #expect(try error { try mark(client, upTo: [1, 2, 3]) }.code == .changeTokenExpired)
            #expect(try error { try mark(client, [id], requestID: []) }.code == .invalidArguments)
            let anonymous = try RawClient(greeting: server.endpoint)
            #expect(try error { try mark(anonymous, [id]) }.code == .notAuthenticated)
            #expect(try history(client).told == ["a"])
        }
    }

    @Test func theCollectorForgetsWhatIsOlderThanFeedsGoBack() async throws {
        try await withServer { server in
            let client = try await client(server, saving: ["a"])
            var schedule = Collector.Schedule()
            // How long other things are kept is another setting.
            schedule.retentionMilliseconds = -2 * 86_400_000
            try await Collector(server.node, schedule: schedule).forgetFeeds()
            #expect(try history(client).told == ["a"])
            schedule.feedMilliseconds = -2 * 86_400_000
            try await Collector(server.node, schedule: schedule).forgetFeeds()
            #expect(try history(client).told == [])
        }
    }
}
