// Subscriptions of web services, which become what a native client's would be.

import CumulusModel
import Testing

@testable import CumulusTransfer

@Suite struct SourceSubscriptionTests {
    private func read(_ json: JSON) throws -> Subscription {
        try Subscription(source: json, at: "s", for: ServiceAnswer.ada) { _ in "_here" }
    }

    @Test func allKindsAreRead() throws {
        guard case .array(let entries)? = try ServiceAnswer.json("subscriptions")["subscriptions"]
        else {
            Issue.record("no subscriptions")
            return
        }
        let query = try read(entries[0])
        guard case .query("Note", let predicate, .default?) = query.kind else {
            Issue.record("\(query)")
            return
        }
        #expect(query.options == [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnce])
        #expect(query.notificationInfo?.alertBody == "New")
        #expect(query.notificationInfo?.shouldBadge == true)
        #expect(query.notificationInfo?.desiredKeys == ["title"])
        let creator = Record.Reference(recordName: "_here")
        #expect(
            predicate.nodes == [
                .comparison(.init("stars", .greaterThan, [.value(.int64(2))])),
                .comparison(.init("___createdBy", .equals, [.value(.reference(creator))])),
                .and,
                .comparison(.init("title", .isIn, [.value(.string("x")), .value(.string("y"))])),
                .not, .and,
            ]
        )
        // A zone of the user who asks has no owner's name here.
        #expect(try read(entries[1]).kind == .zone(RecordZone.ID(zoneName: "Trips")))
        #expect(try read(entries[2]).kind == .database())
    }

    @Test func aFilterWithoutAnEquivalentIsNotLost() throws {
        let all = #"""
            {"subscriptionID": "a", "subscriptionType": "query", "firesOn": ["delete"],
             "query": {"recordType": "Note", "filterBy": [{"fieldName": "tags",
              "comparator": "NOT_LIST_CONTAINS_ALL",
              "fieldValue": {"value": ["x", "y"], "type": "STRING_LIST"}}]}}
            """#
        let subscription = try read(JSONReader.read(all.utf8))
        #expect(subscription.allowsExtensions)
        guard case .query(_, let predicate, nil) = subscription.kind else {
            Issue.record("\(subscription)")
            return
        }
        #expect(predicate.nodes.last == .or && predicate.nodes.count == 5)
        let wrong = all.replacing("NOT_LIST_CONTAINS_ALL", with: "SOUNDS_LIKE")
        #expect(throws: SourceProblem.self) { try read(JSONReader.read(wrong.utf8)) }
    }
}
