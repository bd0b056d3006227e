// Random queries over random records, answered by the node's code and by a plain loop that knows
// nothing of it; here from the disk.

import CumulusTesting
import Testing

@Suite struct QueryOracleTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Over indexes that are built.
    @Test(arguments: 1_001...1_008 as ClosedRange<UInt64>)
    func theNodeFindsWhatALoopFinds(seed: UInt64) throws {
        var run = try QueryDifferences(
            seed: seed,
            engine: folder.store().open(),
            builds: true
        )
        try run.ask(100)
        #expect(run.differences == [])
        #expect((200...3_500).contains(run.found), "\(run.found)")
    }
}
