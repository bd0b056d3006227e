// The nodes of a history that are stores and nothing else: made alike, with clocks that differ.
//
// Called by `AccountSimulation` and `ShareSimulation` when a history begins.

import CumulusModel

enum SimulatedStores {
    /// Two or three stores.
    ///
    /// - Parameter seed: The seed of the history; each store has dice of its own.
    static func make(
        seed: UInt64,
        using dice: inout SeededGenerator
    ) throws -> [TestStore] {
        let count = Int.random(in: 2...3, using: &dice)
        return try (0..<count).map { try TestStore(seed: seed &* 8 &+ UInt64($0)) }
    }

    /// Sets the clocks up to 20 ms apart.
    static func spreadClocks(of stores: [TestStore], using dice: inout SeededGenerator) {
        for store in stores { store.now += Int64.random(in: 0...20, using: &dice) }
    }
}
