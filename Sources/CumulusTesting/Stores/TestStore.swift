// A node's store without the node: requests run in place, one by one or sharing a batch, as the
// writer thread would run them.
//
// Used by tests of operations and storage. It has one container and a clock that stands still until
// it is moved.
//
// Folder: stores for tests, and checks of what they hold. Read `TestStore`, then `DerivedRows`.

package import CumulusModel
import CumulusNode
import CumulusOperations
package import CumulusReplication
package import CumulusStorage

package final class TestStore {
    package private(set) var engine: any StorageEngine
    package private(set) var state: WriterState
    package private(set) var dice: SeededGenerator
    /// Milliseconds since 1970 UTC, as the next request finds it.
    package var now: Int64 = 1_750_000_000_000
    /// The scope of requests by default.
    package let scope = ScopeID(container: "iCloud.test", environment: .development)

    /// A new store with its container.
    package init(seed: UInt64 = 1, engine: any StorageEngine = MemoryEngine()) throws {
        dice = SeededGenerator(seed: seed)
        self.engine = engine
        state = try OpenStore.open(engine, using: &dice)
        let create = CreateContainer(scope.container)
        _ = try run(WriteRequest(create, caller: Caller(role: .operator)))
    }

    /// Another node that holds what this one holds now.
    package init(copying other: TestStore, seed: UInt64) throws {
        dice = SeededGenerator(seed: seed)
        guard let memory = other.engine as? MemoryEngine else {
            throw EngineError.failed("only a store in memory can be copied")
        }
        engine = MemoryEngine(reopening: memory)
        now = other.now
        state = try OpenStore.open(engine, using: &dice)
    }

    /// The content of the store, to go back to.
    package func backup() throws -> any StorageEngine {
        guard let memory = engine as? MemoryEngine else {
            throw EngineError.failed("only a store in memory can be copied")
        }
        return MemoryEngine(reopening: memory)
    }

    /// Goes on from a backup.
    ///
    /// `isNewRun`: false breaks the rule that every run is an incarnation of its own.
    package func restore(_ backup: any StorageEngine, isNewRun: Bool = true) throws {
        guard let memory = backup as? MemoryEngine else { return }
        let before = state
        engine = MemoryEngine(reopening: memory)
        state = try OpenStore.open(engine, using: &dice)
        if !isNewRun {
            let clock = state.clock
            state = WriterState(incarnation: state.node.lastIncarnation, node: state.node)
            state.clock = clock
        }
        keepSettings(of: before)
    }

    /// Breaks rules, to see that it is noticed.
    package func breakRules(_ rules: BrokenRules) {
        state.broken = rules
    }

    /// Lets the newest value of registers stand, whatever their rule, to see that it is noticed.
    package func breakRegisters(_ namespaces: Set<String>) {
        state.brokenRegisters = namespaces
    }

    /// Ends this run of the node and begins another one over what was committed.
    package func restart() throws {
        let before = state
        if let memory = engine as? MemoryEngine { engine = MemoryEngine(reopening: memory) }
        state = try OpenStore.open(engine, using: &dice)
        keepSettings(of: before)
    }

    /// Gives creations no keys, as where a member is listed whose release doesn't know them.
    package func leaveOutLives() {
        state.knownFeatures[Feature.lives.rawValue] = false
    }

    private func keepSettings(of before: WriterState) {
        if before.knownFeatures[Feature.lives.rawValue] == false { leaveOutLives() }
        (state.broken, state.inherited) = (before.broken, before.inherited)
        state.cascadeRecords = before.cascadeRecords
        state.storedBytesPerRequest = before.storedBytesPerRequest
        state.comparisonSteps = before.comparisonSteps
        state.owedChangeBytes = before.owedChangeBytes
        state.indexRowsPerTurn = before.indexRowsPerTurn
        state.owedRecordsPerZone = before.owedRecordsPerZone
        state.isRestored = before.isRestored
        state.brokenRegisters = before.brokenRegisters
    }

    /// The node began with a backup, and has not caught up with another one.
    package var isRestored: Bool {
        get { state.isRestored }
        set { state.isRestored = newValue }
    }

    /// Records that one turn of the writer deletes for a cascade.
    package var cascadeRecords: Int {
        get { state.cascadeRecords }
        set { state.cascadeRecords = newValue }
    }

    /// Bytes of stored records that a request of several items may change.
    package var storedBytesPerRequest: Int {
        get { state.storedBytesPerRequest }
        set { state.storedBytesPerRequest = newValue }
    }

    /// Steps that a batch takes to compare changes with topics.
    package var comparisonSteps: Int {
        get { state.comparisonSteps }
        set { state.comparisonSteps = newValue }
    }

    /// Bytes of changes that may wait to be compared.
    package var owedChangeBytes: Int {
        get { state.owedChangeBytes }
        set { state.owedChangeBytes = newValue }
    }

    /// Bounds the rows of indexes that a request writes, and the owed records of a zone.
    package func limitIndexRows(_ rows: Int, owed records: Int = 1_000) {
        (state.indexRowsPerTurn, state.owedRecordsPerZone) = (rows, records)
    }

    /// Looks through the packs as a node does at its start.
    ///
    /// - Returns: The number of the next pack.
    package func recover(_ packs: any PackFiles, mayLose: Bool = false) throws -> PackNumber {
        let found = try AssetRecovery(engine: engine, packs: packs, mayLose: mayLose).run(
            state,
            now: now
        )
        state = found.state
        return found.next
    }

    // MARK: Batches

    /// Runs what is given in one batch.
    package func batch<Value>(
        _ work: (inout GroupCommit) throws(EngineError) -> Value
    ) throws(EngineError) -> Value {
        var group = GroupCommit(engine: engine, state: state)
        let value = try work(&group)
        state = try group.commit()
        return value
    }

    /// Changes the store as the writer would, without a request.
    package func change(
        _ body: (inout WriteTransaction) throws(EngineError) -> Void
    ) throws(EngineError) {
        try batch { (group: inout GroupCommit) throws(EngineError) in
            try group.run(now: now) { (transaction: inout WriteTransaction) throws(EngineError) in
                try body(&transaction)
                return ((), true)
            }
        }
    }

    /// Drops all that feeds would tell from before now, as the collector does after some days.
    package func forgetFeeds() throws {
        let scope = try scopeNumber()
        // Days are long, and histories short.
        state.passedDays += 1
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeFeeds(of: scope).dropRows(before: now, &transaction)
        }
    }

    /// Walks through all zones as the collector does.
    package func purge(_ purge: Collection.Purge, limit: Int) throws {
        let scope = try scopeNumber()
        for zone in try StateSource(reader, scope: scope).zones() where zone.row.exists {
            let name = zone.commitZone
            var after: String?
            repeat {
                let found = try purge.find(
                    in: zone.row.number,
                    after: after,
                    limit: limit,
                    reader
                )
                try change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try purge.drop(found.names, of: name, in: scope, &transaction)
                }
                after = found.last
            } while after != nil
        }
    }

    /// Forgets all deleted records, as if every member had read of them long ago.
    package func forgetDeleted() throws {
        let vector = try reader.vector(of: scopeNumber())
        try purge(Collection.Purge(stable: vector, diedBefore: .max), limit: 1_000)
    }

    /// Deletes orphans that this store owes, as the collector does.
    package func sweep(limit: Int) throws {
        let scope = try scopeNumber()
        for zone in try StateSource(reader, scope: scope).zones() where zone.row.exists {
            var after: Bytes?
            repeat {
                let found = try CascadeCompensation.findOrphans(
                    in: zone.row,
                    after: after,
                    limit: limit,
                    reader
                )
                try change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try CascadeCompensation.run(
                        after: found.names,
                        of: zone.commitZone,
                        in: scope,
                        &transaction
                    )
                }
                after = found.last
            } while after != nil
        }
    }

    /// Builds and drops indexes, as the node does in the background.
    ///
    /// - Parameters:
    ///   - steps: Stops after so many.
    ///   - meanwhile: Called between a look for records and what is done about them.
    package func settleIndexes(
        limit: Int = 100,
        steps: Int = .max,
        meanwhile: () throws -> Void = {}
    ) throws {
        let scope = try scopeNumber()
        for _ in 0..<steps {
            let work = try reader.indexWork(of: scope)
            if work.isEmpty { return }
            let zones = try reader.zoneNumbers(of: scope)
            if work.building.isEmpty {
                try change { (transaction: inout WriteTransaction) throws(EngineError) in
                    for (type, number) in work.dropped {
                        try ScopeIndexes(of: scope).dropRows(of: number, in: zones, &transaction)
                        ScopeIndexes(of: scope).forget(number, of: type, &transaction)
                    }
                }
                continue
            }
            let page = try reader.indexPage(for: work, in: zones, limit: limit, lookLimit: limit)
            try meanwhile()
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                _ = try ScopeIndexes(of: scope).build(
                    work,
                    with: page,
                    rowLimit: 3 * limit,
                    &transaction
                )
            }
        }
    }

    /// Deletes records of dropped types, as the node does in the background.
    package func sweepDropped(limit: Int = 100) throws {
        let scope = try scopeNumber()
        let lens = try RecordLens(of: scope, in: reader)
        for zone in try reader.zones(of: scope) {
            var after: String?
            repeat {
                let found = try DroppedRecords.find(
                    in: zone,
                    of: scope,
                    after: after,
                    limit: limit,
                    by: lens,
                    reader
                )
                try change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try DroppedRecords.delete(found.names, of: zone, in: scope, &transaction)
                }
                after = found.last
            } while after != nil
        }
    }

    /// This store is the heir of nodes that are gone.
    package func inherit(from nodes: Set<UInt64>) {
        state.inherited = nodes
    }

    package func newRequestID() -> RequestID {
        RequestID(milliseconds: now, using: &dice)
    }
}

/// A row as it stands in an engine.
package struct StoredRow: Hashable, Sendable {
    package var key: Bytes
    package var value: Bytes

    package init(_ row: (key: Bytes, value: Bytes)) {
        key = row.key
        value = row.value
    }
}
