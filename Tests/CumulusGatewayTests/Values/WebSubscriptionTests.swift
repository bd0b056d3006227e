// Subscriptions between JSON and the model.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebSubscriptionTests {
    private let web = WebSubscription(
        columns: ["title": .one(.string), "tags": .list(.string), "place": .one(.location)],
        user: "_1"
    )

    private func read(_ text: String) throws -> Subscription {
        let object = try WebObject(try JSONReader.read(text.utf8), at: "subscription")
        return try web.subscription(object) { "made" }
    }

    private func query(_ more: String) -> String {
        """
        {"subscriptionID": "s", "subscriptionType": "query", "firesOn": ["create", "delete"],
         "query": {"recordType": "Note", "filterBy": [
           {"fieldName": "title", "comparator": "NOT_BEGINS_WITH", "fieldValue": {"value": "a"}},
           {"fieldName": "tags", "comparator": "LIST_CONTAINS", "fieldValue": {"value": "x"}},
           {"fieldName": "title", "comparator": "IN", "fieldValue": {"value": ["a", "b"]}}]}\(more)}
        """
    }

    private let predicate: Query.Predicate =
        !.field("title").begins(with: "a") && .field("tags").contains("x")
        && .field("title").isIn(["a", "b"])

    @Test func queriesHaveAZoneOrAll() throws {
        let zone = RecordZone.ID(zoneName: "Z")
        let zones: [(String, RecordZone.ID?)] = [
            ("", nil), (#", "zoneWide": false"#, .default),
            (#", "zoneID": {"zoneName": "Z"}"#, zone),
            (#", "zoneID": {"zoneName": "Z"}, "zoneWide": false"#, zone),
            (#", "zoneID": {"zoneName": "Z"}, "zoneWide": true"#, nil),
        ]
        for (text, zone) in zones {
            let subscription = try read(query(text))
            let expected = Subscription.Kind.query(
                recordType: "Note",
                predicate: predicate,
                zone: zone
            )
            #expect(subscription.kind == expected, "\(text)")
            #expect(
                subscription.options == [.firesOnRecordCreation, .firesOnRecordDeletion]
            )
        }
    }

    @Test func eachKindIsReadBackAsItWasWritten() throws {
        var info = Subscription.NotificationInfo()
        info.alertBody = "Grüße"
        info.shouldBadge = true
        info.webhook = "orders"
        info.desiredKeys = ["title"]
        info.alertLocalizationArgs = ["title"]
        // Answers name the owner, the caller too.
        let zone = RecordZone.ID(zoneName: "Z")
        let kinds: [Subscription.Kind] = [
            .database(), .zone(zone), .query(recordType: "Note", predicate: .all),
            .query(recordType: "Note", predicate: predicate, zone: zone),
        ]
        for kind in kinds {
            for info in [nil, info] {
                let subscription = Subscription(id: "s", kind: kind, notificationInfo: info)
                let text = web.json(subscription).text
                #expect(try read(text) == subscription, "\(text)")
            }
        }
        #expect(web.json(Subscription(id: "s", kind: .zone(zone)))["zoneID"]?["zoneName"] == "Z")
    }

    @Test func whatFiltersCanNotSayIsLeftOut() {
        let either: Query.Predicate = .field("title") == "a" || .field("title") == "b"
        for predicate in [either, .none, !(either && .field("title") == "c")] {
            #expect(WebFilters(columns: [:], user: "").filters(of: predicate) == nil)
        }
        let near: Query.Predicate = Query.Field.field("place")
            .isWithin(metres: 5, of: Location(latitude: 1, longitude: 2))
        let filter = WebFilters(columns: [:], user: "").filters(of: near)?.first
        #expect(filter?["distance"] == .decimal(5))
        #expect(filter?["fieldValue"]?["type"] == "LOCATION")
    }

    @Test func aZoneSubscriptionWithoutAZoneIsOfTheDatabase() throws {
        let subscription = try read(#"{"subscriptionType": "zone"}"#)
        #expect(subscription.kind == .database())
        #expect(subscription.id == "made")
    }

    @Test(arguments: ["zone", "database"]) func allZonesAreOfTheDatabase(type: String) throws {
        let text = #"{"subscriptionType": "\#(type)", "zoneWide": true}"#
        #expect(try read(text).kind == .database())
    }

    @Test(arguments: [
        #"{"subscriptionType": "query", "firesOn": ["create"]}"#,
        #"{"subscriptionType": "query", "query": {"recordType": "Note"}}"#,
        #"{"subscriptionType": "query", "query": {"recordType": "A"}, "firesOn": ["x"]}"#,
        #"{"subscriptionType": "what"}"#, "{}",
        #"{"subscriptionType": "zone", "notificationInfo": {"alertBody": 5}}"#,
        #"{"subscriptionType": "database", "notificationInfo": {"webhook": ""}}"#,
        #"{"subscriptionType": "zone", "zoneID": {"zoneName": "Z"}, "zoneWide": true}"#,
        #"{"subscriptionType": "zone", "zoneWide": false}"#,
        #"{"subscriptionType": "database", "zoneWide": false}"#,
        #"{"subscriptionType": "database", "zoneWide": "all"}"#,
        #"{"subscriptionType": "zone", "firesOn": ["create"]}"#,
        #"{"subscriptionType": "zone", "firesOnce": true}"#,
        #"{"subscriptionType": "database", "query": {"recordType": "Note"}}"#,
        #"{"subscriptionType": "database", "zoneID": {"zoneName": "Z"}}"#,
    ])
    func whatIsNoSubscriptionIsRefused(_ text: String) {
        #expect {
            try read(text)
        } throws: {
            ($0 as? WebError)?.code == .badRequest
        }
    }
}
