// What simulated nodes do in the background: they build indexes, and compare changes with topics
// where a batch left that to a later turn. Between two turns everything else goes on.
//
// Called by `SimulatedCluster` after each step of a history, and when it settles.

import CumulusStorage

extension SimulatedCluster {
    /// Builds indexes a little: queries find the same with and without them.
    mutating func stepIndexes(_ one: Int) throws {
        guard Int.random(in: 0..<3, using: &indexDice) == 0 else { return }
        let scope = try stores[one].scopeNumber()
        guard try !stores[one].reader.indexWork(of: scope).isEmpty else { return }
        counts["index steps", default: 0] += 1
        try stores[one].settleIndexes(limit: 3, steps: 1)
    }

    /// Steps that a batch takes for comparisons; nil in histories that leave nothing to be done.
    static func comparisonSteps(seed: UInt64) -> Int? {
        seed % 8 == 3 ? Int(seed / 8 % 3) : nil
    }

    /// A node compares some of what it owes.
    mutating func stepComparisons(_ one: Int) throws {
        guard comparisonSteps != nil, Int.random(in: 0..<3, using: &comparisonDice) == 0 else {
            return
        }
        try payComparisons(one, turns: Int.random(in: 1...3, using: &comparisonDice))
    }

    /// - Parameter turns: Stops after so many turns of the writer.
    mutating func payComparisons(_ one: Int, turns: Int = .max) throws {
        let scope = try stores[one].scopeNumber()
        guard try stores[one].reader.owedType(of: scope) != nil else { return }
        tell("node \(one) compares changes with topics")
        counts["turns of comparisons", default: 0] += 1
        let before = try stores[one].vectors()
        try stores[one].payComparisons(turns: turns)
        try acknowledge(one, since: before)
    }
}
