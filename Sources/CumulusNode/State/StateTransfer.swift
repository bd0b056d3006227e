// This node's side of a state sync: takes what a donor hands over of one scope, and makes it the
// store's own.
//
// Held by the connection to the donor and confined to its loop; the changes run in the writer, one
// job at a time. While the last part is merged in, nothing else may change the scope: writers are
// told to try again.
//
// Folder: taking over the state of another node where its log no longer reaches, and comparing
// states. Read `StateTransfer`, then `StateMessages` and `StateComparisons`.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

final class StateTransfer: @unchecked Sendable {
    enum Outcome {
        case done
        case failed(String)
        /// The connection broke; what has come is kept.
        case interrupted(InterruptedState)
        /// Two nodes hold different commits of one number.
        case forked(Incarnation)
    }

    /// The writer's answer to an offer.
    private enum Beginning {
        case begun
        case unknownScope
        /// The donor knows more of this run than its own store does.
        case rolledBack
        case forked(Incarnation)
    }

    private let node: Node
    private let loop: any FrameLoop
    /// Bytes that were dealt with: the donor may send as many again.
    private let grant: (Int) -> Void
    private let ended: (Outcome) -> Void
    private var progress: StateProgress
    /// Only jobs of the writer touch it.
    private let sync: Mutex<StateSync?>
    /// Steps that are queued do nothing any more.
    private let isGivenUp = Atomic(false)
    /// Pages that came while the writer was busy; bounded by the donor's credit.
    private var pages: [StateIntake.Page] = []
    private var pageBytes = 0
    private var isWriting = false
    private var isComplete = false
    private var isOver = false
    /// Whether the donor has named the snapshot of its state.
    private var isNamed = false
    /// Why nothing more comes; nil: the donor goes on.
    private var interruption: String?
    /// The time at which the donor was last heard, or was not expected to answer.
    private var heard: Instant

    /// Records that one job merges.
    private static let mergedAtOnce = 500

    /// - Parameters:
    ///   - progress: The progress over earlier connections.
    ///   - sync: The sync that the writer began.
    ///   - ended: Called once, on the loop.
    init(
        _ node: Node,
        _ progress: StateProgress,
        _ sync: consuming StateSync? = nil,
        loop: any FrameLoop,
        grant: @escaping (Int) -> Void,
        ended: @escaping (Outcome) -> Void
    ) {
        self.node = node
        self.progress = progress
        self.sync = Mutex(sync)
        self.loop = loop
        self.grant = grant
        self.ended = ended
        heard = node.environment.now()
    }

    var scope: ScopeID { progress.scope }

    // MARK: What the donor sends

    func received(_ payload: Bytes) {
        guard !isOver, interruption == nil else { return }
        heard = node.environment.now()
        do {
            let response = try StateResponse(wire: payload)
            try checkSnapshot(response)
            if let intake = progress.intake {
                return try take(response, intake, payload.count)
            }
            try progress.offer.add(response)
            try progress.offer.checkSize(node.configuration.limits)
            if response.isOffered { try begin() }
            allow(payload.count)
        } catch let error as MalformedMessage {
            fail("the donor sent what can't be read: \(error.message)")
        } catch let error as MalformedBytes {
            fail("the donor sent what can't be: \(error.reason)")
        } catch let error as ServiceError {
            fail(error.message)
        } catch {
            fail("\(error)")
        }
    }

    /// Checks that pages over two connections are from one snapshot.
    private func checkSnapshot(_ response: StateResponse) throws(MalformedBytes) {
        guard !isNamed else { return }
        isNamed = true
        guard progress.snapshot.isEmpty || progress.snapshot == response.snapshot else {
            throw MalformedBytes("it is of another snapshot than what came before")
        }
        progress.snapshot = response.snapshot
    }

    /// Gives up a donor that says nothing: no other state is taken meanwhile.
    func timePassed(now: Instant) {
        if isWriting || isComplete || interruption != nil { heard = now }
        let silence = node.configuration.limits.stalledStateMilliseconds
        if heard + silence <= now { fail("the donor said nothing for \(silence) ms") }
    }

    /// The donor gave up.
    func stop(_ reason: String) {
        fail(reason)
    }

    /// The connection is gone: what has come is written, and kept for another one to the donor.
    func breakOff(_ reason: String) {
        guard !isOver, interruption == nil else { return }
        // A donor of an older release can't go on.
        guard !progress.snapshot.isEmpty else { return fail(reason) }
        interruption = reason
        goOn()
    }

    private func begin() throws {
        let offer = progress.offer
        let clock = node.intakeClock(of: progress.donor)
        progress.intake = try StateIntake(offer, above: offer.base, clock: clock)
        let run = node.incarnation
        write(.commits, 0) { [self] transaction throws(EngineError) in
            guard let number = try transaction.scope(scope) else { return Beginning.unknownScope }
            let known = try transaction.loadScope(number).runs
            guard offer.vector[run] <= known[run]?.seq ?? 0 else { return .rolledBack }
            for (incarnation, row) in offer.vectors.sorted(by: { $0.key < $1.key }) {
                guard let ours = known[incarnation], ours.seq == row.seq else { continue }
                guard ours.hash == row.hash else { return .forked(incarnation) }
            }
            let begun = try StateSync(offer, in: number, &transaction)
            sync.withLock { $0 = begun }
            return .begun
        } then: { transfer, beginning in
            switch beginning {
            case .begun: transfer.goOn()
            case .unknownScope: transfer.fail("the scope is not known here")
            case .rolledBack: transfer.node.environment.fail(Node.rolledBack)
            case .forked(let incarnation): transfer.giveUp(.forked(incarnation))
            }
        }
    }

    private func take(_ response: StateResponse, _ intake: StateIntake, _ size: Int) throws {
        guard !isComplete else { throw MalformedBytes("more follows the end") }
        var intake = intake
        if !response.records.isEmpty {
            let page = try intake.read(StatePage(response))
            if !page.records.isEmpty { pages.append(page) }
            progress.recordCount += page.records.count
            progress.intake = intake
        }
        if response.isComplete { try intake.checkEnd() }
        pageBytes += size
        isComplete = response.isComplete
        goOn()
    }

    // MARK: What the writer does

    /// Takes the next step, unless the writer is still busy.
    private func goOn() {
        if isWriting || isOver { return }
        if !pages.isEmpty { return keepPages() }
        grantPages()
        if isComplete {
            merge()
        } else if interruption != nil {
            interrupt()
        }
    }

    private func grantPages() {
        allow(pageBytes)
        pageBytes = 0
    }

    /// Allows the donor to send as many bytes more, if it is still there.
    private func allow(_ size: Int) {
        if size > 0, interruption == nil { grant(size) }
    }

    /// The writer is done with all that has come.
    private func interrupt() {
        isOver = true
        let now = node.environment.now()
        ended(.interrupted(InterruptedState(progress: progress, sync: takeSync(), since: now)))
    }

    private func keepPages() {
        let (taken, size) = (pages, pageBytes)
        pages = []
        pageBytes = 0
        // A record that came in parts is more than the last message.
        let records = taken.reduce(0) { $0 + $1.records.reduce(0) { $0 + $1.bytes.byteCount } }
        change(.commits, max(size, records)) { sync, transaction throws(EngineError) in
            for page in taken { try sync.take(page, &transaction) }
        } then: { transfer, _ in
            transfer.allow(size)
            transfer.goOn()
        }
    }

    private func merge() {
        node.gate.stops.hold(scope)
        change(.commits, 0) { sync, transaction throws(EngineError) in
            try sync.merge(recordLimit: StateTransfer.mergedAtOnce, &transaction)
        } then: { transfer, isMerged in
            if isMerged { transfer.finish() } else { transfer.merge() }
        }
    }

    private func finish() {
        write(.commits, 0) { [self] transaction throws(EngineError) in
            guard let last = takeSync(), !isGivenUp.load(ordering: .relaxed) else { return false }
            return try last.finish(&transaction)
        } then: { transfer, isDone in
            guard isDone else { return transfer.fail("the scope changed during the merge") }
            transfer.isOver = true
            transfer.node.gate.stops.release(transfer.scope)
            let now = transfer.node.environment.now()
            let milliseconds = now.milliseconds - transfer.progress.began.milliseconds
            transfer.node.environment.logger.info(
                "took another node's state",
                metadata: [
                    "container": "\(transfer.scope.container)",
                    "records": "\(transfer.progress.recordCount)",
                    "milliseconds": "\(milliseconds)",
                ]
            )
            transfer.ended(.done)
        }
    }

    // MARK: Jobs

    /// Changes the sync in the writer, unless it was given up meanwhile.
    private func change<Value: Sendable>(
        _ kind: StoreGate.WorkKind,
        _ size: Int,
        _ step:
            @escaping @Sendable (
                inout StateSync, inout WriteTransaction
            ) throws(EngineError) -> Value,
        then next: @escaping @Sendable (StateTransfer, Value) -> Void
    ) {
        write(kind, size) { [self] transaction throws(EngineError) -> Value? in
            // One owner while it changes, or its arrays would be copied.
            guard !isGivenUp.load(ordering: .relaxed), var value = takeSync() else { return nil }
            defer { sync.withLock { $0 = value } }
            return try step(&value, &transaction)
        } then: { transfer, value in
            if let value { next(transfer, value) }
        }
    }

    private func write<Value: Sendable>(
        _ kind: StoreGate.WorkKind,
        _ size: Int,
        _ body: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Value,
        then next: @escaping @Sendable (StateTransfer, Value) -> Void
    ) {
        isWriting = true
        let job = StoreGate.Job(kind, body) { [self] outcome in
            isWriting = false
            guard !isOver else { return }
            switch outcome {
            case .success(let value): next(self, value)
            case .failure(let error): fail(error.message)
            }
        }
        let isQueued = node.gate.submit(
            StoreGate.QueuedWrite(job, byteCount: size, loop: loop)
        )
        if !isQueued { fail("too many writes are waiting here") }
    }

    private func takeSync() -> StateSync? {
        sync.withLock { sync in
            defer { sync = nil }
            return sync
        }
    }

    private func fail(_ reason: String) {
        giveUp(.failed(reason))
    }

    /// Drops what was taken so far.
    private func giveUp(_ outcome: Outcome) {
        guard !isOver else { return }
        isOver = true
        isGivenUp.store(true, ordering: .relaxed)
        let job = StoreGate.Job(.housekeeping) { [self] transaction throws(EngineError) in
            _ = takeSync()
            guard let number = try transaction.scope(scope) else { return }
            try StagedZones.drop(of: number, &transaction)
        } then: { [self] _ in
            over(outcome)
        }
        let isQueued = node.gate.submit(
            StoreGate.QueuedWrite(job, byteCount: 0, loop: loop)
        )
        if !isQueued { over(outcome) }
    }

    /// Others may change the scope or take state only now, behind the queued steps.
    private func over(_ outcome: Outcome) {
        node.gate.stops.release(scope)
        ended(outcome)
    }
}
