// One machine of a simulated world: its disk, its clock, and the runs of the production node on it.
//
// A run is put together as `cumulusd` does it: node, links to peers, collector; only engine,
// network and environment are simulated.
//
// Folder: whole nodes in virtual time, over a network and disks that fail. Read `SimulatedNode`,
// then `SimulatedNetwork` and `SimulatedClient`; what happens to them is in the folder World.

import CumulusAssets
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

final class SimulatedNode: @unchecked Sendable {
    // Used by one thread.

    let machine: Int
    private let hasAssets: Bool
    private let broken: BrokenRules
    private let time: VirtualTime
    private let network: SimulatedNetwork
    private let dice: Mutex<SeededGenerator>
    /// Receives log messages, with the machine.
    private let log: @Sendable (Logger.Level, String) -> Void
    /// The rows on its disk, flushed or not.
    private(set) var durable = MemoryEngine()
    private(set) var disk = SimulatedDisk()
    private(set) var packs = SimulatedPacks()
    private(set) var process: SimulatedProcess?
    private(set) var node: Node?
    /// How long a flush of its disk takes, at most.
    private let flushMilliseconds: Int64
    /// Batches that ran while the one before was not flushed yet, in processes that ended.
    private(set) var overlaps = 0
    /// The node left its cluster by itself.
    private let left: @Sendable () -> Void
    /// Milliseconds by which its clock is ahead.
    private let lead = Atomic<Int64>(0)

    static let container = "iCloud.simulated"
    static let scope = ScopeID(container: container, environment: .development)
    static let key = Bytes(repeating: 0xC5, count: 32)
    /// The time at which worlds begin, in milliseconds since 1970 UTC.
    private static let epoch: Int64 = 1_750_000_000_000

    init(
        _ machine: Int,
        _ time: VirtualTime,
        _ network: SimulatedNetwork,
        seed: UInt64,
        hasAssets: Bool,
        breaking broken: BrokenRules,
        flushMilliseconds: Int64,
        left: @escaping @Sendable () -> Void,
        log: @escaping @Sendable (Logger.Level, String) -> Void
    ) {
        self.machine = machine
        self.hasAssets = hasAssets
        self.broken = broken
        self.flushMilliseconds = flushMilliseconds
        self.time = time
        self.network = network
        self.log = log
        self.left = left
        dice = Mutex(SeededGenerator(seed: seed))
    }

    var isUp: Bool { process != nil }

    var clockLead: Int64 {
        get { lead.load(ordering: .relaxed) }
        set { lead.store(newValue, ordering: .relaxed) }
    }

    var clock: Int64 { Self.epoch + time.milliseconds + clockLead }

    // MARK: Life

    /// Starts a process; `peers`: the machines that its settings name.
    func start(peers: [Int]) throws {
        let process = SimulatedProcess(
            time,
            seed: dice.withLock { $0.next() },
            flushMilliseconds: flushMilliseconds
        )
        disk = SimulatedDisk(durable)
        packs = SimulatedPacks(packs.durable)
        let node = try Node(
            configuration,
            engine: disk,
            packs: packs,
            environment: environment(process)
        )
        self.node = node
        self.process = process
        process.drive(node)
        network.listen(on: machine, process) { link, now in node.accept(link, now: now) }
        node.join(endpoint: SimulatedNetwork.endpoint(of: machine))
        let links = PeerLinks(node, dialer: SimulatedDialer(network, machine, process))
        let endpoints = peers.map(SimulatedNetwork.endpoint)
        process.run { await links.run(endpoints) }
        let collector = Collector(node, schedule: schedule)
        process.run { await collector.run() }
        process.run { await SchemaKeeper(node).run() }
        process.run { await CascadeKeeper(node).run() }
        process.run { await ComparisonKeeper(node).run() }
        process.run { await IndexKeeper(node).run() }
    }

    private var configuration: Node.Configuration {
        var configuration = Node.Configuration(
            version: Release.version,
            container: Self.container,
            operatorToken: Bytes("cumulus_simulated".utf8)
        )
        configuration.clusterKey = Self.key
        configuration.joins = true
        configuration.reportMilliseconds = 500
        configuration.broken = broken
        // The credit is so small that credit and pages matter for the saves of histories.
        configuration.limits.initialCredit = 4 << 10
        configuration.limits.pageBytes = 2 << 10
        // The time is as long as for clients: faults that histories once showed lie in connections
        // that outlive cuts.
        configuration.limits.idlePeerMilliseconds = configuration.limits.idleMilliseconds
        if hasAssets { configuration.limits.assetGraceMilliseconds = 8_000 }
        return configuration
    }

    /// Much happens in little time: logs and tombstones go early.
    private var schedule: Collector.Schedule {
        var schedule = Collector.Schedule()
        schedule.logMilliseconds = 1_000
        schedule.keepMilliseconds = 3_000
        schedule.purgeMilliseconds = 4_000
        schedule.retentionMilliseconds = 20_000
        schedule.feedMilliseconds = 20_000
        if hasAssets { schedule.assetMilliseconds = 2_000 }
        return schedule
    }

    private func environment(_ process: SimulatedProcess) -> NodeEnvironment {
        let (time, log) = (time, log)
        return NodeEnvironment(
            now: { time.now },
            nanoseconds: { UInt64(time.milliseconds) * 1_000_000 },
            wallClock: { [self] in clock },
            random: { [self] in
                // A ghost's random numbers and its end must not affect the machine's next process.
                process.isDead ? process.random() : dice.withLock { $0.next() }
            },
            sleep: { try await process.sleep($0) },
            logger: Logger(label: "node") { _ in
                SimulatedLog { level, text in
                    if !process.isDead { log(level, text) }
                }
            },
            fail: { [self] reason in
                guard !process.isDead else { return }
                log(.info, "ends: \(reason)")
                // It left, and was killed before it had said so.
                if reason.contains("off the cluster's list") { left() } else { kill(tells: true) }
            },
            end: { [self] in
                guard !process.isDead else { return }
                left()
            }
        )
    }

    /// The process ends at once.
    ///
    /// - Parameter tells: Its connections end too; not if the machine lost its power.
    func kill(tells: Bool) {
        guard let process else { return }
        if !tells { durable.cutPower() }
        disk.detach()
        packs.detach()
        overlaps += process.overlaps
        process.kill()
        network.leave(machine, process, tells: tells)
        self.process = nil
        node = nil
    }

    /// The process ends at its next commit; `call` is called then.
    func killAtCommit(_ death: SimulatedDisk.Death, _ call: @escaping @Sendable () -> Void) {
        guard let process else { return }
        disk.die(death) { [self] in
            guard self.process === process else { return }
            kill(tells: true)
            call()
        }
    }

    /// A disk's rows and its packs.
    struct Backup {
        var rows = MemoryEngine()
        var packs = MemoryPacks()
    }

    /// A backup of the present state.
    func backup() -> Backup {
        Backup(rows: MemoryEngine(reopening: durable), packs: MemoryPacks(copying: packs.durable))
    }

    /// Puts a backup in place for the next process; nothing may be running.
    func restore(_ backup: Backup) throws {
        durable = MemoryEngine(reopening: backup.rows)
        if try storedID() != nil { try OpenStore.markBackup(durable) }
        packs = SimulatedPacks(MemoryPacks(copying: backup.packs))
    }

    /// Puts a backup in place for the next process as a new node: `cumulusd --from-backup`.
    func restoreAsNew(_ backup: Backup) throws {
        try restore(backup)
        var dice = dice.withLock { SeededGenerator(seed: $0.next()) }
        try OpenStore.rename(durable, using: &dice)
    }

    /// Its packs are gone, as in a backup that was made without them; nothing may be running.
    func losePacks() {
        packs = SimulatedPacks()
    }

    // MARK: State

    func vector(of scope: ScopeID = SimulatedNode.scope) throws -> VersionVector {
        try vector(of: scope, durable)
    }

    /// The vector that no power cut can undo.
    func flushedVector() throws -> VersionVector {
        try vector(of: SimulatedNode.scope, MemoryEngine(reopening: durable))
    }

    /// The newest mark of what is lost that it knows.
    func mark() throws -> HybridTime {
        let reader = ReadTransaction(durable, reach: .disk)
        guard let number = try reader.scope(SimulatedNode.scope) else { return HybridTime(0) }
        return try reader.truncation(of: number)
    }

    /// Its name; nil means it has none yet.
    func storedID() throws -> Bytes? {
        let row: NodeRow? = try ReadTransaction(durable, reach: .disk).row(.node)
        return row?.nodeID
    }

    private func vector(of scope: ScopeID, _ engine: MemoryEngine) throws -> VersionVector {
        let reader = ReadTransaction(engine, reach: .disk)
        guard let number = try reader.scope(scope) else { return VersionVector() }
        return try reader.vector(of: number)
    }

    /// Whether it lacks an asset that its records name.
    func lacksAssets() throws -> Bool {
        try !ReadTransaction(durable, reach: .disk).rows(.log, .all(.wantedAsset), limit: 1).isEmpty
    }

    /// Assets that records name and that can't be read whole here.
    func unreadableAssets() throws -> [String] {
        guard let assets = node?.assets else { return ["the node is down"] }
        let reader = ReadTransaction(durable, reach: .disk)
        var found: [String] = []
        for (key, _) in try reader.rows(.records, .all(.asset)) {
            var parts = KeyReader(key)
            let database = try parts.number(DatabaseNumber.self)
            let digest = try parts.bytes(32)
            guard try reader.isNamed(digest, inDatabase: database) else { continue }
            let list = try reader.chunkList(of: digest, in: database)
            let isWhole = try list?.distinct.allSatisfy { entry in
                guard let row = try reader.chunk(entry.digest, in: database),
                    let chunk = try assets.read(entry.digest, row)
                else { return false }
                return (try? chunk.plain(ChunkCodec())) != nil
            }
            if isWhole != true { found.append("asset \(digest.hex) can't be read") }
        }
        return found
    }
}

/// Hands what a node logs to its world.
private struct SimulatedLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug
    let write: @Sendable (Logger.Level, String) -> Void

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let words = (event.metadata ?? [:]).sorted { $0.key < $1.key }
            .map { "\($0.key): \($0.value)" }
        write(event.level, ([event.message.description] + words).joined(separator: ", "))
    }
}
