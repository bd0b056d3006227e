// What a node owed that was taken off the list, its heir does.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct HeirsTests {
    private let one: TestStore
    private let other: TestStore
    private let third: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        try one.save([SaveItem("owner", ["n": 1])])
        other = try TestStore(seed: 2)
        third = try TestStore(seed: 3)
        for store in [other, third] { try store.take(from: one) }
    }

    private var ids: [Bytes] { [one, other, third].map(\.state.node.nodeID) }

    /// Lists all three, and takes the last one off again.
    private func remove(_ gone: TestStore, in store: TestStore) throws {
        let (ids, id) = (ids, gone.state.node.nodeID)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            for id in ids { _ = try Members.enter(id, endpoint: "", in: &transaction) }
            _ = try Members.remove(id, in: &transaction)
        }
    }

    @Test func theListedMemberWithTheLowestIDInherits() throws {
        for store in [one, other] { try remove(third, in: store) }
        let run = third.state.incarnation
        let heirs = [one, other].filter { $0.state.owes(for: run) }
        let first = [one, other].map(\.state.node.nodeID).min { $0.lexicographicallyPrecedes($1) }
        #expect(heirs.map(\.state.node.nodeID) == [first])
        // It knows so after a restart too.
        let heir = try #require(heirs.first)
        let again = try TestStore(copying: heir, seed: 9)
        #expect(again.state.owes(for: run))
        // Nobody inherits from the living.
        #expect(!one.state.owes(for: other.state.incarnation))
        #expect(!other.state.owes(for: one.state.incarnation))
    }

    /// Somebody who doesn't know that it left enters it, with a later stamp.
    @Test func aMemberThatWasTakenOffStaysOff() throws {
        let id = third.state.node.nodeID
        let run = other.state.incarnation
        let removal = RegisterRow(stamp: Stamp(HybridTime(1), Dot(run, 1)), value: nil)
        let entry = RegisterRow(stamp: Stamp(HybridTime(2), Dot(run, 2)), value: [])
        for rows in [[removal, entry], [entry, removal]] {
            let store = try TestStore(seed: 9)
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                let scope = try transaction.makeScope(.cluster)
                for row in rows {
                    try ScopeRegisters(of: scope).join(
                        row,
                        into: MemberRegister.namespace,
                        [id],
                        &transaction
                    )
                }
            }
            #expect(try Members.isRemoved(id, in: store.reader))
        }
    }

    /// An owner whose row was lost on this node lives elsewhere.
    @Test func whatWasLostTakesNothingAlong() throws {
        try one.save([SaveItem("child", ["owner": .owner("owner")])])
        let address = ZoneAddress(name: Names.defaultZone)
        let number = try #require(try one.zoneNumber(address, by: .alice))
        let database = try Authorisation.database(.private, for: .alice)
        let place = ZonePlace(
            scope: try one.scopeNumber(),
            database: try #require(try one.reader.database(one.scopeNumber(), database)),
            number: number,
            zone: Commit.Zone(database: database, name: Names.defaultZone, generation: 1)
        )
        try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let rows = try transaction.lives(number, "owner")
            try transaction.erase(rows, of: "owner", at: place)
        }
        try one.sweep(limit: 10)
        #expect(try one.names(in: .private, by: .alice) == ["child"])
    }

    @Test func anHeirDeletesWhatNobodyElseWill() throws {
        // The third node refers to what the first one deletes, and is gone.
        try third.save([SaveItem("child", ["owner": .owner("owner")])])
        try one.delete([DeleteItem("owner")])
        for store in [one, other] {
            try store.take(from: third)
            try store.take(from: one)
            #expect(try store.names(in: .private, by: .alice) == ["child"])
        }
        for store in [one, other] { try remove(third, in: store) }
        for store in [one, other] { try store.sweep(limit: 1) }
        let found = try [one, other].map { try $0.names(in: .private, by: .alice) }
        #expect(found.count { $0.isEmpty } == 1)
        try one.take(from: other)
        try other.take(from: one)
        for store in [one, other] {
            #expect(try store.names(in: .private, by: .alice).isEmpty)
        }
    }
}
