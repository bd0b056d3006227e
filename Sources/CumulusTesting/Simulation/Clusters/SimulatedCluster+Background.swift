// The background work of simulated nodes: they build indexes, and do in later turns what a batch
// left: compare changes with topics, write rows of indexes. Between two turns everything else goes
// on.
//
// Called by `SimulatedCluster` after each step of a history, and when it settles.

import CumulusStorage

extension SimulatedCluster {
    /// Gives a node little room in a turn, in the histories in which it is to leave much.
    func limitTurns(of store: TestStore) {
        if let cascadeRecords { store.cascadeRecords = cascadeRecords }
        if let comparisonSteps { store.comparisonSteps = comparisonSteps }
        if let indexRows { store.limitIndexRows(indexRows) }
    }

    // MARK: Indexes

    /// Rows of indexes that a request writes; nil in histories that leave none to be written.
    static func indexRows(seed: UInt64) -> Int? {
        seed % 5 == 1 ? 4 * Int(seed / 5 % 3) : nil
    }

    /// Builds indexes a little: queries find the same with and without them.
    mutating func stepIndexes(_ one: Int) throws {
        guard Int.random(in: 0..<3, using: &indexDice) == 0 else { return }
        try payIndexRows(one)
        let scope = try stores[one].scopeNumber()
        guard try !stores[one].reader.indexWork(of: scope).isEmpty else { return }
        verdict.count("index steps")
        try stores[one].settleIndexes(limit: 3, steps: 1)
    }

    /// A node writes some of the rows that it owes.
    private mutating func payIndexRows(_ one: Int) throws {
        guard indexRows != nil else { return }
        let scope = try stores[one].scopeNumber()
        guard try stores[one].reader.owesIndexRows(of: scope) else { return }
        tell("node \(one) writes rows of indexes")
        verdict.count("turns of index rows")
        try stores[one].payIndexRows(limit: .random(in: 1...12, using: &indexDice), turns: 1)
    }

    /// Builds all indexes, and writes what is owed; one node leaves that.
    func settleIndexes() throws {
        for (number, store) in stores.enumerated() {
            try store.settleIndexes()
            if number != 1 { try store.payIndexRows() }
        }
    }

    // MARK: Comparisons

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
        verdict.count("turns of comparisons")
        let before = try stores[one].vectors()
        try stores[one].payComparisons(turns: turns)
        try acknowledge(one, since: before)
    }
}
