// References: owners that are deleted with what they own, and parents that must exist.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Foundation
import Testing

@Suite struct ReferenceTests {
    private let store: TestStore
    private let zone = ZoneAddress(name: "z")

    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
    }

    private func save(_ name: String, _ fields: [String: FieldValue?] = [:], parent: String? = nil)
        -> SaveItem
    {
        SaveItem(name, fields, in: zone, parent: parent)
    }

    private func names() throws -> [String] {
        try store.names(in: .private, zone: zone, by: .alice)
    }

    private func delete(_ names: String...) throws -> [ServiceError.Code?] {
        try store.delete(names.map { DeleteItem($0, in: zone) }).codes
    }

    private func modify(_ saves: [SaveItem], deleting names: [String]) throws -> [ServiceError
        .Code?]
    {
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: saves,
            deletes: names.map { DeleteItem($0, in: zone) }
        )
        return try store.modify(modify, by: .alice).codes
    }

    private func checkDerivedRows() throws {
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    // MARK: deleteSelf

    @Test func cyclesGoTogether() throws {
        try store.save([
            save("a", ["next": .owner("b")]), save("b", ["next": .owner("c")]),
            save("c", ["next": .owner("a")]), save("self", ["next": .owner("self")]),
        ])
        #expect(try delete("b", "self") == [nil, nil])
        #expect(try names() == [])
        try checkDerivedRows()
    }

    @Test func anyOfSeveralOwnersIsEnough() throws {
        try store.save([
            save("x"), save("y"),
            save("n", ["first": .owner("x"), "others": .list([.link("x"), .owner("y")])]),
        ])
        #expect(try delete("y") == [nil])
        #expect(try names() == ["x"])
        try checkDerivedRows()
    }

    @Test func linksDoNothing() throws {
        try store.save([save("x"), save("n", ["link": .link("x"), "links": .list([.link("x")])])])
        #expect(try delete("x") == [nil])
        #expect(try names() == ["n"])
    }

    @Test func aReferenceThatMovedAwayNoLongerOwns() throws {
        try store.save([
            save("x"), save("y"), save("m", ["of": .owner("x")]), save("n", ["of": .owner("x")]),
        ])
        try store.save([save("m", ["of": .owner("y")]), save("n", ["of": nil])])
        #expect(try delete("x") == [nil])
        #expect(try names() == ["m", "n", "y"])
        try checkDerivedRows()
    }

    @Test func aReferenceThatMovesAwayInTheSameBatchNoLongerOwns() throws {
        try store.save([
            save("x"), save("y"), save("m", ["of": .owner("x")]), save("n", ["of": .owner("x")]),
            save("o", ["of": .owner("x")]),
        ])
        let codes = try modify(
            [save("m", ["of": .owner("y")]), save("n", ["of": .link("x")])],
            deleting: ["x"]
        )
        #expect(codes == [nil, nil, nil])
        #expect(try names() == ["m", "n", "y"])
        try checkDerivedRows()
    }

    @Test func aReferenceKnowsTheLifeThatItPointsTo() throws {
        try store.save([save("x"), save("n", ["of": .owner("x")])])
        try store.save([save("n", ["of": .link("x")])])
        #expect(try delete("x") == [nil])
        // The reference was saved while there was no `x`: it matches by name, and so any later `x`.
        try store.save([save("m", ["of": .owner("x")])])
        try store.save([save("x")])
        #expect(try delete("x") == [nil])
        #expect(try names() == ["n"])
    }

    @Test func theOwnerMayComeLaterInTheSameBatch() throws {
        try store.save([save("n", ["of": .owner("x")]), save("x")])
        #expect(try delete("x") == [nil])
        #expect(try names() == [])
    }

    @Test func aDeepChainGoesAtOnce() throws {
        let depth = 5_000
        for start in stride(from: 0, to: depth, by: 400) {
            try store.save(
                (start..<min(depth, start + 400)).map { index in
                    save("n\(index)", index == 0 ? [:] : ["of": .owner("n\(index - 1)")])
                }
            )
        }
        let outcome = try store.delete([DeleteItem("n0", in: zone)])
        #expect(outcome.codes == [nil])
        #expect(try names() == [])
        // The first commit deletes 250 records, and each further one 125.
        #expect(outcome.dots.count == 39)
        try checkDerivedRows()
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func aCascadeLongerThanACommitLeavesOneTombstoneEach() throws {
        try store.save([save("root")] + (0..<3).map { save("branch\($0)", ["of": .owner("root")]) })
        for branch in 0..<3 {
            try store.save(
                (0..<390).map { save("leaf\(branch)-\($0)", ["of": .owner("branch\(branch)")]) }
            )
        }
        let outcome = try store.delete([DeleteItem("root", in: zone)])
        #expect(outcome.dots.count == 9)
        #expect(try names() == [])
        let number = try #require(try store.zoneNumber(zone, by: .alice))
        let rows = try store.reader.rows(.records, .records(of: number))
        #expect(rows.count == 1 + 3 + 3 * 390)
        #expect(try rows.allSatisfy { try RecordRow($0.value).isDead })
        try checkDerivedRows()
    }

    /// Other nodes apply one commit after the other, so one commit must hold all named records.
    @Test func whatIsNamedIsInTheFirstCommit() throws {
        let owners = (0..<300).map { "owner\($0)" }
        try store.save(owners.map { save($0) })
        for child in 0..<4 {
            try store.save(owners.map { save("\($0)-\(child)", ["of": .owner($0)]) })
        }
        let outcome = try store.modify(
            ModifyRecords(
                database: .private,
                saves: [save("index")],
                deletes: owners.map { DeleteItem($0, in: zone) }
            ),
            by: .alice
        )
        #expect(outcome.dots.count == 11)
        #expect(try names() == ["index"])
        let scope = try store.scopeNumber()
        let bytes = try #require(try store.reader.get(.commit(scope, outcome.dots[0])))
        let commit = try Commit(bytes)
        let named = commit.operations.compactMap { operation in
            switch operation {
            case .put(let put): put.recordName
            case .delete(let name, _, _): name
            default: nil
            }
        }
        #expect(named.count == 301)
        #expect(Set(owners + ["index"]).subtracting(named) == [])
        try checkDerivedRows()
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func aRecordHas750OwnedAtMost() throws {
        try store.save([save("x")])
        for start in stride(from: 0, to: 750, by: 250) {
            let codes = try store.save(
                (start..<start + 250).map { save("n\($0)", ["of": .owner("x")]) }
            ).codes
            #expect(codes == Array(repeating: nil, count: 250))
        }
        let item = try store.save([save("more", ["of": .owner("x")])]).saves[0]
        guard case .failure(let failure) = item else {
            Issue.record("the 751st was saved")
            return
        }
        #expect((failure.code, failure.reason) == (.limitExceeded, .tooManyOwners))
        // A record that refers to the target may be saved again, links and other targets have no
        // limit, and a reference that is removed makes room.
        let codes = try store.save([
            save("n0", ["of": .owner("x")]), save("link", ["of": .link("x")]),
            save("other", ["of": .owner("y")]),
        ]).codes
        #expect(codes == [nil, nil, nil])
        try store.save([save("n0", ["of": nil])])
        #expect(try store.save([save("more", ["of": .owner("x")])]).codes == [nil])
    }

    @Test func theLimitCountsWhatTheBatchAdds() throws {
        try store.save([save("x")])
        let items = (0..<3).map { save("n\($0)", ["of": .owner("x")]) }
        var modify = ModifyRecords(database: .private, policy: .changedKeys, saves: items)
        modify.limits.ownersPerRecord = 2
        #expect(try store.modify(modify, by: .alice).codes.contains(.limitExceeded))
        modify.saves.removeLast()
        #expect(try store.modify(modify, by: .alice).codes == [nil, nil])
        // A list that names the target twice counts once.
        modify.saves = [save("n0", ["of": nil]), save("n1", ["of": .list([.owner("x")])])]
        #expect(try store.modify(modify, by: .alice).codes.contains(.invalidArguments))
        modify.saves = [save("n3", ["list": .list([.owner("y"), .owner("y"), .owner("y")])])]
        #expect(try store.modify(modify, by: .alice).codes == [nil])
    }

    @Test func theLimitDoesNotCountWhatFails() throws {
        var modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [
                save("x"), save("large", ["of": .owner("x"), "text": .string(Self.tooLarge)]),
                save("n0", ["of": .owner("x")]),
            ]
        )
        modify.isAtomic = false
        modify.limits.ownersPerRecord = 1
        #expect(try store.modify(modify, by: .alice).codes == [nil, .limitExceeded, nil])
        try checkDerivedRows()
    }

    private static let tooLarge = String(repeating: "x", count: 1_100_000)

    /// A batch makes room for references wherever it releases one.
    @Test func theLimitDoesNotCountWhatTheBatchReleases() throws {
        var modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [save("x"), save("n0", ["of": .owner("x")]), save("n1", ["of": .owner("x")])]
        )
        modify.limits.ownersPerRecord = 2
        #expect(try store.modify(modify, by: .alice).codes == [nil, nil, nil])
        // The reference moves to another field of the record, to another record, and to one that
        // takes the place of a deleted one.
        modify.saves = [save("n0", ["of": nil, "of2": .owner("x")])]
        #expect(try store.modify(modify, by: .alice).codes == [nil])
        modify.saves = [save("n2", ["of": .owner("x")]), save("n0", ["of2": nil])]
        #expect(try store.modify(modify, by: .alice).codes == [nil, nil])
        modify.saves = [save("n3", ["of": .owner("x")])]
        modify.deletes = [DeleteItem("n1", in: zone)]
        #expect(try store.modify(modify, by: .alice).codes == [nil, nil])
        modify.deletes = []
        modify.saves = [save("n4", ["of": .owner("x")])]
        #expect(try store.modify(modify, by: .alice).codes == [.limitExceeded])
        try checkDerivedRows()
    }

    /// Ten times as many references take about ten times the processor time; quadratic work would
    /// take a hundred times as much.
    @Test func aLongListOfReferencesIsNotQuadraticWork() throws {
        var request = ModifyRecords(database: .private, policy: .changedKeys)
        request.limits.ownersPerRequest = 20_000
        func work(_ count: Int) throws -> Double {
            let many = (0..<count).map { FieldValue.owner("t\($0)") }
            let start = Self.processorTime
            request.saves = [save("n\(count)", ["of": .list(many)])]
            #expect(try store.modify(request, by: .alice).codes == [nil])
            request.saves = [save("n\(count)", ["of": .list(many.reversed())])]
            #expect(try store.modify(request, by: .alice).codes == [nil])
            return Self.processorTime - start
        }
        let few = try work(2_000)
        let many = try work(20_000)
        print("references: \(few) and \(many) s")
        #expect(many < 40 * few)
        try checkDerivedRows()
    }

    /// The processor time of this thread, in seconds, so that other tests don't count.
    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    // MARK: parent

    @Test func theOrderOfABatchDoesNotMatter() throws {
        #expect(try store.save([save("c", parent: "p"), save("p")]).codes == [nil, nil])
        #expect(try store.save([save("q"), save("d", parent: "q")]).codes == [nil, nil])
    }

    @Test func parentAndChildGoTogetherOrBottomUp() throws {
        try store.save([save("p"), save("c", parent: "p"), save("d", parent: "c")])
        #expect(try delete("p", "d").contains(.referenceViolation))
        #expect(try names() == ["c", "d", "p"])
        #expect(try delete("p", "c", "d") == [nil, nil, nil])
        #expect(try names() == [])
        try checkDerivedRows()
    }

    @Test func aChildThatOwnsItselfToItsParentGoesWithIt() throws {
        try store.save([save("p"), save("c", ["of": .owner("p")], parent: "p")])
        #expect(try delete("p") == [nil])
        #expect(try names() == [])
    }

    @Test func aChildReachedOnlyAsAChildStopsTheWholeCascade() throws {
        try store.save([save("p"), save("c", ["of": .owner("p")]), save("d", parent: "c")])
        #expect(try delete("p") == [.referenceViolation])
        #expect(try names() == ["c", "d", "p"])
    }

    @Test func aParentMayGoWhenItsChildMovesAwayInTheSameBatch() throws {
        try store.save([save("p"), save("q"), save("c", parent: "p"), save("d", parent: "p")])
        let codes = try modify([save("c", parent: "q"), save("d", parent: "")], deleting: ["p"])
        #expect(codes == [nil, nil, nil])
        #expect(try names() == ["c", "d", "q"])
        #expect(try store.fetch("c", in: .private, zone: zone, by: .alice).get().parent == "q")
        #expect(try store.fetch("d", in: .private, zone: zone, by: .alice).get().parent == nil)
        try checkDerivedRows()
    }

    @Test func aSaveThatLeavesTheParentAloneKeepsIt() throws {
        try store.save([save("p"), save("c", parent: "p")])
        try store.save([save("c", ["a": 1])])
        #expect(try store.fetch("c", in: .private, zone: zone, by: .alice).get().parent == "p")
        #expect(
            try modify([save("c", ["a": 2])], deleting: ["p"]) == [
                .batchRequestFailed, .referenceViolation,
            ]
        )
    }

    @Test func aParentThatThisBatchDeletesIsNone() throws {
        try store.save([save("p")])
        #expect(try modify([save("c", parent: "p")], deleting: ["p"]).first == .referenceViolation)
        #expect(try names() == ["p"])
    }

    @Test func inAnAtomicZoneOnlyTheParentHasAnErrorOfItsOwn() throws {
        try store.save([save("typed", ["title": "text"])])
        let codes = try store.save([save("c", parent: "p"), save("p", ["title": 1])]).codes
        #expect(codes == [.batchRequestFailed, .invalidArguments])
    }

    @Test func whereItemsCountAloneAChildFailsWithItsParent() throws {
        try store.save([SaveItem("typed", ["title": "text"])])
        let codes = try store.save([
            SaveItem("d", parent: "c"), SaveItem("c", parent: "p"), SaveItem("p", ["title": 1]),
            SaveItem("q"),
        ]).codes
        #expect(codes == [.referenceViolation, .referenceViolation, .invalidArguments, nil])
        #expect(try store.names(in: .private, by: .alice) == ["q", "typed"])
    }

    @Test(.timeLimit(.minutes(2))) func aLongChainOfParentsFailsWhole() throws {
        try store.save([SaveItem("typed", ["title": "text"])])
        let items = (0..<399).map { SaveItem("n\($0)", parent: "n\($0 + 1)") }
        let codes = try store.save(items + [SaveItem("n399", ["title": 1])]).codes
        #expect(codes == Array(repeating: .referenceViolation, count: 399) + [.invalidArguments])
    }

    /// One chain begins with a save that fails, and the other with a delete that fails.
    ///
    /// Four times as many records take about four times the processor time.
    @Test func longChainsThatFailAreNotQuadraticWork() throws {
        func work(_ count: Int) throws -> Double {
            let names = (0..<count).map { "c\(count)n\($0)" }
            let fields = Dictionary(
                uniqueKeysWithValues: (0..<100).map { ("f\($0)", Optional(FieldValue.int64(1))) }
            )
            let chain = zip(names, names.dropFirst() + ["none"]).map { name, parent in
                SaveItem(name, fields, parent: parent)
            }
            let start = Self.processorTime
            #expect(Set(try store.save(chain).codes) == [.referenceViolation])
            let time = Self.processorTime - start
            let upward =
                [SaveItem(names[0])]
                + zip(names.dropFirst(), names).map { name, parent in
                    SaveItem(name, parent: parent)
                }
            #expect(
                Set(try store.save(upward + [SaveItem("leaf", parent: names.last)]).codes) == [nil]
            )
            let second = Self.processorTime
            let deletes = names.map { DeleteItem($0) }
            #expect(Set(try store.delete(deletes).codes) == [.referenceViolation])
            let sum = time + Self.processorTime - second
            #expect(try store.delete(deletes + [DeleteItem("leaf")]).codes.allSatisfy { $0 == nil })
            return sum
        }
        let few = try work(90)
        let many = try work(360)
        print("chains: \(few) and \(many) s")
        #expect(many < 40 * few)
    }

    /// A save is no orphan if its parent was to be deleted, and stays.
    @Test func aParentWhoseDeletionFailsIsThere() throws {
        try store.save([SaveItem("p"), SaveItem("c", parent: "p")])
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [SaveItem("d", parent: "p")],
            deletes: [DeleteItem("p")]
        )
        #expect(try store.modify(modify, by: .alice).codes == [nil, .referenceViolation])
        #expect(try store.names(in: .private, by: .alice) == ["c", "d", "p"])
    }

    // MARK: Public database

    @Test func aCascadeMayDeleteOtherUsersChildren() throws {
        try store.save([SaveItem("post")], in: .public, by: .alice)
        try store.save([SaveItem("comment", ["post": .owner("post")])], in: .public, by: .bob)
        #expect(
            try store.delete([DeleteItem("comment")], in: .public, by: .alice).codes == [
                .permissionFailure
            ]
        )
        #expect(try store.delete([DeleteItem("post")], in: .public, by: .alice).codes == [nil])
        #expect(try store.names(in: .public, by: .bob) == [])
    }
}
