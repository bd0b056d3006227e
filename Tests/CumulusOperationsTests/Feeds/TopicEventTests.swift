// The events that a save writes say which topics the record matched before, and which it matches
// now, whether or not the save changes what topics look at.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct TopicEventTests {
    private let store: TestStore
    private var random: RandomQueries

    private init(seed: UInt64) throws {
        store = try TestStore(seed: seed)
        random = RandomQueries(dice: SeededGenerator(seed: seed))
    }

    init() throws { try self.init(seed: 1) }

    private func row(_ name: String) throws -> RecordRow? {
        for (place, row) in try StoredRecords.all(in: store.reader) where place.name == name {
            return row
        }
        return nil
    }

    /// The flags of all events of a topic, in their order.
    private func flags(of topic: Topic.ID) throws -> [TopicEvent.Flags] {
        let (reader, scope) = (store.reader, try store.scopeNumber())
        return try reader.rows(.meta, .feedDays(of: scope)).flatMap { key, _ in
            let range = KeyRange.topicEvents(scope, try RowKey.feedDay(key), topic, from: 0)
            return try reader.rows(.log, range).map { try TopicEvent(row: $0.value).flags }
        }
    }

    private func group(_ topics: [Topic]) throws -> TopicGroup {
        let schema = try store.reader.typeSchema(try store.scopeNumber(), "Note")
        var group = TopicGroup(.init(schema: schema, environment: store.scope.environment))
        for topic in topics { group.insert(topic) }
        return group
    }

    /// Saves a record again and again, and compares the events with what the record matches.
    private func check(
        _ topics: [Topic],
        saving name: String,
        _ saves: [[String: FieldValue]]
    ) throws {
        let group = try group(topics)
        for fields in saves {
            let before = try row(name)
            let counts = try topics.map { try flags(of: $0.id).count }
            try store.save([SaveItem(name, fields.mapValues { $0 })])
            let after = try #require(try row(name))
            // Without a commit there is no event.
            if after.modified == before?.modified { continue }
            let now = after.modified.time.milliseconds
            let matched = try before.map {
                try group.matches($0, named: name, in: "_defaultZone", now: now)
            }
            let matches = try group.matches(after, named: name, in: "_defaultZone", now: now)
            for (topic, count) in zip(topics, counts) {
                let new = try flags(of: topic.id).dropFirst(count)
                var wanted: TopicEvent.Flags = []
                if matched?.contains(topic.id) == true { wanted.insert(.matchedBefore) }
                if matches.contains(topic.id) { wanted.insert(.matchesNow) }
                if wanted.isEmpty {
                    #expect(new.isEmpty)
                } else {
                    if before == nil { wanted.insert(.created) }
                    #expect(Array(new) == [wanted])
                }
            }
        }
    }

    /// The topics of all subscriptions of Alice's.
    private func topics() throws -> [Topic] {
        let stored = try store.reader.subscriptions(in: try store.scopeNumber(), of: "_alice")
        return stored.map { Topic($0) }
    }

    private func subscribe(_ predicates: [Query.Predicate]) throws {
        let subscriptions = predicates.enumerated().map { index, predicate in
            Subscription(
                id: "s\(index)",
                kind: .query(recordType: "Note", predicate: predicate)
            )
        }
        try store.modify(ModifySubscriptions(saving: subscriptions), by: .alice)
    }

    /// Many topics look at few fields, as the record changes some of these, others or none.
    @Test func changesOfOtherFieldsChangeNoMatch() throws {
        try store.save([SaveItem("r", ["stars": 1, "title": "t", "text": "x"])])
        let stars = (0..<4).map { Query.Predicate.field("stars") > Int64($0) }
        let titles: [Query.Predicate] = [
            .field("title") == "t", .field("title") == "t" && .field("stars") > Int64(1),
            .field("title") == "u" && .field("stars") > Int64(1),
        ]
        try subscribe(stars + titles)
        let topics = try topics()
        #expect(topics.count == 7)
        try check(
            topics,
            saving: "r",
            [
                ["text": "y"], ["stars": 3], ["text": "z"], ["title": "u"], ["text": "u"],
                ["title": "v", "stars": 0], ["text": "v"], ["stars": 9, "title": "t"], ["stars": 9],
            ]
        )
        try check(topics, saving: "new", [["stars": 2], ["text": "a"], ["title": "t"]])
    }

    /// Random records, changes and predicates.
    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func randomChangesMatchAsTheirRecordsDo(seed: UInt64) throws {
        var test = try TopicEventTests(seed: seed)
        // An empty list can't be the first value of a field.
        for number in 0..<60 {
            let fields = test.random.fields().filter { $0.value != .list([]) }
            try test.store.save([SaveItem("r\(number)", fields.mapValues { $0 })])
        }
        var predicates: [Query.Predicate] = []
        for _ in 0..<80 { predicates.append(test.random.query().predicate) }
        try test.subscribe(predicates)
        let topics = try test.topics()
        #expect(topics.count > 10)
        for number in 0..<6 {
            var saves: [[String: FieldValue]] = []
            for _ in 0..<5 {
                let fields = test.random.fields()
                saves += [fields, Dictionary(uniqueKeysWithValues: fields.prefix(1).map { $0 })]
            }
            try test.check(topics, saving: "r\(number)", saves)
        }
    }
}
