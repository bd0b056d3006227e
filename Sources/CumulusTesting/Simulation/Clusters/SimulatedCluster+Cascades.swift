// Cascades of simulated stores that are too long for one turn: between two turns everything else
// goes on.
//
// Called by `SimulatedCluster` after each step of a history, and when it settles.

import CumulusModel
import CumulusStorage

extension SimulatedCluster {
    /// Long cascades go on a little.
    mutating func stepCascades(_ one: Int) throws {
        guard cascadeRecords != nil, Int.random(in: 0..<3, using: &cascadeDice) == 0 else { return }
        try pay(one, turns: Int.random(in: 1...3, using: &cascadeDice))
    }

    /// A node deletes some of what its cascades owe.
    mutating func pay(_ one: Int, due time: Int64? = nil, turns: Int = .max) throws {
        let scope = try stores[one].scopeNumber()
        let due = time ?? stores[one].now
        guard try stores[one].reader.cascade(of: scope, after: nil, due: due) != nil else { return }
        tell("node \(one) goes on with its cascades")
        verdict.count("turns of cascades")
        let before = try stores[one].vectors()
        try stores[one].payCascades(due: due, turns: turns)
        try acknowledge(one, since: before)
    }

    /// Everybody pays what it owes, without a sweep; nothing of a cascade may be left, but what a
    /// node owed that lost its disk.
    mutating func settleCascades() throws {
        for round in 0..<20 {
            let before = acknowledged.count
            for one in works.indices {
                while syncs[one] != nil { try goOn(one) }
                try pay(one, due: round == 0 ? nil : .max)
            }
            try exchange()
            if round > 0, acknowledged.count == before { break }
        }
        if lastLoss == nil { unpaid = try Checker.orphans.violations(self) }
    }
}

extension Commit {
    /// Describes the act in a line of a story.
    var story: String {
        let operations = operations.map { operation in
            switch operation {
            case .put(let put):
                "put \(put.recordName) \(put.birth.map { "\($0)" } ?? "new")"
                    + put.targets.map { " \($0.field)>\($0.birth)" }.joined()
            case .delete(let name, let births, _): "delete \(name) \(births)"
            case .zoneCreate: "create the zone"
            case .zoneDelete: "delete the zone"
            case .register(let register): "set \(register.namespace)"
            case .access(let access): "share \(access.recordName) \(access.births)"
            }
        }
        return (zone.map { "\($0.name): " } ?? "") + operations.joined(separator: ", ")
    }
}
