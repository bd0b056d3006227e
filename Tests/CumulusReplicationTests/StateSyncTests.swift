// Nodes that hand over state instead of commits come to hold what the commits would have made, at
// once and whole.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

/// What changed, or everything.
private enum Way: CaseIterable {
    case delta
    case full
}

@Suite struct StateSyncTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("r", ["a": 0, "b": 0, "n": 10])])
        try other.take(from: one)
        one.now += 10
        other.now = one.now + 10
    }

    /// Each takes the state of the other.
    private func exchange(_ way: Way) throws {
        try one.takeState(of: other, way)
        try other.takeState(of: one, way)
        #expect(try differences() == [])
    }

    private func differences() throws -> [String] {
        let states = try [one, other].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        let derived = try [one, other].flatMap { try DerivedRows.differences(in: $0.engine) }
        return ReplicatedState.differences(states[0], states[1]) + derived
    }

    private func value(_ name: String) throws -> Bytes? {
        try? other.fetch(name, in: .private, by: .alice).get().fields
    }

    // MARK: What two nodes made of one record

    @Test(arguments: Way.allCases) fileprivate func fieldsOfBothStand(way: Way) throws {
        try one.save([SaveItem("r", ["a": 1])])
        try other.save([SaveItem("r", ["b": 2])])
        try exchange(way)
        #expect(try value("r") == WireField.body(["a": 1, "b": 2, "n": 10]))
    }

    @Test(arguments: Way.allCases) fileprivate func aDeletionBeatsAnEdit(way: Way) throws {
        try one.delete([DeleteItem("r")])
        try other.save([SaveItem("r", ["a": 2])])
        try exchange(way)
        #expect(try value("r") == nil)
    }

    @Test(arguments: Way.allCases) fileprivate func theNewerOfTwoLivesIsShown(way: Way) throws {
        try one.save([SaveItem("s", ["a": 1])])
        try other.save([SaveItem("s", ["b": 2])])
        try exchange(way)
        #expect(try value("s") == WireField.body(["b": 2]))
        try one.delete([DeleteItem("s")])
        try exchange(way)
        #expect(try value("s") == nil)
    }

    @Test(arguments: Way.allCases) fileprivate func incrementsOfBothCountOnceEach(way: Way) throws {
        let save = SaveItem("r", increments: ["n": 1])
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: [save])
        let retried = one.request(.modifyRecords(modify), by: .alice)
        try one.run(retried)
        try other.run(retried)
        try other.save([SaveItem("r", increments: ["n": 5])])
        try exchange(way)
        #expect(try value("r") == WireField.body(["a": 0, "b": 0, "n": 16]))
    }

    @Test(arguments: Way.allCases) fileprivate func aDeletedZoneIsGone(way: Way) throws {
        let zone = ZoneAddress(name: "z")
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try exchange(way)
        try one.modify(ModifyZones(deleting: ["z"]), by: .alice)
        try other.save([SaveItem("s", ["a": 1], in: zone)])
        try exchange(way)
        #expect(try other.zoneNumber(zone, by: .alice) == nil)
    }

    // MARK: Forgotten deaths

    /// The tombstone is gone, the vector still tells that the life ended.
    @Test(arguments: Way.allCases) fileprivate func whatWasForgottenStaysDead(way: Way) throws {
        try one.delete([DeleteItem("r")])
        try one.purge()
        #expect(try StoredRecords.all(in: one.reader).allSatisfy { $0.place.name != "r" })
        try other.save([SaveItem("r", ["a": 2])])
        try exchange(way)
        #expect(try value("r") == nil)
    }

    @Test func whoIsBehindTheHorizonTakesAllOfTheZone() throws {
        try one.delete([DeleteItem("r")])
        try one.purge()
        let scope = try one.scopeNumber()
        let offer = try StateSource(one.reader, scope: scope).offer(to: other.vector())
        #expect(offer.zones.map(\.extent) == [.full])
    }

    // MARK: Whole or not at all

    @Test func anEmptyNodeTakesEverything() throws {
        let requests = try RandomWork(seed: 3)
        var work = requests
        _ = try work.edit(requests: 60)
        let fresh = try TestStore(seed: 4)
        try fresh.takeState(of: work.store, .full)
        let states = try [fresh, work.store].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        #expect(ReplicatedState.differences(states[0], states[1]) == [])
        #expect(states[0].count > 20)
        #expect(try DerivedRows.differences(in: fresh.engine) == [])
        // Its log begins behind what it took.
        let source = StateSource(fresh.reader, scope: try fresh.scopeNumber())
        #expect(try !source.logReaches(VersionVector()))
        #expect(try source.logReaches(work.store.vector()))
    }

    @Test func aSyncThatBreaksOffLeavesNothing() throws {
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([SaveItem("s", ["a": 1], in: ZoneAddress(name: "z"))])
        let before = try other.allRows()
        try other.takeState(of: one, .full, pages: 1)
        #expect(try other.allRows() != before)
        #expect(try other.zoneNumber(ZoneAddress(name: "z"), by: .alice) == nil)
        try other.restart()
        let left =
            try other.reader.rows(.log, .all(.stage)).count
            + other.reader.rows(.meta, .all(.stagedZone)).count
        #expect(left == 0)
        #expect(try DerivedRows.differences(in: other.engine) == [])
        #expect(try StoredRecords.all(in: other.reader).count == 1)
        try exchange(.full)
    }

    @Test(arguments: Way.allCases) fileprivate func whatIsWrittenMeanwhileStays(way: Way) throws {
        try one.save([SaveItem("r", ["a": 1])])
        try other.takeState(of: one, way) {
            try other.save([SaveItem("r", ["b": 5]), SaveItem("new", ["c": 1])])
        }
        #expect(try value("r") == WireField.body(["a": 1, "b": 5, "n": 10]))
        #expect(try value("new") == WireField.body(["c": 1]))
        try exchange(way)
    }
}

@Suite struct CollectionTests {
    private let store: TestStore

    init() throws {
        store = try TestStore(seed: 1)
        try store.save([SaveItem("r", ["a": 0]), SaveItem("s", ["a": 0])])
        try store.delete([DeleteItem("r")])
        store.now += 1_000
    }

    private func holdsTombstone() throws -> Bool {
        try StoredRecords.all(in: store.reader).contains { $0.row.isDead }
    }

    private func horizon() throws -> VersionVector {
        let source = StateSource(store.reader, scope: try store.scopeNumber())
        return try source.zones().reduce(into: VersionVector()) { $0.merge($1.row.horizon) }
    }

    @Test func aTombstoneStaysUntilAllHaveReadPastIt() throws {
        let vector = try store.vector()
        for reports in [[nil], [VersionVector()], [vector, nil]] as [[VersionVector?]] {
            try store.purge(Collection.stable(vector, reports: reports))
            #expect(try holdsTombstone())
        }
        #expect(try horizon().isEmpty)
        try store.purge(Collection.stable(vector, reports: [vector]))
        #expect(try !holdsTombstone())
        #expect(try horizon() == vector)
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try store.names(in: .private, by: .alice) == ["s"])
    }

    @Test func aTombstoneStaysForItsTime() throws {
        try store.purge(diedBefore: store.now - 1_000)
        #expect(try holdsTombstone())
        try store.purge(diedBefore: store.now - 999)
        #expect(try !holdsTombstone())
    }

    @Test func purgesGoOnWhereTheyStopped() throws {
        let names = (0..<25).map { "n\($0)" }
        try store.save(names.map { SaveItem($0, ["a": 1]) })
        try store.delete(names.map { DeleteItem($0) })
        store.now += 1_000
        try store.purge(rowLimit: 4)
        #expect(try StoredRecords.all(in: store.reader).map(\.place.name) == ["s"])
    }

    @Test func aTruncatedLogSaysHowFarItReaches() throws {
        let old = try store.vector()
        try store.save([SaveItem("t", ["a": 1])])
        let source = { StateSource(store.reader, scope: try store.scopeNumber()) }
        #expect(try source().logReaches(VersionVector()))
        try store.truncateLog(through: old)
        #expect(try !source().logReaches(VersionVector()))
        #expect(try source().logReaches(old))
        let left = try store.commits(above: [:]).values.joined().map(\.0.stamp.dot.seq)
        #expect(left == [old.dots[0].seq + 1])
        // The node goes on as before.
        try store.restart()
        try store.save([SaveItem("u", ["a": 1])])
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    @Test func nothingBeyondTheVectorIsTruncated() throws {
        var beyond = try store.vector()
        let dot = beyond.dots[0]
        beyond[dot.incarnation] += 5
        try store.truncateLog(through: beyond)
        try store.save([SaveItem("t", ["a": 1])])
        #expect(
            try store.commits(above: [:]).values.joined().map(\.0.stamp.dot.seq) == [dot.seq + 1]
        )
    }

    @Test func reportsAreKept() throws {
        let vector = try store.vector()
        let node = Bytes(repeating: 7, count: 16)
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            Collection.note(vector, of: node, in: scope, at: 7, &transaction)
        }
        try store.restart()
        #expect(try store.reader.reports(of: scope) == [node: ReportRow(vector: vector, time: 7)])
    }
}

extension TestStore {
    /// Takes over another store's state, or the first pages of it; `meanwhile` runs before the end.
    fileprivate func takeState(
        of other: TestStore,
        _ way: Way,
        pages limit: Int = .max,
        _ meanwhile: () throws -> Void = {}
    ) throws {
        let scope = try scopeNumber()
        let snapshot = ReadTransaction(try other.engine.snapshot(), reach: .disk)
        let source = StateSource(snapshot, scope: try other.scopeNumber())
        let offer = try source.offer(to: vector(), isLarge: { _ in way == .full })
        var intake = try StateIntake(offer, above: vector(), now: now)
        var begun: StateSync?
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            begun = try StateSync(offer, in: scope, &transaction)
        }
        var sync = try #require(begun)
        var pages = StatePages(source, offer)
        var taken = 0
        while taken < limit, let page = try pages.next(byteLimit: 1) {
            let read = try intake.read(page)
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                try sync.take(read, &transaction)
            }
            taken += 1
        }
        if taken == limit { return }
        try meanwhile()
        var isMerged = false
        while !isMerged {
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                isMerged = try sync.merge(recordLimit: 1, &transaction)
            }
        }
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            try sync.finish(&transaction)
        }
    }

    /// Drops tombstones; unless told otherwise all that died by now.
    fileprivate func purge(
        _ stable: VersionVector? = nil,
        diedBefore: Int64? = nil,
        rowLimit: Int = 1_000
    ) throws {
        let purge = Collection.Purge(
            stable: try stable ?? vector(),
            diedBefore: diedBefore ?? now + 1
        )
        try self.purge(purge, limit: rowLimit)
    }

    fileprivate func truncateLog(through vector: VersionVector) throws {
        let scope = try scopeNumber()
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Collection.truncateLog(of: scope, through: vector, &transaction)
        }
    }
}
