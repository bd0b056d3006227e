// The table of rules is whole: each rule is found by its name and says what it is, and each switch
// of stores and nodes belongs to one rule.

import CumulusStorage
import Testing

@testable import CumulusTesting

@Suite struct RuleTests {
    @Test(arguments: Rule.allCases) func aRuleIsWhole(rule: Rule) {
        #expect(Rule(name: rule.name) == rule)
        for sentence in [rule.holds, rule.without] {
            #expect(sentence.hasSuffix(".") && sentence.first?.isLowercase == false, "\(sentence)")
        }
        for history in rule.histories { #expect(history.rules.contains(rule)) }
    }

    @Test func namesAreTypedWithHyphens() {
        #expect(Rule.ownCommits.name == "own-commits")
        #expect(Rule.break.name == "break")
        #expect(Rule(name: "ownCommits") == nil)
    }

    /// No history shows that three rules of lives are broken: see the article Simulation.
    @Test func eachSwitchBelongsToOneRule() {
        let unseen: Set<BrokenRules.Switch> = [.knownRequests, .keptEnds, .repeatRows]
        for broken in BrokenRules.Switch.allCases {
            let rules = Rule.allCases.filter { $0.switches.contains(broken) }
            #expect(rules.count == (unseen.contains(broken) ? 0 : 1), "\(broken): \(rules)")
        }
    }
}
