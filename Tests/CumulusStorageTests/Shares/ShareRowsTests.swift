// What a commit leaves of shares: the entries in the row, the rows by which a share is found, and
// how records hung before.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ShareRowsTests {
    private static let zone = Commit.Zone(
        database: DatabaseID(kind: .private, owner: "_u"),
        name: "trips",
        generation: 1
    )
    private var store: ScratchStore

    init() throws {
        store = try ScratchStore()
        try perform([.zoneCreate])
    }

    @discardableResult
    private mutating func perform(
        _ operations: [Commit.Operation]
    ) throws(EngineError) -> (commit: Commit, rows: [RecordRow]) {
        let (scope, zone) = (store.scope, ShareRowsTests.zone)
        return try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            try transaction.perform(operations, in: scope, zone: zone, author: Author(user: "_u"))
        }
    }

    private func number() throws -> ZoneNumber {
        let id = ShareRowsTests.zone.database
        let database = try #require(try store.reader.database(store.scope, id))
        let zone = try store.reader.zone(database, ShareRowsTests.zone.name)
        return try #require(zone).number
    }

    private func record(_ name: String) throws -> RecordRow {
        let zone = try number()
        return try #require(try store.reader.record(zone, name))
    }

    /// Shares a record with somebody who has accepted.
    private mutating func share(_ root: String, as name: String, with user: String) throws {
        let row = try record(root)
        var entries = AccessEntries()
        entries.join(AccessEntries.root(.record(name: root, birth: row.birth.dot)))
        entries.join(entries.settingPublic(.readOnly))
        entries.join(entries.joining(user, now: 1))
        try perform([
            .put(try Commit.Put(name, ["title": "Trip"])),
            .access(.init(recordName: name, births: [], entries: entries.entries)),
            .access(.init(recordName: root, births: [row.birth.dot], share: name)),
        ])
    }

    @Test mutating func aShareIsFoundByItsURLAndByItsUsers() throws {
        try perform([.put(try Commit.Put("r", [:]))])
        try share("r", as: "s", with: "_ann")
        let (zone, root) = (try number(), try record("r"))
        #expect(root.share?.name == "s")
        let share = try #require(try store.reader.shareInForce("s", in: zone))
        #expect(share.entries.permission(of: "_ann") == .readOnly)
        let id = ShareID(.record(name: "r", birth: root.birth.dot), in: ShareRowsTests.zone)
        let row = try store.reader.shareIDRow(id, in: store.scope)
        #expect(row == ShareIDRow(zone: ShareRowsTests.zone, recordNames: ["s"]))
        let visible = try store.reader.visibleZones(of: "_ann", in: store.scope)
        #expect(visible.map(\.zone) == ["trips"] && visible.map(\.owner) == ["_u"])
        #expect(visible.first?.row.shares == ["s"])
        #expect(try store.reader.visibleZones(of: "_bob", in: store.scope).isEmpty)
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    /// A put of the whole record changes its fields, and not who may read them.
    @Test mutating func aPutKeepsTheEntries() throws {
        try perform([.put(try Commit.Put("r", [:]))])
        try share("r", as: "s", with: "_ann")
        let before = try record("s")
        var put = try Commit.Put("s", birth: before.birth.dot, ["title": "Other"])
        put.isFull = true
        try perform([.put(put)])
        let after = try record("s")
        #expect(after.access == before.access && !after.access.isEmpty)
        #expect(after.tag != before.tag)
    }

    @Test mutating func anAccessChangeIsAChangeOfTheRecord() throws {
        try perform([.put(try Commit.Put("r", [:]))])
        try share("r", as: "s", with: "_ann")
        let before = try record("s")
        store.now += 10
        let ann = try #require(before.access.participants.first)
        let change = before.access.removing(ann)
        let commit = try perform([
            .access(.init(recordName: "s", births: [before.birth.dot], entries: change))
        ]).commit
        let after = try record("s")
        #expect(after.modified == commit.stamp && after.frontier == [commit.stamp])
        #expect(after.tag != before.tag && after.digest != before.digest)
        #expect(after.body == before.body)
        let zone = try number()
        let share = try #require(try store.reader.shareInForce("s", in: zone))
        #expect(share.entries.permission(of: "_ann") == nil)
    }

    /// A share is of one life of its root, and of two shares the root names one.
    @Test mutating func aShareIsInForceWhileItsRootLivesAndNamesIt() throws {
        try perform([.put(try Commit.Put("r", [:]))])
        try share("r", as: "s", with: "_ann")
        try share("r", as: "t", with: "_bob")
        let zone = try number()
        #expect(try store.reader.shareInForce("s", in: zone) == nil)
        #expect(try store.reader.shareInForce("t", in: zone) != nil)
        let birth = try record("r").birth.dot
        try perform([.delete(recordName: "r", births: [birth])])
        #expect(try store.reader.shareInForce("t", in: zone) == nil)
        try perform([.put(try Commit.Put("r", [:]))])
        #expect(try store.reader.shareInForce("t", in: zone) == nil)
    }

    /// A root has two shares, and the one in force is deleted; the other one is still found.
    @Test mutating func aPlaceIsKeptWhileAShareOfTheRootLives() throws {
        try perform([.put(try Commit.Put("r", [:]))])
        try share("r", as: "s", with: "_ann")
        try share("r", as: "t", with: "_bob")
        let root = AccessEntries.Root.record(name: "r", birth: try record("r").birth.dot)
        let id = ShareID(root, in: ShareRowsTests.zone)
        for (deleted, left) in [("t", ["s"]), ("s", [])] {
            try perform([
                .delete(recordName: deleted, births: [try record(deleted).birth.dot])
            ])
            let scope = store.scope
            _ = try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
                try ScopeShares(of: scope).forgetIDRows(after: nil, limit: 10, &transaction)
            }
            let row = try store.reader.shareIDRow(id, in: store.scope)
            #expect(row?.recordNames ?? [] == left)
            #expect(try DerivedRows.differences(in: store.engine) == [])
        }
    }

    // MARK: How records hung

    @Test mutating func aMoveAndAnEndLeaveWhatWasBefore() throws {
        try perform([.put(try Commit.Put("p", [:])), .put(try Commit.Put("q", [:]))])
        var put = try Commit.Put("n", [:])
        put.parent = .init(recordName: "p", birth: try record("p").birth.dot)
        let born = try perform([.put(put)]).commit.stamp
        let zone = try number()
        // What hangs now stands in the record.
        #expect(try store.reader.hangEvents(of: "n", in: zone).isEmpty)
        var move = try Commit.Put("n", birth: born.dot, [:])
        move.parent = .init(recordName: "q", birth: try record("q").birth.dot)
        let moved = try perform([.put(move)]).commit.stamp
        var events = try store.reader.hangEvents(of: "n", in: zone)
        #expect(events.map(\.event) == [.hung(under: "p")])
        #expect(events.map(\.stamp) == [born] && events.map(\.birth) == [born])
        let ended = try perform([.delete(recordName: "n", births: [born.dot])]).commit.stamp
        events = try store.reader.hangEvents(of: "n", in: zone)
        #expect(events.map(\.event) == [.hung(under: "p"), .hung(under: "q"), .ended(nil)])
        #expect(events.map(\.stamp) == [born, moved, ended])
    }

    /// A move that loses counts only for nodes that had heard of it alone.
    @Test mutating func aMoveThatLosesIsRemembered() throws {
        try perform([.put(try Commit.Put("p", [:])), .put(try Commit.Put("q", [:]))])
        let born = try perform([.put(try Commit.Put("n", [:]))]).commit.stamp
        store.now += 60_000
        var move = try Commit.Put("n", birth: born.dot, [:])
        move.parent = .init(recordName: "q", birth: try record("q").birth.dot)
        try perform([.put(move)])
        var lost = move
        lost.parent = .init(recordName: "p", birth: try record("p").birth.dot)
        let foreign = Commit.foreign(
            .put(lost),
            milliseconds: store.now - 1_000,
            zone: ShareRowsTests.zone
        )
        let scope = store.scope
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.apply(foreign, bytes: foreign.encoded(), in: scope)
        }
        #expect(try record("n").parent?.name == "q")
        let events = try store.reader.hangEvents(of: "n", in: try number())
        #expect(events.map(\.event) == [.hung(under: "p")])
        #expect(events.map(\.stamp) == [foreign.stamp])
    }

    /// A save of the whole record without a parent is a move to nowhere.
    @Test mutating func aWholeSaveWithoutAParentIsRemembered() throws {
        try perform([.put(try Commit.Put("p", [:])), .put(try Commit.Put("q", [:]))])
        let parents = [try record("p").birth.dot, try record("q").birth.dot]
        let born = try perform([.put(try Commit.Put("n", [:]))]).commit.stamp
        store.now += 60_000
        var move = try Commit.Put("n", birth: born.dot, [:])
        move.parent = .init(recordName: "q", birth: parents[1])
        try perform([.put(move)])
        var whole = try Commit.Put("n", birth: born.dot, [:])
        whole.isFull = true
        let foreign = Commit.foreign(
            .put(whole),
            milliseconds: store.now - 1_000,
            zone: ShareRowsTests.zone
        )
        let scope = store.scope
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.apply(foreign, bytes: foreign.encoded(), in: scope)
        }
        let events = try store.reader.hangEvents(of: "n", in: try number())
        #expect(events.map(\.event) == [.hung(under: nil)])
        #expect(events.map(\.stamp) == [foreign.stamp])
    }

    /// A move that comes after the end of its life is remembered, and so is each end: a token may
    /// cover one and not the others.
    @Test mutating func whatComesAfterTheEndIsRemembered() throws {
        try perform([.put(try Commit.Put("p", [:])), .put(try Commit.Put("n", [:]))])
        let born = try record("n").birth
        let parent = try record("p").birth.dot
        store.now += 60_000
        let delete = Commit.Operation.delete(recordName: "n", births: [born.dot])
        let end = try perform([delete]).commit.stamp
        var move = try Commit.Put("n", birth: born.dot, [:])
        move.parent = .init(recordName: "p", birth: parent)
        let earlier = store.now - 1_000
        let moved = Commit.foreign(.put(move), milliseconds: earlier, zone: ShareRowsTests.zone)
        let ended = Commit.foreign(
            delete,
            milliseconds: earlier + 1,
            zone: ShareRowsTests.zone,
            seq: 2
        )
        let scope = store.scope
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            for commit in [moved, ended] {
                _ = try transaction.apply(commit, bytes: commit.encoded(), in: scope)
            }
        }
        let zone = try number()
        let events = try store.reader.hangEvents(of: "n", in: zone)
        #expect(events.allSatisfy { $0.birth == born })
        #expect(events.map(\.event) == [.hung(under: "p"), .ended(nil), .ended(nil)])
        #expect(events.map(\.stamp) == [moved.stamp, ended.stamp, end])
        // Once the floor covers the first end, nothing of the life counts.
        let time = end.time.milliseconds
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try FormerParents(of: zone).forget(
                before: time,
                after: nil,
                limit: 100,
                &transaction
            )
        }
        #expect(try store.reader.hangEvents(of: "n", in: zone).isEmpty)
        #expect(try store.reader.hangFloor(of: zone).covers(ended.stamp.dot))
        #expect(try !store.reader.hangFloor(of: zone).covers(end.dot))
    }

    /// What counted at that time stays; a token from before it has expired.
    @Test mutating func whatIsOldIsForgottenAndTheFloorSaysSo() throws {
        try perform([.put(try Commit.Put("p", [:])), .put(try Commit.Put("q", [:]))])
        let parents = [try record("p").birth.dot, try record("q").birth.dot]
        let born = try perform([.put(try Commit.Put("n", [:]))]).commit.stamp
        var moves: [Stamp] = []
        for step in 0..<4 {
            store.now += 1_000
            var move = try Commit.Put("n", birth: born.dot, [:])
            move.parent = .init(recordName: step % 2 == 0 ? "p" : "q", birth: parents[step % 2])
            moves.append(try perform([.put(move)]).commit.stamp)
        }
        let (zone, time) = (try number(), moves[2].time.milliseconds)
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try FormerParents(of: zone).forget(
                before: time,
                after: nil,
                limit: 100,
                &transaction
            )
        }
        let events = try store.reader.hangEvents(of: "n", in: zone)
        #expect(events.map(\.stamp) == [moves[1], moves[2]])
        #expect(try store.reader.hangFloor(of: zone).covers(moves[1].dot))
        #expect(try !store.reader.hangFloor(of: zone).covers(moves[2].dot))
    }
}
