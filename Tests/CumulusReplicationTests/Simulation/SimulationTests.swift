// Simulated clusters keep every invariant; and each rule, broken on purpose, is missed by somebody.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Testing

@testable import CumulusTesting

@Suite struct SimulationTests {
    private func play(_ seed: UInt64, breaking rule: Rule? = nil) throws -> Verdict {
        try HistoryPlan(.stores, seed: seed, breaking: rule).run()
    }

    /// `cluster/test` runs some hundred more, where optimised code does it in a tenth of the time.
    @Test(arguments: 1...24) func everyInvariantHolds(seed: UInt64) throws {
        let verdict = try play(seed)
        #expect(verdict.violations.isEmpty, "seed \(seed): \(verdict.violations.first as Any)")
    }

    /// Seed 47205: a life of the donor's that waited behind another was shown by the merge, its
    /// owner long dead; only lives that the donor showed had been looked at.
    @Test func aMergeLeavesNoOrphan() throws {
        let verdict = try play(47_205)
        #expect(verdict.violations.isEmpty, "\(verdict.violations.first as Any)")
    }

    /// Seed 469: what long cascades owed in two zones had one key, and in one of them a record
    /// stayed whose owner was gone.
    @Test func debtsOfTwoZonesAreKeptApart() throws {
        let verdict = try play(469)
        #expect(verdict.violations.isEmpty, "\(verdict.violations.first as Any)")
    }

    /// Seed 1810: a state brought a zone in full, under another number, and what a long cascade
    /// owed in it counted as gone with the old one.
    @Test func aStateLeavesWhatIsOwed() throws {
        let verdict = try play(1_810)
        #expect(verdict.violations.isEmpty, "\(verdict.violations.first as Any)")
    }

    /// Seed 5500: the life that was shown got an earlier creation, and another one whose owner had
    /// died was shown in its place.
    @Test func anEarlierCreationShowsNoOrphan() throws {
        let verdict = try play(5_500)
        #expect(verdict.violations.isEmpty, "\(verdict.violations.first as Any)")
    }

    /// Seed 8295: a counter that had ended and begun anew came with a state, and nobody looked for
    /// what had referred to the one before.
    @Test func aCounterThatBeganAnewLeavesNoOrphan() throws {
        let verdict = try play(8_295)
        #expect(verdict.violations.isEmpty, "\(verdict.violations.first as Any)")
    }

    /// A commit put a value into a counter that it deleted too; the checker missed the value in the
    /// counter that began anew.
    ///
    /// The checker was wrong.
    @Test func whatACommitEndedItselfIsGone() throws {
        #expect(try play(904).violations.isEmpty)
    }

    /// A batch with one lost half is noticed, and some histories have pairs.
    @Test func halfABatchIsNoticed() throws {
        for seed in 4...20 as ClosedRange<UInt64> {
            var cluster = try SimulatedCluster(3, seed: seed, collecting: true, pairing: true)
            try cluster.run(steps: 160)
            #expect(cluster.pairs?.faults == [])
            let store = cluster.stores[0]
            let rows = try store.reader.rows(.records, .all(.record)).filter {
                String(decoding: $0.key, as: UTF8.self).contains("pair-b")
            }
            // In some histories the last pair went with its zone.
            if rows.isEmpty || cluster.pairs?.found ?? 0 <= 50 { continue }
            var batch = EngineBatch()
            batch.writes = rows.map { .init(family: .records, key: $0.key, value: nil) }
            try store.engine.commit(batch)
            try cluster.checkPairs(0)
            #expect(cluster.pairs?.faults.isEmpty == false)
            return
        }
        Issue.record("no history has pairs at its end")
    }

    /// Between two pages a newer life hid a record, and ended: it was as it had been, and on two
    /// pages.
    @Test func aRecordThatIsAsItWasMayBeOnTwoPages() throws {
        let verdict = try play(116_376)
        #expect(verdict.violations.isEmpty)
    }

    /// A device left within pages; when it went on there, the rows behind them were dropped.
    @Test func rowsAreForgottenWithinPages() throws {
        for seed in [27, 91] as [UInt64] {
            #expect(try play(seed).violations.isEmpty)
        }
    }

    /// A device left within pages, and another node told it that a record left which it had been
    /// told of.
    @Test func whatADeviceDroppedLeavesAgain() throws {
        #expect(try play(1_911).violations.isEmpty)
    }

    /// A device had seen the later of two concurrent changes, behind the page that told the other
    /// one: the record had left already.
    @Test func whatADeviceDroppedElsewhereLeavesAgain() throws {
        var plan = HistoryPlan(.stores, seed: 47)
        (plan.nodes, plan.steps) = (2, 300)
        #expect(try plan.run().violations.isEmpty)
    }

    /// A device left within pages; at the next node a record that it was told of had never matched.
    @Test(arguments: [911, 1_983, 2_991] as [UInt64])
    func whatOnlyTheNodeBeforeShowedLeaves(seed: UInt64) throws {
        #expect(try play(seed).violations.isEmpty)
    }

    /// Devices knew of a zone's deletion, and not of saves that it took along.
    @Test(arguments: [519, 1_435, 1_667] as [UInt64])
    func whatADeletedZoneTookAlongIsNotHeld(seed: UInt64) throws {
        #expect(try play(seed).violations.isEmpty)
    }

    /// A record of another type hid one that a device was told of elsewhere, which stayed with it.
    @Test(arguments: [5_127, 6_463] as [UInt64])
    func whatAnotherTypeHidesIsNotHeld(seed: UInt64) throws {
        #expect(try play(seed).violations.isEmpty)
    }

    /// One page told how a record with concurrent changes is now, and then that its zone had gone.
    @Test func whatIsInAZoneMadeAnewIsHeld() throws {
        #expect(try play(3_999).violations.isEmpty)
    }

    /// In one read a node told a change uncertainly, and another one then told it for sure: the
    /// checker called that twice.
    @Test func aChangeIsToldForSureAfterwards() throws {
        #expect(try play(8_415).violations.isEmpty)
    }

    /// Few histories show these: the search begins at one that does.
    private static let firstSeeds: [Rule: UInt64] = [
        .losses: 28, .floors: 31, .ties: 48, .feedDatabase: 95, .carriedKeys: 167, .repeats: 171,
        .tokenHorizon: 222, .doubledLives: 232, .feedMixed: 343, .laterHorizon: 682,
    ]

    /// A checker that finds nothing here would find nothing ever.
    @Test(arguments: HistoryKind.stores.rules) func aBrokenRuleIsNoticed(rule: Rule) throws {
        let first = Self.firstSeeds[rule] ?? 1
        let noticing = (first...first + 400).first { seed in
            isNoticed(rule, by: Result { try play(seed, breaking: rule) })
        }
        #expect(noticing != nil, "no seed shows that '\(rule.name)' is broken")
    }

    /// What the checker of a rule finds, others find too: each has to see something.
    @Test(
        arguments: [
            (.vector, "replay"), (.vector, "derived"), (.knownDeaths, "frontiers"),
            (.knownDeaths, "risen"), (.staged, "vectors"), (.vector, "outcome"),
            (.causality, "closed"),
        ] as [(Rule, String)]
    )
    func everyCheckerSees(rule: Rule, checker: String) throws {
        let noticing = (UInt64(1)...60).first { seed in
            guard let verdict = try? play(seed, breaking: rule) else { return false }
            return verdict.violations.contains { $0.checker == checker }
        }
        #expect(noticing != nil, "'\(checker)' doesn't see that '\(rule.name)' is broken")
    }

    /// A horizon beyond the vector, and a client that is shown the past.
    @Test func horizonsAndVersionsAreWatched() throws {
        let store = try TestStore(seed: 1)
        try store.save([SaveItem("a", ["n": 1])])
        var watch = Watch()
        try watch.look(at: 0, store)
        #expect(watch.beyond == [])
        let (key, value) = try #require(try store.reader.rows(.meta, .all(.zone)).first)
        var zone = try ZoneRow(row: value)
        zone.horizon[store.state.incarnation] = 1_000
        var batch = EngineBatch()
        batch.writes = [.init(family: .meta, key: key, value: zone.rowBytes)]
        try store.engine.commit(batch)
        try watch.look(at: 0, store)
        #expect(watch.beyond.count == 1)

        let noticing = try (UInt64(1)...40).first { seed in
            try play(seed, breaking: .nodeBehind).violations.contains {
                $0.checker == "changes" && $0.text.contains("older")
            }
        }
        #expect(noticing != nil)
    }

    /// By the checker of the invariant that the rule is for.
    private func isNoticed(_ rule: Rule, by verdict: Result<Verdict, any Error>) -> Bool {
        switch verdict {
        case .success(let verdict):
            verdict.violations.contains { $0.checker == rule.check }
        // What never was together is refused before there is anything to check.
        case .failure(let error):
            rule.check == nil && error is MalformedBytes
        }
    }

    @Test func aSeedTellsTheSameStory() throws {
        let plan = HistoryPlan(.stores, seed: 7, isTold: true)
        let story = try plan.run().story
        #expect(story.count > 100)
        #expect(try plan.run().story == story)
    }

    /// Histories in which nobody hands over state would show little of it.
    @Test func nodesForgetAndTakeState() throws {
        var counts: [String: Int] = [:]
        // Every fourth seed has devices: ten more of these.
        for seed in Array(1...40) + stride(from: UInt64(43), through: 79, by: 4) {
            counts.merge(try play(seed).counts, uniquingKeysWith: +)
        }
        #expect(counts["collections", default: 0] > 100, "\(counts)")
        #expect(counts["syncs", default: 0] > 20, "\(counts)")
        #expect(counts["delta", default: 0] > 20, "\(counts)")
        #expect(counts["full", default: 0] > 20, "\(counts)")
        #expect(counts["broken connections", default: 0] > 20, "\(counts)")
        #expect(counts["types of mixed fields", default: 0] >= 6, "\(counts)")
        #expect(counts["queries", default: 0] > 100, "\(counts)")
        #expect(counts["increments forgotten", default: 0] > 10, "\(counts)")
        #expect(counts["turns of cascades", default: 0] > 40, "\(counts)")
        #expect(counts["feeds: pages", default: 0] > 200, "\(counts)")
        #expect(counts["feeds: notifications", default: 0] > 50, "\(counts)")
        #expect(counts["feeds: resets", default: 0] > 20, "\(counts)")
        #expect(counts["feeds: marks", default: 0] > 40, "\(counts)")
    }

    /// Histories in which nothing waits, is known or is lost would show little.
    @Test func commitsArriveOutOfOrder() throws {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...20 {
            counts.merge(try play(seed).counts, uniquingKeysWith: +)
        }
        #expect(counts["commits: waits", default: 0] > 20, "\(counts)")
        #expect(counts["commits: apply", default: 0] > 1_000, "\(counts)")
        #expect(counts["commits: refused"] == nil, "\(counts)")
    }
}
