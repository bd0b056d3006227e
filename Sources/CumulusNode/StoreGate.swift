// The only door to the store: one writer thread that commits what was waiting with one flush, and a
// few reader threads, one of them for what must not wait behind a caller who asks for much.
//
// Sessions queue requests here and are called back on their own loops, all of a batch in one hop. A
// request whose time is up, or that nobody waits for any more, is dropped before it costs the
// engine anything. While more is waiting, a batch is flushed on a thread beside the writer, which
// runs the next one meanwhile and writes it once the flush is done; nothing is told before.

package import CumulusModel
package import CumulusOperations
import CumulusReplication
package import CumulusStorage
package import CumulusWire
import Logging
import Synchronization

/// Whether somebody still waits for a call's answer.
///
/// Shared by its session and the store's threads.
package final class CallToken: Sendable {
    private let cancelled = Atomic<Bool>(false)
    package let deadline: Instant

    package init(deadline: Instant) {
        self.deadline = deadline
    }

    package func cancel() {
        cancelled.store(true, ordering: .relaxed)
    }

    /// Nobody waits for the call any more; nil: somebody does.
    package var cancellation: ServiceError? {
        guard cancelled.load(ordering: .relaxed) else { return nil }
        return ServiceError(.operationCancelled, "the caller cancelled the call")
    }

    /// Why the call is not worth doing any more; nil if it is.
    ///
    /// - Parameter end: When its time is up; nil: at its deadline.
    package func refusal(now: Instant, by end: Instant? = nil) -> ServiceError? {
        if let cancellation { return cancellation }
        guard end ?? deadline <= now else { return nil }
        return ServiceError(
            .serviceUnavailable,
            .deadline,
            "the call's time was up before it was done; try again with more time"
        )
    }
}

/// One state of the store.
struct StoreView: Sendable {
    let reader: ReadTransaction
    /// Zones that were found in it, or in one that had the same.
    let zones: ZoneDirectory
    /// The same of record types.
    let schemas: SchemaDirectory
}

package final class StoreGate: Sendable {
    package typealias Answer = Result<WriteRequest.Answer, ServiceError>

    /// What the writer is to do, and whom it tells, on the loop.
    package enum Work: Sendable {
        case request(WriteRequest, CallToken, @Sendable (Answer) -> Void)
        case job(Job)
    }

    /// A change that no client asked for: of a peer, or of the node itself.
    package struct Job: Sendable {
        package enum Kind: Sendable {
            /// Brings in what others wait for, and needs room on the disk.
            case commits
            /// Concerns this node alone.
            case housekeeping
            /// So does this, and needs room on the disk.
            case derived

            fileprivate var needsRoom: Bool { self != .housekeeping }
            /// Whether others see a difference.
            fileprivate var isSeen: Bool { self == .commits }
        }

        fileprivate let kind: Kind
        fileprivate let run: @Sendable (inout WriteTransaction) throws(EngineError) -> Progress
        fileprivate let refuse: @Sendable (ServiceError) -> Void

        /// - Parameters:
        ///   - change: Run in the writer; what it threw after is undone.
        ///   - waits: Whether what came of it waits for other changes: if some of the same batch
        ///     come behind it, it is run again.
        ///   - completion: Called once, when the change is durable or was refused.
        package init<Value: Sendable>(
            _ kind: Kind,
            _ change: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Value,
            waits: @escaping @Sendable (Value) -> Bool = { _ in false },
            then completion: @escaping @Sendable (Result<Value, ServiceError>) -> Void
        ) {
            self.kind = kind
            run = { (transaction: inout WriteTransaction) throws(EngineError) in
                let value = try change(&transaction)
                return ({ completion(.success(value)) }, waits(value))
            }
            refuse = { completion(.failure($0)) }
        }
    }

    /// Work on its way to the writer.
    package struct QueuedWrite: Sendable {
        package var work: Work
        package var byteCount: Int
        package var loop: any FrameLoop

        package init(_ work: Work, byteCount: Int, loop: any FrameLoop) {
            self.work = work
            self.byteCount = byteCount
            self.loop = loop
        }
    }

    /// Tells somebody how it went.
    fileprivate typealias Report = @Sendable () -> Void
    fileprivate typealias Progress = (report: Report, waits: Bool)

    package let engine: any StorageEngine
    /// Rings after every batch that changed something.
    let bell = CommitBell()
    let visible: VisibleState
    /// Speaks up after every batch with which indexes came or went; for one listener.
    let schemaNews: AsyncStream<Void>
    private let schemaSource: AsyncStream<Void>.Continuation
    private let environment: NodeEnvironment
    private let clocks: PeerClocks
    private let peerRuns: PeerRuns
    private let limits: Limits
    private let meter: NodeMeter
    private let writes: WorkQueue<QueuedWrite>
    private let bulkReads: WorkQueue<@Sendable () -> Void>
    private let promptReads: WorkQueue<@Sendable () -> Void>
    private let flusher = Flusher()
    private let writer: Mutex<Writer>
    private let workers = Mutex<[Worker]>([])
    private let diskFull = Atomic<Bool>(false)
    /// Why callers' writes are refused; nil: they are not.
    private let stops = Mutex<ServiceError?>(nil)
    /// Scopes in which nothing may change while another node's state is merged in.
    private let held = Mutex<Set<ScopeID>>([])

    /// What only the writer touches.
    private struct Writer {
        var state: WriterState
        var disk: DiskGuard
        var lastExpiry: Instant?
    }

    package init(
        engine: any StorageEngine,
        state: WriterState,
        clocks: PeerClocks = PeerClocks(),
        peerRuns: PeerRuns = PeerRuns(),
        environment: NodeEnvironment,
        limits: Limits,
        meter: NodeMeter,
        diskReserve: UInt64
    ) throws(EngineError) {
        (schemaNews, schemaSource) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.engine = engine
        self.environment = environment
        self.clocks = clocks
        self.peerRuns = peerRuns
        self.limits = limits
        self.meter = meter
        visible = VisibleState(try engine.snapshot(), state)
        writes = WorkQueue(capacity: limits.queuedWrites)
        bulkReads = WorkQueue(capacity: limits.queuedWrites)
        promptReads = WorkQueue(capacity: limits.queuedWrites)
        writer = Mutex(Writer(state: state, disk: DiskGuard(reserve: diskReserve)))
    }

    /// Starts the threads.
    ///
    /// Without them, `runBatch`, `runFlush` and `runRead` do their work in place.
    ///
    /// - Parameter readers: Threads for bulk reads; there is one more.
    package func start(readers: Int) {
        workers.withLock { workers in
            workers.append(
                Worker(named: "cumulus writer") {
                    while self.runBatch(leavesFlush: { self.hasWrites }) {}
                    self.flusher.close()
                }
            )
            workers.append(Worker(named: "cumulus flusher") { while self.runFlush() {} })
            for _ in 0..<readers {
                let work = { @Sendable in while self.run(self.bulkReads) {} }
                workers.append(Worker(named: "cumulus reader", work))
            }
            let work = { @Sendable in while self.run(self.promptReads) {} }
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

    /// Writes are refused because the disk is nearly full.
    package var isDiskFull: Bool { diskFull.load(ordering: .relaxed) }

    // MARK: Reads

    package enum ReadKind: Sendable {
        /// May take long, as what a caller asks for, or a step of a walk through everything.
        case bulk
        /// A few rows, or a page for a peer: it has a thread that does nothing else.
        case prompt
    }

    /// Runs a read on a reader thread.
    ///
    /// False if too many are waiting.
    package func read(_ kind: ReadKind, _ work: @escaping @Sendable () -> Void) -> Bool {
        switch kind {
        case .bulk: bulkReads.append(work)
        case .prompt: promptReads.append(work)
        }
    }

    /// The newest durable state; it doesn't move.
    package func latest(reach: Reach) -> ReadTransaction {
        ReadTransaction(visible.reader, reach: reach)
    }

    /// The same, with how far it has a scope.
    func latestVector(
        of scope: ScopeNumber
    ) throws(EngineError) -> (reader: ReadTransaction, vector: VersionVector) {
        let (reader, vector) = try visible.vector(of: scope)
        return (ReadTransaction(reader, reach: .disk), vector)
    }

    /// The same, with the zones and the record types that were found in it.
    func latestView(reach: Reach) -> StoreView {
        let (reader, zones, schemas) = visible.view
        let transaction = ReadTransaction(reader, reach: reach)
        return StoreView(reader: transaction, zones: zones, schemas: schemas)
    }

    /// Waits for a read and does it.
    ///
    /// False when the queue is closed and empty.
    package func runRead() -> Bool {
        run(promptReads.isEmpty ? bulkReads : promptReads)
    }

    private func run(_ reads: WorkQueue<@Sendable () -> Void>) -> Bool {
        guard let work = reads.take() else { return false }
        work()
        return true
    }

    // MARK: Writes

    /// Queues a request.
    ///
    /// False if too many are waiting.
    package func submit(_ write: QueuedWrite) -> Bool {
        writes.append(write)
    }

    /// Lets nothing change a scope until `release`, but what its holder does.
    func hold(_ scope: ScopeID) {
        held.withLock { _ = $0.insert(scope) }
    }

    func release(_ scope: ScopeID) {
        held.withLock { _ = $0.remove(scope) }
    }

    /// Refuses what callers want to write, until `resumeWrites`; peers' commits are taken.
    ///
    /// False if they are refused already.
    func stopWrites(_ why: ServiceError) -> Bool {
        stops.withLock { stop in
            guard stop == nil else { return false }
            stop = why
            return true
        }
    }

    func resumeWrites() {
        stops.withLock { $0 = nil }
    }

    /// Whether callers' writes are refused until `resumeWrites`.
    var hasStopped: Bool { stops.withLock { $0 != nil } }

    /// A marker changes every scope.
    private func isHeld(_ request: WriteRequest) -> Bool {
        if case .truncate = request.operation { return held.withLock { !$0.isEmpty } }
        return isHeld(request.scope)
    }

    func isHeld(_ scope: ScopeID) -> Bool {
        held.withLock { !$0.isEmpty && $0.contains(scope) }
    }

    /// Something waits for the writer: `runBatch` has something to do.
    package var hasWrites: Bool { !writes.isEmpty }

    /// Something waits for a reader: `runRead` has something to do.
    package var hasReads: Bool { !promptReads.isEmpty || !bulkReads.isEmpty }

    /// A batch is written and not flushed yet: `runFlush` has something to do.
    package var hasFlush: Bool { flusher.hasWork }

    /// Waits for a batch that was left to it, makes it durable and tells everybody.
    ///
    /// False when the writer has ended.
    package func runFlush() -> Bool { flusher.run() }

    /// Waits for requests and commits a batch of them.
    ///
    /// False when the queue is closed and empty.
    ///
    /// - Parameter leavesFlush: Whether the batch, once it is written, is left to the flusher.
    package func runBatch(leavesFlush: () -> Bool = { false }) -> Bool {
        guard let waiting = writes.takeAll() else { return false }
        let count = batchCount(waiting)
        writes.putBack(waiting[count...])
        let batch = waiting[..<count]
        guard let written = writer.withLock({ run(batch, &$0) }) else { return true }
        if leavesFlush() {
            flusher.take { [self] in finish(written) }
        } else {
            finish(written)
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

    /// What holds for all of a batch: clocks and disks may change while it is made.
    private struct Moment {
        let now: Instant
        let wallClock: Int64
        /// Milliseconds by which that is ahead of the others' clocks.
        let lead: Int64
        /// The disk has room for it.
        let hasRoom: Bool

        /// What time it is: if our clock is wrong, what most others say.
        var clock: Int64 { PeerClocks.isWrong(lead) ? wallClock - lead : wallClock }
    }

    private func moment(_ disk: inout DiskGuard) -> Moment {
        let (now, wallClock) = (environment.now(), environment.wallClock())
        return Moment(
            now: now,
            wallClock: wallClock,
            lead: clocks.lead(wallClock: wallClock, now: now),
            hasRoom: disk.allows(engine, now: now)
        )
    }

    /// Operators read in the log when writes are refused, and when they are taken again.
    private func noteRoom(_ hasRoom: Bool, _ disk: DiskGuard) {
        guard diskFull.exchange(!hasRoom, ordering: .relaxed) == hasRoom else { return }
        let details: Logger.Metadata = ["free": "\(disk.freeBytes)", "reserve": "\(disk.reserve)"]
        if hasRoom {
            environment.logger.notice("the disk has room again", metadata: details)
        } else {
            environment.logger.error(
                "the disk is nearly full: writes are refused until there is room",
                metadata: details
            )
        }
    }

    /// A batch that is written and not flushed yet.
    private struct Written: Sendable {
        /// One report each.
        let batch: ArraySlice<QueuedWrite>
        let reports: [Report]
        /// What becomes visible; nil: it changed nothing.
        let change: Change?
    }

    /// What a batch changed.
    private struct Change: Sendable {
        let next: VisibleState.Next
        /// Scopes that commits were added to.
        let scopes: [ScopeNumber]
        /// Requests and jobs of which others see a difference.
        let count: Int
        let hasSchemaNews: Bool
    }

    /// Runs a batch and writes it; nil if the store can't go on.
    private func run(
        _ batch: ArraySlice<QueuedWrite>,
        _ writer: inout sending Writer
    ) -> Written? {
        let moment = moment(&writer.disk)
        noteRoom(moment.hasRoom, writer.disk)
        var group = GroupCommit(engine: engine, state: writer.state)
        var reports: [Report] = []
        reports.reserveCapacity(batch.count)
        do throws(EngineError) {
            try expireRequests(&writer, &group, moment)
            var housekeeping = 0
            var waiting: [Int] = []
            // What all answers of a batch show of the server's records.
            var room = limits.batchBytes
            for (index, write) in batch.enumerated() {
                switch write.work {
                case .request(let request, let token, let completion):
                    let answer = try run(request, token, &group, moment)
                        .map { $0.limitingServerRecords(to: &room) }
                    reports.append { completion(answer) }
                case .job(let job):
                    let before = group.count
                    let progress = try run(job, &group, moment)
                    reports.append(progress.report)
                    if progress.waits { waiting.append(index) }
                    if !job.kind.isSeen { housekeeping += group.count - before }
                }
            }
            let before = group.count
            try runAgain(waiting, batch, &reports, &group, moment)
            // They counted the first time.
            housekeeping += group.count - before
            // Whatever follows in the log proves that what stands before was durable.
            flusher.wait()
            let change = try write(group, housekeeping, &writer)
            return Written(batch: batch, reports: reports, change: change)
        } catch {
            // The outcome of the batch is unknown: nobody is told anything, and the next start
            // finds out.
            environment.fail(error.lastWords)
            return nil
        }
    }

    /// Runs jobs again that wait for what came behind them, twice at most: each may bring what
    /// another waits for, and what still waits then comes again with the next batch.
    private func runAgain(
        _ waiting: [Int],
        _ batch: ArraySlice<QueuedWrite>,
        _ reports: inout [Report],
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) {
        guard let first = waiting.first, first + 1 < batch.count else { return }
        var waiting = waiting
        for _ in 0..<2 {
            var rest: [Int] = []
            for index in waiting {
                guard case .job(let job) = batch[batch.startIndex + index].work else { continue }
                let progress = try run(job, &group, moment)
                reports[index] = progress.report
                if progress.waits { rest.append(index) }
            }
            waiting = rest
        }
    }

    /// Writes a batch; nil: it changes nothing, which is not seen, and wakes nobody.
    private func write(
        _ group: consuming GroupCommit,
        _ housekeeping: Int,
        _ writer: inout sending Writer
    ) throws(EngineError) -> Change? {
        guard !group.isEmpty else {
            writer.state = try group.write()
            return nil
        }
        let count = group.count - housekeeping
        let before = writer.state
        writer.disk.wrote(group.byteCount)
        writer.state = try group.write()
        let state = writer.state
        return Change(
            next: VisibleState.Next(
                reader: try engine.snapshot(),
                scopes: state.scopes,
                changesZones: state.zonesVersion != before.zonesVersion,
                changesSchemas: state.schemaVersion != before.schemaVersion
            ),
            scopes: state.scopes.values.filter { !$0.touched.isEmpty }.map(\.number),
            count: count,
            hasSchemaNews: state.schemaWorkVersion != before.schemaWorkVersion
        )
    }

    /// Makes a batch durable, then visible, and tells everybody; in the order of batches.
    private func finish(_ written: Written) {
        if let change = written.change {
            do throws(EngineError) {
                try engine.flush()
            } catch {
                return environment.fail(error.lastWords)
            }
            show(change)
        }
        deliver(written.reports, for: written.batch)
    }

    private func show(_ change: Change) {
        visible.advance(to: change.next)
        if change.hasSchemaNews { schemaSource.yield() }
        guard change.count > 0 else { return }
        meter.commits.add(change.count)
        meter.flushes.add(1)
        bell.ring(for: change.scopes)
    }

    private func run(
        _ request: WriteRequest,
        _ token: CallToken,
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) -> Answer {
        if let refusal = token.refusal(now: environment.now()) { return .failure(refusal) }
        guard moment.hasRoom else { return .failure(StoreGate.diskFull) }
        if PeerClocks.isWrong(moment.lead) {
            return .failure(StoreGate.clockIsWrong(moment.lead))
        }
        if peerRuns.isTwin { return .failure(Node.idInUse) }
        if let stop = stops.withLock({ $0 }) { return .failure(stop) }
        if isHeld(request) { return .failure(StoreGate.merging) }
        meter.engineCalls.add(1)
        return try reportingDamage(request.requestID) { () throws(EngineError) in
            try group.run(now: moment.wallClock) { transaction throws(EngineError) in
                let (answer, keep) = try request.run(in: &transaction)
                if keep { try CascadeCompensation.run(&transaction) }
                return (answer, keep)
            }
        }
    }

    private func run(
        _ job: Job,
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) -> Progress {
        if job.kind.needsRoom, !moment.hasRoom {
            return ({ job.refuse(StoreGate.diskFull) }, false)
        }
        meter.engineCalls.add(1)
        let progress = try reportingDamage { () throws(EngineError) in
            try group.run(now: moment.clock) { transaction throws(EngineError) in
                (.success(try job.run(&transaction)), true)
            }
        }
        switch progress {
        case .success(let progress): return progress
        case .failure(let error): return ({ job.refuse(error) }, false)
        }
    }

    private func reportingDamage<Value>(
        _ request: RequestID? = nil,
        _ body: () throws(EngineError) -> Result<Value, ServiceError>
    ) throws(EngineError) -> Result<Value, ServiceError> {
        do {
            return try body()
        } catch {
            if case .exhausted(let what) = error {
                return .failure(ServiceError(.limitExceeded, what))
            }
            guard case .corrupt(let what) = error else { throw error }
            meter.damagedRows.add(1)
            environment.logger.error(
                "a damaged row was found",
                metadata: ["row": "\(what)", "request": "\(request?.bytes.hex ?? "")"]
            )
            return .failure(.damagedRow)
        }
    }

    /// Outcomes are forgotten some minutes after their time.
    private func expireRequests(
        _ writer: inout Writer,
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) {
        let interval: Int64 = 600_000
        guard writer.lastExpiry.map({ $0 + interval <= moment.now }) ?? true else { return }
        let isFirst = writer.lastExpiry == nil
        writer.lastExpiry = moment.now
        if isFirst { return }
        let bound = moment.clock - limits.requestMemoryMilliseconds
        try group.run(now: moment.clock) { transaction throws(EngineError) in
            transaction.deleteRange(.log, .requests(before: bound))
            return ((), true)
        }
    }

    /// Hands the outcomes out, one hop per loop.
    private func deliver(_ reports: [Report], for batch: ArraySlice<QueuedWrite>) {
        // Loops are few, and their order is that of the batch: a simulation is the same each time.
        var hops: [(loop: any FrameLoop, calls: [Report])] = []
        for (write, report) in zip(batch, reports) {
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

    package static let merging: ServiceError = {
        var error = ServiceError(
            .zoneBusy,
            "this node is taking in another node's state; try again in a moment, or elsewhere"
        )
        error.retryAfterMilliseconds = 500
        return error
    }()

    package static let diskFull = ServiceError(
        .serviceUnavailable,
        .diskFull,
        "the node's disk is nearly full, so it takes no writes; free space and try again"
    )
}

extension EngineError {
    /// Why the process ends, and what helps: damage is still there at the next start.
    fileprivate var lastWords: String {
        switch self {
        case .corrupt(let what): "the store is damaged: \(what); \(EngineError.remedy)"
        case .failed, .notInMemory, .exhausted: "the store failed: \(self); the next start recovers"
        }
    }
}

// MARK: - For tasks, which can wait

extension StoreGate {
    /// Reads from one state on a reader thread.
    func reading<Value: Sendable>(
        _ kind: ReadKind = .bulk,
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
        _ kind: Job.Kind,
        _ body: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            let job = Job(kind, body) { outcome in waiting.resume(with: outcome) }
            let write = QueuedWrite(.job(job), byteCount: 0, loop: InPlaceLoop.shared)
            if !submit(write) { waiting.resume(throwing: StoreGate.busy) }
        }
    }

    private static let busy = ServiceError(
        .requestRateLimited,
        .overloaded,
        "the store has too much to do"
    )
}

/// Calls back at once, on the writer's own thread: for jobs of the node itself.
final class InPlaceLoop: FrameLoop {
    static let shared = InPlaceLoop()

    func execute(_ work: @escaping @Sendable () -> Void) {
        work()
    }
}
