// One history of whole nodes from its seed to its verdict: production nodes, links and collectors
// on simulated machines, under load, while processes die, machines stand still, links fail and
// clocks jump.
//
// Called by `cumulus-sim --whole`, with `--assets` too, and by tests. The same seed tells the same
// story in every process, however that orders its dictionaries; the verdict has a digest of it.
//
// Folder: whole nodes in virtual time, over a network and disks that fail. Read `NodeSimulation`,
// then the folder World, then `SimulatedNode` and `SimulatedNetwork`.

import CumulusModel

package struct NodeSimulation {
    package var nodes = 3
    /// Virtual time under load and faults.
    package var seconds: Int64 = 30
    /// Callers put files on their records; disks don't go back to backups then.
    package var hasAssets = false
    package var broken: SimulatedNodeRule?
    /// Keep the story.
    package var isTold = false

    package init() {}

    package func run(seed: UInt64) throws -> Simulation.Verdict {
        let world = try SimulatedWorld(
            nodes,
            seed: seed,
            hasAssets: hasAssets,
            breaking: broken?.inNodes ?? [],
            isTold: isTold
        )
        try world.begin()
        try world.work(milliseconds: seconds * 1_000)
        try world.settle()
        return Simulation.Verdict(
            violations: world.violations,
            story: world.story.lines,
            digest: world.story.digest,
            counts: world.counts
        )
    }
}
