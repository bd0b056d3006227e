// The comparisons that subscriptions add to each save: the number is limited for each user, and for
// each type with the subscriptions of all users.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SubscriptionCostTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
        let item = SaveItem("n", ["stars": 1, "title": "a", "tags": ["x"]])
        for database in [DatabaseScope.private, .public] { try store.save([item], in: database) }
    }

    /// A subscription of `count` comparisons, whose values depend on `first`.
    private func many(_ id: String, _ count: Int, from first: Int) throws -> Subscription {
        let parts = (0..<count).map { "stars != \(first + $0)" }
        return try subscription(id, parts.joined(separator: " AND "))
    }

    private func subscription(_ id: String, _ format: String) throws -> Subscription {
        let predicate = try Query.Predicate(format: format)
        return Subscription(id: id, kind: .query(recordType: "Note", predicate: predicate))
    }

    private func refusal(
        _ subscription: Subscription,
        in database: DatabaseScope = .public,
        by caller: Caller = .alice,
        _ change: (inout Limits) -> Void = { _ in }
    ) throws -> ServiceError? {
        var modify = ModifySubscriptions(in: database, saving: [subscription])
        change(&modify.limits)
        guard case .failure(let failure) = try store.modify(modify, by: caller).saves[0] else {
            return nil
        }
        return failure.error
    }

    // MARK: One user

    @Test func comparisonsWithEveryRecordAreBounded() throws {
        for number in 0..<4 {
            #expect(try refusal(many("q\(number)", 450, from: number * 1_000)) == nil)
        }
        let error = try #require(try refusal(many("q4", 450, from: 4_000)))
        #expect(error.code == .limitExceeded && error.reason == .tooManyItems)
        for part in ["2250", "at most 2000 ", "1800 are used"] {
            #expect(error.message.contains(part))
        }
        // The remaining comparisons are accepted, and so are others in another database, or of
        // another user.
        #expect(try refusal(many("q4", 200, from: 4_000)) == nil)
        #expect(try refusal(subscription("q5", "stars > 1"))?.code == .limitExceeded)
        #expect(try refusal(many("q5", 450, from: 5_000), in: .private) == nil)
        #expect(try refusal(many("q5", 450, from: 5_000), by: .bob) == nil)
        try store.modify(ModifySubscriptions(in: .public, deleting: ["q4"]))
        #expect(try refusal(subscription("q5", "stars > 1")) == nil)
    }

    /// A record has one title, but several tags.
    @Test func aValueThatIsNeededSparesComparisons() throws {
        func least(_ limits: inout Limits) { limits.subscriptionComparisonsPerDatabase = 4 }
        for number in 0..<20 {
            let format = "title == 't\(number)' AND stars > 1 AND stars < 9"
            #expect(try refusal(subscription("t\(number)", format), least) == nil)
        }
        #expect(try refusal(subscription("t20", "title == 't1' AND stars > 2"), least) != nil)
        #expect(try refusal(subscription("e", "stars > 5"), least) == nil)
        #expect(try refusal(subscription("e2", "stars > 6"), least) != nil)
        for number in 0..<4 {
            let format = "tags CONTAINS 't\(number)'"
            let error = try refusal(subscription("l\(number)", format), in: .private, least)
            #expect(error == nil)
        }
        #expect(try refusal(subscription("l4", "tags CONTAINS 'x'"), in: .private, least) != nil)
    }

    /// An update from a release without the limit leaves more comparisons than allowed.
    @Test func beyondTheLimitWhatAddsNothingIsSaved() throws {
        func least(_ limits: inout Limits) { limits.subscriptionComparisonsPerDatabase = 2 }
        #expect(try refusal(many("q", 10, from: 0)) == nil)
        #expect(try refusal(many("q", 9, from: 0), least) == nil)
        #expect(try refusal(many("q", 10, from: 0), least) != nil)
        var same = try many("q", 9, from: 0)
        same.options = .firesOnRecordCreation
        #expect(try refusal(same, least) == nil)
        let zones = Subscription(id: "z", kind: .database(recordType: nil))
        #expect(try refusal(zones, in: .private, least) == nil)
        #expect(try refusal(subscription("r", "stars > 1"), least) != nil)
    }

    // MARK: All users

    @Test func theComparisonsOfATypeAreBounded() throws {
        func least(_ limits: inout Limits) { limits.subscriptionComparisonsPerType = 10 }
        #expect(try refusal(many("q", 6, from: 0), least) == nil)
        // Equal subscriptions of other users count once.
        for user in 0..<5 {
            let caller = Caller(role: .user("_u\(user)"))
            #expect(try refusal(many("q", 6, from: 0), by: caller, least) == nil)
        }
        let error = try #require(try refusal(many("q", 5, from: 100), by: .bob, least))
        #expect(error.code == .limitExceeded && error.message.contains("at most 10 "))
        #expect(try refusal(many("q", 4, from: 100), by: .bob, least) == nil)
        #expect(try refusal(subscription("r", "stars > 1"), by: .bob, least) != nil)
        // Each database has its own records.
        #expect(try refusal(many("q", 5, from: 100), in: .private, by: .bob, least) == nil)
        // The topic is known again after a start, and counts until the last equal one is deleted.
        try store.restart()
        #expect(try refusal(subscription("r", "stars > 1"), by: .bob, least) != nil)
        try store.modify(ModifySubscriptions(in: .public, deleting: ["q"]))
        #expect(try refusal(subscription("r", "stars > 1"), by: .bob, least) != nil)
        for user in 0..<5 {
            let caller = Caller(role: .user("_u\(user)"))
            try store.modify(ModifySubscriptions(in: .public, deleting: ["q"]), by: caller)
        }
        #expect(try refusal(subscription("r", "stars > 1"), by: .bob, least) == nil)
    }

    @Test func subscriptionsThatNeedOtherValuesHaveRoom() throws {
        func least(_ limits: inout Limits) { limits.subscriptionComparisonsPerType = 2 }
        for user in 0..<20 {
            let caller = Caller(role: .user("_u\(user)"))
            let wanted = try subscription("q", "title == 't\(user)' AND stars > 1")
            #expect(try refusal(wanted, by: caller, least) == nil)
        }
        let twice = try subscription("q", "title == 't1' AND stars > 2")
        #expect(try refusal(twice, by: .bob, least) != nil)
    }
}
