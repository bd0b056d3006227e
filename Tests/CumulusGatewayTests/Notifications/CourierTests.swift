// What browsers are told, without a node: tokens, what waits, and how notifications are written.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct CourierTests {
    private func station(
        _ number: UInt64,
        container: String = "iCloud.a",
        device: Bytes? = nil
    ) -> CourierToken.Station {
        let scope = ScopeID(container: container, environment: .production)
        let session = Bytes(repeating: 1, count: 32)
        let api = Bytes(repeating: 2, count: 32)
        let access = WebAccess(scope, .public, .session(session), api: api)
        return CourierToken.Station(id: number, access: access, feed: [9, 9], device: device)
    }

    /// With a `clientId` and without one.
    @Test(arguments: [nil, Bytes(repeating: 7, count: 16)])
    func tokensReadBackAndNothingElseDoes(device: Bytes?) throws {
        var token = CourierToken(station(1, device: device), made: 1_000_000)
        token.add(station(2, container: "iCloud.b"), now: 2_000_000)
        let content = token.content
        #expect(try CourierToken(content: content) == token)
        for cut in Damage.truncations(of: content) + [content + [0]] {
            #expect(throws: MalformedBytes.self) { try CourierToken(content: cut) }
        }
        var dice = SeededGenerator(seed: 5)
        for _ in 0..<500 {
            _ = try? CourierToken(content: Damage.mutation(of: content, using: &dice))
        }
        #expect(throws: MalformedBytes.self) { try WebLink(content: content) }
        #expect(throws: MalformedBytes.self) { try WebToken(content: content) }
        #expect(token.isGood(now: 2_000_000 + CourierToken.time - 1))
        #expect(!token.isGood(now: 2_000_000 + CourierToken.time))
        #expect(CourierToken.token(of: "/device/1/courier/abc?x") == "abc")
        #expect(CourierToken.token(of: "/device/1/iCloud.a/production/tokens/create") == nil)
    }

    @Test func aTokenHasOneFeedOfEachContainer() {
        var token = CourierToken(station(1), made: 0)
        token.add(station(2), now: 0)
        #expect(token.stations.map(\.id) == [2])
        for number in 3..<20 as Range<UInt64> {
            token.add(station(number, container: "iCloud.\(number)"), now: 0)
        }
        #expect(token.stations.map(\.id) == Array(12..<20))
    }

    @Test func whatWaitsIsToldUntilItIsKnownToBe() {
        let board = CourierBoard()
        let (one, two) = (station(1), station(2, container: "iCloud.b"))
        #expect(board.feed(of: one) == [9, 9])
        #expect(board.next(of: two) == nil)
        let news = (0..<120).map { WebNotification(id: "\($0)", text: "{}") }
        board.take(Array(news[..<2]), [1], of: two, now: 0)
        #expect(board.feed(of: two) == [1])
        for _ in 0..<2 { #expect(board.next(of: two)?.id == "0") }
        board.told("0", of: 2)
        board.told("0", of: 2)
        #expect(board.next(of: two)?.id == "1")
        board.take(news, [2], of: one, now: 0)
        #expect(board.next(of: one)?.id == "20")
        #expect(board.next(of: two)?.id == "1")
    }

    // MARK: Payloads

    private func notification(_ news: FeedNotification.News) -> FeedNotification {
        FeedNotification(
            id: .init(bytes: Bytes(repeating: 0xAB, count: 16)),
            subscriptionID: "notes",
            databaseScope: .private,
            news: news,
            changedAt: Timestamp(millisecondsSince1970: 0)
        )
    }

    private func json(_ notification: FeedNotification, isWide: Bool = false) throws -> [JSON] {
        try WebNotification.all(notification, in: "iCloud.a", user: "_anna", isWide: isWide)
            .map { try JSONReader.read(Bytes($0.text.utf8)) }
    }

    @Test func recordsAreToldAsQueries() throws {
        let zone = RecordZone.ID(zoneName: "Trips")
        let id = Record.ID(recordName: "a", zoneID: zone)
        var told = notification(
            .record(
                .init(
                    recordID: id,
                    recordType: "Note",
                    reason: .updated,
                    transition: .stayed,
                    fields: ["title": "Oslo", "stars": 3]
                )
            )
        )
        var info = Subscription.NotificationInfo()
        info.alertBody = "News"
        info.alertLocalizationArgs = ["Oslo"]
        info.shouldBadge = true
        told.notificationInfo = info
        told.isPruned = true
        let expected: JSON = [
            "aps": [
                "alert": ["body": "News", "loc-args": .array(["Oslo"])], "badge": .integer(1),
            ],
            "ck": [
                "nid": .string(String(repeating: "ab", count: 16)), "cid": "iCloud.a",
                "qry": [
                    "sid": "notes", "rid": "a", "zid": "Trips", "zoid": "_anna",
                    "fo": .integer(2), "dbs": .integer(1),
                    "af": ["stars": .integer(3), "title": "Oslo"],
                ],
                "p": .integer(1),
            ],
        ]
        #expect(try json(told) == [expected])
    }

    @Test func zonesAreToldOneByOneAndDatabasesAsOne() throws {
        let zones = ["A", "B"].map { RecordZone.ID(zoneName: $0, ownerName: "_olga") }
        let told = notification(.zones(zones, more: false))
        let each = try json(told)
        #expect(each.map { $0["ck"]?["fet"]?["zid"] } == ["A", "B"])
        #expect(each.map { $0["ck"]?["fet"]?["zoid"] } == ["_olga", "_olga"])
        #expect(each[0]["ck"]?["nid"] != each[1]["ck"]?["nid"])
        let whole = try json(told, isWide: true)
        #expect(whole.map { $0["ck"]?["met"]?["sid"] } == ["notes"])
        let gone = try json(notification(.zoneDeleted(zones[0])))
        #expect(gone.map { $0["ck"]?["qry"]?["fo"] } == [.integer(3)])
        #expect(gone[0]["ck"]?["qry"]?["rid"] == nil)
    }
}
