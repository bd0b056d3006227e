// A record matches a topic if and only if the topic's query finds it, by whatever way.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct TopicGroupTests {
    /// Compares 200 random predicates on 60 random records, as topics and as queries.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func topicsMatchWhatQueriesFind(seed: UInt64) throws {
        var random = RandomQueries(dice: SeededGenerator(seed: seed))
        let store = try TestStore(seed: seed)
        // An empty list can't be the first value of a field.
        for number in 0..<60 {
            let fields = random.fields().filter { $0.value != .list([]) }
            try store.save([SaveItem("r\(number)", fields.mapValues { $0 })])
        }
        let schema = try store.reader.typeSchema(try store.scopeNumber(), "Note")
        var group = TopicGroup(
            TopicGroup.Binding(schema: schema, environment: store.scope.environment)
        )
        var found: [Topic.ID: Set<String>] = [:]
        for number in 0..<200 {
            var query = random.query()
            query.sortDescriptors = []
            let topic = Topic(
                database: DatabaseID(kind: .private, owner: "_alice"),
                zones: .all,
                recordType: "Note",
                predicate: query.predicate.canonical(in: schema, for: "_alice")
            )
            group.insert(topic)
            if number % 4 == 0, found[topic.id] == nil {
                // A topic that is removed leaves nothing behind.
                group.remove(topic.id)
                continue
            }
            let page = try store.query(query, limit: 400)
            found[topic.id] = Set(page.records.map(\.record.name))
        }
        for (place, row) in try StoredRecords.all(in: store.reader) where !row.isDead {
            guard row.type == "Note" else { continue }
            let topics = try group.matches(row, named: place.name, in: "z", now: store.now)
            let wanted = found.filter { $0.value.contains(place.name) }.map(\.key)
            #expect(topics == Set(wanted), "record \(place.name)")
        }
        #expect(found.values.reduce(0) { $0 + $1.count } > 200)
    }

    /// `NOW()` is the time of the change, even next to other values and comparisons.
    @Test func nowIsTheTimeOfTheChange() throws {
        let store = try TestStore()
        let due = FieldValue.timestamp(Timestamp(millisecondsSince1970: 5_000))
        try store.save([SaveItem("n", ["due": due, "stars": 1])])
        let schema = try store.reader.typeSchema(try store.scopeNumber(), "Note")
        var group = TopicGroup(
            TopicGroup.Binding(schema: schema, environment: store.scope.environment)
        )
        func insert(_ parts: [Query.Node]) -> Topic.ID {
            let topic = Topic(
                database: .public,
                zones: .all,
                recordType: "Note",
                predicate: Query.Predicate(nodes: parts).canonical(in: schema, for: "_alice")
            )
            group.insert(topic)
            return topic.id
        }
        func compared(_ key: String, _ relation: Query.Relation, _ operand: Query.Operand)
            -> Query.Node
        {
            .comparison(Query.Comparison(key, relation, [operand]))
        }
        let past = compared("due", .lessThan, .now)
        let passed = insert([past])
        let few = insert([compared("stars", .lessThan, .value(2)), past, .and])
        let many = insert([compared("stars", .greaterThan, .value(2)), past, .or])
        let open = insert([past, .not])
        let other = insert([compared("due", .notEquals, .now)])
        for (place, row) in try StoredRecords.all(in: store.reader) where place.name == "n" {
            func matches(_ now: Int64) throws -> Set<Topic.ID> {
                try group.matches(row, named: place.name, in: "z", now: now)
            }
            #expect(try matches(4_000) == [open, other])
            #expect(try matches(6_000) == [passed, few, many, other])
            #expect(try matches(5_000) == [open])
        }
    }
}
