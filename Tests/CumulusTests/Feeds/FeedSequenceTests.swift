// What the client makes of a feed's pages: on which connection it goes on, from where, and what it
// leaves out.

import Cumulus
import CumulusModel
import CumulusRequests
import CumulusWire
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct FeedSequenceTests {
    private func withFeed(
        _ steps: [ScriptedServer.Step],
        since token: FeedToken? = nil,
        isHistory: Bool = false,
        _ body: (ScriptedServer, FeedSequence) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer(steps, user: "ada")
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.timeout = .seconds(50)
        let container = Container(identifier: "iCloud.test", configuration: configuration)
        let result: Result<Void, any Error>
        do {
            let feed =
                isHistory
                ? container.notificationHistory(since: token)
                : container.notifications(since: token)
            result = .success(try await body(server, feed))
        } catch {
            result = .failure(error)
        }
        await container.close()
        try await server.stop()
        try result.get()
    }

    private func tokens(of server: ScriptedServer) throws -> [Bytes] {
        try server.requests.map { try FollowFeedRequest(wire: $0.message).token }
    }

    @Test func aLostConnectionIsFollowedByAnotherOne() async throws {
        let token = try #require(FeedToken(text: "CQ=="))
        let first = ScriptedServer.Step.calls([
            .cut([
                ScriptedFeed.page(1, ScriptedFeed.zones(1), isCheckpoint: false),
                ScriptedFeed.page(2, ScriptedFeed.zones(2), isCheckpoint: false),
            ])
        ])
        // It begins where the device was up to date: what it was told since comes again.
        let second = ScriptedServer.Step.calls([
            .open([
                ScriptedFeed.page(3, ScriptedFeed.zones(1), ScriptedFeed.zones(3)),
                ScriptedFeed.page(4, ScriptedFeed.zones(1)),
            ])
        ])
        try await withFeed([first, second], since: token) { server, feed in
            var told: [[UInt8]] = []
            var checkpoints: [Bool] = []
            for try await page in feed {
                told.append(page.notifications.map { $0.id.bytes[0] })
                checkpoints.append(page.isUpToDate)
                #expect(page.reset == nil)
                if told.count == 4 { break }
            }
            // Behind a checkpoint an id is not remembered any more.
            #expect(told == [[1], [2], [3], [1]])
            #expect(checkpoints == [false, false, true, true])
            #expect(try tokens(of: server) == [[9], [2]])
            #expect(server.requests.allSatisfy { $0.method == Method.feedsFollow.rawValue })
        }
    }

    /// It says how a record stands, which may be another way by now: it is told again.
    @Test func uncertainNewsIsNotLeftOut() async throws {
        func page(_ transition: FeedNotification.Transition, isCheckpoint: Bool) -> Bytes {
            let news = FeedNotification.RecordNews(
                recordID: Record.ID(recordName: "oslo"),
                recordType: "City",
                reason: .updated,
                transition: transition
            )
            let notification = ScriptedFeed.notification(1, .record(news))
            return ScriptedFeed.page(1, notification, isCheckpoint: isCheckpoint)
        }
        let steps = [
            ScriptedServer.Step.calls([.cut([page(.uncertainMatch, isCheckpoint: false)])]),
            .calls([.open([page(.uncertainMiss, isCheckpoint: true)])]),
        ]
        try await withFeed(steps) { _, feed in
            var iterator = feed.makeAsyncIterator()
            let first = try await iterator.next()
            #expect(first?.notifications.count == 1)
            let second = try await iterator.next()
            guard case .record(let news)? = second?.notifications.first?.news else {
                Issue.record("nothing was told: \(String(describing: second))")
                return
            }
            #expect(news.transition == .uncertainMiss)
        }
    }

    /// Another node tells the same in other pieces: the last one must count.
    @Test func ofAChangedRecordNothingIsLeftOut() async throws {
        func told(
            _ id: UInt8,
            _ name: String,
            _ transition: FeedNotification.Transition
        ) -> FeedNotification {
            let news = FeedNotification.RecordNews(
                recordID: Record.ID(recordName: name),
                recordType: "City",
                reason: .updated,
                transition: transition
            )
            return ScriptedFeed.notification(id, .record(news))
        }
        let (oslo, lund) = (told(2, "oslo", .stayed), told(3, "lund", .entered))
        let steps = [
            ScriptedServer.Step.calls([
                .cut([ScriptedFeed.page(1, oslo, lund, isCheckpoint: false)])
            ]),
            .calls([
                .open([ScriptedFeed.page(1, told(1, "oslo", .left), oslo, lund)])
            ]),
        ]
        try await withFeed(steps) { _, feed in
            var iterator = feed.makeAsyncIterator()
            let first = try await iterator.next()
            #expect(first?.notifications.count == 2)
            let second = try await iterator.next()
            #expect(second?.notifications.map { $0.id.bytes[0] } == [1, 2])
        }
    }

    /// Over a lost connection it stays one, and it ends where the device is up to date.
    @Test func aHistoryEnds() async throws {
        let first = ScriptedServer.Step.calls([
            .cut([ScriptedFeed.page(1, ScriptedFeed.zones(1), isCheckpoint: false)])
        ])
        let second = ScriptedServer.Step.calls([
            .open([ScriptedFeed.page(2, ScriptedFeed.zones(1), ScriptedFeed.zones(2))])
        ])
        try await withFeed([first, second], isHistory: true) { server, feed in
            var told: [[UInt8]] = []
            for try await page in feed { told.append(page.notifications.map { $0.id.bytes[0] }) }
            #expect(told == [[1], [2]])
            let requests = try server.requests.map { try FollowFeedRequest(wire: $0.message) }
            #expect(requests.map(\.token) == [[], [1]])
            #expect(requests.allSatisfy { $0.isHistory && $0.untilCheckpoint })
        }
    }

    @Test func pagesCarryResetsAndTokens() async throws {
        let names = [SubscriptionName(databaseScope: .private, subscriptionID: "s")]
        let pages = [
            ScriptedFeed.page(7, reset: .subscriptions(names)), ScriptedFeed.page(8, reset: .all),
        ]
        try await withFeed([.calls([.open(pages)])]) { server, feed in
            var iterator = feed.makeAsyncIterator()
            let first = try #require(try await iterator.next())
            #expect(first.reset == .subscriptions(names) && first.notifications.isEmpty)
            #expect(first.token == FeedToken(text: "Bw=="))
            let second = try await iterator.next()
            #expect(second?.reset == .all)
            #expect(try tokens(of: server) == [[]])
        }
    }

    @Test(arguments: [
        ServiceError.Code.notAuthenticated, .invalidArguments, .changeTokenExpired,
    ]) func aRefusalEndsTheSequence(code: ServiceError.Code) async throws {
        let refusal = ScriptedServer.Reply.refuse(ServiceError(code, "no"))
        try await withFeed([.calls([refusal])]) { server, feed in
            let error = await #expect(throws: ServiceError.self) { for try await _ in feed {} }
            #expect(error?.code == code)
            #expect(server.calls == 1)
        }
    }

    /// A node that shuts down, or has no room, ends the stream: it goes on.
    @Test func errorsThatPassDoNotEndIt() async throws {
        let page = ScriptedFeed.page(1, ScriptedFeed.zones(1))
        let replies: [ScriptedServer.Reply] = [
            .refuse(ServiceError(.serviceUnavailable, .draining, "bye")),
            .ended([page], ServiceError(.requestRateLimited, .overloaded, "full")),
            .open([ScriptedFeed.page(2, ScriptedFeed.zones(2))]),
        ]
        try await withFeed([.calls(replies)]) { server, feed in
            var iterator = feed.makeAsyncIterator()
            for _ in 0..<2 {
                let page = try await iterator.next()
                #expect(page?.notifications.count == 1)
            }
            #expect(try tokens(of: server) == [[], [], [1]])
        }
    }

    @Test func aCancelledTaskLeavesIt() async throws {
        try await withFeed([.calls([.open([ScriptedFeed.page(1)])])]) { server, feed in
            let task = Task { for try await _ in feed {} }
            while server.calls == 0 { try await Task.sleep(for: .milliseconds(1)) }
            task.cancel()
            let error = await #expect(throws: ServiceError.self) { try await task.value }
            #expect(error?.code == .operationCancelled)
        }
    }

    @Test func aTokenIsKeptAsText() throws {
        let token = try #require(FeedToken(text: "AQID"))
        #expect(token.text == "AQID")
        let data = try JSONEncoder().encode([token])
        #expect(String(decoding: data, as: UTF8.self) == #"["AQID"]"#)
        #expect(try JSONDecoder().decode([FeedToken].self, from: data) == [token])
        #expect(FeedToken(text: "") == nil && FeedToken(text: "?") == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([FeedToken].self, from: Data(#"["?"]"#.utf8))
        }
    }
}

/// Pages of a feed as a node sends them.
enum ScriptedFeed {
    static func page(
        _ token: UInt8,
        _ notifications: FeedNotification...,
        isCheckpoint: Bool = true,
        reset: FeedReset? = nil
    ) -> Bytes {
        WireFeedPage(
            notifications: notifications,
            token: [token],
            isCheckpoint: isCheckpoint,
            reset: reset
        ).encoded()
    }

    static func zones(
        _ number: UInt8,
        in database: DatabaseScope = .private
    ) -> FeedNotification {
        notification(number, .zones([RecordZone.ID(zoneName: "Notes")], more: false), database)
    }

    static func notification(
        _ number: UInt8,
        _ news: FeedNotification.News,
        _ database: DatabaseScope = .private
    ) -> FeedNotification {
        FeedNotification(
            id: FeedNotification.ID(bytes: Bytes(repeating: number, count: 16)),
            subscriptionID: "s",
            databaseScope: database,
            news: news,
            changedAt: Timestamp(millisecondsSince1970: 0)
        )
    }
}
