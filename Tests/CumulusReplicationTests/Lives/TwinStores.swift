// Two nodes that are asked for the same before they hear of each other.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

struct TwinStores {
    let one: TestStore
    let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        other.now += 10
    }

    var both: [TestStore] { [one, other] }

    func save(
        _ items: [SaveItem],
        _ policy: SavePolicy = .ifUnchanged
    ) -> WriteRequest<ModifyRecords> {
        one.request(
            ModifyRecords(database: .private, policy: policy, saves: items),
            by: .alice
        )
    }

    @discardableResult
    func run<Asked: RememberedChange>(
        _ request: WriteRequest<Asked>,
        at store: TestStore
    ) throws -> ModifyOutcome {
        try #require(Asked.items(of: try store.run(request).get()))
    }

    /// Each hears of all that the other did; then both hold the same.
    func exchange() throws {
        try one.take(from: other)
        try other.take(from: one)
        try expectTheSame()
    }

    func exchangeState(_ way: StateWay) throws {
        try one.takeState(of: other, way)
        try other.takeState(of: one, way)
        try expectTheSame()
    }

    func expectTheSame() throws {
        let states = try both.map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        #expect(ReplicatedState.differences(states[0], states[1]) == [])
        for store in both { #expect(try DerivedRows.differences(in: store.engine) == []) }
    }

    /// All lives of a record, on a node.
    func lives(_ name: String, at store: TestStore) throws -> [RecordRow] {
        try StoredRecords.all(in: store.reader)
            .filter { $0.place.name == name && !$0.row.isDead }.map(\.row)
    }

    func row(_ name: String, at store: TestStore) throws -> RecordRow? {
        let zone = try #require(try store.zoneNumber(ZoneAddress(), by: .alice))
        return try store.reader.record(zone, name)
    }

    func fields(_ name: String, at store: TestStore) throws -> Bytes? {
        try? store.fetch(name, in: .private, by: .alice).get().fields
    }

    /// Conflicts that a node tells.
    func conflicts(at store: TestStore) throws -> Int {
        try store.reader.rows(.log, .conflicts(of: store.scopeNumber())).count
    }

    /// Forgets ended lives as a node does: what all members reported is here.
    func forgetEnds(at store: TestStore, before time: Int64 = .max, hasAll: Bool = true) throws {
        let purge = Collection.Purge(
            stable: try store.vector(),
            diedBefore: time,
            waitsSince: time,
            endsBefore: time,
            hasAllReported: hasAll
        )
        try store.purge(purge, limit: 100)
    }
}
