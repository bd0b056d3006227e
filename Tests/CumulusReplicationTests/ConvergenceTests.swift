// Nodes that work apart and then see each other's commits, in whatever order, hold the same.

import CumulusTesting
import Testing

@Suite struct ConvergenceTests {
    @Test(arguments: 1...60) func nodesThatSawTheSameHoldTheSame(seed: UInt64) throws {
        var replicas = try Replicas(3, seed: seed)
        try replicas.run(steps: 120)
        try replicas.settle()
        let differences = try replicas.differences()
        #expect(differences.isEmpty, "seed \(seed): \(differences.prefix(5))")
        for store in replicas.stores {
            #expect(try DerivedRows.differences(in: store.engine) == [], "seed \(seed)")
        }
        #expect(replicas.verdicts["refused"] == nil)
    }
}
