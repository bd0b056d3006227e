// Sharing a batch: what was refused leaves no trace, what was kept is there at once and after a
// restart.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct GroupCommitTests {
    private static func put(_ name: String, _ value: Int64) throws -> Commit.Operation {
        .put(try Commit.Put(name, ["v": .int64(value)]))
    }

    /// A group of kept and refused requests over a store.
    private static func run(
        _ store: inout ScratchStore,
        _ keep: [Bool],
        failing: Set<Int> = []
    ) throws {
        var group = GroupCommit(engine: store.engine, state: store.state)
        let (scope, zone) = (store.scope, store.zone)
        for (index, keep) in keep.enumerated() {
            let operation = try put("n\(index)", Int64(index))
            let outcome: Int? = try? group.run(now: store.now) {
                (transaction: inout WriteTransaction) throws(EngineError) in
                _ = try transaction.perform([operation], in: scope, zone: zone, author: Author())
                if failing.contains(index) { throw EngineError.corrupt("a test says so") }
                return (index, keep: keep)
            }
            #expect((outcome == nil) == failing.contains(index))
        }
        #expect(
            group.count
                == keep.enumerated().filter { $0.element && !failing.contains($0.offset) }.count
        )
        store.adopt(try group.commit())
    }

    @Test func aRefusedRequestLeavesNoTrace() throws {
        var plain = try ScratchStore()
        try Self.run(&plain, [true])
        var mixed = try ScratchStore()
        let before = try mixed.allRows()
        try Self.run(&mixed, [false, false])
        #expect(try mixed.allRows() == before)
        // The clock, the sequence and the numbers of zones go on as if nothing had been tried.
        try Self.run(&mixed, [true])
        #expect(try mixed.allRows() == plain.allRows())
    }

    @Test func aRequestThatFailsIsRolledBackAndTheBatchGoesOn() throws {
        var left = try ScratchStore()
        try Self.run(&left, [true, true, true], failing: [1])
        #expect(try left.record("n0") != nil)
        #expect(try left.record("n1") == nil)
        let last = try #require(try left.record("n2"))
        #expect(last.birth.dot.seq == 2)
    }

    /// Each request's save point is a copy of the writer's state: it must not grow with the scopes.
    @Test func aBatchHoldsOnlyTheScopesThatItLookedAt() throws {
        var store = try ScratchStore()
        let numbers = try store.write {
            (transaction: inout WriteTransaction) throws(EngineError) in
            try (0..<3).map { (number) throws(EngineError) in
                try transaction.makeScope(
                    ScopeID(container: "c\(number)", environment: .development)
                )
            }
        }
        let zone = store.zone
        /// Commits once in each of them; returns the numbers of the commits.
        func commit(in scopes: [ScopeNumber], keep: Bool = true) throws -> [UInt64] {
            var group = GroupCommit(engine: store.engine, state: store.state)
            let operation = try Self.put("n", 1)
            let made = try scopes.map { scope in
                try group.run(now: store.now) {
                    (transaction: inout WriteTransaction) throws(EngineError) in
                    let (commit, _) = try transaction.perform(
                        [operation],
                        in: scope,
                        zone: zone,
                        author: Author()
                    )
                    return (commit.stamp.dot.seq, keep: keep)
                }
            }
            store.adopt(try group.commit())
            return made
        }
        #expect(try commit(in: numbers) == [1, 1, 1])
        #expect(Set(store.state.scopes.keys) == Set(numbers))
        #expect(try commit(in: [numbers[1]]) == [2])
        #expect(Set(store.state.scopes.keys) == [numbers[1]])
        // A refused request doesn't count, neither in this batch nor in the next.
        #expect(try commit(in: [numbers[0], numbers[0]], keep: false) == [2, 2])
        #expect(try commit(in: [numbers[0], numbers[0], numbers[1]]) == [2, 3, 3])
        #expect(try commit(in: numbers) == [4, 4, 2])
    }

    /// A node that has handed out all numbers refuses what needs one, and nothing else.
    @Test func numbersThatRunOutAreNoCrash() throws {
        let changes: [(inout NodeRow) -> Void] = [
            { $0.nextScope = .max }, { $0.nextDatabase = .max }, { $0.nextZone = .max },
        ]
        for change in changes {
            var store = try ScratchStore()
            try store.perform([try Self.put("a", 1)])
            var state = store.state
            change(&state.node)
            store.adopt(state)
            let scope = store.scope
            let zone = Commit.Zone(
                database: DatabaseID(kind: .private, owner: "_new"),
                name: "z",
                generation: 1
            )
            let error = #expect(throws: EngineError.self) {
                try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
                    _ = try transaction.perform(
                        [.zoneCreate],
                        in: scope,
                        zone: zone,
                        author: Author()
                    )
                    let other = ScopeID(container: "other", environment: .production)
                    _ = try transaction.makeScope(other)
                }
            }
            let isExhausted = if case .exhausted = error { true } else { false }
            #expect(isExhausted)
            try store.perform([try Self.put("b", 1)])
            #expect(try store.record("b") != nil)
        }
    }

    @Test func aBatchWithoutWritesCommitsNothing() throws {
        let store = try ScratchStore()
        let before = try store.allRows()
        let state = try GroupCommit(engine: store.engine, state: store.state).commit()
        #expect(try store.allRows() == before)
        #expect(state.node == store.state.node)
    }

    /// The outcome of its request is the fifth row of a save.
    @Test func aSaveWritesFourRowsAndABatchThree() throws {
        var store = try ScratchStore()
        let births = try (0..<3).map {
            try store.perform([try Self.put("n\($0)", 0)]).commit.stamp.dot
        }
        for count in [1, 3] {
            var group = GroupCommit(engine: store.engine, state: store.state)
            let (scope, zone) = (store.scope, store.zone)
            for (number, birth) in births.enumerated().prefix(count) {
                let put = try Commit.Put("n\(number)", birth: birth, ["v": .int64(Int64(count))])
                try group.run(now: store.now) {
                    (transaction: inout WriteTransaction) throws(EngineError) in
                    let author = Author()
                    _ = try transaction.perform([.put(put)], in: scope, zone: zone, author: author)
                    return ((), keep: true)
                }
            }
            let (rows, state) = group.plan()
            let found = rows.batch().writes.compactMap { Subspace(rawValue: $0.key[0]) }
            var expected: [Subspace] = [.zoneState, .zoneHead, .vector]
            for _ in 0..<count { expected += [.record, .change, .change, .commit] }
            #expect(found.map(\.rawValue).sorted() == expected.map(\.rawValue).sorted())
            store.engine.commit(rows.batch())
            store.adopt(state)
        }
    }

    @Test func oneByOneAndTogetherMakeTheSameRows() throws {
        var together = try ScratchStore()
        try Self.run(&together, [true, true, true])
        var apart = try ScratchStore()
        for index in Int64(0)..<3 { try apart.perform([try Self.put("n\(index)", index)]) }
        let subspaces: [Subspace] = [.record, .change, .zoneState, .zoneHead, .zone, .commit]
        for subspace in subspaces {
            let rows = try [together, apart].map { store in
                try store.reader.rows(subspace.family, .all(subspace)).map(StoredRow.init).count
            }
            #expect(rows[0] == rows[1])
        }
        #expect(try together.record("n2")?.body == apart.record("n2")?.body)
        #expect(try DerivedRows.differences(in: together.engine) == [])
        #expect(try DerivedRows.differences(in: apart.engine) == [])
    }
}
