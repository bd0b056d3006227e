// The only way to the store: two writer threads that take turns, and a few reader threads, one of
// which runs only short reads, so that they don't wait behind long ones.
//
// Sessions queue requests here and are called back on their own loops, in one hop for a batch. A
// writer plans a batch of all that waits, then writes and flushes it. Meanwhile the other one plans
// the next batch, and writes it when the first is durable. Nobody is answered before that.
//
// Folder: everything between a request and the disk. Read `StoreGate`, then `StoreWork`,
// `BatchWriter`, `PlannedBatch` and `Flusher`. `Surveys` looks up what a request needs before its
// turn, `IndexKeeper` writes what a turn left, `VisibleState` says what callers may see, and
// `WriteStops` why writes are refused.

package import CumulusModel
import CumulusOperations
import CumulusReplication
package import CumulusStorage
import CumulusWire
import Logging
import Synchronization

/// One state of the store.
struct StoreView: Sendable {
    let reader: ReadTransaction
    /// Zones that were found in this state, or in an earlier one with the same zones.
    let zones: ZoneDirectory
    /// Record types that were found in this state, or in an earlier one with the same types.
    let schemas: SchemaDirectory
}

package final class StoreGate: Sendable {
    package let engine: any StorageEngine
    /// Rings after every batch that changed something.
    let bell = CommitBell()
    let visible: VisibleState
    var epochs: AccessEpochs { visible.epochs }
    /// Signals a batch with which indexes came or went.
    let schemaNews = KeeperNews()
    /// Signals a batch that left a cascade something to do, or changes to compare with topics.
    let (cascadeNews, comparisonNews) = (KeeperNews(), KeeperNews())
    /// Signals a batch that left index rows to be written, or told of a deletion for good.
    let (indexNews, deletionNews) = (KeeperNews(), KeeperNews())
    private let environment: NodeEnvironment
    private let limits: Limits
    private let meter: NodeMeter
    private let writes: WorkQueue<QueuedWrite>
    private let bulkReads: ReadTurns
    private let promptReads: WorkQueue<@Sendable () -> Void>
    private let flusher = Flusher()
    package let stops: WriteStops
    private let writer: Mutex<BatchWriter>
    private let disk: DiskWatch
    private let workers = Mutex<[Worker]>([])

    package init(
        engine: any StorageEngine,
        state: WriterState,
        clocks: PeerClocks = PeerClocks(),
        peerRuns: PeerRuns = PeerRuns(),
        environment: NodeEnvironment,
        limits: Limits,
        meter: NodeMeter,
        diskReserve: UInt64,
        deleteReserve: UInt64 = 0,
        isReadOnly: Bool = false
    ) throws(EngineError) {
        stops = WriteStops(isReadOnly: isReadOnly)
        self.engine = engine
        self.environment = environment
        self.limits = limits
        self.meter = meter
        visible = VisibleState(try engine.snapshot(), state)
        writes = WorkQueue(capacity: limits.queuedWrites)
        bulkReads = ReadTurns(capacity: limits.queuedWrites)
        promptReads = WorkQueue(capacity: limits.queuedWrites)
        let reserve = DiskReserve(first: diskReserve, second: deleteReserve)
        disk = DiskWatch(engine, reserve, stops, environment.logger)
        writer = Mutex(
            BatchWriter(
                engine: engine,
                environment: environment,
                clocks: clocks,
                peerRuns: peerRuns,
                limits: limits,
                meter: meter,
                stops: stops,
                state: state,
                disk: disk
            )
        )
        // A node that starts on a full disk says so at once.
        disk.look(environment.now())
    }

    /// Starts the threads.
    ///
    /// Without threads, callers of `runBatch`, `runFlush` and `runRead` do the work in place.
    ///
    /// - Parameter readers: The number of threads for bulk reads; one more runs prompt reads.
    package func start(readers: Int) {
        bulkReads.expect(threads: readers)
        workers.withLock { workers in
            for _ in 0..<2 {
                workers.append(Worker(named: "cumulus writer") { while self.runBatch() {} })
            }
            for _ in 0..<readers {
                let work = { @Sendable in while self.bulkReads.run() {} }
                workers.append(Worker(named: "cumulus reader", work))
            }
            let work = { @Sendable in while self.runPromptRead() {} }
            workers.append(Worker(named: "cumulus prompt", work))
        }
    }

    /// Finishes what is queued and ends the threads.
    package func stop() {
        writes.close()
        bulkReads.close()
        promptReads.close()
        let ending = workers.withLock { workers in
            defer { workers = [] }
            return workers
        }
        for worker in ending { worker.join() }
    }

    // MARK: Reads

    enum ReadKind: Sendable {
        /// A read that may take long, such as a caller's, or a step of a walk through everything.
        ///
        /// Callers take turns.
        case bulk(ReadCaller)
        /// A read of a few rows, or of a page for a peer; one thread runs only such reads.
        case prompt
    }

    /// Queues a read for a reader thread.
    ///
    /// Returns false if too many are waiting.
    func read(_ kind: ReadKind, _ work: @escaping @Sendable () -> Void) -> Bool {
        switch kind {
        case .bulk(let caller): bulkReads.append(work, for: caller)
        case .prompt: promptReads.append(work)
        }
    }

    /// A snapshot of the newest durable state.
    package func latest(reach: Reach) -> ReadTransaction {
        ReadTransaction(visible.reader, reach: reach)
    }

    /// The newest durable state, with its version, which rises with each batch.
    func latestVersion(reach: Reach) -> (view: StoreView, version: UInt64) {
        let (view, version) = visible.versioned
        let reader = ReadTransaction(view.reader, reach: reach)
        return (StoreView(reader: reader, zones: view.zones, schemas: view.schemas), version)
    }

    /// The newest durable state, and the version vector of a scope in it.
    func latestVector(
        of scope: ScopeNumber
    ) throws(EngineError) -> (reader: ReadTransaction, vector: VersionVector) {
        let (reader, vector) = try visible.vector(of: scope)
        return (ReadTransaction(reader, reach: .disk), vector)
    }

    /// The newest durable state, with the zones and the record types that were found in it.
    func latestView(reach: Reach) -> StoreView {
        let (reader, zones, schemas) = visible.view
        let transaction = ReadTransaction(reader, reach: reach)
        return StoreView(reader: transaction, zones: zones, schemas: schemas)
    }

    /// Waits for a read and runs it.
    ///
    /// Returns false when the queue is closed and empty.
    package func runRead() -> Bool {
        promptReads.isEmpty ? bulkReads.run() : runPromptRead()
    }

    private func runPromptRead() -> Bool {
        let work = promptReads.take()
        work?()
        return work != nil
    }

    // MARK: Writes

    /// Queues work.
    ///
    /// Returns false if too many are waiting.
    package func submit(_ write: QueuedWrite) -> Bool {
        writes.append(write)
    }

    /// Whether `runBatch` has something to do.
    package var hasWrites: Bool { !writes.isEmpty }

    var waitingWrites: Int { writes.count }

    var waitingReads: Int { promptReads.count + bulkReads.count }

    /// Whether `runRead` has something to do.
    package var hasReads: Bool { !promptReads.isEmpty || !bulkReads.isEmpty }

    /// Whether a batch is set aside, so that `runFlush` has something to do.
    package var hasFlush: Bool { flusher.hasWork }

    /// Makes the batch that was set aside durable, and answers its callers.
    package func runFlush() { flusher.run() }

    /// Waits for requests and commits a batch of them.
    ///
    /// Returns false when the queue is closed and empty.
    ///
    /// - Parameter leaving: Whether the planned batch is set aside for `runFlush`, because one
    ///   thread takes all turns.
    package func runBatch(leaving: Bool = false) -> Bool {
        guard let waiting = writes.takeAll(holding: true) else { return false }
        let count = batchCount(waiting)
        let planned = plan(waiting[..<count])
        // The batch may have ended before it held all of them.
        writes.putBack(waiting[(planned?.batch.count ?? count)...])
        if planned != nil, !leaving { flusher.begin() }
        writes.release()
        guard let planned else { return true }
        if leaving {
            flusher.leave { [self] in finish(planned) }
        } else {
            finish(planned)
            flusher.end()
        }
        return true
    }

    /// How many of the waiting requests share the next flush: at least one.
    private func batchCount(_ waiting: [QueuedWrite]) -> Int {
        var byteCount = 0
        for (index, write) in waiting.enumerated() {
            byteCount += write.byteCount
            if index == limits.writesPerBatch || (index > 0 && byteCount > limits.batchBytes) {
                return index
            }
        }
        return waiting.count
    }

    /// Plans a batch, and waits for the batch before it; nil if the store can't go on.
    private func plan(_ batch: ArraySlice<QueuedWrite>) -> PlannedBatch? {
        writer.withLock { writer in
            do throws(EngineError) {
                return try writer.run(batch) { flusher.wait() }
            } catch {
                environment.fail(error.lastWords)
                return nil
            }
        }
    }

    /// Makes a batch durable, then visible, and answers its callers; batches come in their order.
    private func finish(_ planned: PlannedBatch) {
        do throws(EngineError) {
            if let next = try planned.persist(in: engine, disk, environment, meter) {
                show(planned, next)
            }
            deliver(planned)
        } catch {
            // The outcome is unknown: nobody is told anything, and the next start finds out.
            environment.fail(error.lastWords)
        }
    }

    private func show(_ planned: PlannedBatch, _ next: VisibleState.Next) {
        guard let change = planned.change else { return }
        if visible.advance(to: next) { epochs.bell.ring(for: []) }
        if change.hasSchemaNews { schemaNews.tell() }
        if change.hasCascadeNews { cascadeNews.tell() }
        if change.hasComparisonNews { comparisonNews.tell() }
        if change.hasIndexNews { indexNews.tell() }
        if change.hasDeletionNews { deletionNews.tell() }
        guard change.count > 0 else { return }
        meter.commits.add(change.count)
        meter.flushes.add(1)
        bell.ring(for: change.touched, in: change.news)
    }

    /// Delivers the outcomes, with one hop for each loop.
    private func deliver(_ planned: PlannedBatch) {
        // Loops are few, and keep the order of the batch, so that a simulation always runs alike.
        var hops: [(loop: any FrameLoop, calls: [Report])] = []
        for (write, report) in zip(planned.batch, planned.outcomes) {
            if let index = hops.firstIndex(where: { $0.loop === write.loop }) {
                hops[index].calls.append(report)
            } else {
                hops.append((write.loop, [report]))
            }
        }
        for hop in hops {
            hop.loop.execute { for call in hop.calls { call() } }
        }
    }
}

// MARK: - Async access

extension StoreGate {
    /// Reads from one state on a reader thread.
    func reading<Value: Sendable>(
        _ kind: ReadKind = .bulk(.node),
        _ read: @escaping @Sendable (ReadTransaction) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            let isQueued = self.read(kind) { [self] in
                waiting.resume(with: Result { try read(latest(reach: .disk)) })
            }
            if !isQueued { waiting.resume(throwing: StoreGate.busy) }
        }
    }

    /// Changes the store in the writer.
    func change<Value: Sendable>(
        _ kind: WorkKind,
        _ body: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            let job = Job(kind, body) { outcome in waiting.resume(with: outcome) }
            let write = QueuedWrite(job, byteCount: 0, loop: InPlaceLoop.shared)
            if !submit(write) { waiting.resume(throwing: StoreGate.busy) }
        }
    }

    /// Makes a change that a caller asked for, and waits until it is durable.
    func perform<Asked: Change>(
        _ request: WriteRequest<Asked>,
        _ token: CallToken
    ) async throws -> Asked.Outcome {
        try await withCheckedThrowingContinuation { caller in
            let work = Request(request, token) { caller.resume(with: $0) }
            let write = QueuedWrite(work, byteCount: 0, loop: InPlaceLoop.shared)
            if !submit(write) { caller.resume(throwing: ServiceError.tooManyWrites) }
        }
    }

    private static let busy = ServiceError(
        .requestRateLimited,
        .overloaded,
        "the store has too much to do"
    )
}
