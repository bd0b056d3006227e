// A node that ends before or after any call of its store, while it takes another one's commits or
// state: the next run finds a cut of what there was, and goes on to hold all of it.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import Testing

@testable import CumulusTesting

@Suite struct CrashPointTests {
    /// What the power, or only the process, leaves of what was written.
    enum End: CaseIterable, Sendable {
        case process
        case power
    }

    private let donor: TestStore
    private let base: MemoryEngine

    /// Both made something that the other lacks.
    init() throws {
        var work = try RandomWork(seed: 5)
        try work.run(batches: 20)
        donor = work.store
        let other = try TestStore(copying: donor, seed: 6)
        try work.run(batches: 8)
        other.now = donor.now + 3
        for number in 0..<6 {
            try other.save([SaveItem("own \(number)", ["title": "a"], increments: ["votes": 1])])
        }
        base = try #require(try other.backup() as? MemoryEngine)
    }

    /// The faults after a run ended at a call; nil if the run ended before that call.
    private func faults(
        endingAt call: Int,
        _ moment: CountingEngine.Moment,
        _ end: End,
        breaking rules: BrokenRules = [],
        _ take: (TestStore) throws -> Void
    ) throws -> [String]? {
        let rows = MemoryEngine(reopening: base)
        let engine = CountingEngine(rows)
        engine.end(at: call, moment)
        do {
            let store = try TestStore(seed: 7, engine: engine)
            store.breakRules(rules)
            store.now = donor.now + 10
            try take(store)
        } catch {
            #expect(engine.hasEnded, "\(error)")
        }
        if end == .process { rows.flush() }
        let next = try TestStore(seed: 8, engine: MemoryEngine(reopening: rows))
        next.now = donor.now + 20
        let records = try StoredRecords.all(in: next.reader)
        var faults = try Watch.beyond(next.vector(), records, next.reader)
        faults += try DerivedRows.differences(in: next.engine)
        try take(next)
        faults += try differences(from: next)
        return engine.hasEnded ? faults : nil
    }

    /// From a node that was never interrupted.
    private func differences(from store: TestStore) throws -> [String] {
        let whole = try TestStore(seed: 9, engine: MemoryEngine(reopening: base))
        whole.now = donor.now + 10
        try whole.take(from: donor)
        let states = try [whole, store].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        return ReplicatedState.differences(states[0], states[1])
            + (try DerivedRows.differences(in: store.engine))
    }

    private func expectNoFaults(_ end: End, _ take: (TestStore) throws -> Void) throws {
        for moment in CountingEngine.Moment.allCases {
            var call = 1
            while let faults = try faults(endingAt: call, moment, end, take) {
                #expect(faults == [], "call \(call), \(moment), \(end)")
                call += 1
            }
            #expect(call > 4, "there was hardly anything to interrupt")
        }
    }

    @Test(arguments: End.allCases) func commitsAreTakenWhateverCallWasTheLast(end: End) throws {
        try expectNoFaults(end) { try $0.take(from: donor) }
    }

    @Test(arguments: End.allCases, StateWay.allCases)
    func stateIsTakenWhateverCallWasTheLast(end: End, way: StateWay) throws {
        try expectNoFaults(end) { try $0.takeState(of: donor, way) }
    }

    /// Pages that are shown before the rest is there.
    @Test func halfAStateIsNoticed() throws {
        let found = try (1...60).compactMap { call in
            try faults(endingAt: call, .after, .process, breaking: [.staged]) {
                try $0.takeState(of: donor, .delta)
            }
        }
        #expect(found.contains { !$0.isEmpty })
    }
}
