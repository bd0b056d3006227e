// What an operator sees of a user's subscriptions, and how an operator ends them.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct OwnedSubscriptionTests {
    private let store: TestStore
    private let ada: Caller
    private let bob: Caller

    init() throws {
        store = try TestStore()
        (ada, bob) = (try store.addUser("ada", 1), try store.addUser("bob", 2))
        try store.save([SaveItem("n", ["stars": 1, "title": "a"])], in: .public, by: ada)
        for caller in [ada, bob] {
            let queries = try [
                query("a", "stars > 1 AND stars != 5"), query("b", "title == 'x' AND stars > 1"),
            ]
            try store.modify(ModifySubscriptions(in: .public, saving: queries), by: caller)
            let zones = Subscription(id: "a", kind: .database(recordType: nil))
            try store.modify(ModifySubscriptions(in: .private, saving: [zones]), by: caller)
        }
    }

    private func query(_ id: String, _ format: String) throws -> Subscription {
        let predicate = try Query.Predicate(format: format)
        return Subscription(id: id, kind: .query(recordType: "Note", predicate: predicate))
    }

    private func all(of user: String) throws -> [StoredSubscription] {
        try OwnedSubscriptions.all(
            of: user,
            in: store.scope.container,
            store.scopeNumber(),
            store.reader
        )
    }

    private func end(
        _ ids: Set<Subscription.ID>,
        of user: String = "ada",
        by caller: Caller = Caller(role: .operator)
    ) throws -> Result<Int, ServiceError> {
        let end = EndSubscriptions(user: user, ids: ids)
        return try store.run(
            WriteRequest(end, scope: store.scope, caller: caller)
        )
    }

    @Test func eachSaysWhatItCosts() throws {
        let found = try all(of: "ada")
        #expect(found.map(\.database.kind) == [.public, .public, .private])
        #expect(found.map(\.subscription.id) == ["a", "b", "a"])
        #expect(found.map(\.comparisonCount) == [2, 2, 0])
        // The second one is found by a value, and the third one watches zones as a whole.
        #expect(found.map(\.cost) == [2, 1, 0])
        #expect(found.allSatisfy { $0.user == ada.user })
        let error = #expect(throws: ServiceError.self) { try all(of: "nobody") }
        #expect(error?.code == .unknownItem)
    }

    @Test func theyEndInAllDatabases() throws {
        #expect(try end(["a", "missing"]).get() == 2)
        #expect(try all(of: "ada").map(\.subscription.id) == ["b"])
        #expect(try store.subscriptions(in: .public, by: ada).map(\.id) == ["b"])
        #expect(try end(["a"]).get() == 0)
        #expect(try end([]).get() == 1)
        #expect(try all(of: "ada").isEmpty)
        #expect(try all(of: "bob").count == 3)
        // A subscription that ended makes room for an equal one.
        let again = ModifySubscriptions(in: .public, saving: [try query("c", "stars > 1")])
        #expect(try store.modify(again, by: ada).codes == [nil])
    }

    @Test func onlyOperatorsEndThem() throws {
        for caller in [ada, bob] {
            guard case .failure(let error) = try end([], by: caller) else {
                Issue.record("\(caller.user) is no operator")
                continue
            }
            #expect(error.code == .permissionFailure)
        }
        guard case .failure(let error) = try end([], of: "nobody") else {
            Issue.record("there is no such user")
            return
        }
        #expect(error.code == .unknownItem)
        #expect(try all(of: "ada").count == 3)
    }
}
