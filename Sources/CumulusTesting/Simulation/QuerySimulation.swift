// Random queries over random records, asked of a store in memory and of one on the disk, and held
// against a plain loop.
//
// Run by `cumulus-sim`. The work is done by `QueryDifferences`, which tests of both stores use too.

import CumulusStorage

struct QuerySimulation: History {
    /// A query of each store.
    static let usualSteps = 100

    private var stores: [(name: String, queries: QueryDifferences)] = []
    private(set) var verdict: Verdict

    init(_ plan: HistoryPlan) throws {
        verdict = Verdict(isTold: plan.isTold)
        let engines: [(name: String, engine: (any StorageEngine)?)] = [
            ("memory", MemoryEngine()), ("disk", plan.disk),
        ]
        for case (let name, let engine?) in engines {
            let queries = try QueryDifferences(
                seed: plan.seed,
                engine: engine,
                builds: plan.seed % 4 != 0
            )
            stores.append((name, queries))
        }
    }

    mutating func step() throws {
        for index in stores.indices {
            let name = stores[index].name
            let found = try stores[index].queries.ask()
            verdict.tell("\(name): \(found)")
            verdict.count("queries, \(name)")
        }
    }

    /// Nothing is under way.
    mutating func settle() {}

    mutating func check() throws {
        for index in stores.indices {
            let name = stores[index].name
            try stores[index].queries.checkRows()
            let queries = stores[index].queries
            verdict.violations += queries.differences.map { (name, $0) }
            verdict.counts["records found", default: 0] += queries.found
            for (plan, count) in queries.plans { verdict.counts["'\(plan)'", default: 0] += count }
        }
    }
}
