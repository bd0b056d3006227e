// Whole nodes on simulated machines converge, whatever befell them, and their callers see what they
// saved.

import CumulusTesting
import Testing

@Suite struct NodeSimulationTests {
    /// Two left at the same time, and each counted on the other for what it had (7, 89); or one
    /// was gone before anybody had the last that it made (417, 769), or had told a caller (2041).
    ///
    /// Two leave in 39 as well, with no such fault known.
    @Test(arguments: [7, 39, 89, 417, 769, 2_041])
    func nodesThatLeaveDontCountOnEachOther(seed: UInt64) throws {
        let verdict = try HistoryPlan(.nodes, seed: seed).run()
        #expect(verdict.violations.isEmpty, "\(verdict.violations.first as Any)")
        #expect(verdict.counts["leaves", default: 0] > 0)
    }

    /// Found by these seeds: all clocks had been ahead and were set right, and a node that joined
    /// anew refused the state of every other, whose times were ahead of its clock.
    @Test(arguments: [16, 46] as [UInt64])
    func aNodeThatJoinsTakesTimesAheadOfItsClock(seed: UInt64) throws {
        let verdict = try HistoryPlan(.nodes, seed: seed).run()
        #expect(verdict.violations.isEmpty, "\(verdict.violations.first as Any)")
        #expect(verdict.counts["jumps of all clocks", default: 0] > 0)
    }

    /// Histories in which little happens would show little.
    @Test func wholeNodesKeepEveryInvariant() throws {
        var counts: [String: Int] = [:]
        for seed in Array(UInt64(1)...8) + [13] {
            let verdict = try HistoryPlan(.nodes, seed: seed).run()
            #expect(verdict.violations.isEmpty, "seed \(seed): \(verdict.violations.first as Any)")
            counts.merge(verdict.counts, uniquingKeysWith: +)
        }
        let wanted = [
            "answered": 2_000, "kills": 5, "power cuts": 3, "beforeFlush": 1, "afterFlush": 1,
            "cuts": 10, "slow links": 5, "pauses": 3, "clock jumps": 1, "full disks": 2,
            "states taken": 5, "asked another peer": 1, "saves": 100, "reads": 50, "changes": 30,
            "leaves": 3, "lost disks": 1, "restores": 2, "resets": 5,
            "overlapping batches": 100, "pairs found": 100, "replicated saves": 20,
            "outcomes": 9,
        ]
        for (what, least) in wanted { #expect(counts[what, default: 0] >= least, "\(counts)") }
    }

    /// Clients hold tokens and sessions of what went with a disk, or with all of them: once an
    /// operator has marked it they go on, and hold what the nodes have.
    ///
    /// Eight histories, some 10 seconds: in fewer hardly a save is on one disk only.
    @Test func callersOutliveRestores() throws {
        var counts: [String: Int] = [:]
        for seed in [2, 6, 10, 18, 22, 26, 34, 38] as [UInt64] {
            let verdict = try HistoryPlan(.nodes, seed: seed).run()
            #expect(verdict.violations.isEmpty, "seed \(seed): \(verdict.violations.first as Any)")
            counts.merge(verdict.counts, uniquingKeysWith: +)
        }
        let wanted = [
            "restores": 2, "restores of clusters": 2, "marks": 8, "saves": 50, "reads": 30,
            "expired tokens": 5, "copies compared": 30, "saves that went with disks": 1,
        ]
        for (what, least) in wanted { #expect(counts[what, default: 0] >= least, "\(counts)") }
    }

    /// A checker that finds nothing here would find nothing ever.
    @Test(arguments: HistoryKind.nodes.rules)
    func aBrokenRuleIsNoticed(rule: Rule) throws {
        let noticing = try ([2, 5, 6, 10, 11, 15, 18, 21, 22, 26, 27, 31] as [UInt64]).first {
            seed in
            try !HistoryPlan(.nodes, seed: seed, breaking: rule).run().violations.isEmpty
        }
        #expect(noticing != nil, "no seed shows that '\(rule.name)' is broken")
    }

    /// Whether it is kept or not, and whatever ran before it in the process.
    @Test func aSeedTellsOneStory() throws {
        let runs = [(3, true), (10, false), (10, true), (3, false)] as [(UInt64, Bool)]
        let digests = try runs.map { seed, isTold in
            let verdict = try HistoryPlan(.nodes, seed: seed, isTold: isTold).run()
            #expect(verdict.story.isEmpty != isTold)
            return verdict.digest
        }
        #expect(digests[0] == digests[3])
        #expect(digests[1] == digests[2])
        #expect(digests[0] != digests[1])
    }

    /// Files reach every node, outlive what happens to the others, and come back to a node that
    /// lost its packs.
    @Test func wholeNodesKeepTheirFiles() throws {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...8 {
            let verdict = try HistoryPlan(.nodeAssets, seed: seed).run()
            #expect(verdict.violations.isEmpty, "seed \(seed): \(verdict.violations.first as Any)")
            counts.merge(verdict.counts, uniquingKeysWith: +)
        }
        let wanted = [
            "kills": 5, "power cuts": 3, "full disks": 2, "leaves": 2, "saves": 100,
            "files read": 100, "files brought back": 6,
        ]
        for (what, least) in wanted { #expect(counts[what, default: 0] >= least, "\(counts)") }
    }
}
