// A simulated cluster as a history: what its seed decides beside the dice, and what is judged at
// the end.

package import CumulusModel

extension SimulatedCluster: History {
    package static let usualSteps = 160

    package init(_ plan: HistoryPlan) throws {
        let seed = plan.seed
        try self.init(
            plan.nodes,
            seed: seed,
            breaking: plan.broken,
            // Every fourth history forgets nothing, because nodes then agree on more. Also, state
            // that is handed over would hide the wrong outcome of a tie.
            collecting: seed % 4 != 0 && plan.broken != .ties,
            // Without keys nodes forget earlier, so they more often hear of what others forgot.
            keying: seed % 4 != 2,
            pairing: seed % 5 == 4,
            merging: Self.policy(of: seed),
            mixing: seed % 7 == 6,
            isTold: plan.isTold
        )
    }

    /// Most histories merge by fields, as most types do.
    package static func policy(of seed: UInt64) -> MergePolicy {
        switch seed % 7 {
        case 3: .record
        case 5: .groups([FieldGroup(["price", "title"]), FieldGroup(["owner", "tags"])])
        default: .fields
        }
    }

    package mutating func check() throws {
        let counts =
            clients.map(\.counts) + queries.map(\.counts) + feeds.devices.map(\.counts)
            + feeds.readers.map(\.counts)
        for counts in counts { verdict.counts.merge(counts, uniquingKeysWith: +) }
        for checker in Checker.all {
            let found = try checker.violations(self)
            verdict.violations += found.map { (checker.name, $0) }
        }
    }
}
