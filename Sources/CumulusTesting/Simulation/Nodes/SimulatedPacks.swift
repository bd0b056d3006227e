// The packs of a simulated disk: they keep what was written, and nothing of what a process does
// after its end.
//
// Packs written before a power failure are still there afterwards; the power-cut test shows that
// nothing is acknowledged too early.

import CumulusModel
import CumulusStorage
import Synchronization

final class SimulatedPacks: PackFiles {
    /// The packs that a power cut leaves.
    let durable: MemoryPacks
    /// The packs that the process sees.
    private let seen: Mutex<MemoryPacks>

    init(_ durable: MemoryPacks = MemoryPacks()) {
        self.durable = durable
        seen = Mutex(durable)
    }

    /// The process ends: what it does from now on goes nowhere.
    func detach() {
        seen.withLock { $0 = MemoryPacks(copying: durable) }
    }

    private var packs: MemoryPacks { seen.withLock { $0 } }

    // MARK: PackFiles

    func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError) {
        try packs.write(pack, pieces)
    }

    func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes? {
        try packs.read(pack, range)
    }

    func remove(_ pack: PackNumber) -> Int { packs.remove(pack) }

    func all() throws(PackError) -> [PackNumber: Int] { try packs.all() }

    func origin() throws(PackError) -> Incarnation? { try packs.origin() }

    func setOrigin(_ run: Incarnation) throws(PackError) { try packs.setOrigin(run) }

    func copy(to directory: String) throws(PackError) { try packs.copy(to: directory) }
}
