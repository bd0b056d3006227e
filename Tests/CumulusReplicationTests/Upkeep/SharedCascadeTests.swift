// A cascade that goes in steps, as another node sees it that wrote the references: it waits for the
// steps, and takes over if they don't come.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SharedCascadeTests {
    private let one: TestStore
    private let other: TestStore

    /// The first node has the root, and the second one wrote all that refers to it.
    init() throws {
        one = try TestStore(seed: 1)
        try one.save([SaveItem("root", ["n": 1])])
        other = try TestStore(seed: 2)
        other.now += 1
        for store in [one, other] { store.cascadeRecords = 4 }
        try other.take(from: one)
        try other.save((0..<3).map { SaveItem("\($0)", ["of": .owner("root")]) })
        for branch in 0..<3 {
            try other.save((0..<5).map { SaveItem("\(branch)\($0)", ["of": .owner("\(branch)")]) })
        }
        try one.take(from: other)
        one.now += 10
        other.now += 10
    }

    private func begin() throws {
        let deletion = ModifyRecords(database: .private, deletes: [DeleteItem("root")])
        try one.run(one.request(deletion, by: .alice))
    }

    private func names(_ store: TestStore) throws -> [String] {
        try store.names(in: .private, zone: ZoneAddress(), by: .alice)
    }

    private func commits(of store: TestStore) throws -> UInt64 {
        try store.vectors()[store.state.incarnation]?.seq ?? 0
    }

    @Test func theOtherNodeWaitsForTheSteps() throws {
        let before = try commits(of: other)
        try begin()
        try other.take(from: one, isCompensating: true)
        #expect(try names(other) == names(one) && names(one).count == 15)
        #expect(try other.payCascades())
        while try !one.payCascades(turns: 1) { try other.take(from: one, isCompensating: true) }
        try other.take(from: one, isCompensating: true)
        #expect(try names(one) == [] && names(other) == [])
        // What it was to look at has come to nothing.
        try other.payCascades(due: .max)
        #expect(try other.reader.rows(.log, .all(.cascadeDebt)).isEmpty)
        #expect(try commits(of: other) == before)
    }

    @Test func ifTheStepsDontComeTheOtherNodeTakesThem() throws {
        try begin()
        try other.take(from: one, isCompensating: true)
        #expect(try other.payCascades() && !names(other).isEmpty)
        try other.restart()
        other.now += 60_000
        #expect(try other.payCascades() && names(other) == [])
        // The first one comes back: both deleted, which is once.
        try one.restart()
        try one.payCascades()
        try one.take(from: other, isCompensating: true)
        try other.take(from: one, isCompensating: true)
        #expect(try names(one) == [])
        let rows = try [one, other].map { try ReplicatedState.rows(of: $0.scope, in: $0.engine) }
        #expect(ReplicatedState.differences(rows[0], rows[1]) == [])
    }

    /// The first node knew nothing of it: nobody else deletes it.
    @Test func aChildThatCameMeanwhileGoesAtOnce() throws {
        try other.save([SaveItem("late", ["of": .owner("root")])])
        try begin()
        try other.take(from: one, isCompensating: true)
        #expect(try !names(other).contains("late"))
        #expect(try names(other).count == 15)
    }

    /// A zone that comes in full stands under another number: what is owed in it goes on there.
    @Test(arguments: StateWay.allCases) func aStateThatComesMeanwhileStopsNothing(way: StateWay)
        throws
    {
        try begin()
        try other.save([SaveItem("new", ["n": 1])])
        try one.takeState(of: other, way)
        #expect(try names(one).count == 16)
        try one.payCascades()
        #expect(try names(one) == ["new"])
        #expect(try one.reader.rows(.log, .all(.cascadeDebt)).isEmpty)
    }

    /// No sweep finds a child whose reference names no life: only what is owed deletes it.
    @Test(arguments: StateWay.allCases) func childrenThatCameBeforeTheirOwnerGoToo(way: StateWay)
        throws
    {
        try one.save((0..<9).map { SaveItem("c\($0)", ["of": .owner("late")]) })
        try one.save([SaveItem("late", ["n": 1])])
        let deletion = ModifyRecords(database: .private, deletes: [DeleteItem("late")])
        try one.run(one.request(deletion, by: .alice))
        try other.save([SaveItem("new", ["n": 1])])
        try one.takeState(of: other, way)
        try one.payCascades()
        #expect(try !names(one).contains { $0.hasPrefix("c") })
    }
}
