// Simulated clusters keep every invariant; and each rule, broken on purpose, is missed by somebody.

import CumulusModel
import CumulusOperations
import CumulusTesting
import Testing

@Suite struct SimulationTests {
    @Test(arguments: 1...150) func everyInvariantHolds(seed: UInt64) throws {
        let verdict = try Simulation().run(seed: seed)
        #expect(verdict.violations.isEmpty, "seed \(seed): \(verdict.violations.first as Any)")
    }

    /// A checker that finds nothing here would find nothing ever.
    @Test(arguments: SimulatedRule.allCases) func aBrokenRuleIsNoticed(rule: SimulatedRule) throws {
        var simulation = Simulation()
        simulation.broken = rule
        let noticing = (1...400 as ClosedRange<UInt64>).first { seed in
            (try? simulation.run(seed: seed).violations.isEmpty) != true
        }
        #expect(noticing != nil, "no seed shows that '\(rule.rawValue)' is broken")
    }

    @Test func aSeedTellsTheSameStory() throws {
        var simulation = Simulation()
        simulation.isTold = true
        let story = try simulation.run(seed: 7).story
        #expect(story.count > 100)
        #expect(try simulation.run(seed: 7).story == story)
    }

    /// Records that one commit creates share their birth: increments of one request on two of them
    /// were taken for one increment made twice.
    @Test func recordsOfOneBirthHaveIncrementsOfTheirOwn() throws {
        let store = try TestStore()
        try store.save([SaveItem("r", ["n": 0]), SaveItem("s", ["n": 0])])
        try store.save([SaveItem("r", increments: ["n": 5]), SaveItem("s", increments: ["n": 9])])
        let values = try ["r", "s"].map { name in
            try store.fetch(name, in: .private, by: .alice).get().fields
        }
        #expect(values == [WireField.body(["n": 5]), WireField.body(["n": 9])])
    }
}
