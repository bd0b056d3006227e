// Tokens of feeds that are none, or were made for somebody else: they are refused, and nothing is
// told.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@testable import CumulusNode

@Suite(.timeLimit(.minutes(2))) struct FeedTokenTests {
    /// A connection of a user; in another container or environment if that is said.
    private func connect(
        _ server: TestServer,
        _ token: String,
        container: String = TestServer.container,
        environment: CumulusModel.Environment = .development
    ) throws -> RawClient {
        var hello = Hello()
        hello.container = Bytes(container.utf8)
        hello.environment = UInt32(environment.rawValue)
        hello.token = Bytes(token.utf8)
        let client = try RawClient(server.endpoint)
        try client.send(RawClient.greeting(hello))
        _ = try client.readHello()
        return client
    }

    /// What a feed tells until the device is up to date.
    private func pages(_ client: RawClient, since token: Bytes) throws -> [WireFeedPage] {
        let request = FollowFeedRequest(token: token, untilCheckpoint: true)
        return try client.perform(.feedsFollow, request.encoded())
            .map { try WireFeedPage(wire: $0) }
    }

    /// A token behind which there is news for the user.
    private func token(_ client: RawClient) throws -> Bytes {
        try client.save([Record("first")])
        let predicate = try Query.Predicate(format: "title = 'a note'")
        let kind = Subscription.Kind.query(recordType: "Note", predicate: predicate)
        let request = ModifySubscriptionsRequest(
            database: .private,
            saves: [WireSubscription(Subscription(id: "s", kind: kind))],
            deletes: []
        )
        _ = try client.perform(
            .subscriptionsModify,
            request.encoded(),
            requestID: RawRequest.newID()
        )
        let token = try #require(try pages(client, since: []).last?.token)
        try client.save([Record("news")])
        return token
    }

    private func refusal(_ client: RawClient, _ token: Bytes) throws -> ServiceError.Code {
        try error { _ = try pages(client, since: token) }.code
    }

    // MARK: None

    @Test func aTokenThatIsCutChangedOrMadeUpHasExpired() async throws {
        try await withServer { server in
            let client = try connect(server, try await server.makeUser("ada"))
            let good = try token(client)
            for end in 1..<good.count {
                #expect(try refusal(client, Bytes(good[..<end])) == .changeTokenExpired)
            }
            #expect(try refusal(client, good + [0]) == .changeTokenExpired)
            for place in good.indices {
                var changed = good
                changed[place] ^= 1 << UInt8(place % 8)
                #expect(try refusal(client, changed) == .changeTokenExpired, "byte \(place)")
            }
            var dice = SeededGenerator(seed: 1)
            for _ in 0..<200 {
                let length = Int.random(in: 1...200, using: &dice)
                let made = (0..<length).map { _ in UInt8.random(in: 0...255, using: &dice) }
                #expect(try refusal(client, made) == .changeTokenExpired)
            }
            // It is as good as before.
            let told = try pages(client, since: good)
            #expect(told.flatMap(\.notifications).count == 1 && told.last?.reset == nil)
        }
    }

    /// One of changes is no token of a feed, nor the other way round.
    @Test func aTokenOfAnotherKindHasExpired() async throws {
        try await withServer { server in
            let client = try connect(server, try await server.makeUser("ada"))
            let feed = try token(client)
            func changes(since token: Bytes) throws -> FetchDatabaseChangesResponse {
                let request = FetchDatabaseChangesRequest(
                    database: .private,
                    token: token,
                    limit: 0
                )
                let messages = try client.perform(.changesDatabase, request.encoded())
                return try FetchDatabaseChangesResponse(wire: messages.first ?? [])
            }
            let other = try changes(since: []).token
            #expect(try refusal(client, other) == .changeTokenExpired)
            let refused = try error { _ = try changes(since: feed) }
            #expect(refused.code == .changeTokenExpired)
        }
    }

    // MARK: Of others

    @Test func aTokenOfAnotherUserIsRefused() async throws {
        try await withServer { server in
            let theirs = try token(try connect(server, try await server.makeUser("ada")))
            let client = try connect(server, try await server.makeUser("eve"))
            _ = try token(client)
            #expect(try refusal(client, theirs) == .invalidArguments)
        }
    }

    @Test func aTokenOfAnotherContainerIsRefused() async throws {
        try await withServer { server in
            let admin = server.nodeOperator()
            _ = try await admin.createContainer("iCloud.other")
            await admin.close()
            let user = try await server.makeUser("ada")
            let theirs = try token(try connect(server, user, container: "iCloud.other"))
            let client = try connect(server, user)
            _ = try token(client)
            #expect(try refusal(client, theirs) == .invalidArguments)
        }
    }

    @Test func aTokenOfAnotherEnvironmentHasExpired() async throws {
        try await withServer { server in
            let user = try await server.makeUser("ada")
            let theirs = try token(try connect(server, user))
            let client = try connect(server, user, environment: .production)
            #expect(try refusal(client, theirs) == .changeTokenExpired)
        }
    }

    @Test func aTokenOfAnotherClusterHasExpired() async throws {
        try await withServer { one in
            try await withServer { other in
                let theirs = try token(try connect(one, try await one.makeUser("ada")))
                let client = try connect(other, try await other.makeUser("ada"))
                _ = try token(client)
                #expect(try refusal(client, theirs) == .changeTokenExpired)
            }
        }
    }
}
