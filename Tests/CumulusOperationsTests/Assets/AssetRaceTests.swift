// Plays uploads, saves and deletions against the collection of assets; `cumulus-sim --history
// assets` runs more.

import CumulusTesting
import Testing

@Suite struct AssetRaceTests {
    @Test(arguments: [UInt64(1)...100, 101...200])
    func nothingThatIsNamedGoes(seeds: ClosedRange<UInt64>) throws {
        var counts: [String: Int] = [:]
        for seed in seeds {
            let verdict = try HistoryPlan(.assets, seed: seed).run()
            #expect(verdict.violations.map(\.text) == [], "seed \(seed)")
            counts.merge(verdict.counts, uniquingKeysWith: +)
        }
        for what in [
            "saved", "refused as incomplete", "refused as not prepared", "collected", "rewritten",
            "power cuts", "lost packs",
        ] {
            #expect(counts[what, default: 0] > 20, "\(counts)")
        }
    }
}
