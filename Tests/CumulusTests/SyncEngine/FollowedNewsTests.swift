// A sync engine hears of changes through its user's feed, and polls a server without feeds.

import CumulusModel
import CumulusRequests
import CumulusWire
import Synchronization
import Testing

@testable import Cumulus

@Suite(.timeLimit(.minutes(1))) struct FollowedNewsTests {
    /// Follows the news of a server until so many were heard, and a moment longer.
    ///
    /// Returns how many were heard, and the server's calls.
    private func hear(
        _ count: Int,
        _ steps: [ScriptedServer.Step],
        subscriptionID: Subscription.ID = FollowedNews.standardID,
        milliseconds: Int64 = 600_000,
        reminderMilliseconds: Int64 = 600_000
    ) async throws -> (heard: Int, calls: [ScriptedServer.Request]) {
        let server = try await ScriptedServer(steps, user: "ada")
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.timeout = .seconds(50)
        let container = Container(identifier: "iCloud.test", configuration: configuration)
        let news = FollowedNews(
            database: container.privateCloudDatabase,
            subscriptionID: subscriptionID,
            milliseconds: milliseconds,
            reminderMilliseconds: reminderMilliseconds
        )
        let heard = Counter()
        let task = Task { await news.follow { heard.add() } }
        while heard.count < count, !Task.isCancelled {
            try await Task.sleep(for: .milliseconds(1))
        }
        try await Task.sleep(for: .milliseconds(50))
        let result = (heard.count, server.requests)
        task.cancel()
        await task.value
        await container.close()
        try await server.stop()
        return result
    }

    private final class Counter: Sendable {
        private let number = Atomic(0)

        var count: Int { number.load(ordering: .relaxed) }

        func add() { number.add(1, ordering: .relaxed) }
    }

    /// The user has the subscription.
    private static let found = ScriptedServer.Reply.answer(
        FetchSubscriptionsResponse([
            .success(Subscription(id: "cumulus-sync-engine", kind: .database()))
        ]).encoded()
    )
    private static let missing = ScriptedServer.Reply.answer(
        FetchSubscriptionsResponse([.failure(ServiceError(.unknownItem, "none"))]).encoded()
    )

    private func saved(_ error: ServiceError? = nil) -> ScriptedServer.Reply {
        .answer(ModifySubscriptionsResponse(saves: [error], deletes: []).encoded())
    }

    private func methods(_ calls: [ScriptedServer.Request]) -> [Method?] {
        calls.map { Method(rawValue: $0.method) }
    }

    @Test func changesOfTheDatabaseAreHeard() async throws {
        let record = FeedNotification.RecordNews(
            recordID: Record.ID(recordName: "a"),
            recordType: "Note",
            reason: .created,
            transition: .entered
        )
        let pages = [
            ScriptedFeed.page(1),
            ScriptedFeed.page(2, ScriptedFeed.zones(2, in: .public)),
            ScriptedFeed.page(3, ScriptedFeed.notification(3, .record(record))),
            ScriptedFeed.page(4),
            ScriptedFeed.page(5, ScriptedFeed.zones(5)),
            ScriptedFeed.page(6, reset: .all),
        ]
        // The first page, the zones and the reset.
        let (heard, calls) = try await hear(3, [.calls([Self.found, .open(pages)])])
        #expect(heard == 3)
        #expect(methods(calls) == [.subscriptionsFetch, .feedsFollow])
    }

    /// Something may have changed before the feed began, and while there was no connection.
    @Test func aNewConnectionIsHeard() async throws {
        let steps: [ScriptedServer.Step] = [
            .calls([Self.found, .cut([ScriptedFeed.page(1)])]),
            .calls([.open([ScriptedFeed.page(2), ScriptedFeed.page(3)])]),
        ]
        let (heard, calls) = try await hear(2, steps)
        #expect(heard == 2)
        #expect(methods(calls) == [.subscriptionsFetch, .feedsFollow, .feedsFollow])
    }

    @Test(arguments: [
        nil, ServiceError(.serverRejectedRequest, "the app has an equivalent one"),
    ]) func aSubscriptionIsSavedOnce(error: ServiceError?) async throws {
        let replies = [Self.missing, saved(error), .open([ScriptedFeed.page(1)])]
        let (_, calls) = try await hear(1, [.calls(replies)], subscriptionID: "mine")
        #expect(methods(calls) == [.subscriptionsFetch, .subscriptionsModify, .feedsFollow])
        let request = try ModifySubscriptionsRequest(wire: calls[1].message)
        #expect(request.database == UInt32(DatabaseScope.private.rawValue))
        #expect(request.saves.map(\.subscription) == [.init(id: "mine", kind: .database())])
        #expect(request.deletes == [])
    }

    /// An older server, nobody signed in, or no room for one more subscription.
    @Test(
        arguments: [
            [found, .refuse(ServiceError(.invalidArguments, .protocolError, "unknown method"))],
            [.refuse(ServiceError(.notAuthenticated, "nobody is signed in"))],
            [missing, .refuse(ServiceError(.limitExceeded, "one too many"))],
        ] as [[ScriptedServer.Reply]]
    )
    func withoutAFeedTheServerIsAsked(replies: [ScriptedServer.Reply]) async throws {
        let changes = FetchDatabaseChangesResponse(
            changed: [WireZoneID(name: [0x4E], owner: [])],
            deleted: [],
            token: [1],
            moreComing: false
        )
        let step = ScriptedServer.Step.calls(replies + [.answer(changes.encoded())])
        let (heard, calls) = try await hear(3, [step], milliseconds: 1)
        #expect(heard >= 3)
        let asked = methods(calls).dropFirst(replies.count)
        #expect(asked.count >= 3 && asked.allSatisfy { $0 == .changesDatabase })
    }

    /// The engine's own fetch meets the error, and tells it.
    @Test(arguments: [.notAuthenticated, .permissionFailure, .badDatabase] as [ServiceError.Code])
    func aLastingRefusalEndsTheQuestions(code: ServiceError.Code) async throws {
        let refusals = [ScriptedServer.Reply.refuse(ServiceError(code, "not for this caller"))]
        let (heard, calls) = try await hear(1, [.calls(refusals)], milliseconds: 1)
        #expect(heard == 1)
        #expect(methods(calls) == [.subscriptionsFetch, .changesDatabase])
    }

    /// What passes is asked again, at the interval.
    @Test func aPassingRefusalIsAskedAgain() async throws {
        let changes = FetchDatabaseChangesResponse(
            changed: [WireZoneID(name: [0x4E], owner: [])],
            deleted: [],
            token: [1],
            moreComing: false
        )
        let replies: [ScriptedServer.Reply] = [
            Self.missing, .refuse(ServiceError(.limitExceeded, "one too many")),
            .refuse(ServiceError(.requestRateLimited, "later")), .answer(changes.encoded()),
        ]
        let (heard, calls) = try await hear(2, [.calls(replies)], milliseconds: 1)
        #expect(heard >= 2)
        let asked = methods(calls).dropFirst(2)
        #expect(asked.count >= 3 && asked.allSatisfy { $0 == .changesDatabase })
    }

    /// What passes is tried again, from now: the new stream is heard.
    @Test func aFeedThatEndsIsBegunAgain() async throws {
        let expired = ServiceError(.changeTokenExpired, "no")
        let replies: [ScriptedServer.Reply] = [
            Self.found, .ended([ScriptedFeed.page(1)], expired),
            Self.found, .open([ScriptedFeed.page(2)]),
        ]
        let (heard, calls) = try await hear(2, [.calls(replies)], milliseconds: 1)
        #expect(heard == 2)
        let tokens = try calls.filter { $0.method == Method.feedsFollow.rawValue }
            .map { try FollowFeedRequest(wire: $0.message).token }
        #expect(tokens == [[], []])
    }

    /// A subscription that was deleted tells nothing: fetches go on, rarely.
    @Test func thereAreRemindersBesidesTheFeed() async throws {
        let steps = [ScriptedServer.Step.calls([Self.found, .open([ScriptedFeed.page(1)])])]
        let (heard, calls) = try await hear(4, steps, reminderMilliseconds: 5)
        #expect(heard >= 4)
        #expect(methods(calls) == [.subscriptionsFetch, .feedsFollow])
    }
}
