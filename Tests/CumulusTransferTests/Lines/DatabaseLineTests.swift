// The lines of an export of a whole database, read back.

import Cumulus
import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusTransfer

@Suite struct DatabaseLineTests {
    private func read(_ json: JSON) throws -> DatabaseLine {
        try DatabaseLine(try JSONReader.read(json.text.utf8))
    }

    @Test func aRecordKeepsItsTypeAndZone() throws {
        for zone in [RecordZone.ID.default, RecordZone.ID(zoneName: "Trips")] {
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "n1", zoneID: zone)
            )
            record["title"] = "Sea"
            record["recordName"] = "a field"
            record.parent = Record.Reference(recordName: "p")
            let line = record.line(withSystemFields: true, withPlace: true)
            guard case .record(let found) = try read(line) else {
                Issue.record("\(line.text)")
                continue
            }
            #expect(found.recordType == "Note" && found.recordID == record.recordID)
            #expect(found["title"] == "Sea" && found["recordName"] == "a field")
            #expect(found.parent?.recordName == "p" && found.allKeys().count == 2)
        }
    }

    @Test func zonesAndSubscriptionsComeBack() throws {
        guard case .zone("Trips") = try read(DatabaseLine.json(ofZone: "Trips")) else {
            Issue.record("no zone")
            return
        }
        let predicate = try Query.Predicate(format: "stars > 2 AND title == \"a\"")
        var query = Subscription(
            id: "q",
            kind: .query(recordType: "Note", predicate: predicate, zone: .default),
            options: [.firesOnRecordUpdate, .firesOnce]
        )
        query.notificationInfo = Subscription.NotificationInfo()
        query.notificationInfo?.alertBody = "New"
        query.notificationInfo?.desiredKeys = ["title"]
        query.notificationInfo?.shouldBadge = true
        let all = [
            query, Subscription(id: "z", kind: .zone(RecordZone.ID(zoneName: "Trips"))),
            Subscription(id: "d", kind: .database(recordType: "Note")),
        ]
        for subscription in all {
            guard case .subscription(let found) = try read(DatabaseLine.json(of: subscription))
            else {
                Issue.record("no subscription")
                continue
            }
            #expect(found == subscription)
        }
    }

    @Test func whatIsOfOthersIsPassedOver() throws {
        for type in ["cloudkit.share", "Users"] {
            guard case .passedOver = try read(["recordName": "a", "$type": .string(type)]) else {
                Issue.record("\(type)")
                continue
            }
        }
        for json: JSON in [
            ["recordName": "a"], ["$subscription": "s"], [:],
            ["$subscription": ["subscriptionID": "s", "subscriptionType": "other"]],
        ] {
            #expect(throws: InputProblem.self) { try read(json) }
        }
    }
}
