// One simulated history from its seed to its verdict.
//
// Called by `cumulus-sim` and by tests. The same seed tells the same story.
//
// Folder: simulated clusters of stores: one history from its seed to its verdict. Read
// `Simulation`, then `SimulatedCluster` and the folder Roaming.

package import CumulusModel

package struct Simulation {
    package var nodes = 3
    package var steps = 160
    package var broken: SimulatedRule?
    /// Keep the story.
    package var isTold = false

    package init() {}

    package struct Verdict {
        /// Checker and what it found.
        package var violations: [(checker: String, text: String)] = []
        package var story: [String] = []
        /// Of all lines of the story, which need not be kept; 0 where stores are simulated.
        package var digest: UInt64 = 0
        /// How often each verdict of the intake was met.
        package var verdicts: [String: Int] = [:]
        /// How often nodes forgot, and took state.
        package var counts: [String: Int] = [:]

        package init(
            violations: [(checker: String, text: String)] = [],
            story: [String] = [],
            digest: UInt64 = 0,
            verdicts: [String: Int] = [:],
            counts: [String: Int] = [:]
        ) {
            self.violations = violations
            self.story = story
            self.digest = digest
            self.verdicts = verdicts
            self.counts = counts
        }
    }

    /// Most histories merge by fields, as most types do.
    package static func policy(of seed: UInt64) -> MergePolicy {
        switch seed % 7 {
        case 3: .record
        case 5: .groups([FieldGroup(["price", "title"]), FieldGroup(["owner", "tags"])])
        default: .fields
        }
    }

    package func run(seed: UInt64) throws -> Verdict {
        var cluster = try SimulatedCluster(
            nodes,
            seed: seed,
            breaking: broken,
            // Where nobody forgets, nodes agree on more: every fourth history shows that. And state
            // that is handed over would mend the wrong outcome of a tie.
            collecting: seed % 4 != 0 && broken != .ties,
            // Without keys nodes forget earlier, and hear more often of what others forgot.
            keying: seed % 4 != 2,
            pairing: seed % 5 == 4,
            merging: Simulation.policy(of: seed),
            mixing: seed % 7 == 6,
            isTold: isTold
        )
        try cluster.run(steps: steps)
        try cluster.settle()
        var verdict = Verdict(
            story: cluster.story,
            verdicts: cluster.verdicts,
            counts: cluster.counts
        )
        for client in cluster.clients {
            verdict.counts.merge(client.counts, uniquingKeysWith: +)
        }
        for query in cluster.queries {
            verdict.counts.merge(query.counts, uniquingKeysWith: +)
        }
        for feed in cluster.feeds.devices {
            verdict.counts.merge(feed.counts, uniquingKeysWith: +)
        }
        for reader in cluster.feeds.readers {
            verdict.counts.merge(reader.counts, uniquingKeysWith: +)
        }
        for checker in Checker.all {
            let found = try checker.violations(cluster)
            verdict.violations += found.map { (checker.name, $0) }
        }
        return verdict
    }
}
