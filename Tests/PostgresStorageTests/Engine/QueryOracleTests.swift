// Random queries over random records, answered by the node's code and by a plain loop that knows
// nothing of it; here from a database.

import CumulusTesting
import Testing

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct QueryOracleTests {
    /// Over indexes that are built.
    ///
    /// Each row of the writer's plans is a round trip: that takes some seconds.
    @Test func theNodeFindsWhatALoopFinds() throws {
        var run = try QueryDifferences(seed: 1_001, engine: TestDatabase().open(), builds: true)
        try run.ask(40)
        #expect(run.differences == [])
        #expect(run.found > 0)
    }
}
