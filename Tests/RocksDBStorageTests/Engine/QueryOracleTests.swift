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
        let run = try QueryDifferences(
            seed: seed,
            engine: folder.store().open(),
            queries: 100,
            builds: true
        )
        #expect(run.differences == [])
        #expect((200...3_500).contains(run.found), "\(run.found)")
    }
}
