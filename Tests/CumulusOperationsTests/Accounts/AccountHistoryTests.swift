// Random histories of accounts on two or three nodes that exchange commits in any order. A caller
// who was shut out stays out, on each node from the moment when it hears of that, and all nodes
// agree in the end.
//
// `cumulus-sim --history accounts` runs more. Each rule is broken once, to see that its check
// notices.

import CumulusTesting
import Testing

@Suite struct AccountHistoryTests {
    @Test func nobodyComesBack() throws {
        var counts: [String: Int] = [:]
        for seed in 1...100 as ClosedRange<UInt64> {
            let verdict = try HistoryPlan(.accounts, seed: seed).run()
            #expect(verdict.violations.isEmpty, "seed \(seed): \(verdict.violations)")
            counts.merge(verdict.counts, uniquingKeysWith: +)
        }
        // Histories without these would show little.
        for what in ["changes", "cuts", "kills", "truncations", "restores", "states"] {
            #expect(counts[what, default: 0] > 10, "\(counts)")
        }
    }

    @Test(arguments: HistoryKind.accounts.rules) func aBrokenRuleIsNoticed(
        rule: Rule
    ) throws {
        let noticing = try (1...1_000 as ClosedRange<UInt64>).first { seed in
            let verdict = try HistoryPlan(.accounts, seed: seed, breaking: rule).run()
            return verdict.violations.contains { $0.checker == rule.check }
        }
        #expect(noticing != nil, "no seed shows that '\(rule.name)' is broken")
    }

    @Test func aSeedTellsOneStory() throws {
        let stories = try [7, 8, 7].map { seed in
            try HistoryPlan(.accounts, seed: UInt64(seed), isTold: true).run().story
        }
        #expect(stories[0] == stories[2] && stories[0] != stories[1] && !stories[0].isEmpty)
    }
}
