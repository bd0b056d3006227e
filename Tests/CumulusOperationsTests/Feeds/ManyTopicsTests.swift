// Very many topics: a record is compared with few of them, one more subscription costs as much as
// the first one, and after a start all are known again.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ManyTopicsTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
        try store.save([SaveItem("old", ["stars": 1, "title": "t"])], in: .public)
    }

    private func schema() throws -> TypeSchema {
        try store.reader.typeSchema(try store.scopeNumber(), "Note")
    }

    /// A predicate that differs from all others.
    private func predicate(_ number: Int) -> Query.Predicate {
        switch number % 4 {
        case 0: .field("stars") == Int64(number)
        case 1: .field("title") == "t\(number)" && .field("stars") > Int64(0)
        default: .field("title") == "t\(number)"
        }
    }

    // MARK: A record

    /// The test takes some seconds, since so many predicates are checked against the schema.
    @Test func ofManyTopicsARecordMeetsFew() throws {
        let count = 100_000
        let schema = try schema()
        var group = TopicGroup(
            TopicGroup.Binding(schema: schema, environment: store.scope.environment)
        )
        func insert(_ predicate: Query.Predicate) -> Topic.ID {
            let topic = Topic(
                database: .public,
                zones: .all,
                recordType: "Note",
                predicate: predicate.canonical(in: schema, for: "_alice")
            )
            group.insert(topic)
            return topic.id
        }
        let topics = (0..<count).map { insert(predicate($0)) }
        #expect(Set(topics).count == count)
        // No value leads to these topics, so they are always compared.
        let ranges = (0..<10).map { insert(.field("stars") > Int64($0 * 100)) }
        try store.save([SaveItem("a", ["stars": 8, "title": "t6"])], in: .public)
        try store.save([SaveItem("b", ["stars": 901, "title": "t5"])], in: .public)
        let expected = [
            "a": Set([topics[8], topics[6], ranges[0]]), "b": Set([topics[5]] + ranges),
        ]
        for (place, row) in try StoredRecords.all(in: store.reader) {
            guard let expected = expected[place.name] else { continue }
            let suspects = try group.suspects(of: row, named: place.name)
            #expect(suspects.count <= ranges.count + 2)
            let matches = try group.matches(row, named: place.name, in: "z", now: store.now)
            #expect(matches == expected)
        }
    }

    // MARK: The index

    /// Saves subscriptions, a thousand for each user.
    private func subscribe(_ numbers: Range<Int>) throws {
        let schema = try schema()
        let scope = try store.scopeNumber()
        for begin in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 500) {
            let registers = (begin..<begin + 500).map { number in
                let kind = Subscription.Kind.query(
                    recordType: "Note",
                    predicate: predicate(number).canonical(in: schema, for: "")
                )
                let stored = StoredSubscription(
                    user: "_u\(number / 1_000)",
                    database: .public,
                    Subscription(id: "s\(number)", kind: kind)
                )
                return Commit.Register(
                    namespace: StoredSubscription.namespace,
                    key: stored.key,
                    value: stored.subscription.storedBytes
                )
            }
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                _ = try transaction.perform(
                    registers.map { .register($0) },
                    in: scope,
                    zone: nil,
                    author: Author(user: "_u")
                )
            }
        }
    }

    private func page(of user: Caller, since token: FeedToken?) throws -> FetchFeed.Page {
        let fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        let number = try store.scopeNumber()
        return try fetch.run(store.scope, number, by: user, in: store.reader)
    }

    @Test func aStartFindsAllOfThem() throws {
        try subscribe(0..<20_000)
        let user = Caller(role: .user("_u7"), device: [1])
        let token = try page(of: user, since: nil).token
        try store.restart()
        try store.save([SaveItem("n", ["stars": 1, "title": "t7002"])], in: .public)
        // Topics are checked against the schema one turn at a time.
        try store.payComparisons()
        let page = try page(of: user, since: token)
        #expect(page.reset == nil)
        #expect(page.watches.topics.count == 1_000)
        #expect(page.news.map(\.subscription.id) == ["s7002"])
    }

    /// Copying all topics for each subscription would be more than ten times slower.
    @Test func oneMoreCostsNoMoreThanTheFirst() throws {
        func fastest(_ begins: [Int]) throws -> Duration {
            var times: [Duration] = []
            for begin in begins {
                times.append(try ContinuousClock().measure { try subscribe(begin..<begin + 500) })
            }
            return times.min() ?? .zero
        }
        // Topics are checked against the schema when the first record is saved.
        try subscribe(0..<500)
        try store.save([SaveItem("n", ["stars": 1, "title": "t"])], in: .public)
        let few = try fastest([500, 1_000, 1_500])
        try subscribe(2_000..<20_000)
        let many = try fastest([20_000, 20_500, 21_000])
        #expect(many < few * 10, "500 took \(many), the first ones \(few)")
    }
}
