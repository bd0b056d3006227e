// Requests about zones and subscriptions that are carried out at two nodes, because the first one's
// answer was lost: what both hold once they hear of each other.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RepeatedElsewhereTests {
    private let twins: TwinStores
    private var one: TestStore { twins.one }
    private var other: TestStore { twins.other }

    init() throws { twins = try TwinStores() }

    private func runTwice(_ change: some RememberedChange) throws {
        let request = one.request(change, by: .alice)
        for store in twins.both { try twins.run(request, at: store) }
    }

    @Test func aZoneIsMadeOnce() throws {
        try runTwice(ModifyZones(saving: ["z"]))
        let zone = ZoneAddress(name: "z")
        try one.save([SaveItem("a", ["n": 1], in: zone)])
        try other.save([SaveItem("b", ["n": 1], in: zone)])
        try twins.exchange()
        for store in twins.both {
            #expect(try store.names(in: .private, zone: zone, by: .alice).sorted() == ["a", "b"])
        }
    }

    /// Deleted twice, it is gone once: a zone that is made after it stays.
    @Test func aZoneIsDeletedOnce() throws {
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try twins.exchange()
        try runTwice(ModifyZones(deleting: ["z"]))
        try other.modify(ModifyZones(saving: ["z"]), by: .alice)
        try other.save([SaveItem("b", ["n": 1], in: ZoneAddress(name: "z"))])
        try twins.exchange()
        for store in twins.both {
            #expect(
                try store.names(in: .private, zone: ZoneAddress(name: "z"), by: .alice) == ["b"]
            )
        }
    }

    @Test(arguments: [false, true]) func aSubscriptionIsSavedOnce(isDeleted: Bool) throws {
        let predicate = try Query.Predicate(format: "a == 1")
        let subscription = Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: predicate)
        )
        try one.save([SaveItem("n", ["a": 1])])
        try twins.exchange()
        try runTwice(ModifySubscriptions(saving: [subscription]))
        if isDeleted {
            other.now += 1_000
            try other.modify(ModifySubscriptions(deleting: ["s"]))
        }
        try twins.exchange()
        for store in twins.both {
            let ids = try store.subscriptions().map(\.id)
            #expect(ids == (isDeleted ? [] : ["s"]))
        }
    }
}
