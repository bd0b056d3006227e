// The invariants of a simulated world: of its callers' answers all along, and of its nodes in the
// end.
//
// Part of `SimulatedWorld`, whose clients ask for the first part, and which asks for the second.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusReplication
import CumulusStorage
import Foundation

extension SimulatedWorld {
    // MARK: Callers

    /// A caller sees what it saved, with two exceptions.
    ///
    /// A save whose first node fell silent is sent to another one; when the first one comes back
    /// with it and its clock was ahead, it wins over what was saved since, and the conflict logs
    /// name what fell. And saves can go with disks: see `isExcused`.
    func judge(_ surprise: SimulatedClient.Surprise) {
        if (try? isExcused(surprise)) == true { return }
        let lost = (try? nodes.flatMap { try self.lost(of: surprise.recordName, on: $0) }) ?? []
        if lost.contains(where: { $0 > surprise.found && $0 <= surprise.saved }) {
            tell("\(surprise.text): its own past won")
            count("saves that lost to their own past")
        } else {
            verdict.violate("session", surprise.text)
        }
    }

    /// Whether a caller doesn't see what it saved because disks were lost.
    ///
    /// A node that knows a mark doesn't wait for what tokens without the mark cover, whether it is
    /// lost or not, until all nodes know the mark. In the end only lost data is missing.
    private func isExcused(_ surprise: SimulatedClient.Surprise) throws -> Bool {
        guard marks != nil, surprise.found < surprise.saved else { return false }
        try lookAround()
        let values = surprise.found + 1...surprise.saved
        let dots = try watch.dots(of: surprise.recordName, values)
        if !dots.isEmpty, dots.allSatisfy(isLost) {
            count("saves that went with disks")
            return true
        }
        guard !surprise.isLast, let moved = marks?.moved, surprise.began <= moved else {
            return false
        }
        count("saves that a mark let be forgotten for a while")
        return true
    }

    /// A caller that has all changes of its zone holds what the commits say that its token covers:
    /// nothing was missed, and nothing is left of what was lost.
    func checkCopy(_ copy: [String: Int64], _ token: ServerChangeToken, of client: Int) {
        do {
            for node in nodes { try watch.keepLog(ReadTransaction(node.durable, reach: .disk)) }
            let seal = TokenSeal(key: SimulatedNode.key, run: Incarnation(1))
            guard let bytes = Data(base64Encoded: token.text),
                let content = seal.open(.changes, Bytes(bytes))
            else { return verdict.violate("copies", "client \(client) holds no token") }
            guard let shown = try watch.shown(to: ChangeToken(content: content)) else { return }
            count("copies compared")
            for name in Set(shown.keys).union(copy.keys).sorted() where shown[name] != copy[name] {
                let (has, said) = (copy[name], shown[name])
                let text = """
                    client \(client) holds '\(name)' as \(has.map(String.init) ?? "gone"), and by \
                    its token it is \(said.map(String.init) ?? "gone")
                    """
                verdict.violate("copies", text)
            }
        } catch {
            verdict.violate("copies", "\(error)")
        }
    }

    /// A caller was told that what it saved is on so many other nodes too.
    ///
    /// A machine that left since the save began may be one of them: it handed over its data to one
    /// node, which may be the one that was asked. So may a machine whose disk was lost since.
    func checkReplicas(_ save: SimulatedClient.Save, _ replicas: Int) {
        do {
            count("replicated saves")
            try lookAround()
            let held = try nodes.map { try $0.flushedVector() }
            let copies = try watch.dots(of: save.recordName, save.value...save.value).map { dot in
                held.count { $0.covers(dot) }
            }
            let gone =
                leaves.count { $0 >= save.began }
                + losses.count { $0.time >= save.began }
            let most = copies.max() ?? 0
            guard most + gone <= replicas else { return }
            let text = "\(save.value) of \(save.recordName) is on \(most) disks"
            verdict.violate("replicas", text)
        } catch {
            verdict.violate("replicas", "\(error)")
        }
    }

    /// Values of a record that its node's conflict log holds.
    func lost(of name: String, on node: SimulatedNode) throws -> [Int64] {
        let reader = ReadTransaction(node.durable, reach: .disk)
        guard let number = try reader.scope(SimulatedNode.scope) else { return [] }
        return try reader.rows(.log, .conflicts(of: number)).compactMap { _, value in
            let conflict = try Conflict(row: value)
            guard conflict.recordName == name else { return nil }
            let body = try RecordBody(stored: conflict.lost)
            return try body.entry(named: "value").flatMap { try body.int64($0) }
        }
    }

    // MARK: Nodes

    func agrees(_ one: SimulatedNode, with other: SimulatedNode) throws -> Bool {
        for scope in [SimulatedNode.scope, .cluster] {
            if try one.vector(of: scope) != other.vector(of: scope) { return false }
        }
        let reader = ReadTransaction(one.durable, reach: .disk)
        let isReady =
            try one.node?.state == "ready"
            && Members.leaving(in: reader)
                .isDisjoint(with: listed(by: one))
        return try isReady && listed(by: one) == Set(nodes.compactMap { $0.node?.nodeID })
            && !one.lacksAssets()
    }

    func listed(by node: SimulatedNode) throws -> Set<Bytes> {
        let members = try Members.all(in: ReadTransaction(node.durable, reach: .disk))
        return Set(members.filter { !$0.isRemoved }.map(\.nodeID))
    }

    func compare() throws {
        for scope in [SimulatedNode.scope, .cluster] {
            let states = try nodes.map { node in
                try ReplicatedState.rows(of: scope, in: node.durable, forgetting: true)
            }
            for state in states.dropFirst() {
                let different = ReplicatedState.differences(states[0], state)
                verdict.violations += different.map { ("convergence", $0) }
            }
        }
        verdict.violations += watch.violations
        if let texts = try watch.outcome(of: ReadTransaction(nodes[0].durable, reach: .disk)) {
            count("outcomes")
            verdict.violations += texts.map { ("outcome", $0) }
        }
        verdict.counts["pairs found"] = watch.pairsFound
        for (machine, node) in nodes.enumerated() {
            verdict.violations += try DerivedRows.differences(in: node.durable).map {
                ("derived", $0)
            }
            verdict.violations += try node.unreadableAssets().map {
                ("assets", "node \(machine): \($0)")
            }
            let vector = try node.vector()
            let reader = ReadTransaction(node.durable, reach: .disk)
            let records = try StoredRecords.all(in: reader)
            verdict.violations += try Watch.beyond(vector, records, reader).map { ("vectors", $0) }
            verdict.violations += Checker.frontiers(records).map { ("frontiers", $0) }
            verdict.violations += try Checker.orphans(records).map { ("orphans", $0) }
            verdict.violations += acknowledged.filter { !vector.covers($0) && !isLost($0) }.sorted()
                .map { ("acknowledged", "node \(machine) lacks \($0)") }
        }
    }
}
