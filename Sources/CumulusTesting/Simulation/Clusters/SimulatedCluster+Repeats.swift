// The requests of a simulated cluster, and callers who got no answer and ask again: at once or
// late, at any node.
//
// Called by `SimulatedCluster` for each step of a history.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension SimulatedCluster {
    /// How long a request is repeated, in milliseconds.
    static let requestMemory: Int64 = 60

    /// Runs requests; now and then a caller who got no answer tries again elsewhere.
    mutating func edit(_ one: Int, retryingAt other: Int) throws {
        let before = try stores[one].vectors()
        let unflushed = Int.random(in: 0..<16, using: &dice) == 0 ? try stores[one].backup() : nil
        let requests = try works[one].edit(requests: Int.random(in: 1...3, using: &dice))
        if Int.random(in: 0..<3, using: &repeatDice) == 0 {
            unanswered.append((requests, slowestClock))
        }
        if let unflushed {
            // The power fails before the flush: nobody was told anything.
            tell("node \(one) loses what it has not flushed")
            verdict.count("power cuts")
            syncs[one] = nil
            try stores[one].restore(unflushed, isNewRun: broken != .incarnations)
        } else {
            try acknowledge(one, since: before)
        }
        guard Int.random(in: 0..<4, using: &dice) == 0 || unflushed != nil, other != one else {
            return
        }
        let otherBefore = try stores[other].vectors()
        stores[other].now = max(stores[other].now, stores[one].now - 1_000)
        try stores[other].run(requests)
        tell("node \(other) is asked again for what node \(one) was")
        try acknowledge(other, since: otherBefore)
    }

    /// Somebody who got no answer asks again, at any node, for as long as requests are taken.
    mutating func stepRepeats(_ one: Int) throws {
        let oldest = slowestClock - SimulatedCluster.requestMemory
        unanswered.removeAll { $0.made < oldest }
        guard !unanswered.isEmpty, Int.random(in: 0..<8, using: &repeatDice) == 0 else { return }
        let index = Int.random(in: unanswered.indices, using: &repeatDice)
        let before = try stores[one].vectors()
        tell("node \(one) is asked again for what was not answered")
        verdict.count("late repeats")
        try stores[one].run(unanswered[index].requests)
        try acknowledge(one, since: before)
        if Bool.random(using: &repeatDice) { unanswered.remove(at: index) }
    }
}
