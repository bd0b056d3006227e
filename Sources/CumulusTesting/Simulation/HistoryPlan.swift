// The plan of a history: its kind, its seed, and the broken rule.
//
// Made by `cumulus-sim` and by tests.

package import CumulusStorage

/// The histories that there are.
package enum HistoryKind: String, CaseIterable, Sendable {
    case stores
    case queries
    case assets
    case accounts
    case shares
    case publicShares = "public-shares"
    case nodes
    case nodeAssets = "node-assets"

    /// A summary of its events, for people.
    package var summary: String {
        switch self {
        case .stores:
            "stores work, fail, forget and exchange commits, by the rules of replication alone"
        case .queries:
            "queries of random records find what a plain loop finds, in memory and on the disk"
        case .assets:
            "uploads, saves, deletions, the collection of assets and power cuts race"
        case .accounts:
            "users, thieves and operators change passwords, sessions and roles on several nodes"
        case .shares:
            "an owner shares trees of records; participants join, write, leave and fetch"
        case .publicShares:
            "shares, of which some are open to everybody, and invitations by handle"
        case .nodes:
            "whole nodes on simulated machines, over networks and disks that fail"
        case .nodeAssets:
            "nodes, whose callers put files on their records"
        }
    }

    var type: any History.Type {
        switch self {
        case .stores: SimulatedCluster.self
        case .queries: QuerySimulation.self
        case .assets: AssetSimulation.self
        case .accounts: AccountSimulation.self
        case .shares, .publicShares: ShareSimulation.self
        case .nodes, .nodeAssets: SimulatedWorld.self
        }
    }

    /// The history to which it adds something; rules that show there can be broken here, too.
    private var base: HistoryKind? {
        switch self {
        case .publicShares: .shares
        case .nodeAssets: .nodes
        default: nil
        }
    }

    /// The rules that it can do without.
    package var rules: [Rule] {
        let shown = [self, base]
        return Rule.allCases.filter { rule in rule.histories.contains { shown.contains($0) } }
    }
}

package struct HistoryPlan: Sendable {
    package let history: HistoryKind
    package let seed: UInt64
    /// A rule that is taken away, to see that it is noticed.
    package let broken: Rule?
    /// Keep the story.
    package let isTold: Bool
    /// How many nodes there are; histories of one store, accounts or shares don't ask.
    package var nodes = 3
    /// Steps, of whole nodes seconds of virtual time; nil: as many as is usual.
    package var steps: Int?
    /// A store on the disk that queries are asked of, too.
    package var disk: (any StorageEngine)?

    package init(
        _ history: HistoryKind,
        seed: UInt64,
        breaking broken: Rule? = nil,
        isTold: Bool = false
    ) {
        self.history = history
        self.seed = seed
        self.broken = broken
        self.isTold = isTold
    }

    package func run() throws -> Verdict { try history.type.run(self) }
}
