// Windows with very many rows: what a feed looks up for each row is found without reading all other
// rows.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import CumulusOperations

@Suite struct LargeWindowTests {
    private let store: TestStore
    private let number: ScopeNumber
    private let phone = Caller(role: .user("_alice"), device: [1])
    private let tablet = Caller(role: .user("_alice"), device: [2])

    init() throws {
        store = try TestStore()
        number = try store.scopeNumber()
        try store.save([SaveItem("old", ["stars": 2])])
        let subscription = Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: .field("stars") > Int64(1)),
            options: .standard
        )
        let modify = ModifySubscriptions(saving: [subscription])
        #expect(try store.modify(modify, by: phone).codes == [nil])
    }

    private var fetch: FetchFeed {
        FetchFeed(
            since: nil,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
    }

    private func topic() throws -> Topic {
        let page = try fetch.run(store.scope, number, by: phone, in: store.reader)
        return try #require(page.watches.list.first?.topic)
    }

    /// The window with all events of a topic.
    private func window(of topic: Topic) throws -> FeedWindow {
        let reader = store.reader
        return try FeedWindow(
            of: [topic.id],
            from: 1,
            through: FeedHead(of: number, in: reader).lastPosition,
            isLast: true,
            in: number,
            reader
        )
    }

    private func telling(
        _ window: FeedWindow,
        known: VersionVector,
        _ reader: ReadTransaction
    ) -> FeedTelling {
        FeedTelling(
            fetch: fetch,
            ownDevice: 0,
            known: known,
            scope: number,
            window: window,
            first: 1,
            isCut: false,
            isAsking: false,
            isLater: false,
            reader: reader,
            schemas: SchemaDirectory()
        )
    }

    private func creation(_ names: [String]) -> WriteRequest<ModifyRecords> {
        let save = ModifyRecords(
            database: .private,
            policy: .ifUnchanged,
            saves: names.map { SaveItem($0, ["stars": 2]) }
        )
        return store.request(save, by: tablet)
    }

    @Test func keysAreThoseOfTheEvents() throws {
        for start in stride(from: 0, to: 1_800, by: 300) {
            _ = try store.run(creation((start..<start + 300).map { "n\($0)" })).get()
        }
        let topic = try topic()
        let window = try window(of: topic)
        let events = window.events[topic.id] ?? []
        #expect(events.count == 1_800 && events.contains { $0.row.key != nil })
        var telling = telling(window, known: VersionVector(), store.reader)
        for event in events {
            let dot = event.row.stamp.dot
            let plain = events.first {
                $0.zone == event.zone && $0.name == event.name && $0.row.stamp.dot == dot
            }
            let key = try telling.key(of: dot, event.name, in: event.zone, topic)
            if key != plain?.row.key { Issue.record("\(event.name) has the key \(key as Any)") }
        }
        // A record without an event, and a commit that did not create the record.
        let zone = try #require(events.first?.zone)
        let row = try #require(try store.reader.record(zone, "old"))
        let birth = row.birth.dot
        let later = Dot(birth.incarnation, birth.seq + 1)
        let keys = try [birth, later].map { try telling.key(of: $0, "old", in: zone, topic) }
        #expect(keys == [row.requestKey, nil])
    }

    /// A record is made and deleted very often, and two nodes run each request that makes it.
    @Test func aRecordsRepeatsAreReadOnce() throws {
        let rounds = 100
        let other = try TestStore(copying: store, seed: 2)
        var known = VersionVector()
        for round in 0..<rounds {
            let request = creation(["x"])
            for node in [store, other] { _ = try node.run(request).get() }
            try store.take(from: other)
            try store.delete([DeleteItem("x")], in: .private, by: tablet)
            try other.take(from: store)
            // The device was told of the first half at the other node.
            let run = other.state.incarnation
            if round == rounds / 2 { known[run] = try other.vector()[run] }
        }
        let topic = try topic()
        let window = try window(of: topic)
        let events = (window.events[topic.id] ?? []).filter { $0.row.key != nil }
        #expect(events.count >= rounds)
        let engine = CountingEngine(store.engine)
        var telling = telling(window, known: known, ReadTransaction(engine, reach: .disk))
        let heard = try events.map { try telling.hasHeard(of: $0) }
        let repeats = try window.repeats(of: "x", in: events[0].zone, of: number, store.reader)
        #expect(repeats.count >= rounds && engine.looks <= repeats.count + 10)
        let plain = events.map { event in
            let dot = event.row.stamp.dot
            return known.covers(dot)
                || repeats.contains { $0.contains(dot) && $0.contains(where: known.covers) }
        }
        #expect(heard == plain && Set(plain).count == 2)
    }
}
