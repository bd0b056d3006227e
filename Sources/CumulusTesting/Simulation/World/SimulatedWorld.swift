// Machines, their network and their callers in one virtual time, and what happens to them: whole
// nodes with their sessions, links and collectors, while processes die, machines stand still, links
// fail and clocks jump.
//
// Run by `cumulus-sim` and by `NodeSimulationTests`, as two histories. Faults come and go while
// callers save; then everything is healed, and the nodes have to come to hold the same by
// themselves, within a bounded time. The same seed tells the same story in every process, however
// that orders its dictionaries.
//
// Folder: what happens to simulated machines, and what is looked at meanwhile. Read
// `SimulatedWorld`, then `SimulatedWorld+Faults` and `SimulatedWorld+Restores`; `WorldWatch` and
// `SimulatedWorld+Checks` judge.

import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging

final class SimulatedWorld: History, @unchecked Sendable {
    // Used by one thread.

    /// Seconds of virtual time.
    static let usualSteps = 30

    let time = VirtualTime()
    let network: SimulatedNetwork
    var nodes: [SimulatedNode] = []
    /// Callers with sessions, who would wait for what went with disks.
    ///
    /// If disks go back to backups, there are either both clients and marks, or neither.
    var clients: [SimulatedClient] = []
    let restores: Bool
    let hasAssets: Bool
    /// Clients write and delete each other's records, and rest.
    let hasNotes: Bool
    /// An operator marks what went with disks; nil means no client is there to wait for it.
    var marks: MarkLoad?
    var dice: SeededGenerator
    /// Dice for connections that break, in some histories: the others stay as they are.
    var resetDice: SeededGenerator
    let resets: Bool
    /// Dice for clocks that jump together, in some histories.
    var jumpDice: SeededGenerator
    let jumpsTogether: Bool
    /// The load of pairs in some histories; clients have write concerns there.
    var pairs: PairLoad?
    var watch = WorldWatch(of: SimulatedNode.scope)
    var requests: RandomRequests
    /// Commits that callers were told of.
    var acknowledged: Set<Dot> = []
    /// The disks that were lost.
    var losses: [DiskLoss] = []
    var backups: [Int: SimulatedNode.Backup] = [:]
    /// Nodes whose disks are gone: an operator takes them off the list.
    var lost: Set<Bytes> = []
    /// The times at which the machines' nodes began to leave.
    var leaving: [Int: Int64] = [:]
    /// The times at which nodes left whose disks are empty now.
    var leaves: [Int64] = []
    var verdict: Verdict
    /// The end of the steps that were taken, in milliseconds.
    private var stepEnd: Int64 = 0

    /// Within which all nodes hold the same once everything is healed: some things are tried again
    /// after half a minute or a whole one only.
    static let settlingMilliseconds: Int64 = 240_000
    /// How long nothing may change before it counts: sweeps come every few seconds.
    static let quietMilliseconds: Int64 = 10_000
    /// Things that happen in a second of virtual time, at most: more is somebody turning in place.
    static let eventsPerSecond = 200_000

    init(_ plan: HistoryPlan) throws {
        let seed = plan.seed
        verdict = Verdict(isTold: plan.isTold)
        hasAssets = plan.history == .nodeAssets
        restores = seed % 2 == 0 && !hasAssets
        marks = restores && [2, 6, 10].contains(seed % 16) ? MarkLoad(seed: ~seed &* 7) : nil
        hasNotes = marks != nil || [5, 11, 15].contains(seed % 16) && !hasAssets
        dice = SeededGenerator(seed: seed)
        resets = [2, 4, 6].contains(seed % 7)
        resetDice = SeededGenerator(seed: ~seed)
        jumpsTogether = seed % 6 == 4
        jumpDice = SeededGenerator(seed: ~seed &* 5)
        pairs = seed % 5 == 3 ? PairLoad(seed: ~seed &* 3) : nil
        requests = RandomRequests(seed: dice.next())
        network = SimulatedNetwork(time, seed: dice.next())
        // In some histories the disks are so slow that much waits for each flush.
        let flushMilliseconds: Int64 = [3, 5].contains(seed % 7) ? 40 : 3
        for machine in 0..<plan.nodes {
            let node = SimulatedNode(
                machine,
                time,
                network,
                seed: dice.next(),
                hasAssets: hasAssets,
                breaking: plan.broken?.switches ?? [],
                flushMilliseconds: flushMilliseconds,
                left: { [weak self] in self?.left(machine) },
                log: { [weak self] in self?.note($0, $1, on: machine) }
            )
            nodes.append(node)
        }
        try begin()
        load(seconds: plan.steps ?? Self.usualSteps)
    }

    func tell(_ line: String) {
        verdict.tell("\(time.milliseconds) ms: \(line)")
    }

    func count(_ what: String) {
        verdict.count(what)
    }

    func note(_ level: Logger.Level, _ text: String, on machine: Int) {
        tell("node \(machine): \(text)")
        if text.hasPrefix("took another node's state") { count("states taken") }
        if text.hasPrefix("going on with the peer's state") { count("states resumed") }
        if text.hasPrefix("another peer doesn't send") { count("asked another peer") }
        // Whether a state was taken in the end is seen then.
        let isExpected =
            text.contains("disk is nearly full") || text.contains("disk is full")
            || text.hasPrefix("the peer's state could not be taken")
        if text.contains("was forked") || level == .error && !isExpected {
            verdict.violate("log", "node \(machine): \(text)")
        }
    }

    // MARK: Running

    func run(milliseconds: Int64) throws {
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

    func lookAround() throws {
        for node in nodes {
            guard let reader = node.node?.gate.latest(reach: .disk) else { continue }
            try watch.look(at: node.machine, reader)
        }
        try lookAtMarks()
    }

    struct Livelock: Error {
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
        if !restores || marks != nil { for number in 0..<2 { addClient(number) } }
        try run(milliseconds: 3_000)
        for client in clients { client.start() }
    }

    func addClient(_ number: Int) {
        // All writers of notes are one user.
        let owner = hasNotes ? 0 : number
        addUser(owner, at: nodes[0])
        let habits = SimulatedClient.Habits(
            hasFiles: hasAssets,
            hasNotes: hasNotes,
            replicas: pairs == nil ? 0 : min(number + 1, nodes.count - 1)
        )
        let observer = SimulatedClient.Observer(
            report: { [weak self] in self?.judge($0) },
            confirm: { [weak self] in self?.checkReplicas($0, $1) },
            compare: { [weak self] in self?.checkCopy($0, $1, of: number) },
            tell: { [weak self] in self?.tell($0) }
        )
        let client = SimulatedClient(
            number,
            time,
            network,
            nodes: nodes.count,
            token: Self.token(of: owner),
            seed: dice.next(),
            habits,
            observer
        )
        clients.append(client)
    }

    func addUser(_ number: Int, at node: SimulatedNode) {
        let (name, id) = ("client-\(number)", Bytes(repeating: UInt8(number + 1), count: 16))
        administer(AddUser(name: name, id: id), at: node)
        administer(AddToken(Bytes(Self.token(of: number).utf8), user: name), at: node)
    }

    private static func token(of user: Int) -> String { "token-of-client-\(user)" }

    func administer(
        _ change: some ClusterChange,
        at node: SimulatedNode,
        _ done: @escaping @Sendable () -> Void = {}
    ) {
        guard let process = node.process, let running = node.node else { return }
        let request = WriteRequest(change, caller: Caller(role: .operator))
        let deadline = CallToken(deadline: time.now + 10_000)
        let work = StoreGate.Request(request, deadline) { answer in
            if !process.isDead, case .success = answer { done() }
        }
        process.execute {
            _ = running.gate.submit(.init(work, byteCount: 200, loop: process))
        }
    }

    func start(_ node: SimulatedNode) throws {
        tell("node \(node.machine) starts")
        try node.start(peers: nodes.indices.filter { $0 != node.machine })
    }

    /// Runs for a second, and lets things fail.
    func step() throws {
        stepEnd += 1_000
        while time.milliseconds < stepEnd {
            try run(milliseconds: Int64.random(in: 100...1_500, using: &dice))
            try fail()
        }
    }

    // MARK: Load

    /// Begins what callers, breaking connections and time servers do meanwhile.
    private func load(seconds: Int) {
        stepEnd = time.milliseconds
        let end = stepEnd + Int64(seconds) * 1_000
        load(until: end)
        if resets { breakConnections(until: end) }
        if jumpsTogether { moveAllClocks(until: end) }
    }

    func load(until end: Int64) {
        guard time.milliseconds < end else { return }
        let node = pick(nodes)
        if let running = node.node {
            let (change, caller) = requests.next { name, database, zone, caller in
                Self.changeTag(name, database, zone, caller, at: running)
            }
            submit(change, by: caller, to: node)
        }
        if let (change, machine) = pairs?.next(machines: nodes.count) {
            submit(change, by: PairLoad.caller, to: nodes[machine])
        }
        time.after(Int64.random(in: 5...60, using: &dice)) { [weak self] in self?.load(until: end) }
    }

    static func changeTag(
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

    func submit(_ change: DrawnChange, by caller: Caller, to node: SimulatedNode) {
        switch change {
        case .modifyRecords(let change): submit(change, by: caller, to: node)
        case .modifyZones(let change): submit(change, by: caller, to: node)
        case .acceptShare: break
        }
    }

    private func submit<Asked: RememberedChange>(
        _ change: Asked,
        by caller: Caller,
        to node: SimulatedNode
    ) {
        guard let process = node.process, let running = node.node else { return }
        // It lets no caller in before it has taken a state.
        guard running.notReady.isEmpty else { return count("calls of nodes that join") }
        let id = RequestID(milliseconds: node.clock, using: &dice)
        let request = WriteRequest(
            change,
            scope: SimulatedNode.scope,
            caller: caller,
            requestID: id,
            digest: Asker.digest(of: id.bytes, method: 0)
        )
        let work = StoreGate.Request(request, CallToken(deadline: time.now + 10_000)) {
            [weak self] answer in
            // A ghost tells nobody.
            guard !process.isDead else { return }
            self?.took(answer.map(Asked.items))
        }
        process.execute {
            _ = running.gate.submit(.init(work, byteCount: 200, loop: process))
        }
    }

    func took(_ answer: DrawnRequest.Answer) {
        guard case .success(let outcome?) = answer else { return count("refused") }
        count("answered")
        tell("a caller is told of \(outcome.dots.map(\.description).joined(separator: ", "))")
        acknowledged.formUnion(outcome.dots)
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
        for client in clients { client.process.cancelTasks() }
        try converge()
        if marks != nil, !losses.isEmpty {
            mark()
            try converge()
        }
        for client in clients { client.finish() }
        try run(milliseconds: 60_000)
        if marks != nil, clients.contains(where: { !$0.isDone }) {
            // Somebody waits for what is lost and knew a higher mark than any node: the nodes have
            // met it by now, and the operator sets one above it.
            tell("a client still waits")
            mark()
            try converge()
            for client in clients where !client.isDone { client.finish() }
            try run(milliseconds: 60_000)
        }
        for client in clients {
            if !client.isDone {
                let text = "client \(client.number) gets no answer: \(client.lastFailure)"
                verdict.violate("session", text)
            }
            verdict.counts.merge(client.counts, uniquingKeysWith: +)
        }
        if hasAssets { try losePacks() }
    }

    /// Judges, and ends all processes.
    func check() throws {
        try compare()
        for node in nodes { node.kill(tells: true) }
        verdict.counts["overlapping batches"] = nodes.reduce(0) { $0 + $1.overlaps }
        try run(milliseconds: 60_000)
    }

    /// Waits until all nodes hold equal data, and have for a while.
    func converge() throws {
        let end = time.milliseconds + Self.settlingMilliseconds
        var quiet: Int64 = 0
        var last: [VersionVector] = []
        while time.milliseconds < end, quiet < Self.quietMilliseconds {
            removeLost()
            try run(milliseconds: 500)
            let vectors = try nodes.flatMap { [try $0.vector(), try $0.vector(of: .cluster)] }
            let isEqual = try nodes.allSatisfy { try $0.isUp && agrees($0, with: nodes[0]) }
            quiet = isEqual && vectors == last ? quiet + 500 : 0
            last = vectors
        }
        verdict.counts["seconds to settle"] =
            Int((time.milliseconds - end + Self.settlingMilliseconds - quiet) / 1_000)
        verdict.counts["dials"] = network.dials
        if quiet < Self.quietMilliseconds {
            let lists = try nodes.map { try listed(by: $0).count }
            let text = "the nodes don't come to hold the same: \(last), lists of \(lists)"
            verdict.violate("liveness", text)
        }
    }

    /// A node that comes back without its packs gets them from the others.
    func losePacks() throws {
        let node = pick(nodes)
        tell("node \(node.machine) loses its packs")
        node.kill(tells: true)
        node.losePacks()
        startNow(node)
        let end = time.milliseconds + Self.settlingMilliseconds
        repeat {
            try run(milliseconds: 500)
        } while try node.lacksAssets() && time.milliseconds < end
        verdict.counts["files brought back"] = try node.packs.all().count
    }
}
