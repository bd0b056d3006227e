// Two nodes that are asked to increment a record which neither of them holds: they begin one
// counter.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct BlindCounterTests {
    private let twins: TwinStores
    private var one: TestStore { twins.one }
    private var other: TestStore { twins.other }

    init() throws { twins = try TwinStores() }

    private func increment(
        _ delta: Int64,
        _ type: String = "Note",
        at store: TestStore
    ) throws {
        let outcome = try store.save([SaveItem("r", type: type, increments: ["n": delta])])
        #expect(outcome.codes == [nil])
    }

    private func expect(_ value: Int64?) throws {
        for store in twins.both {
            #expect(
                try twins.fields("r", at: store) == value.map { WireField.body(["n": .int64($0)]) }
            )
        }
    }

    /// 1 and 5 were made apart: 15 would be without the 1.
    @Test func twoNodesMakeOneCounter() throws {
        try increment(1, at: one)
        try increment(5, at: other)
        try twins.exchange()
        try increment(10, at: one)
        try twins.exchange()
        try expect(16)
        #expect(try twins.lives("r", at: one).count == 1)
    }

    @Test(arguments: StateWay.allCases) func statesMakeOneCounter(way: StateWay) throws {
        try increment(1, at: one)
        try increment(5, at: other)
        try twins.exchangeState(way)
        try expect(6)
    }

    @Test func aRepeatCountsOnce() throws {
        let save = SaveItem("r", increments: ["n": 1])
        let request = twins.save([save], .changedKeys)
        for store in twins.both { try twins.run(request, at: store) }
        try increment(5, at: other)
        try twins.exchange()
        try expect(6)
    }

    /// An increment after a deletion begins anew.
    @Test func aCounterBeginsAnew() throws {
        try increment(1, at: one)
        try twins.exchange()
        try one.delete([DeleteItem("r")])
        try twins.exchange()
        try expect(nil)
        try increment(2, at: other)
        try twins.exchange()
        try expect(2)
    }

    /// An increment whose node did not know the deletion belongs to what was deleted, and is told.
    @Test func anOldIncrementStaysDead() throws {
        try increment(1, at: one)
        try one.delete([DeleteItem("r")])
        try increment(5, at: other)
        try twins.exchange()
        try expect(nil)
        #expect(try twins.conflicts(at: one) == 1)
        try increment(2, at: one)
        try twins.exchange()
        try expect(2)
    }

    /// The deletion names the counter: it ends births that its node never heard of.
    @Test func deletionsNameCounters() throws {
        try increment(1, at: one)
        try twins.exchange()
        try one.delete([DeleteItem("r")])
        try other.delete([DeleteItem("r")])
        try increment(4, at: other)
        try twins.exchange()
        // The counter that the other node began anew did not know the first node's deletion.
        try expect(nil)
    }

    @Test func aCreatedRecordIsShownFirst() throws {
        try one.save([SaveItem("r", ["n": 7])])
        other.now = one.now + 1_000
        try increment(5, at: other)
        try twins.exchange()
        try expect(7)
        #expect(try twins.conflicts(at: one) == 1)
        #expect(try twins.conflicts(at: other) == 1)
    }

    @Test func typesApart() throws {
        try increment(1, "Note", at: one)
        try increment(5, "Tally", at: other)
        try twins.exchange()
        #expect(try twins.lives("r", at: one).count == 2)
    }

    /// If two nodes begin one counter, the first is its creator.
    @Test func theFirstIsItsCreator() throws {
        let save = SaveItem("r", increments: ["n": 1])
        for (store, caller) in [(one, Caller.alice), (other, .bob)] {
            try store.save([save], in: .public, by: caller)
        }
        try twins.exchange()
        for store in twins.both {
            let record = try store.fetch("r", in: .public, by: .alice).get()
            #expect(record.createdBy == Caller.alice.user)
            #expect(record.fields == WireField.body(["n": 2]))
        }
    }
}
