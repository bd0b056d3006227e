// Random queries over random records, answered by the node's code and by a plain loop that knows
// nothing of it; here in the engine that is in memory.

import CumulusStorage
import CumulusTesting
import Testing

@Suite struct QueryOracleTests {
    /// Half of the seeds ask before the indexes of late fields are there; many more seeds are for
    /// `cumulus-sim --history queries`.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func theNodeFindsWhatALoopFinds(seed: UInt64) throws {
        var run = try QueryDifferences(
            seed: seed,
            engine: MemoryEngine(),
            builds: seed % 2 == 0
        )
        try run.ask(100)
        #expect(run.differences == [])
        // Queries that find nothing, or everything, would show little; so would one kind of plan.
        #expect((200...3_500).contains(run.found), "\(run.found)")
        #expect(run.plans.count >= 3, "\(run.plans)")
    }
}
