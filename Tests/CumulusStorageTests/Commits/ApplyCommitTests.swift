// What applying a commit does to the rows, also where this node's own requests never lead.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ApplyCommitTests {
    private static func apply(_ commit: Commit, to store: inout ScratchStore) throws(EngineError) {
        let scope = store.scope
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.apply(commit, bytes: commit.encoded(), in: scope)
        }
    }

    static let winners: [(Int64, Bytes)] = [(1, [1]), (2_000_000_000_000, [2])]

    @Test(arguments: winners)
    func theHighestStampOfARegisterWins(milliseconds: Int64, winner: Bytes) throws {
        var store = try ScratchStore()
        let (scope, key) = (store.scope, [Bytes("key".utf8)])
        func register(_ value: Bytes) -> Commit.Operation {
            .register(Commit.Register(namespace: "names", key: key, value: value))
        }
        let own = register([1])
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.perform([own], in: scope, zone: nil, author: Author())
        }
        try Self.apply(Commit.foreign(register([2]), milliseconds: milliseconds), to: &store)
        #expect(try store.reader.register(scope, "names", key)?.value == winner)
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    @Test func theNextOwnCommitDependsOnWhatCameIn() throws {
        var store = try ScratchStore()
        try store.perform([.put(try Commit.Put("n", [:]))])
        let later = store.now + 60_000
        let foreign = Commit.foreign(
            .put(try Commit.Put("m", [:])),
            milliseconds: later,
            zone: store.zone
        )
        try Self.apply(foreign, to: &store)
        let own = try store.perform([.put(try Commit.Put("o", [:]))]).commit
        #expect(own.dep == [foreign.stamp.dot])
        #expect(own.stamp > foreign.stamp)
        #expect(try store.perform([.put(try Commit.Put("p", [:]))]).commit.dep == [])
    }

    /// A put into a life that ended is lost, and reported as lost.
    @Test func aLifeThatIsNotThereStaysAway() throws {
        var store = try ScratchStore()
        try store.perform([.put(try Commit.Put("n", ["a": 1]))])
        let before = try store.record("n")
        let elsewhere = Dot(Incarnation(7), 7)
        try store.perform([.put(try Commit.Put("n", birth: elsewhere, ["a": 2]))])
        try store.perform([.delete(recordName: "n", births: [elsewhere])])
        let after = try store.record("n")
        #expect(after?.isDead == false && after?.body == before?.body && after?.tag == before?.tag)
        let rows = try store.allRows().joined()
        let conflicts = rows.filter { $0.key.first == Subspace.conflict.rawValue }
        #expect(conflicts.count == 1)
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    /// If there are two lives, the one born last is shown; a delete that names both ends both.
    @Test func aSecondLifeIsShownBeforeTheFirst() throws {
        var store = try ScratchStore()
        let first = try store.perform([.put(try Commit.Put("n", ["a": 1]))]).commit.stamp.dot
        let second = try store.perform([.put(try Commit.Put("n", ["b": 2]))]).commit.stamp.dot
        let shown = try store.record("n")
        #expect(shown?.birth.dot == second && shown?.hasSiblings == true)
        #expect(try DerivedRows.differences(in: store.engine) == [])
        try store.perform([.delete(recordName: "n", births: [second])])
        #expect(try store.record("n")?.birth.dot == first)
        #expect(try store.record("n")?.hasSiblings == false)
        try store.perform([.delete(recordName: "n", births: [first])])
        #expect(try store.record("n")?.isDead == true)
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    @Test func aRemovedFieldComesBackAndLeavesNoAbsence() throws {
        var store = try ScratchStore()
        let birth = try store.perform([.put(try Commit.Put("n", ["a": 1]))]).commit.stamp.dot
        try store.perform([.put(try Commit.Put("n", birth: birth, ["a": nil]))])
        let again = try store.perform([.put(try Commit.Put("n", birth: birth, ["a": nil]))]).commit
        #expect(try store.record("n")?.absent.map(\.stamp) == [again.stamp])
        let back = try store.perform([.put(try Commit.Put("n", birth: birth, ["a": 2]))]).commit
        let row = try #require(try store.record("n"))
        #expect(row.absent == [])
        #expect(row.fieldStamps == [back.stamp])
    }

    @Test func aReferenceToAnEarlierLifeIsNoneToALaterOne() throws {
        var store = try ScratchStore()
        let first = try store.perform([.put(try Commit.Put("x", [:]))]).commit.stamp.dot
        var known = try Commit.Put("known", ["of": .owner("x")])
        known.targets = [.init(field: "of", element: 0, birth: first)]
        try store.perform([.put(known), .put(try Commit.Put("unknown", ["of": .owner("x")]))])
        let zone = try #require(try store.zoneNumber())
        func referrers(_ birth: Dot?) throws -> [String] {
            try store.reader.referrers(to: "x", born: birth.map { [$0] }, .deleteSelf, in: zone)
                .map(\.name)
        }
        #expect(try referrers(first) == ["known", "unknown"])
        #expect(try referrers(Dot(Incarnation(7), 7)) == ["unknown"])
        #expect(try referrers(nil) == ["known", "unknown"])
        #expect(try store.reader.referrers(to: "x", born: [first], .parent, in: zone) == [])
    }

    /// Commits of older releases name the lives of links, too.
    @Test func theLivesOfLinksAreLeftOut() throws {
        var store = try ScratchStore()
        let first = try store.perform([.put(try Commit.Put("x", [:]))]).commit.stamp.dot
        let other = Dot(Incarnation(7), 7)
        var put = try Commit.Put(
            "n",
            ["links": .list([.link("x"), .link("y")]), "of": .list([.link("y"), .owner("x")])]
        )
        put.targets = [
            .init(field: "links", element: 0, birth: other),
            .init(field: "links", element: 1, birth: other),
            .init(field: "of", element: 0, birth: other),
            .init(field: "of", element: 1, birth: first),
        ]
        try store.perform([.put(put)])
        let zone = try #require(try store.zoneNumber())
        #expect(
            try store.reader.referrers(to: "x", born: [first], .deleteSelf, in: zone).map(\.name)
                == ["n"]
        )
        #expect(try store.reader.referrers(to: "x", born: [other], .deleteSelf, in: zone) == [])
        #expect(try store.reader.referrers(to: "y", born: nil, .deleteSelf, in: zone) == [])
    }
}
