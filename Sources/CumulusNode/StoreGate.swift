// The only door to the store: one writer thread that commits what was waiting with one flush, and a
// few reader threads.
//
// Sessions queue requests here and are called back on their own loops, all of a batch in one hop. A
// request whose time is up, or that nobody waits for any more, is dropped before it costs the
// engine anything.

package import CumulusModel
package import CumulusOperations
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

    /// Why the call is not worth doing any more; nil if it is.
    package func refusal(now: Instant) -> ServiceError? {
        if cancelled.load(ordering: .relaxed) {
            return ServiceError(.operationCancelled, "the caller cancelled the call")
        }
        guard deadline <= now else { return nil }
        return ServiceError(
            .serviceUnavailable,
            .deadline,
            "the call's time was up before it was done; try again with more time"
        )
    }
}

package final class StoreGate: Sendable {
    package typealias Answer = Result<WriteRequest.Answer, ServiceError>

    /// A request on its way to the writer.
    package struct QueuedWrite: Sendable {
        package var request: WriteRequest
        package var token: CallToken
        package var byteCount: Int
        package var loop: any FrameLoop
        /// Called on `loop`.
        package var completion: @Sendable (Answer) -> Void

        package init(
            request: WriteRequest,
            token: CallToken,
            byteCount: Int,
            loop: any FrameLoop,
            completion: @escaping @Sendable (Answer) -> Void
        ) {
            self.request = request
            self.token = token
            self.byteCount = byteCount
            self.loop = loop
            self.completion = completion
        }
    }

    package let engine: any StorageEngine
    package let zones = ZoneDirectory()
    private let environment: NodeEnvironment
    private let limits: Limits
    private let meter: NodeMeter
    private let writes: WorkQueue<QueuedWrite>
    private let reads: WorkQueue<@Sendable () -> Void>
    private let writer: Mutex<Writer>
    private let workers = Mutex<[Worker]>([])
    private let diskFull = Atomic<Bool>(false)

    /// What only the writer touches.
    private struct Writer {
        var state: WriterState
        var disk: DiskGuard
        var lastExpiry: Instant?
    }

    package init(
        engine: any StorageEngine,
        state: WriterState,
        environment: NodeEnvironment,
        limits: Limits,
        meter: NodeMeter,
        diskReserve: UInt64
    ) {
        self.engine = engine
        self.environment = environment
        self.limits = limits
        self.meter = meter
        writes = WorkQueue(capacity: limits.queuedWrites)
        reads = WorkQueue(capacity: limits.queuedWrites)
        writer = Mutex(Writer(state: state, disk: DiskGuard(reserve: diskReserve)))
    }

    /// Starts the threads.
    ///
    /// Without them, `runBatch` and `runRead` do their work in place.
    package func start(readers: Int) {
        workers.withLock { workers in
            workers.append(Worker(named: "cumulus writer") { while self.runBatch() {} })
            for _ in 0..<readers {
                workers.append(Worker(named: "cumulus reader") { while self.runRead() {} })
            }
        }
    }

    /// Finishes what is queued and ends the threads.
    package func stop() {
        writes.close()
        reads.close()
        let ending = workers.withLock { workers in
            defer { workers = [] }
            return workers
        }
        for worker in ending { worker.join() }
    }

    /// Writes are refused because the disk is nearly full.
    package var isDiskFull: Bool { diskFull.load(ordering: .relaxed) }

    // MARK: Reads

    /// Runs a read on a reader thread.
    ///
    /// False if too many are waiting.
    package func read(_ work: @escaping @Sendable () -> Void) -> Bool {
        reads.append(work)
    }

    /// One state for several reads.
    package func snapshot(reach: Reach) throws(EngineError) -> ReadTransaction {
        ReadTransaction(try engine.snapshot(), reach: reach)
    }

    /// The newest state, which may move between two reads.
    package func latest(reach: Reach) -> ReadTransaction {
        ReadTransaction(engine, reach: reach)
    }

    /// Waits for a read and does it.
    ///
    /// False when the queue is closed and empty.
    package func runRead() -> Bool {
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

    /// Waits for requests and commits a batch of them.
    ///
    /// False when the queue is closed and empty.
    package func runBatch() -> Bool {
        guard let waiting = writes.takeAll() else { return false }
        let count = batchCount(waiting)
        writes.putBack(waiting[count...])
        let batch = waiting[..<count]
        deliver(writer.withLock { run(batch, &$0) }, for: batch)
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

    private func run(
        _ batch: ArraySlice<QueuedWrite>,
        _ writer: inout sending Writer
    ) -> [Answer] {
        let now = environment.now()
        let allowed = writer.disk.allows(engine, now: now)
        diskFull.store(!allowed, ordering: .relaxed)
        var group = GroupCommit(engine: engine, state: writer.state)
        var answers: [Answer] = []
        answers.reserveCapacity(batch.count)
        do throws(EngineError) {
            try expireRequests(&writer, &group, now)
            for write in batch {
                answers.append(try run(write, &group, allowed: allowed))
            }
            let count = group.count
            writer.disk.wrote(group.byteCount)
            let zonesVersion = writer.state.zonesVersion
            writer.state = try group.commit()
            if writer.state.zonesVersion != zonesVersion { zones.clear() }
            if count > 0 {
                meter.commits.add(count)
                meter.flushes.add(1)
            }
        } catch {
            // The outcome of the batch is unknown: nobody is told anything, and the next start
            // finds out.
            environment.fail("the store failed: \(error)")
            return []
        }
        return answers
    }

    private func run(
        _ write: QueuedWrite,
        _ group: inout GroupCommit,
        allowed: Bool
    ) throws(EngineError) -> Answer {
        if let refusal = write.token.refusal(now: environment.now()) { return .failure(refusal) }
        guard allowed else { return .failure(StoreGate.diskFull) }
        meter.engineCalls.add(1)
        do {
            return try group.run(now: environment.wallClock()) { transaction throws(EngineError) in
                try write.request.run(in: &transaction)
            }
        } catch {
            guard case .corrupt(let what) = error else { throw error }
            environment.logger.error("a damaged row was found", metadata: ["row": "\(what)"])
            return .failure(StoreGate.corrupt)
        }
    }

    /// Outcomes are forgotten some minutes after their time.
    private func expireRequests(
        _ writer: inout Writer,
        _ group: inout GroupCommit,
        _ now: Instant
    ) throws(EngineError) {
        let interval: Int64 = 600_000
        guard writer.lastExpiry.map({ $0 + interval <= now }) ?? true else { return }
        let isFirst = writer.lastExpiry == nil
        writer.lastExpiry = now
        if isFirst { return }
        let wallClock = environment.wallClock()
        let bound = wallClock - limits.requestMemoryMilliseconds
        try group.run(now: wallClock) { transaction throws(EngineError) in
            transaction.deleteRange(.log, .requests(before: bound))
            return ((), true)
        }
    }

    /// Hands the answers out, one hop per loop.
    private func deliver(_ answers: [Answer], for batch: ArraySlice<QueuedWrite>) {
        guard answers.count == batch.count else { return }
        var hops: [ObjectIdentifier: (loop: any FrameLoop, calls: [@Sendable () -> Void])] = [:]
        for (write, answer) in zip(batch, answers) {
            let completion = write.completion
            hops[ObjectIdentifier(write.loop), default: (write.loop, [])].calls.append {
                completion(answer)
            }
        }
        for hop in hops.values {
            hop.loop.execute { for call in hop.calls { call() } }
        }
    }

    package static let corrupt = ServiceError(
        .internalError,
        .corrupt,
        "a stored row is damaged; the node's log names it, run a check or restore it"
    )

    package static let diskFull = ServiceError(
        .serviceUnavailable,
        .diskFull,
        "the node's disk is nearly full, so it takes no writes; free space and try again"
    )
}
