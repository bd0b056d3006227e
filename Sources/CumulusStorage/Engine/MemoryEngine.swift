// The engine of tests and of the simulator: all rows in memory, as one value.
//
// It keeps every promise of the seam except durability: its content ends with the process.
// `init(reopening:)` plays a restart of a node by a new engine over the same flushed state. A
// snapshot is a copy of the state. Every row is in memory, so `.notInMemory` is never thrown.

package import CumulusModel
import Synchronization

package final class MemoryEngine: StorageEngine {
    private let states: Mutex<(newest: MemoryState, flushed: MemoryState)>

    package init() {
        states = Mutex((MemoryState(), MemoryState()))
    }

    /// The engine after a restart: exactly what was flushed.
    package init(reopening other: MemoryEngine) {
        let flushed = other.states.withLock { $0.flushed }
        states = Mutex((flushed, flushed))
    }

    package func snapshot() -> any EngineReader { state }

    package func write(_ batch: EngineBatch) {
        states.withLock { $0.newest.apply(batch) }
    }

    package func flush() {
        states.withLock { $0.flushed = $0.newest }
    }

    package func commit(_ batch: EngineBatch) {
        write(batch)
        flush()
    }

    /// Plays a power cut: writes that were not flushed are gone.
    package func cutPower() {
        states.withLock { $0.newest = $0.flushed }
    }

    package func freeBytes() -> UInt64? { nil }

    package func get(_ family: Family, _ key: Bytes, reach: Reach) -> Bytes? {
        state.get(family, key, reach: reach)
    }

    package func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) {
        state.lendRows(family, range, backwards: backwards, to: visit)
    }

    /// Reads one state.
    package func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        try state.read(plan)
    }

    private var state: MemoryState { states.withLock { $0.newest } }
}

/// All rows after some batch.
///
/// A copy is a snapshot.
private struct MemoryState: EngineReader {
    /// One tree per family, at its raw value.
    private var families = Family.allCases.map { _ in PersistentTree() }

    mutating func apply(_ batch: EngineBatch) {
        for (family, range) in batch.deletedRanges {
            families[Int(family.rawValue)].remove(range)
        }
        for write in batch.writes {
            families[Int(write.family.rawValue)].set(write.key, to: write.value)
        }
    }

    func get(_ family: Family, _ key: Bytes, reach: Reach) -> Bytes? {
        families[Int(family.rawValue)].value(of: key)
    }

    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) {
        families[Int(family.rawValue)].visit(range, backwards: backwards) { key, value in
            key.withUnsafeBytes { key in value.withUnsafeBytes { visit(key, $0) } }
        }
    }
}
