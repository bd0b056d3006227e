// The faults of the machines, disks and links of a simulated world, and how all of it is healed.
//
// Part of `SimulatedWorld`, which draws from one seed what happens when.

import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging

extension SimulatedWorld {
    // MARK: Faults

    func pick<Element>(_ choices: [Element]) -> Element {
        choices[Int.random(in: choices.indices, using: &dice)]
    }

    func fail() throws {
        let node = pick(nodes)
        let other = pick(nodes)
        switch Int.random(in: 0..<22, using: &dice) {
        case 0..<2: kill(node, tells: true)
        case 2: kill(node, tells: false)
        case 3: killAtCommit(node)
        case 4..<7: cut(node, other)
        case 7..<11: heal()
        case 11..<13: slow(node, other)
        case 13: pause(node)
        case 14: moveClock(of: node)
        case 15: fillDisk(of: node)
        case 16: keepBackup(of: node)
        case 17: try restores ? restore(node) : cutClient(node)
        case 18 where restores: try loseDisk(node)
        case 20 where restores: try restore(node)
        case 21 where marks != nil: try restoreAll()
        case 18: leave(node)
        case 19:
            // Neither may count on the other.
            leave(node)
            leave(other)
        default: break
        }
    }

    func kill(_ node: SimulatedNode, tells: Bool) {
        guard node.isUp else { return }
        tell("node \(node.machine) \(tells ? "is killed" : "loses its power")")
        count(tells ? "kills" : "power cuts")
        node.kill(tells: tells)
        startLater(node)
    }

    func startLater(_ node: SimulatedNode) {
        time.after(Int64.random(in: 100...5_000, using: &dice)) { [weak self] in
            guard let self, !node.isUp else { return }
            startNow(node)
        }
    }

    func startNow(_ node: SimulatedNode) {
        do {
            try start(node)
        } catch {
            verdict.violate("start", "node \(node.machine): \(error)")
        }
    }

    func killAtCommit(_ node: SimulatedNode) {
        guard node.isUp else { return }
        let death = pick(SimulatedDisk.Death.allCases)
        tell("node \(node.machine) is to end, \(death)")
        node.killAtCommit(death) { [weak self] in
            self?.tell("node \(node.machine) ends, \(death)")
            self?.count("\(death)")
            self?.startLater(node)
        }
    }

    func cut(_ one: SimulatedNode, _ other: SimulatedNode) {
        guard one !== other else { return }
        tell("nothing goes from \(one.machine) to \(other.machine)")
        count("cuts")
        network.cut(from: one.machine, to: other.machine)
        if Bool.random(using: &dice) {
            tell("nor back")
            network.cut(from: other.machine, to: one.machine)
        }
    }

    /// Now and then all connections between two machines break.
    func breakConnections(until end: Int64) {
        let pause = Int64.random(in: 100...4_000, using: &resetDice)
        guard time.milliseconds + pause < end else { return }
        time.after(pause) { [weak self] in
            self?.breakSome()
            self?.breakConnections(until: end)
        }
    }

    func breakSome() {
        let all = nodes.map(\.machine)
        let others = all + clients.map { SimulatedClient.machine($0.number) }
        guard let one = all.randomElement(using: &resetDice),
            let other = others.randomElement(using: &resetDice)
        else { return }
        let broken = network.reset(one, other)
        tell("\(broken) connections between \(one) and \(other) break")
        verdict.counts["resets", default: 0] += broken
    }

    func cutClient(_ node: SimulatedNode) {
        guard let client = clients.randomElement(using: &dice) else { return }
        let machine = SimulatedClient.machine(client.number)
        tell("client \(client.number) hears nothing from node \(node.machine)")
        network.cut(from: node.machine, to: machine)
        if Bool.random(using: &dice) { network.cut(from: machine, to: node.machine) }
    }

    func heal() {
        tell("all links are healed")
        network.heal()
    }

    func slow(_ one: SimulatedNode, _ other: SimulatedNode) {
        tell("the link from \(one.machine) to \(other.machine) is slow")
        count("slow links")
        network.slow(
            from: one.machine,
            to: other.machine,
            by: Int64.random(in: 50...2_500, using: &dice)
        )
    }

    func pause(_ node: SimulatedNode) {
        let milliseconds = pick([500, 5_000, 25_000])
        tell("node \(node.machine) stands still for \(milliseconds) ms")
        count("pauses")
        node.process?.pause(for: Int64(milliseconds))
    }

    func moveClock(of node: SimulatedNode) {
        node.clockLead = pick([0, 0, -2_000, 2_000, -4_000, 70_000, -70_000])
        tell("the clock of node \(node.machine) is \(node.clockLead) ms ahead")
        count("clock jumps")
    }

    /// Now and then one time server sets all clocks wrong, by up to an hour, or right again.
    func moveAllClocks(until end: Int64) {
        let pause = Int64.random(in: 2_000...12_000, using: &jumpDice)
        guard time.milliseconds + pause < end else { return }
        time.after(pause) { [weak self] in
            guard let self else { return }
            let leads: [Int64] = [0, 0, 3_600_000, -3_600_000, 90_000]
            let lead = leads[Int.random(in: leads.indices, using: &jumpDice)]
            tell("all clocks are \(lead) ms ahead")
            count("jumps of all clocks")
            for node in nodes { node.clockLead = lead }
            moveAllClocks(until: end)
        }
    }

    func fillDisk(of node: SimulatedNode) {
        tell("the disk of node \(node.machine) is full")
        count("full disks")
        let disk = node.disk
        disk.setFull(true)
        time.after(Int64.random(in: 500...8_000, using: &dice)) { disk.setFull(false) }
    }

    func leave(_ node: SimulatedNode) {
        guard let process = node.process, let running = node.node else { return }
        tell("node \(node.machine) is to leave")
        count("leaves begun")
        leaving[node.machine] = leaving[node.machine] ?? time.milliseconds
        let deadline = time.now + 20_000
        process.run { try? await running.leave(by: deadline) }
    }

    /// A node left, and its machine gets a new one.
    ///
    /// It has handed over all that it had: nothing is excused, unless a disk was lost meanwhile,
    /// which may be the one. If nobody heard that it took itself off the list, an operator does it.
    func left(_ machine: Int) {
        let node = nodes[machine]
        if let nodeID = node.node?.nodeID { lost.insert(nodeID) }
        tell("node \(machine) left")
        count("leaves")
        leaves.append(time.milliseconds)
        node.kill(tells: true)
        backups[machine] = nil
        let began = leaving.removeValue(forKey: machine) ?? 0
        if losses.last.map({ $0.time >= began }) ?? false {
            try? change([node]) { try $0.restore(SimulatedNode.Backup()) }
        } else {
            try? watch.keepLog(ReadTransaction(node.durable, reach: .disk))
            try? node.restore(SimulatedNode.Backup())
        }
        startLater(node)
    }
}
