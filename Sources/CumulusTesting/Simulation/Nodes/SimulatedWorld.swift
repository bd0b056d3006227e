// Machines, their network and their callers in one virtual time, and what happens to them.
//
// Drawn from one seed. Faults come and go while callers save; then everything is healed, and the
// nodes have to come to hold the same by themselves, within a bounded time.

import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging

final class SimulatedWorld: @unchecked Sendable {
    // Used by one thread.

    private let time = VirtualTime()
    private let network: SimulatedNetwork
    private var nodes: [SimulatedNode] = []
    /// Callers with sessions; where disks go back to backups they would wait for what is lost.
    private var clients: [SimulatedClient] = []
    private let restores: Bool
    private let hasAssets: Bool
    private var dice: SeededGenerator
    /// For connections that break, in some histories: the others stay as they are.
    private var resetDice: SeededGenerator
    private let resets: Bool
    /// In some histories; clients have write concerns there.
    private var pairs: PairLoad?
    private var watch = WorldWatch(of: SimulatedNode.scope)
    private var requests: RandomRequests
    /// Commits that callers were told of.
    private var acknowledged: Set<Dot> = []
    /// Those that only a disk held which is no longer.
    private var excused: Set<Dot> = []
    private var backups: [Int: SimulatedNode.Backup] = [:]
    /// Nodes whose disks are gone: an operator takes them off the list.
    private var lost: Set<Bytes> = []
    /// When the machines' nodes began to leave, and when a disk last lost something.
    private var leaving: [Int: Int64] = [:]
    private var lastLoss: Int64 = -1
    /// When nodes left whose disks are empty now.
    private var leaves: [Int64] = []
    private(set) var violations: [(checker: String, text: String)] = []
    private(set) var story: [String] = []
    private(set) var counts: [String: Int] = [:]
    private let isTold: Bool

    /// Within which all nodes hold the same once everything is healed: some things are tried again
    /// after half a minute or a whole one only.
    private static let settlingMilliseconds: Int64 = 240_000
    /// How long nothing may change before it counts: sweeps come every few seconds.
    private static let quietMilliseconds: Int64 = 10_000
    /// Things that happen in a second of virtual time, at most: more is somebody turning in place.
    private static let eventsPerSecond = 200_000

    init(_ count: Int, seed: UInt64, hasAssets: Bool, isTold: Bool) throws {
        self.isTold = isTold
        self.hasAssets = hasAssets
        restores = seed % 2 == 0 && !hasAssets
        dice = SeededGenerator(seed: seed)
        resets = [2, 4, 6].contains(seed % 7)
        resetDice = SeededGenerator(seed: ~seed)
        pairs = seed % 5 == 3 ? PairLoad(seed: ~seed &* 3) : nil
        requests = RandomRequests(seed: dice.next())
        network = SimulatedNetwork(time, seed: dice.next())
        // In some histories the disks are so slow that much waits for each flush.
        let flushMilliseconds: Int64 = [3, 5].contains(seed % 7) ? 40 : 3
        for machine in 0..<count {
            let node = SimulatedNode(
                machine,
                time,
                network,
                seed: dice.next(),
                hasAssets: hasAssets,
                flushMilliseconds: flushMilliseconds,
                left: { [weak self] in self?.left(machine) },
                log: { [weak self] in self?.note($0, $1, on: machine) }
            )
            nodes.append(node)
        }
    }

    private func tell(_ line: @autoclosure () -> String) {
        if isTold { story.append("\(time.milliseconds) ms: \(line())") }
    }

    private func count(_ what: String) {
        counts[what, default: 0] += 1
    }

    private func note(_ level: Logger.Level, _ text: String, on machine: Int) {
        tell("node \(machine): \(text)")
        if text.hasPrefix("took another node's state") { count("states taken") }
        if text.hasPrefix("another peer doesn't send") { count("asked another peer") }
        // Whether a state was taken in the end is seen then.
        let isExpected =
            text.contains("disk is nearly full")
            || text.hasPrefix("the peer's state could not be taken")
        if text.contains("was forked") || level == .error && !isExpected {
            violations.append(("log", "node \(machine): \(text)"))
        }
    }

    // MARK: Running

    private func run(milliseconds: Int64) throws {
        let end = time.milliseconds + milliseconds
        let limit = Int(milliseconds / 1_000 + 1) * Self.eventsPerSecond
        var events = 0
        while time.milliseconds < end {
            let pause = min(end, time.milliseconds + WorldWatch.pauseMilliseconds)
            while time.step(until: pause) {
                events += 1
                if events > limit { throw Livelock(milliseconds: time.milliseconds) }
            }
            try lookAround()
        }
    }

    private func lookAround() throws {
        for node in nodes {
            guard let reader = node.node?.gate.latest(reach: .disk) else { continue }
            try watch.look(at: node.machine, reader)
        }
    }

    private struct Livelock: Error {
        let milliseconds: Int64
    }

    /// Starts all nodes and fixes the types of the fields, before anybody disagrees on them.
    func begin() throws {
        for node in nodes { try start(node) }
        try run(milliseconds: 3_000)
        let caller = Caller(role: .user("_alice"))
        submit(.modifyZones(ModifyZones(saving: ["schema"])), by: caller, to: nodes[0])
        try run(milliseconds: 500)
        let first = SaveItem(
            "first",
            ["price": 1.5, "title": "", "votes": 0],
            in: ZoneAddress(name: "schema")
        )
        let save = ModifyRecords(database: .private, saves: [first])
        submit(.modifyRecords(save), by: caller, to: nodes[0])
        if !restores { for number in 0..<2 { addClient(number) } }
        try run(milliseconds: 3_000)
        for client in clients { client.start() }
    }

    private func addClient(_ number: Int) {
        let (name, token) = ("client-\(number)", "token-of-client-\(number)")
        let user = Bytes(repeating: UInt8(number + 1), count: 16)
        administer(.addUser(name: name, id: user), at: nodes[0])
        administer(.addToken(Bytes(token.utf8), user: name), at: nodes[0])
        clients.append(
            SimulatedClient(
                number,
                time,
                network,
                nodes: nodes.count,
                token: token,
                seed: dice.next(),
                hasAssets: hasAssets,
                replicas: pairs == nil ? 0 : min(number + 1, nodes.count - 1),
                report: { [weak self] in self?.judge($0) },
                confirm: { [weak self] in self?.checkReplicas($0, $1) },
                tell: { [weak self] in self?.tell($0) }
            )
        )
    }

    private func administer(_ operation: WriteRequest.Operation, at node: SimulatedNode) {
        guard let process = node.process, let running = node.node else { return }
        let request = WriteRequest(operation, scope: .cluster, caller: Caller(role: .operator))
        let work = StoreGate.Work.request(request, CallToken(deadline: time.now + 10_000)) { _ in }
        process.execute {
            _ = running.gate.submit(.init(work, byteCount: 200, loop: process))
        }
    }

    private func start(_ node: SimulatedNode) throws {
        tell("node \(node.machine) starts")
        try node.start(peers: nodes.indices.filter { $0 != node.machine })
    }

    func work(milliseconds: Int64) throws {
        let end = time.milliseconds + milliseconds
        load(until: end)
        if resets { breakConnections(until: end) }
        while time.milliseconds < end {
            try run(milliseconds: Int64.random(in: 100...1_500, using: &dice))
            try fail()
        }
    }

    // MARK: Load

    private func load(until end: Int64) {
        guard time.milliseconds < end else { return }
        let node = pick(nodes)
        if let running = node.node {
            let (operation, caller) = requests.next { name, database, zone, caller in
                Self.changeTag(name, database, zone, caller, at: running)
            }
            submit(operation, by: caller, to: node)
        }
        if let (operation, machine) = pairs?.next(machines: nodes.count) {
            submit(operation, by: PairLoad.caller, to: nodes[machine])
        }
        time.after(Int64.random(in: 5...60, using: &dice)) { [weak self] in self?.load(until: end) }
    }

    private static func changeTag(
        _ name: String,
        _ database: DatabaseScope,
        _ zone: ZoneAddress,
        _ caller: Caller,
        at node: Node
    ) -> Bytes? {
        let reader = node.gate.latest(reach: .disk)
        let fetch = FetchRecords(
            database: database,
            ids: [.success(RecordAddress(zone: zone, name: name))],
            keys: nil
        )
        guard let scope = try? reader.scope(SimulatedNode.scope) else { return nil }
        return try? fetch.run(scope, by: caller, in: reader)[0].get().changeTag
    }

    private func submit(
        _ operation: WriteRequest.Operation,
        by caller: Caller,
        to node: SimulatedNode
    ) {
        guard let process = node.process, let running = node.node else { return }
        let id = RequestID(milliseconds: node.clock, using: &dice)
        let request = WriteRequest(
            operation,
            scope: SimulatedNode.scope,
            caller: caller,
            requestID: id,
            digest: WriteRequest.digest(of: id.bytes, method: 0)
        )
        let work = StoreGate.Work.request(request, CallToken(deadline: time.now + 10_000)) {
            [weak self] answer in
            // A ghost tells nobody.
            guard !process.isDead else { return }
            self?.took(answer)
        }
        process.execute {
            _ = running.gate.submit(.init(work, byteCount: 200, loop: process))
        }
    }

    private func took(_ answer: StoreGate.Answer) {
        guard case .success(.modified(let outcome)) = answer else { return count("refused") }
        count("answered")
        tell("a caller is told of \(outcome.dots.map(\.description).joined(separator: ", "))")
        acknowledged.formUnion(outcome.dots)
    }

    // MARK: Faults

    private func pick<Element>(_ choices: [Element]) -> Element {
        choices[Int.random(in: choices.indices, using: &dice)]
    }

    private func fail() throws {
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
        case 18: leave(node)
        case 19:
            // Neither may count on the other.
            leave(node)
            leave(other)
        default: break
        }
    }

    private func kill(_ node: SimulatedNode, tells: Bool) {
        guard node.isUp else { return }
        tell("node \(node.machine) \(tells ? "is killed" : "loses its power")")
        count(tells ? "kills" : "power cuts")
        node.kill(tells: tells)
        startLater(node)
    }

    private func startLater(_ node: SimulatedNode) {
        time.after(Int64.random(in: 100...5_000, using: &dice)) { [weak self] in
            guard let self, !node.isUp else { return }
            startNow(node)
        }
    }

    private func startNow(_ node: SimulatedNode) {
        do {
            try start(node)
        } catch {
            violations.append(("start", "node \(node.machine): \(error)"))
        }
    }

    private func killAtCommit(_ node: SimulatedNode) {
        guard node.isUp else { return }
        let death = pick(SimulatedDisk.Death.allCases)
        tell("node \(node.machine) is to end, \(death)")
        node.killAtCommit(death) { [weak self] in
            self?.tell("node \(node.machine) ends, \(death)")
            self?.count("\(death)")
            self?.startLater(node)
        }
    }

    private func cut(_ one: SimulatedNode, _ other: SimulatedNode) {
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
    private func breakConnections(until end: Int64) {
        let pause = Int64.random(in: 100...4_000, using: &resetDice)
        guard time.milliseconds + pause < end else { return }
        time.after(pause) { [weak self] in
            self?.breakSome()
            self?.breakConnections(until: end)
        }
    }

    private func breakSome() {
        let all = nodes.map(\.machine)
        let others = all + clients.map { SimulatedClient.machine($0.number) }
        guard let one = all.randomElement(using: &resetDice),
            let other = others.randomElement(using: &resetDice)
        else { return }
        let broken = network.reset(one, other)
        tell("\(broken) connections between \(one) and \(other) break")
        counts["resets", default: 0] += broken
    }

    private func cutClient(_ node: SimulatedNode) {
        guard let client = clients.randomElement(using: &dice) else { return }
        let machine = SimulatedClient.machine(client.number)
        tell("client \(client.number) hears nothing from node \(node.machine)")
        network.cut(from: node.machine, to: machine)
        if Bool.random(using: &dice) { network.cut(from: machine, to: node.machine) }
    }

    private func heal() {
        tell("all links are healed")
        network.heal()
    }

    private func slow(_ one: SimulatedNode, _ other: SimulatedNode) {
        tell("the link from \(one.machine) to \(other.machine) is slow")
        count("slow links")
        network.slow(
            from: one.machine,
            to: other.machine,
            by: Int64.random(in: 50...2_500, using: &dice)
        )
    }

    private func pause(_ node: SimulatedNode) {
        let milliseconds = pick([500, 5_000, 25_000])
        tell("node \(node.machine) stands still for \(milliseconds) ms")
        count("pauses")
        node.process?.pause(for: Int64(milliseconds))
    }

    private func moveClock(of node: SimulatedNode) {
        node.clockLead = pick([0, 0, -2_000, 2_000, -4_000, 70_000, -70_000])
        tell("the clock of node \(node.machine) is \(node.clockLead) ms ahead")
        count("clock jumps")
    }

    private func fillDisk(of node: SimulatedNode) {
        tell("the disk of node \(node.machine) is full")
        count("full disks")
        let disk = node.disk
        disk.setFull(true)
        time.after(Int64.random(in: 500...8_000, using: &dice)) { disk.setFull(false) }
    }

    private func keepBackup(of node: SimulatedNode) {
        guard node.isUp else { return }
        tell("node \(node.machine) is backed up")
        backups[node.machine] = node.backup()
    }

    /// Goes back to a backup: what nobody else has by then may be lost.
    ///
    /// Who has no backup makes one.
    private func restore(_ node: SimulatedNode) throws {
        guard let backup = backups[node.machine] else { return keepBackup(of: node) }
        tell("node \(node.machine) goes back to its backup")
        count("restores")
        node.kill(tells: true)
        try change(node, to: backup)
        startLater(node)
    }

    /// Puts another disk into a machine; what only the old one held may be lost.
    private func change(_ node: SimulatedNode, to disk: SimulatedNode.Backup) throws {
        lastLoss = time.milliseconds
        try watch.keepLog(ReadTransaction(node.durable, reach: .disk))
        let before = try node.vector()
        node.restore(disk)
        // What another one has and has not flushed can be gone with its power.
        let held = try nodes.map { try $0.flushedVector() }
        for dot in acknowledged where before.covers(dot) {
            if !held.contains(where: { $0.covers(dot) }) { excused.insert(dot) }
        }
    }

    /// A disk is gone; a new node begins on an empty one.
    private func loseDisk(_ node: SimulatedNode) throws {
        guard let nodeID = node.node?.nodeID else { return }
        tell("node \(node.machine) loses its disk")
        count("lost disks")
        node.kill(tells: true)
        backups[node.machine] = nil
        lost.insert(nodeID)
        try change(node, to: SimulatedNode.Backup())
        startLater(node)
    }

    /// An operator takes nodes off the list whose disks are gone.
    private func removeLost() {
        guard let node = nodes.first(where: \.isUp) else { return }
        for nodeID in lost.sorted(by: { precedes($0, $1) }) {
            administer(.removeMember(nodeID), at: node)
        }
    }

    private func leave(_ node: SimulatedNode) {
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
    private func left(_ machine: Int) {
        let node = nodes[machine]
        if let nodeID = node.node?.nodeID { lost.insert(nodeID) }
        tell("node \(machine) left")
        count("leaves")
        leaves.append(time.milliseconds)
        node.kill(tells: true)
        backups[machine] = nil
        let began = leaving.removeValue(forKey: machine) ?? 0
        if lastLoss >= began {
            try? change(node, to: SimulatedNode.Backup())
        } else {
            try? watch.keepLog(ReadTransaction(node.durable, reach: .disk))
            node.restore(SimulatedNode.Backup())
        }
        startLater(node)
    }

    // MARK: The end

    func settle() throws {
        heal()
        for node in nodes {
            node.clockLead = 0
            node.disk.setFull(false)
            node.process?.goOn()
            if !node.isUp { startNow(node) }
        }
        let end = time.milliseconds + Self.settlingMilliseconds
        var quiet: Int64 = 0
        var last: [VersionVector] = []
        for client in clients { client.process.cancelTasks() }
        while time.milliseconds < end, quiet < Self.quietMilliseconds {
            removeLost()
            try run(milliseconds: 500)
            let vectors = try nodes.flatMap { [try $0.vector(), try $0.vector(of: .cluster)] }
            let isEqual = try nodes.allSatisfy { try $0.isUp && agrees($0, with: nodes[0]) }
            quiet = isEqual && vectors == last ? quiet + 500 : 0
            last = vectors
        }
        counts["seconds to settle"] =
            Int((time.milliseconds - end + Self.settlingMilliseconds - quiet) / 1_000)
        counts["dials"] = network.dials
        if quiet < Self.quietMilliseconds {
            let lists = try nodes.map { try listed(by: $0).count }
            let text = "the nodes don't come to hold the same: \(last), lists of \(lists)"
            violations.append(("liveness", text))
        }
        for client in clients { client.finish() }
        try run(milliseconds: 60_000)
        for client in clients {
            if !client.isDone {
                let text = "client \(client.number) gets no answer: \(client.lastFailure)"
                violations.append(("session", text))
            }
            counts.merge(client.counts, uniquingKeysWith: +)
        }
        if hasAssets { try losePacks() }
        try check()
        for node in nodes { node.kill(tells: true) }
        counts["overlapping batches"] = nodes.reduce(0) { $0 + $1.overlaps }
        try run(milliseconds: 60_000)
    }

    /// A node that comes back without its packs gets them from the others.
    private func losePacks() throws {
        let node = pick(nodes)
        tell("node \(node.machine) loses its packs")
        node.kill(tells: true)
        node.losePacks()
        startNow(node)
        let end = time.milliseconds + Self.settlingMilliseconds
        repeat {
            try run(milliseconds: 500)
        } while try node.lacksAssets() && time.milliseconds < end
        counts["files brought back"] = try node.packs.all().count
    }

    /// A caller sees what it saved, with one exception, and then the conflict logs name what fell.
    ///
    /// A save whose first node fell silent is sent to another one; when the first one comes back
    /// with it and its clock was ahead, it wins over what was saved since.
    private func judge(_ surprise: SimulatedClient.Surprise) {
        let lost = (try? nodes.flatMap { try self.lost(of: surprise.recordName, on: $0) }) ?? []
        if lost.contains(where: { $0 > surprise.found && $0 <= surprise.saved }) {
            tell("\(surprise.text): its own past won")
            count("saves that lost to their own past")
        } else {
            violations.append(("session", surprise.text))
        }
    }

    /// A caller was told that what it saved is on so many other nodes too.
    ///
    /// Any that left since the save began may be one of them: it handed over what it had to one
    /// node, which may be the one that was asked.
    private func checkReplicas(_ save: SimulatedClient.Save, _ replicas: Int) {
        do {
            count("replicated saves")
            try lookAround()
            let held = try nodes.map { try $0.flushedVector() }
            let copies = try watch.dots(of: save.recordName, value: save.value).map { dot in
                held.count { $0.covers(dot) }
            }
            let gone = leaves.count { $0 >= save.began }
            let most = copies.max() ?? 0
            guard most + gone <= replicas else { return }
            let text = "\(save.value) of \(save.recordName) is on \(most) disks"
            violations.append(("replicas", text))
        } catch {
            violations.append(("replicas", "\(error)"))
        }
    }

    /// Values of a record that its node's conflict log holds.
    private func lost(of name: String, on node: SimulatedNode) throws -> [Int64] {
        let reader = ReadTransaction(node.durable, reach: .disk)
        guard let number = try reader.scope(SimulatedNode.scope) else { return [] }
        return try reader.rows(.log, .conflicts(of: number)).compactMap { _, value in
            let conflict = try Conflict(row: value)
            guard conflict.recordName == name else { return nil }
            let body = try RecordBody(stored: conflict.lost)
            return try body.entry(named: "value").flatMap { try body.int64($0) }
        }
    }

    private func agrees(_ one: SimulatedNode, with other: SimulatedNode) throws -> Bool {
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

    private func listed(by node: SimulatedNode) throws -> Set<Bytes> {
        let members = try Members.all(in: ReadTransaction(node.durable, reach: .disk))
        return Set(members.filter { !$0.isRemoved }.map(\.nodeID))
    }

    private func check() throws {
        for scope in [SimulatedNode.scope, .cluster] {
            let states = try nodes.map { node in
                try ReplicatedState.rows(of: scope, in: node.durable, forgetting: true)
            }
            for state in states.dropFirst() {
                let different = ReplicatedState.differences(states[0], state)
                violations += different.map { ("convergence", $0) }
            }
        }
        violations += watch.violations
        if let texts = try watch.outcome(of: ReadTransaction(nodes[0].durable, reach: .disk)) {
            count("outcomes")
            violations += texts.map { ("outcome", $0) }
        }
        counts["pairs found"] = watch.pairsFound
        for (machine, node) in nodes.enumerated() {
            violations += try DerivedRows.differences(in: node.durable).map { ("derived", $0) }
            violations += try node.unreadableAssets().map { ("assets", "node \(machine): \($0)") }
            let vector = try node.vector()
            let reader = ReadTransaction(node.durable, reach: .disk)
            let records = try StoredRecords.all(in: reader)
            violations += try Watch.beyond(vector, records, reader).map { ("vectors", $0) }
            violations += Checker.frontiers(records).map { ("frontiers", $0) }
            violations += try Checker.orphans(records).map { ("orphans", $0) }
            violations += acknowledged.subtracting(excused).filter { !vector.covers($0) }.sorted()
                .map { ("acknowledged", "node \(machine) lacks \($0)") }
        }
    }
}
