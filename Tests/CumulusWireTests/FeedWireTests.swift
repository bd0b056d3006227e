// Pages of feeds: each form to bytes and back, and what a later release may send.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

@Suite struct FeedWireTests {
    private typealias News = FeedNotification.News
    private typealias RecordNews = FeedNotification.RecordNews

    private static func text(using dice: inout SeededGenerator) -> String {
        ["", "a", "Grüße", "漢字", String(repeating: "n", count: 300)]
            .randomElement(using: &dice) ?? ""
    }

    private static func zone(using dice: inout SeededGenerator) -> RecordZone.ID {
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: .default
        case 1: RecordZone.ID(zoneName: text(using: &dice))
        default: RecordZone.ID(zoneName: text(using: &dice), ownerName: "_u2")
        }
    }

    private static func name(using dice: inout SeededGenerator) -> SubscriptionName {
        SubscriptionName(
            databaseScope: DatabaseScope.allCases.randomElement(using: &dice) ?? .private,
            subscriptionID: text(using: &dice)
        )
    }

    private static func news(using dice: inout SeededGenerator) -> News {
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: return .zoneDeleted(zone(using: &dice))
        case 1:
            let zones = (0..<Int.random(in: 0...4, using: &dice)).map { _ in zone(using: &dice) }
            return .zones(zones, more: Bool.random(using: &dice))
        default:
            let number = UInt32.random(in: 1...5, using: &dice)
            return .record(
                RecordNews(
                    recordID: Record.ID(recordName: text(using: &dice), zoneID: zone(using: &dice)),
                    recordType: text(using: &dice),
                    reason: FeedNotification.Reason(rawValue: number) ?? .updated,
                    transition: FeedNotification.Transition(rawValue: number) ?? .stayed,
                    fields: RandomFields.fields(upTo: 3, using: &dice)
                )
            )
        }
    }

    private static func info(
        using dice: inout SeededGenerator
    ) -> Subscription.NotificationInfo? {
        guard Bool.random(using: &dice) else { return nil }
        var info = Subscription.NotificationInfo()
        info.alertLocalizationKey = "x" + text(using: &dice)
        info.alertLocalizationArgs = [text(using: &dice), text(using: &dice)]
        info.shouldBadge = Bool.random(using: &dice)
        return info
    }

    private static func notification(using dice: inout SeededGenerator) -> FeedNotification {
        let name = name(using: &dice)
        return FeedNotification(
            id: FeedNotification.ID(
                bytes: (0..<16).map { _ in .random(in: 0...255, using: &dice) }
            ),
            subscriptionID: name.subscriptionID,
            databaseScope: name.databaseScope,
            news: news(using: &dice),
            notificationInfo: info(using: &dice),
            isPruned: Bool.random(using: &dice),
            changedBy: Bool.random(using: &dice) ? nil : Record.ID(recordName: "_u2"),
            changedAt: Timestamp(millisecondsSince1970: Int64(bitPattern: dice.next())),
            isRead: Bool.random(using: &dice)
        )
    }

    private static func reset(using dice: inout SeededGenerator) -> FeedReset? {
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: nil
        case 1: .all
        default:
            .subscriptions(
                (0..<Int.random(in: 0...3, using: &dice)).map { _ in name(using: &dice) }
            )
        }
    }

    @Test func pagesComeBack() throws {
        for seed in UInt64(1)...500 {
            var dice = SeededGenerator(seed: seed)
            let count = Int.random(in: 0...4, using: &dice)
            let page = WireFeedPage(
                notifications: (0..<count).map { _ in Self.notification(using: &dice) },
                token: Bytes(repeating: 7, count: Int.random(in: 0...40, using: &dice)),
                isCheckpoint: Bool.random(using: &dice),
                reset: Self.reset(using: &dice)
            )
            let bytes = page.encoded()
            #expect(LibraryCodec.messages["FeedPage"]?(bytes)?.hex == bytes.hex)
            #expect(try WireFeedPage(wire: bytes) == page)
            // The bytes of a notification are the same on every page.
            let alone = page.notifications.map { WireNotification($0).encoded() }
            let joined = FeedPage(
                notifications: alone,
                token: page.token,
                isCheckpoint: page.isCheckpoint,
                reset: page.reset
            ).encoded()
            #expect(joined == bytes)
        }
    }

    @Test func requestsComeBack() throws {
        for token: Bytes in [[], [1, 2, 3]] {
            for untilCheckpoint in [false, true] {
                for isHistory in [false, true] {
                    let request = FollowFeedRequest(
                        token: token,
                        untilCheckpoint: untilCheckpoint,
                        isHistory: isHistory
                    )
                    let bytes = request.encoded()
                    #expect(LibraryCodec.messages["FollowFeedRequest"]?(bytes)?.hex == bytes.hex)
                    #expect(try FollowFeedRequest(wire: bytes) == request)
                }
            }
        }
    }

    @Test func marksComeBack() throws {
        let id = Bytes(0..<16)
        let requests = [
            MarkReadRequest(ids: []), MarkReadRequest(ids: [id, [], [1]], token: [7]),
            MarkReadRequest(ids: Array(repeating: id, count: 400)),
        ]
        for request in requests {
            let bytes = request.encoded()
            #expect(LibraryCodec.messages["MarkReadRequest"]?(bytes)?.hex == bytes.hex)
            #expect(try MarkReadRequest(wire: bytes) == request)
        }
        let golden = try MarkReadRequest(wire: Golden("MarkReadRequest").bytes)
        #expect(golden.ids == [id, Bytes(id.reversed())])
        #expect(golden.token == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func aHistoryTellsWhatIsRead() throws {
        let request = try FollowFeedRequest(wire: Golden("FollowFeedRequest-history").bytes)
        #expect(request.token == [] && request.untilCheckpoint && request.isHistory)
        let read = try WireFeedPage(wire: Golden("FeedPage-read").bytes).notifications
        #expect(read.map(\.isRead) == [true])
        let other = try WireFeedPage(wire: Golden("FeedPage-zones").bytes).notifications
        #expect(other.map(\.isRead) == [false, false])
    }

    /// Not only bytes that come back: each part is where the contract has it.
    @Test func everyPartOfANotification() throws {
        let page = try WireFeedPage(wire: Golden("FeedPage").bytes)
        #expect(page.token == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(!page.isCheckpoint && page.reset == nil)
        let notification = try #require(page.notifications.first)
        #expect(notification.id.description == "000102030405060708090a0b0c0d0e0f")
        #expect(notification.subscriptionID == "large")
        #expect(notification.databaseScope == .private)
        let news = RecordNews(
            recordID: WireSamples.oslo,
            recordType: "City",
            reason: .updated,
            transition: .entered,
            fields: ["name": "Oslo", "population": 709_037]
        )
        #expect(notification.news == .record(news))
        var info = Subscription.NotificationInfo()
        info.alertLocalizationKey = "NEW_CITY"
        info.alertLocalizationArgs = ["Oslo"]
        info.shouldBadge = true
        #expect(notification.notificationInfo == info)
        #expect(notification.isPruned)
        #expect(notification.changedBy == Record.ID(recordName: "_u2"))
        let changed = Timestamp(millisecondsSince1970: WireSamples.created + 1_500)
        #expect(notification.changedAt == changed)
    }

    @Test func newsOfZonesAndResets() throws {
        let zones = try WireFeedPage(wire: Golden("FeedPage-zones").bytes)
        let (notes, trips) = (RecordZone.ID(zoneName: "Notes"), RecordZone.ID(zoneName: "Trips"))
        #expect(
            zones.notifications.map(\.news) == [
                .zoneDeleted(trips), .zones([notes, trips], more: true),
            ]
        )
        #expect(zones.isCheckpoint)
        let reset = try WireFeedPage(wire: Golden("FeedPage-reset").bytes).reset
        #expect(
            reset
                == .subscriptions([
                    SubscriptionName(databaseScope: .public, subscriptionID: "large"),
                    SubscriptionName(databaseScope: .private, subscriptionID: "all"),
                ])
        )
        #expect(try WireFeedPage(wire: Golden("FeedPage-reset-all").bytes).reset == .all)
    }

    // MARK: Later releases

    /// A page of a notification of `large` in the private database, with this behind its database.
    private static func page(reset: Bytes? = nil, _ news: Bytes...) -> Bytes {
        var writer = CanonicalWriter()
        for news in news {
            writer.message(1) { writer in
                writer.field(2, text: "large")
                writer.field(3, varint: 2)
                writer.raw(news)
            }
        }
        if let reset { writer.present(4, bytes: reset) }
        return writer.bytes
    }

    /// The device must not take silence for "nothing changed".
    @Test func whatThisReleaseCanNotReadIsAReset() throws {
        let large = SubscriptionName(databaseScope: .private, subscriptionID: "large")
        let noNews: Bytes = []
        // RecordNews{id {}, reason 9, transition 1}, then {id {}, reason 1, transition 9}.
        let newReason: Bytes = [0x22, 6, 0x0A, 0, 0x18, 9, 0x20, 1]
        let newTransition: Bytes = [0x22, 6, 0x0A, 0, 0x18, 1, 0x20, 9]
        let noRecord: Bytes = [0x22, 4, 0x18, 1, 0x20, 1]
        for news in [noNews, newReason, newTransition, noRecord] {
            let page = try WireFeedPage(wire: Self.page(news, news))
            #expect(page.notifications.isEmpty)
            #expect(page.reset == .subscriptions([large]))
            // FeedReset{all}, and FeedReset{subscriptions {database PUBLIC}}.
            #expect(try WireFeedPage(wire: Self.page(reset: [8, 1], news)).reset == .all)
            let other = SubscriptionName(databaseScope: .public, subscriptionID: "")
            let both = try WireFeedPage(wire: Self.page(reset: [0x12, 2, 8, 1], news)).reset
            #expect(both == .subscriptions([other, large]))
        }
        let known: Bytes = [0x22, 6, 0x0A, 0, 0x18, 1, 0x20, 1]
        let page = try WireFeedPage(wire: Self.page(known))
        #expect(page.notifications.count == 1 && page.reset == nil)
    }

    @Test func aNotificationOfNoDatabaseIsRefused() {
        for database: Bytes in [[], [0x18, 9], [0x18, 0x82, 2]] {
            var writer = CanonicalWriter()
            writer.present(1, bytes: database + [0x32, 0])
            #expect(throws: MalformedMessage.self) { try WireFeedPage(wire: writer.bytes) }
        }
    }

    @Test func manyTinyPartsFailCleanly() {
        let unknown = Bytes(repeatElement([0x78, 0], count: 200_000).joined())
        #expect(throws: MalformedMessage.self) { try FollowFeedRequest(wire: unknown) }
    }
}
