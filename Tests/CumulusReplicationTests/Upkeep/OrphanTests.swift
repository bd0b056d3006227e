// Children whose owner died, where no deletion of the owner leads to them: another life of the
// child is shown, or another life of the owner has the dead one's key.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct OrphanTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(seed: 2)
    }

    private func delete(_ name: String, at store: TestStore) throws {
        let deletion = ModifyRecords(database: .private, deletes: [DeleteItem(name)])
        try store.modify(deletion, by: .alice)
    }

    private func names(_ store: TestStore) throws -> [String] {
        try store.names(in: .private, zone: ZoneAddress(), by: .alice)
    }

    // MARK: Another life of the child

    /// At the other store a child that a request created hides another one, whose owner dies.
    ///
    /// The first store has an earlier creation by the same request.
    private func hideChild() throws {
        let third = try TestStore(seed: 3)
        let save = ModifyRecords(database: .private, saves: [SaveItem("child", ["n": 1])])
        let request = one.request(save, by: .alice)
        try one.run(request)
        other.now += 10
        try other.save([SaveItem("owner", ["n": 1])])
        try other.save([SaveItem("child", ["of": .owner("owner")])])
        third.now += 20
        try third.run(request)
        try other.take(from: third, isCompensating: true)
        try delete("owner", at: other)
        try expectRepeatedChild(lives: 2)
    }

    /// The child that the request created is shown at the other store.
    private func expectRepeatedChild(lives: Int) throws {
        #expect(try names(other) == ["child"])
        let child = try other.fetch("child", in: .private, by: .alice).get()
        #expect(child.fields == WireField.body(["n": .int64(1)]))
        let records = try StoredRecords.all(in: other.reader).filter { $0.place.name == "child" }
        #expect(records.count { !$0.row.isDead } == lives)
    }

    @Test func anEarlierCreationShowsNoOrphan() throws {
        try hideChild()
        try other.take(from: one, isCompensating: true)
        try expectRepeatedChild(lives: 1)
    }

    @Test(arguments: StateWay.allCases) func noStateShowsAnOrphan(way: StateWay) throws {
        try hideChild()
        try other.takeState(of: one, way)
        try expectRepeatedChild(lives: 1)
    }

    // MARK: Another life of the owner

    /// The first store ends the counter to which the other one's child refers, and begins it anew.
    private func beginAnew() throws {
        let counter = SaveItem("owner", increments: ["n": 1])
        try one.save([counter])
        try other.take(from: one)
        other.now += 10
        try other.save([SaveItem("child", ["of": .owner("owner")])])
        one.now += 20
        try delete("owner", at: one)
        try one.save([counter])
    }

    @Test func aCounterThatBeganAnewKeepsNoChild() throws {
        try beginAnew()
        try other.take(from: one, isCompensating: true)
        #expect(try names(other) == ["owner"])
    }

    @Test(arguments: StateWay.allCases) func aCounterThatCameAnewKeepsNoChild(way: StateWay)
        throws
    {
        try beginAnew()
        try other.takeState(of: one, way)
        #expect(try names(other) == ["owner"])
    }
}
