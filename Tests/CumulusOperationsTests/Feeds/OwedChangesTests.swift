// Changes that a batch leaves to be compared with subscriptions later: feeds wait for them, and
// then tell the same as without the delay.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct OwedChangesTests {
    private let store: TestStore
    private let phone = Caller(role: .user("_alice"), device: [1])
    private let tablet = Caller(role: .user("_alice"), device: [2])

    init() throws {
        store = try TestStore()
        try store.save([SaveItem("old", ["stars": 1]), SaveItem("o", ["n": 1], type: "Other")])
        try subscribe("s", to: "Note", .field("stars") > Int64(1))
        store.comparisonSteps = 0
    }

    // MARK: Parts

    private func subscribe(
        _ id: String,
        to type: String,
        _ predicate: Query.Predicate,
        options: Subscription.Options = .standard
    ) throws {
        let subscription = Subscription(
            id: id,
            kind: .query(recordType: type, predicate: predicate),
            options: options
        )
        let modify = ModifySubscriptions(saving: [subscription])
        #expect(try store.modify(modify, by: phone).codes == [nil])
    }

    private func page(since token: FeedToken?) throws -> FetchFeed.Page {
        let fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        let number = try store.scopeNumber()
        return try fetch.run(store.scope, number, by: phone, in: store.reader)
    }

    private func save(_ name: String, stars: Int64) throws {
        try store.save([SaveItem(name, ["stars": .int64(stars)])], by: tablet)
    }

    /// The names of the records, with their transitions.
    private func told(_ page: FetchFeed.Page) -> [String] {
        page.news.map { news in
            guard case .record(_, let name, _, let transition) = news.change else { return "?" }
            return "\(name) \(transition)"
        }
    }

    private var owed: Int {
        get throws { try store.reader.rows(.log, .all(.owedChange)).count }
    }

    // MARK: Feeds

    @Test func aFeedWaitsForWhatIsOwed() throws {
        let token = try page(since: nil).token
        try save("a", stars: 5)
        try save("old", stars: 3)
        #expect(try owed == 2)
        let waiting = try page(since: token)
        #expect(waiting.news.isEmpty && !waiting.isLast && waiting.awaited.count == 1)
        // A turn compares at least one change.
        try store.payComparisons(turns: 1)
        #expect(try owed == 1)
        try store.payComparisons()
        #expect(try owed == 0)
        let page = try page(since: waiting.token)
        #expect(told(page) == ["a entered", "old entered"])
        #expect(page.isLast && page.awaited.isEmpty && page.reset == nil)
        #expect(try self.page(since: page.token).news.isEmpty)
    }

    /// Each turn holds one record or two.
    @Test func aTurnReadsFewLargeChanges() throws {
        let text = FieldValue.string(String(repeating: "x", count: 1_000))
        for name in ["a", "b", "c"] {
            try store.save([SaveItem(name, ["stars": 5, "text": text])], by: tablet)
        }
        #expect(try owed == 3)
        (store.comparisonSteps, store.storedBytesPerRequest) = (60_000, 4_000)
        try store.payComparisons(turns: 1)
        #expect(try owed == 1)
        try store.payComparisons()
        #expect(try owed == 0)
    }

    /// A page ends before the first owed change, and the next page goes on there.
    @Test func whatComesBeforeIsTold() throws {
        let token = try page(since: nil).token
        store.comparisonSteps = 60_000
        try save("a", stars: 5)
        store.comparisonSteps = 0
        try save("b", stars: 5)
        store.comparisonSteps = 60_000
        try save("c", stars: 5)
        let first = try page(since: token)
        #expect(told(first) == ["a entered"] && !first.isLast)
        try store.payComparisons()
        let second = try page(since: first.token)
        #expect(told(second) == ["b entered", "c entered"] && second.isLast)
    }

    /// A feed that watches another type does not wait, and neither does one that begins later.
    @Test func othersDoNotWait() throws {
        try store.modify(ModifySubscriptions(deleting: ["s"]), by: phone)
        try subscribe("t", to: "Other", .field("n") > Int64(0))
        let token = try page(since: nil).token
        try save("a", stars: 5)
        // Nobody watches the type.
        #expect(try owed == 0)
        try subscribe("s", to: "Note", .field("stars") > Int64(1))
        let later = try page(since: token)
        try save("b", stars: 5)
        #expect(try owed == 1)
        try store.modify(ModifySubscriptions(deleting: ["s"]), by: phone)
        let others = try page(since: later.token)
        #expect(others.isLast && others.news.isEmpty)
        try subscribe("s", to: "Note", .field("stars") > Int64(1))
        let begun = try page(since: nil)
        #expect(begun.isLast)
        try store.payComparisons()
        #expect(try page(since: begun.token).news.isEmpty)
    }

    /// Owed changes are stored, and are told in their order after a restart.
    @Test func theyOutliveTheProcess() throws {
        let token = try page(since: nil).token
        for number in 0..<40 { try save("n\(number)", stars: 5) }
        try store.restart()
        try save("last", stars: 5)
        #expect(try owed == 41)
        try store.payComparisons(turns: 1)
        #expect(try (1...40).contains(owed))
        try store.restart()
        try store.payComparisons()
        let names = try page(since: token).news.map { news -> String in
            guard case .record(_, let name, _, _) = news.change else { return "" }
            return name
        }
        #expect(names == (0..<40).map { "n\($0)" } + ["last"])
    }

    /// The changes of one record are told as one, even if they are compared later.
    @Test func aRecordsChangesAreToldTogether() throws {
        // The device has asked its queries, so records that come and go from now on are not told.
        let token = try page(since: page(since: nil).token).token
        try save("a", stars: 5)
        try save("a", stars: 6)
        try store.delete([DeleteItem("a")], in: .private, by: tablet)
        try save("b", stars: 5)
        try save("b", stars: 0)
        try save("old", stars: 4)
        try save("old", stars: 3)
        try store.payComparisons()
        #expect(told(try page(since: token)) == ["old entered"])
    }

    /// One commit changes records, and deletes them with a cascade.
    @Test(arguments: [0, 1, 60_000]) func partsOfOneCommitAreOneChange(steps: Int) throws {
        store.comparisonSteps = 60_000
        try store.save([SaveItem("owner")])
        let item = SaveItem("child", ["stars": 5, "of": .owner("owner")])
        try store.save([item], by: tablet)
        let token = try page(since: nil).token
        store.comparisonSteps = steps
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [
                SaveItem("child", ["stars": 7]), SaveItem("old", ["stars": 7]),
            ],
            deletes: [DeleteItem("owner")]
        )
        try store.modify(modify, by: tablet)
        try store.payComparisons()
        let page = try page(since: token)
        #expect(Set(told(page)) == ["child left", "old entered"])
    }

    /// The subscription ends with the turn that finds the change.
    @Test func whatFiresOnceFiresLater() throws {
        try store.modify(ModifySubscriptions(deleting: ["s"]), by: phone)
        let options: Subscription.Options = [.firesOnRecordCreation, .firesOnce]
        try subscribe("once", to: "Note", .field("stars") > Int64(1), options: options)
        let token = try page(since: nil).token
        try save("a", stars: 5)
        try save("b", stars: 5)
        // Another run of the node compares the changes that this one owes.
        try store.restart()
        try store.payComparisons()
        #expect(try store.subscriptions().isEmpty)
        #expect(told(try page(since: token)) == ["a entered"])
    }

    /// If more is owed than the store may keep, feeds are reset.
    @Test func beyondItsBytesFeedsAreReset() throws {
        let token = try page(since: nil).token
        store.owedChangeBytes = 2_000
        for number in 0..<20 { try save("n\(number)", stars: 5) }
        #expect(try owed == 20)
        try store.payComparisons()
        #expect(try owed == 0)
        let page = try page(since: token)
        #expect(page.reset == .all && page.isLast)
        try save("later", stars: 5)
        try store.payComparisons()
        #expect(told(try self.page(since: page.token)) == ["later entered"])
    }

    // MARK: Steps

    /// Some comparisons of each change are free; the others count for the batch.
    @Test func aBatchComparesAsMuchAsItMay() throws {
        let comparisons = (0..<99).map { Query.Predicate.field("stars") != Int64(1_000 + $0) }
        let all = comparisons.reduce(Query.Predicate.field("stars") > Int64(1)) { $0 && $1 }
        try subscribe("heavy", to: "Note", all)
        store.comparisonSteps = 600
        let items = (0..<40).map { SaveItem("n\($0)", ["stars": 5]) }
        try store.save(items, by: tablet)
        // Each change takes some hundred steps, two of which are free; before that the topics are
        // bound.
        let left = try owed
        #expect((30...39).contains(left))
        try save("single", stars: 5)
        #expect(try owed == left)
    }

    /// A row is read completely or not at all.
    @Test func damagedRowsAreNotRead() throws {
        try save("a", stars: 5)
        let (_, row) = try #require(try store.reader.rows(.log, .all(.owedChange)).first)
        #expect(try OwedChange(row: row).rowBytes == row)
        for end in 0..<row.count {
            #expect(throws: (any Error).self) { try OwedChange(row: Bytes(row[..<end])) }
        }
        for index in row.indices {
            var damaged = row
            damaged[index] ^= 0x55
            guard let read = try? OwedChange(row: damaged) else { continue }
            #expect(read.rowBytes == damaged)
        }
    }
}
