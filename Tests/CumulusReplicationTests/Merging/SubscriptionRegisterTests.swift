// Subscriptions on several nodes: the later save of an id stands, deletions travel, and what nodes
// save without knowing of each other stays.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SubscriptionRegisterTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("n", ["a": 1])])
        try other.take(from: one)
    }

    private func query(_ id: String, _ format: String) throws -> Subscription {
        let predicate = try Query.Predicate(format: format)
        return Subscription(id: id, kind: .query(recordType: "Note", predicate: predicate))
    }

    private func save(_ id: String, _ format: String, on store: TestStore) throws {
        let codes = try store.modify(ModifySubscriptions(saving: [try query(id, format)])).codes
        #expect(codes == [nil])
    }

    private func exchange() throws {
        try one.take(from: other)
        try other.take(from: one)
    }

    @Test func theLaterSaveOfAnIDStands() throws {
        try save("s", "a == 1", on: one)
        other.now += 1_000
        try save("s", "a == 2", on: other)
        try exchange()
        for store in [one, other] {
            #expect(try store.subscriptions() == [try query("s", "a == 2")])
        }
    }

    @Test func aDeletionTravels() throws {
        try save("s", "a == 1", on: one)
        try exchange()
        try other.modify(ModifySubscriptions(deleting: ["s"]))
        try exchange()
        #expect(try one.subscriptions().isEmpty)
        // It is gone for equal ones too.
        try save("t", "a == 1", on: one)
    }

    /// Each node knows the other's duplicate once it is here; then ids must differ in what they
    /// watch again.
    @Test func equivalentOnesOfTwoNodesBothStay() throws {
        try save("s", "a == 1", on: one)
        try save("t", "a == 1", on: other)
        try exchange()
        for store in [one, other] { #expect(try store.subscriptions().map(\.id) == ["s", "t"]) }
        let third = ModifySubscriptions(saving: [try query("u", "a == 1")])
        guard case .failure(let failure) = try one.modify(third).saves[0] else {
            Issue.record("a third one was saved")
            return
        }
        #expect(failure.message == "subscription is duplicate of 's'")
        // With one of them gone, the other is still known.
        try one.modify(ModifySubscriptions(deleting: ["s"]))
        #expect(try one.modify(third).codes == [.serverRejectedRequest])
    }
}
