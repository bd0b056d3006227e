// A request that creates a record and is repeated at a node that has not heard of it: both
// creations are one life, and its end ends both.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RepeatedCreationTests {
    private let twins: TwinStores
    private var one: TestStore { twins.one }
    private var other: TestStore { twins.other }

    init() throws { twins = try TwinStores() }

    /// One request at both nodes, which don't hear of each other.
    private func saveTwice(
        _ items: [SaveItem] = [SaveItem("r", ["a": 1])]
    ) throws -> WriteRequest<ModifyRecords> {
        let request = twins.save(items)
        for store in twins.both { try twins.run(request, at: store) }
        return request
    }

    @Test func aRepeatedSaveIsOneLife() throws {
        _ = try saveTwice()
        try twins.exchange()
        for store in twins.both {
            let lives = try twins.lives("r", at: store)
            #expect(lives.count == 1)
            #expect(lives.first?.births.count == 2)
            #expect(try twins.conflicts(at: store) == 0)
        }
    }

    /// A client that gives two requests one id gets the earlier one's record at every node.
    @Test(arguments: [false, true]) func oneRequestIDHasOneType(isByState: Bool) throws {
        let first = twins.save([SaveItem("r", ["a": 1], type: "Note")])
        var second = twins.save([SaveItem("r", ["b": 2], type: "Memo")])
        second.asker.requestID = first.asker.requestID
        try twins.run(second, at: other)
        try twins.run(first, at: one)
        if isByState { try twins.exchangeState(.full) } else { try twins.exchange() }
        for store in twins.both {
            #expect(try twins.lives("r", at: store).map(\.type) == ["Note"])
            #expect(try twins.fields("r", at: store) == WireField.body(["a": 1]))
        }
    }

    @Test(arguments: StateWay.allCases) func theirStatesAreOneLifeToo(way: StateWay) throws {
        _ = try saveTwice()
        try other.save([SaveItem("r", ["b": 2])])
        try twins.exchangeState(way)
        #expect(try twins.lives("r", at: one).map(\.births.count) == [2])
        #expect(try twins.fields("r", at: one) == WireField.body(["a": 1, "b": 2]))
    }

    /// The fault that this rule mends: the first node falls silent after its commit, the caller
    /// repeats the save at another node and deletes the record there.
    @Test(arguments: [false, true]) func aDeletedTwinStaysDeleted(isDeletedAtTheFirst: Bool) throws
    {
        _ = try saveTwice()
        try (isDeletedAtTheFirst ? one : other).delete([DeleteItem("r")])
        try twins.exchange()
        for store in twins.both { #expect(try twins.lives("r", at: store) == []) }
    }

    @Test(arguments: StateWay.allCases) func itStaysDeletedInStates(way: StateWay) throws {
        _ = try saveTwice()
        try other.delete([DeleteItem("r")])
        try twins.exchangeState(way)
        for store in twins.both { #expect(try twins.lives("r", at: store) == []) }
    }

    /// What the first node was told after its commit belongs to the life that was deleted.
    @Test func aLateTwinStaysDead() throws {
        _ = try saveTwice()
        try one.save([SaveItem("r", ["a": 2])])
        try other.delete([DeleteItem("r")])
        try twins.exchange()
        for store in twins.both {
            #expect(try twins.lives("r", at: store) == [])
            #expect(try twins.conflicts(at: store) > 0)
        }
    }

    @Test(arguments: StateWay.allCases) func aRepeatAfterAStateIsKnown(way: StateWay) throws {
        let request = twins.save([SaveItem("r", ["a": 1])])
        let first = try twins.run(request, at: one)
        try other.takeState(of: one, way)
        let second = try twins.run(request, at: other)
        #expect(second.isRepeated && second.dots.isEmpty)
        #expect(try second.saves[0].get().changeTag == first.saves[0].get().changeTag)
    }

    @Test(arguments: StateWay.allCases) func aRepeatAfterTheDeletionIsTold(way: StateWay) throws {
        let request = twins.save([SaveItem("r", ["a": 1])])
        try twins.run(request, at: one)
        try one.delete([DeleteItem("r")])
        try other.takeState(of: one, way)
        let second = try twins.run(request, at: other)
        #expect(second.codes == [.unknownItem])
        #expect(try twins.lives("r", at: other) == [])
    }

    /// It asks for rights like a first try.
    @Test func aKnownRepeatNeedsTheRight() throws {
        try one.importType("Note", "a INT64, GRANT READ TO \"_world\", GRANT CREATE TO \"_icloud\"")
        let modify = ModifyRecords(database: .public, saves: [SaveItem("r", ["a": 1])])
        let request = one.request(modify, by: .bob)
        #expect(try twins.run(request, at: one).codes == [nil])
        try one.importType("Note", "a INT64, GRANT READ TO \"_world\"")
        try other.takeState(of: one, .full)
        let second = try twins.run(request, at: other)
        #expect(second.isRepeated && second.codes == [.permissionFailure])
    }

    /// An atomic batch is done as a whole, one that is not item by item.
    @Test(arguments: [true, false]) func aBatchIsKnownByItsCreations(isAtomic: Bool) throws {
        for store in twins.both { try store.modify(ModifyZones(saving: ["z"]), by: .alice) }
        try twins.exchange()
        try one.save([SaveItem("old", ["a": 1], in: ZoneAddress(name: "z"))])
        try other.take(from: one)
        let zone = ZoneAddress(name: "z")
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            isAtomic: isAtomic,
            saves: [SaveItem("new", ["a": 1], in: zone), SaveItem("old", ["a": 2], in: zone)]
        )
        let request = one.request(modify, by: .alice)
        try twins.run(request, at: one)
        try other.takeState(of: one, .delta)
        try other.save([SaveItem("old", ["a": 3], in: zone)])
        let second = try twins.run(request, at: other)
        #expect(second.codes == [nil, nil])
        // A change alone leaves nothing by which it is known.
        #expect(second.dots.isEmpty == isAtomic)
    }

    @Test func theEarlierCreationCounts() throws {
        other.now = one.now - 50
        _ = try saveTwice()
        // Its clock is behind, and its caller knew a copy: the other copy does not take it back.
        try other.save([SaveItem("r", ["a": 2])])
        try twins.exchange()
        for store in twins.both {
            #expect(try twins.fields("r", at: store) == WireField.body(["a": 2]))
        }
    }

    @Test func bothNodesGiveOneTag() throws {
        let request = twins.save([SaveItem("r", ["a": 1])])
        let tags = try twins.both.map { try twins.run(request, at: $0).saves[0].get().changeTag }
        #expect(tags[0] == tags[1])
        try twins.exchange()
        #expect(try twins.row("r", at: one)?.tag == tags[0])
        // Saves with that tag go on.
        let next = SaveItem("r", ["a": 2], tag: tags[0])
        #expect(try one.save([next], in: .private, .ifUnchanged).codes == [nil])
    }

    @Test func aReferenceToEitherBirthHolds() throws {
        _ = try saveTwice()
        for (store, name) in zip(twins.both, ["x", "y"]) {
            try store.save([SaveItem(name, ["owner": .owner("r")])])
        }
        try twins.exchange()
        for store in twins.both { try store.sweep(limit: 10) }
        try twins.exchange()
        #expect(try twins.lives("x", at: one).count == 1)
        #expect(try twins.lives("y", at: one).count == 1)
        try one.delete([DeleteItem("r")])
        try twins.exchange()
        for name in ["r", "x", "y"] { #expect(try twins.lives(name, at: other) == []) }
    }

    /// Two users, or two requests, that give one name are two lives as before.
    @Test func otherRequestsAreOtherLives() throws {
        try one.save([SaveItem("r", ["a": 1])])
        try other.save([SaveItem("r", ["a": 1])])
        try twins.exchange()
        #expect(try twins.lives("r", at: one).count == 2)
    }

    // MARK: Forgetting

    @Test func anEndIsRememberedUntilAllReportedIt() throws {
        let request = twins.save([SaveItem("r", ["a": 1])])
        try twins.run(request, at: other)
        try other.delete([DeleteItem("r")])
        // A tombstone that waits for a member goes after a while, an end does not.
        try twins.forgetEnds(at: other, hasAll: false)
        #expect(try twins.row("r", at: other)?.ended.count == 1)
        try twins.run(request, at: one)
        try other.take(from: one)
        #expect(try twins.lives("r", at: other) == [])
        try twins.exchange()
        try twins.forgetEnds(at: other)
        #expect(try twins.row("r", at: other) == nil)
    }

    @Test func aLivingRecordForgetsEndsToo() throws {
        _ = try saveTwice()
        try other.delete([DeleteItem("r")])
        try other.save([SaveItem("r", ["a": 5])])
        try twins.exchange()
        let row = try #require(try twins.row("r", at: one))
        #expect(row.ended.count == 1)
        try twins.forgetEnds(at: one)
        let kept = try #require(try twins.row("r", at: one))
        #expect(kept.ended == [] && kept.tag == row.tag && kept.digest == row.digest)
        try twins.expectTheSame()
    }
}
