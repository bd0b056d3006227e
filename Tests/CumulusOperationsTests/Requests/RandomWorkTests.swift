// Random work on a store, with restarts: the records are what a model says, every derived row can
// be rebuilt, and the logs replayed elsewhere make the same rows. If nobody else writes, a merge
// policy changes nothing that is seen.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct RandomWorkTests {
    @Test(arguments: UInt64(1)...12)
    func storeModelAndLogAgree(seed: UInt64) throws {
        let groups = [FieldGroup(["price", "tags"]), FieldGroup(["owner", "second", "title"])]
        let policies: [MergePolicy] = [.fields, .record, .groups(groups)]
        var work = try RandomWork(seed: seed, merging: policies[Int(seed % 3)])
        for _ in 0..<4 {
            try work.run(batches: 60)
            #expect(try work.differences() == [])
            #expect(try DerivedRows.differences(in: work.store.engine) == [])
        }
        #expect(try LogReplay.differences(in: work.store.engine) == [])
        for answer in ["done", "batchRequestFailed", "serverRecordChanged", "referenceViolation"] {
            #expect(work.counts[answer, default: 0] > 5, "\(work.counts)")
        }
    }
}
