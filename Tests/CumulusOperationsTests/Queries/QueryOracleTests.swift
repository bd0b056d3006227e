// Random queries on random records, answered by the node's code and by a plain loop that shares no
// code with it; here with the engine in memory.

import CumulusStorage
import CumulusTesting
import Testing

@Suite struct QueryOracleTests {
    /// Half of the seeds query before the indexes of late fields are built; `cumulus-sim --history
    /// queries` runs many more seeds.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func theNodeFindsWhatALoopFinds(seed: UInt64) throws {
        var run = try QueryDifferences(
            seed: seed,
            engine: MemoryEngine(),
            builds: seed % 2 == 0
        )
        try run.ask(100)
        #expect(run.differences == [])
        // Queries that find nothing, or everything, would show little, and so would plans of one
        // kind.
        #expect((200...3_500).contains(run.found), "\(run.found)")
        #expect(run.plans.count >= 3, "\(run.plans)")
    }
}
