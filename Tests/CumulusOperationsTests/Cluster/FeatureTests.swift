// A feature is used once every listed member has said that it knows the feature.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct FeatureTests {
    private let store: TestStore
    private let one = Bytes(repeating: 1, count: 16)
    private let other = Bytes(repeating: 2, count: 16)

    init() throws { store = try TestStore() }

    private func refusal() throws -> ServiceError? { try Feature.access.refusal(in: store.reader) }

    @Test func aMemberThatHasNotSaidSoHoldsItBack() throws {
        #expect(try refusal() == nil)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Members.enter(one, endpoint: "a:1", in: &transaction)
            _ = try Members.enter(other, endpoint: "b:1", in: &transaction)
            try Feature.announce(one, in: &transaction)
        }
        let refusal = try refusal()
        #expect(refusal?.code == .serviceUnavailable)
        #expect(refusal?.message.contains(other.hex) == true)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Feature.announce(other, in: &transaction)
        }
        #expect(try self.refusal() == nil)
    }

    /// A release without webhooks could not read the subscription.
    @Test func aWebhookWaitsForAllMembers() throws {
        try store.save([SaveItem("n", ["stars": 1])])
        let predicate = try Query.Predicate(format: "stars > 1")
        var subscription = Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: predicate)
        )
        subscription.notificationInfo = Subscription.NotificationInfo()
        subscription.notificationInfo?.webhook = "orders"
        func codes() throws -> [ServiceError.Code?] {
            try store.modify(ModifySubscriptions(saving: [subscription]), by: .alice).codes
        }
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Members.enter(one, endpoint: "a:1", in: &transaction)
        }
        #expect(try codes() == [.serviceUnavailable])
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Feature.announce(one, in: &transaction)
        }
        #expect(try codes() == [nil])
        let number = try store.scopeNumber()
        // This node does not know the user yet.
        let (found, isComplete) = try WebhookSubscribers.all(in: store.scope, number, store.reader)
        #expect(found.isEmpty && !isComplete)
        let subscriber = WebhookSubscriber(
            scope: store.scope,
            user: Caller.alice.user,
            account: "alice",
            webhook: "orders"
        )
        let names = try WebhookSubscribers.names(of: subscriber, number, store.reader)
        #expect(names.map(\.subscriptionID) == ["s"])
        #expect(try WebhookSubscribers.lastChange(in: number, store.reader) ?? 0 > 0)
    }

    /// A release without keys of lives would make two lives of one key.
    @Test func keysOfCreationsWaitForAllMembers() throws {
        func origin(ofNew name: String) throws -> Commit.Origin? {
            let before = try store.vectors()
            try store.save([SaveItem(name, ["stars": 1])])
            let commits = try store.commits(above: before).values.joined().map(\.0)
            let puts = commits.flatMap(\.operations).compactMap { operation in
                if case .put(let put) = operation { put } else { nil }
            }
            return try #require(puts.first { $0.recordName == name }).origin
        }
        #expect(try origin(ofNew: "alone") == .request)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Members.enter(one, endpoint: "a:1", in: &transaction)
        }
        #expect(try origin(ofNew: "beside an old release") == nil)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Feature.announce(one, in: &transaction)
        }
        #expect(try origin(ofNew: "after its upgrade") == .request)
    }

    @Test func whoIsOffTheListHoldsNothingBack() throws {
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Members.enter(one, endpoint: "a:1", in: &transaction)
        }
        #expect(try refusal() != nil)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Members.remove(one, in: &transaction)
        }
        #expect(try refusal() == nil)
    }

    /// A node announces a feature once, not at each start.
    @Test func itIsSaidOnce() throws {
        func commits() throws -> Int { try store.reader.rows(.log, .all(.commit)).count }
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Feature.announce(one, in: &transaction)
        }
        let before = try commits()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Feature.announce(one, in: &transaction)
        }
        #expect(try commits() == before)
    }
}
