// Disks of a simulated world that go back to backups or are lost, one or all of them, and the
// operator who marks what went with them.
//
// Part of `SimulatedWorld`. In histories with marks real clients go on meanwhile: what they hold
// may be of a past that no node has any more.

import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusStorage

/// The disks that were lost at one time.
struct DiskLoss {
    /// The time in milliseconds of the world.
    let time: Int64
    /// The vector that had been on them.
    let before: VersionVector
    /// The vectors that all machines had afterwards, safe from power cuts.
    let held: [VersionVector]

    func contains(_ dot: Dot) -> Bool {
        before.covers(dot) && !held.contains { $0.covers(dot) }
    }
}

/// The times of an operator's marks, and since when all nodes know the last one.
struct MarkLoad {
    var dice: SeededGenerator
    var newest = HybridTime(0)
    /// The last time at which the nodes' marks changed or differed, in milliseconds of the world's
    /// time.
    var moved: Int64 = 0
    var made = 0

    init(seed: UInt64) {
        dice = SeededGenerator(seed: seed)
    }
}

extension SimulatedWorld {
    // MARK: Disks

    func keepBackup(of node: SimulatedNode) {
        guard node.isUp else { return }
        tell("node \(node.machine) is backed up")
        backups[node.machine] = node.backup()
    }

    /// Goes back to a backup: what nobody else has by then may be lost.
    ///
    /// A machine without a backup makes one.
    func restore(_ node: SimulatedNode) throws {
        guard let backup = backups[node.machine] else { return keepBackup(of: node) }
        tell("node \(node.machine) goes back to its backup")
        count("restores")
        node.kill(tells: true)
        try change([node]) { try $0.restore(backup) }
        startLater(node)
    }

    /// The whole cluster goes back: one machine to its backup, each other one to its own, to a copy
    /// of that one, as a new node, or to nothing.
    func restoreAll() throws {
        guard let first = backups.keys.sorted().randomElement(using: &dice),
            let backup = backups[first]
        else { return nodes.forEach(keepBackup) }
        tell("the cluster goes back to the backup of node \(first)")
        count("restores of clusters")
        for node in nodes { node.kill(tells: true) }
        try change(nodes) { node in
            if let own = backups[node.machine], node.machine == first || Bool.random(using: &dice) {
                return try node.restore(own)
            }
            backups[node.machine] = nil
            if let nodeID = try node.storedID() { lost.insert(nodeID) }
            if Bool.random(using: &dice) {
                tell("node \(node.machine) is made anew from that backup")
                try node.restoreAsNew(backup)
            } else {
                tell("node \(node.machine) is made anew")
                try node.restore(SimulatedNode.Backup())
            }
        }
        for node in nodes { startLater(node) }
    }

    /// Puts other disks into machines; what only the old ones held may be lost.
    func change(
        _ machines: [SimulatedNode],
        _ restore: (SimulatedNode) throws -> Void
    ) throws {
        var before = VersionVector()
        for node in machines {
            try watch.keepLog(ReadTransaction(node.durable, reach: .disk))
            before.merge(try node.vector())
        }
        for node in machines { try restore(node) }
        // Data that another machine has not flushed may vanish with its power.
        let held = try nodes.map { try $0.flushedVector() }
        losses.append(DiskLoss(time: time.milliseconds, before: before, held: held))
        markSoon()
    }

    /// A disk is gone; a new node begins on an empty one.
    func loseDisk(_ node: SimulatedNode) throws {
        guard let nodeID = node.node?.nodeID else { return }
        tell("node \(node.machine) loses its disk")
        count("lost disks")
        node.kill(tells: true)
        backups[node.machine] = nil
        lost.insert(nodeID)
        try change([node]) { try $0.restore(SimulatedNode.Backup()) }
        startLater(node)
    }

    func isLost(_ dot: Dot) -> Bool {
        losses.contains { $0.contains(dot) }
    }

    /// An operator takes nodes off the list whose disks are gone.
    func removeLost() {
        guard let node = nodes.first(where: \.isUp) else { return }
        for nodeID in lost.sorted(by: { precedes($0, $1) }) {
            administer(RemoveMember(nodeID), at: node)
        }
    }

    // MARK: Marks

    private func markSoon() {
        guard var load = marks else { return }
        let pause = Int64.random(in: 200...8_000, using: &load.dice)
        marks = load
        time.after(pause) { [weak self] in self?.mark() }
    }

    /// An operator declares the lost data lost at one of the nodes, and repeats it until it
    /// succeeds.
    ///
    /// The clients' user may be lost too, and is added again.
    func mark() {
        guard var load = marks else { return }
        let made = load.made
        let node = nodes.filter(\.isUp).randomElement(using: &load.dice)
        marks = load
        if let node {
            addUser(0, at: node)
            let met = node.node?.highestTruncation ?? HybridTime(0)
            administer(Truncate(endsSessions: false, above: met), at: node) { [weak self] in
                self?.tell("what is lost is marked at node \(node.machine)")
                self?.count("marks")
                self?.marks?.made += 1
            }
        }
        time.after(2_000) { [weak self] in
            if self?.marks?.made == made { self?.mark() }
        }
    }

    /// Looks whether all nodes know the mark that they knew before.
    func lookAtMarks() throws {
        guard let known = marks?.newest else { return }
        let found = try nodes.map { try $0.mark() }
        if found.allSatisfy({ $0 == known }) { return }
        marks?.newest = found[0]
        marks?.moved = time.milliseconds
    }
}
