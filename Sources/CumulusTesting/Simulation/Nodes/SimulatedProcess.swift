// One run of a node's process in a simulated world: its event loop, its tasks, and the turns of its
// writer, flusher, readers and asset threads, all in virtual time on one thread.
//
// Tasks run on it because they are started with it as their executor. A process that was killed
// goes on as a ghost, until its tasks have noticed that they are cancelled; its disk is detached
// then and its connections are closed, so that nothing of it reaches anybody.

import CumulusAssets
import CumulusModel
import CumulusNode
import CumulusWire
import Synchronization

final class SimulatedProcess: FrameLoop, TaskExecutor, @unchecked Sendable {
    // Used by one thread.

    let time: VirtualTime
    private var dice: SeededGenerator
    private(set) var isDead = false
    /// Nothing happens in it before: the machine stands still.
    private var pausedUntil: Int64 = 0
    /// Its node holds it, and it holds the process: so a history leaves nothing behind.
    private weak var node: Node?
    /// The threads that are busy.
    private var turns: Set<Turn> = []
    private let codec = ChunkCodec()
    private var tasks: [Task<Void, Never>] = []
    /// How long a flush takes, at most.
    private let flushMilliseconds: Int64
    /// Batches that the writer ran while the one before was not flushed yet.
    private(set) var overlaps = 0

    private enum Turn {
        case write
        case flush
        case read
        case pack
    }

    init(_ time: VirtualTime, seed: UInt64, flushMilliseconds: Int64 = 3) {
        self.time = time
        self.flushMilliseconds = flushMilliseconds
        dice = SeededGenerator(seed: seed)
    }

    // MARK: Work

    func execute(_ work: @escaping @Sendable () -> Void) {
        after(0, work)
    }

    /// Lets something happen in the process, in so many milliseconds or when it goes on.
    func after(_ delay: Int64, _ work: @escaping @Sendable () -> Void) {
        time.after(delay) { [self] in
            if pausedUntil > time.milliseconds {
                return after(pausedUntil - time.milliseconds, work)
            }
            work()
            turnStore()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    func pause(for milliseconds: Int64) {
        pausedUntil = max(pausedUntil, time.milliseconds + milliseconds)
    }

    func goOn() {
        pausedUntil = 0
    }

    /// Gives turns to the node's writer, readers and asset threads.
    func drive(_ node: Node) {
        self.node = node
        execute {}
    }

    func run(_ body: @escaping @Sendable () async -> Void) {
        tasks.append(Task(executorPreference: self, operation: body))
    }

    func kill() {
        isDead = true
        pausedUntil = 0
        cancelTasks()
    }

    func cancelTasks() {
        for task in tasks { task.cancel() }
        tasks = []
    }

    func random() -> UInt64 { dice.next() }

    /// Plays the threads: the writer takes waiting work, the others the next job.
    ///
    /// A batch is always left to the flusher: much can happen before it is durable.
    private func turnStore() {
        guard let node else { return }
        take(.write, node.gate.hasWrites, within: 1) { [self] in
            if node.gate.hasFlush { overlaps += 1 }
            _ = node.gate.runBatch(leaving: true)
        }
        take(.flush, node.gate.hasFlush, within: flushMilliseconds) {
            // The writer may have been faster.
            node.gate.runFlush()
        }
        take(.read, node.gate.hasReads, within: 1) { _ = node.gate.runRead() }
        take(.pack, node.assets.hasWork, within: flushMilliseconds) { [self] in
            _ = node.assets.runWork(codec)
        }
    }

    private func take(
        _ turn: Turn,
        _ hasWork: Bool,
        within milliseconds: Int64,
        _ work: @escaping @Sendable () -> Void
    ) {
        guard hasWork, turns.insert(turn).inserted else { return }
        after(Int64.random(in: 0...milliseconds, using: &dice)) { [self] in
            turns.remove(turn)
            work()
        }
    }

    // MARK: Sleep

    /// Waits so many milliseconds; throws when the task is cancelled.
    func sleep(_ milliseconds: Int64) async throws {
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (waiting: CheckedContinuation<Void, any Error>) in
                sleeper.begin(waiting)
                after(milliseconds) { sleeper.end(.success(())) }
            }
        } onCancel: {
            sleeper.end(.failure(CancellationError()))
        }
    }

    private final class Sleeper: Sendable {
        private enum State {
            case awake
            case asleep(CheckedContinuation<Void, any Error>)
            case over(Result<Void, any Error>)
        }

        private let state = Mutex(State.awake)

        func begin(_ waiting: CheckedContinuation<Void, any Error>) {
            let outcome: Result<Void, any Error>? = state.withLock { state in
                if case .over(let outcome) = state { return outcome }
                state = .asleep(waiting)
                return nil
            }
            if let outcome { waiting.resume(with: outcome) }
        }

        func end(_ outcome: Result<Void, any Error>) {
            let waiting: CheckedContinuation<Void, any Error>? = state.withLock { state in
                defer { if case .over = state {} else { state = .over(outcome) } }
                if case .asleep(let waiting) = state { return waiting }
                return nil
            }
            waiting?.resume(with: outcome)
        }
    }
}
