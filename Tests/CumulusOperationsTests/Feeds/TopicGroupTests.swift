// The topics that a record matches are those whose queries find it, whatever way leads to them.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct TopicGroupTests {
    /// 200 random predicates about 60 random records: as topics and as queries.
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
                // What went leaves nothing behind.
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
}
