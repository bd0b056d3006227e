// A disk in a simulated world: it keeps what was flushed, and nothing of what a process does
// after its end.
//
// The process can end at a flush: just before it, or just after, when nobody was told.

import CumulusModel
import CumulusStorage
import Synchronization

final class SimulatedDisk: StorageEngine {
    enum Death: CaseIterable, Sendable {
        case beforeFlush
        case afterFlush
    }

    private struct State {
        /// The rows that the process sees.
        var rows: MemoryEngine
        /// The process is gone: what it still does is lost.
        var isDetached = false
        var death: (Death, call: @Sendable () -> Void)?
        var isFull = false
    }

    /// The rows that a power cut leaves.
    let durable: MemoryEngine
    private let state: Mutex<State>

    init(_ durable: MemoryEngine = MemoryEngine()) {
        self.durable = durable
        state = Mutex(State(rows: durable))
    }

    /// The process ends: what it writes from now on goes nowhere.
    func detach() {
        state.withLock { state in
            guard !state.isDetached else { return }
            state.isDetached = true
            state.rows = MemoryEngine(reopening: durable)
        }
    }

    /// Lets the process end at its next flush; `call` is called then.
    func die(_ death: Death, _ call: @escaping @Sendable () -> Void) {
        state.withLock { $0.death = (death, call) }
    }

    func setFull(_ isFull: Bool) {
        state.withLock { $0.isFull = isFull }
    }

    private var rows: MemoryEngine { state.withLock { $0.rows } }

    // MARK: StorageEngine

    func write(_ batch: EngineBatch) { rows.write(batch) }

    func flush() {
        let death = state.withLock { state in
            defer { state.death = nil }
            return state.isDetached ? nil : state.death
        }
        if death?.0 == .beforeFlush {
            durable.cutPower()
            detach()
        }
        rows.flush()
        if death?.0 == .afterFlush { detach() }
        death?.call()
    }

    func snapshot() -> any EngineReader { rows.snapshot() }

    func freeBytes() -> UInt64? { state.withLock { $0.isFull ? 0 : nil } }

    func get(_ family: Family, _ key: Bytes, reach: Reach) -> Bytes? {
        rows.get(family, key, reach: reach)
    }

    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) {
        rows.lendRows(family, range, backwards: backwards, to: visit)
    }

    func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        try rows.read(plan)
    }
}
