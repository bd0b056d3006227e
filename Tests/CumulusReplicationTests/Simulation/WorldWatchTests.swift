// `WorldWatch` notices faults of nodes: each fault that it looks for in simulated worlds is shown
// to it here.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import Testing

@testable import CumulusTesting

@Suite struct WorldWatchTests {
    private let store: TestStore
    private var watch: WorldWatch

    init() throws {
        store = try TestStore(seed: 1)
        watch = WorldWatch(of: store.scope)
        try store.save(PairLoad.names.map { SaveItem($0, ["pair": 1]) })
        try store.save([SaveItem("r", ["n": 1]), SaveItem("s", ["n": 1])])
    }

    /// The checkers that find something in the end.
    private mutating func found() throws -> Set<String> {
        try watch.look(at: 0, store.reader)
        var found = Set(watch.violations.map(\.checker))
        let different = try #require(try watch.outcome(of: store.reader))
        if !different.isEmpty { found.insert("outcome") }
        return found
    }

    /// Changes a life as no commit does, and then something as one does.
    private func damage(_ name: String, _ change: (inout [RecordRow]) -> Void) throws {
        let database = try Authorisation.database(.private, for: .alice)
        let number = try #require(
            try store.zoneNumber(ZoneAddress(name: Names.defaultZone), by: .alice)
        )
        let place = ZonePlace(
            scope: try store.scopeNumber(),
            database: try #require(try store.reader.database(store.scopeNumber(), database)),
            number: number,
            zone: Commit.Zone(database: database, name: Names.defaultZone, generation: 1)
        )
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let before = try transaction.lives(number, name)
            var rows = before
            change(&rows)
            if rows.isEmpty {
                try transaction.erase(before, of: name, at: place)
            } else {
                _ = try transaction.replace(before, with: rows, of: name, at: place)
            }
        }
        try store.save([SaveItem("later", ["n": 1])])
    }

    @Test mutating func whatIsRightIsRight() throws {
        try store.save([SaveItem("r", ["n": 2])])
        try store.delete([DeleteItem("s")])
        #expect(try found().isEmpty)
        #expect(watch.pairsFound == 1)
    }

    @Test mutating func aLostRecordIsSeen() throws {
        try damage("r") { $0 = [] }
        #expect(try found() == ["outcome"])
    }

    @Test mutating func halfABatchIsSeen() throws {
        try damage("pair-a") { $0 = [] }
        #expect(try found() == ["batches", "outcome"])
    }

    @Test mutating func aRecordFromBeyondTheVectorIsSeen() throws {
        let time = HybridTime(UInt64.max / 2)
        try damage("r") { $0[0].modified = Stamp(time, Dot(Incarnation(77), 5)) }
        #expect(try found().contains("vectors"))
    }

    @Test mutating func aLifeThatRisesIsSeen() throws {
        try watch.look(at: 0, store.reader)
        var rows: [RecordRow] = []
        try damage("r") { rows = $0 }
        try store.delete([DeleteItem("r")])
        try watch.look(at: 0, store.reader)
        try damage("r") { $0 = rows }
        #expect(try found() == ["outcome", "risen"])
    }

    /// Another node's commit, and not what its maker had.
    @Test mutating func aVectorWithAHoleIsSeen() throws {
        let (second, third) = (
            try TestStore(copying: store, seed: 2), try TestStore(copying: store, seed: 3)
        )
        try second.save([SaveItem("t", ["n": 1])])
        try third.take(from: second)
        try third.save([SaveItem("u", ["n": 1])])
        try watch.look(at: 1, second.reader)
        let commits = try third.commits(above: second.vectors()).values.joined()
        for (commit, bytes) in commits { try store.apply(commit, bytes: bytes) }
        #expect(try found() == ["closed"])
    }

    @Test mutating func nothingIsSaidOfWhatNobodySaw() throws {
        let last = try #require(try store.vector().dots.last)
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.put(.commit(scope, last), nil)
        }
        try watch.look(at: 0, store.reader)
        #expect(try watch.outcome(of: store.reader) == nil)
    }

    /// A commit put a value into a counter that it deleted too: the value went with that counter,
    /// and the counter that began anew lacks it.
    @Test mutating func whatWentWithACounterIsNotMissed() throws {
        try store.save([SaveItem("g")])
        try store.save([SaveItem("c", ["owner": .owner("g")], increments: ["n": 1])])
        let last = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [SaveItem("c", ["title": "last"], increments: ["n": 2])],
            deletes: [DeleteItem("g")]
        )
        try store.modify(last, by: .alice)
        try store.save([SaveItem("c", increments: ["n": 4])])
        #expect(try found().isEmpty)
    }
}
