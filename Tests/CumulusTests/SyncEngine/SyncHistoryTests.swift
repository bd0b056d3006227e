// Two devices of one user after random histories: they agree, and no edit is lost.

import Testing

@testable import Cumulus

@Suite struct SyncHistoryTests {
    @Test func devicesConvergeAndLoseNoEdit() {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...60 {
            var history = SyncHistory(seed: seed)
            history.run()
            #expect(history.violations == [], "seed \(seed)")
            counts.merge(history.counts) { $0 + $1 }
        }
        // Rare events happen often enough to be tested.
        for rare in ["crash", "lost answer", "expiry", "refetch", "zone fetched"] {
            #expect(counts[rare, default: 0] > 60, "\(rare): \(counts)")
        }
    }

    /// The verdict is worth something: each flaw shows within a few histories.
    @Test(arguments: SyncHistory.Flaw.allCases)
    func everyFlawIsCaught(_ flaw: SyncHistory.Flaw) {
        let isCaught = (UInt64(1)...60).contains { seed in
            var history = SyncHistory(seed: seed, flaw)
            history.run()
            return !history.violations.isEmpty
        }
        #expect(isCaught)
    }
}
