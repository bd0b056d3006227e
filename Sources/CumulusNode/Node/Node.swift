// A node: a store, what it knows about itself, and the connections of its callers.
//
// Put together by `cumulusd`, by tests and by a simulator, which differ in the engine, the network
// and the environment that they give it. It knows neither sockets nor a particular engine.
//
// Folder: what a node is and knows about itself and its cluster. Read `Node`, then
// `NodeEnvironment`, through which the world comes in, `Node+Members` and `Node+Leaving`.

package import CumulusModel
import CumulusOperations
import CumulusReplication
package import CumulusStorage
package import CumulusWire
import Logging
import Synchronization

package final class Node: Sendable {
    package struct Configuration: Sendable {
        package var version: String
        /// Made at start if it doesn't exist; nil means none.
        package var container: String?
        /// A caller with this token administers the node.
        package var operatorToken: Bytes
        /// Bytes of disk that are kept free: below, only deletes are taken.
        package var diskReserve: UInt64 = 0
        /// Bytes of disk below which deletes are refused too.
        package var deleteReserve: UInt64 = 0
        /// Whether a new store belongs to a node that joins a cluster.
        ///
        /// Such a node lets clients in once it has taken a state.
        package var joins = false
        /// The store is a backup that no node has begun with yet.
        package var isBackup = false
        /// It shows what its store holds, and takes neither changes nor part in its cluster.
        package var isReadOnly = false
        package var readers = 2
        /// Name of the engine's memory profile, for the status.
        package var profile = ""
        package var limits = Limits.standard
        /// Access tokens may arrive over plain TCP from other machines.
        package var acceptsInsecureCredentials = false
        /// The prefix of URLs of shares.
        package var shareURL = "cumulus:"
        /// Whether subscriptions of a container may name a webhook.
        package var knowsWebhook: WebhookNames = { _, _ in false }
        /// What devices of a container's users may be woken with.
        package var pushOffers: @Sendable (_ container: String) -> [PushOffer] = { _ in [] }
        /// Whether strangers may register as users.
        package var takesRegistrations = false
        /// The page at which links reset passwords; empty: the node has none.
        package var resetURL = ""
        /// Identity providers whose ID tokens open sessions; nil means that ID tokens do not.
        package var idTokens: TokenIssuers?
        /// Whether it starts without any of its packs, though no other node may have their chunks.
        package var acceptsLostAssets = false
        /// The cluster's key, 32 bytes; nil means this node has no peers.
        package var clusterKey: Bytes?
        /// How often peers are told how far this node has read.
        package var reportMilliseconds: Int64 = 10_000
        /// Makes a directory with everything that a node needs; nil means this one can't be backed
        /// up.
        package var backUp: BackUp?
        /// The greatest age of any other member's report; 0 means that reports may be of any age.
        ///
        /// If a report is older, users reach only their own private databases.
        package var accessLeaseMilliseconds: Int64 = 0
        /// If a report is older, users don't reach their private databases either.
        package var accessLeaseClosesAll = false
        /// Other nodes that are to hold a change before its answer, unless its caller says.
        package var replicas = 0
        /// Always empty but in simulations that show that their checkers notice.
        package var broken: BrokenRules = []

        package init(version: String, container: String?, operatorToken: Bytes) {
            self.version = version
            self.container = container
            self.operatorToken = operatorToken
        }
    }

    /// Returns how many bytes in how many files stand in the new directory.
    package typealias BackUp =
        @Sendable (
            _ engine: any StorageEngine, _ packs: any PackFiles, _ path: String
        ) throws(ServiceError) -> (bytes: UInt64, files: UInt32)

    package let configuration: Configuration
    package let environment: NodeEnvironment
    package let gate: StoreGate
    package let assets: AssetStore
    let demand = AssetDemand()
    let arrivals = ChunkArrivals()
    package let meter: NodeMeter
    let attempts = Attempts()
    let consoleLinks = ConsoleLinks()
    /// Where browsers find the console, as `NodeStatus` tells it; empty: HTTP is not served.
    let console = Mutex("")
    let passwords = PasswordThread()
    /// nil means that the node keeps no audit log.
    let audit: AuditLog?
    /// nil means that the node has no lease.
    let accessLease: AccessLease?
    package let nodeID: Bytes
    package let clusterID: Bytes
    /// nil means this node has no peers.
    let peerProof: PeerProof?
    package let incarnation: Incarnation
    /// The key from which the ids of users are made who sign in with ID tokens.
    let subjectKey: Bytes
    /// Makes and opens the tokens that callers carry.
    let mint: TokenMint
    let replicas = ReplicaWatch()
    let budgets: CallerBudgets
    let userNames: UserNames
    let followedPages = CommonPages<FollowChanges.Question, FollowedPage>(
        size: { _, page in page.message.count },
        isShared: { !$0.isPersonal }
    )
    let feeds = CommonFeeds()
    let comparisons = StateComparisons()
    let clocks = PeerClocks()
    let clockIsFarOff = Atomic<Bool>(false)
    /// Connections that this node dialled, by node id.
    let connections = Mutex<[Bytes: WeakPeer]>([:])
    let directRuns = DirectRuns()
    let peerRuns = PeerRuns()
    let catchUp: CatchUp
    /// Peers that were joining when they were met.
    let newcomers = Mutex<Set<Bytes>>([])
    /// This node takes itself off the list.
    let leaving = Atomic<Bool>(false)
    /// The address by which others reach this node; empty if none was announced.
    let endpoint = Mutex("")
    let started: Int64
    /// This run began with a backup, or before the node had caught up since.
    let isRestored: Bool
    private let draining = Atomic<Bool>(false)
    /// Peers by their addresses.
    let peers = Mutex<[String: NodeStatus.Peer]>([:])
    /// No other node belongs to this cluster, or is to.
    let alone = Atomic<Bool>(false)
    let isBackingUp = Atomic<Bool>(false)
    /// The budget as the collector last found it.
    let logBudget = Mutex(LogBudget())
    /// Long cascades that are looked through.
    let surveys = Atomic<Int>(0)
    /// Addresses that an operator was warned of.
    let refusedPeers = Mutex(RefusedPeers())

    let transfers = Transfers()
    let handedStates: HandedStates
    private let callers = Mutex<[ObjectIdentifier: WeakCaller]>([:])
    private let callerCount = Atomic<Int>(0)

    private struct WeakCaller: Sendable {
        weak var connection: CallerConnection?
        let loop: any FrameLoop
        /// Connections are numbered in the order in which they came.
        let number: Int
    }

    /// Opens the store and makes the configured container.
    ///
    /// Throws `OpenStore.Failure`.
    package init(
        _ configuration: Configuration,
        engine: any StorageEngine,
        packs: any PackFiles = MemoryPacks(),
        environment: NodeEnvironment
    ) throws {
        self.configuration = configuration
        self.environment = environment
        meter = NodeMeter(telling: environment.metrics)
        handedStates = HandedStates(meter)
        let began = environment.now()
        audit = environment.audit.map {
            AuditLog(now: began, keepRefusal: environment.auditRefusal, $0)
        }
        accessLease = AccessLease(configuration)
        budgets = CallerBudgets(
            configuration.limits.perCaller,
            configuration.limits.perCallerGrowth,
            now: environment.now()
        )
        peerProof = configuration.clusterKey.map { PeerProof(key: $0) }
        var dice = NodeDice(environment)
        let opened = try OpenStore.open(
            engine,
            clusterID: peerProof?.clusterID,
            joins: configuration.joins,
            isBackup: configuration.isBackup,
            using: &dice
        )
        let isJoining = try ReadTransaction(engine, reach: .disk).get(.joining) != nil
        catchUp = CatchUp(joins: isJoining && !configuration.isReadOnly)
        let made = try Node.makeContainer(configuration, engine, opened, environment)
        let found = try AssetRecovery(
            engine: engine,
            packs: packs,
            mayLose: configuration.acceptsLostAssets
        )
        .run(made, now: environment.wallClock(), changesNothing: configuration.isReadOnly)
        var state = found.state
        isRestored = state.isRestored
        state.cascadeRecords = configuration.limits.cascadeRecords
        state.storedBytesPerRequest = configuration.limits.storedBytesPerRequest
        state.comparisonSteps = configuration.limits.comparisonSteps
        state.owedChangeBytes = configuration.limits.owedChangeBytes
        state.indexRowsPerTurn = configuration.limits.indexRowsPerTurn
        state.owedRecordsPerZone = configuration.limits.owedRecordsPerZone
        state.broken = configuration.broken
        if found.missing > 0 {
            environment.logger.warning(
                configuration.isReadOnly
                    ? "files of assets are gone"
                    : "files of assets are gone; other nodes are asked for them",
                metadata: ["packs": "\(found.missing)"]
            )
        }
        assets = AssetStore(
            packs,
            next: found.next,
            storedBytes: found.bytes,
            capacity: configuration.limits.queuedWrites,
            diskReserve: configuration.diskReserve,
            deleteReserve: configuration.deleteReserve,
            freeBytes: { engine.freeBytes() }
        )
        nodeID = state.node.nodeID
        clusterID = state.node.clusterID
        incarnation = state.incarnation
        // Without a cluster's key, tokens are valid for this run only.
        let key = configuration.clusterKey ?? dice.bytes(32)
        subjectKey = key
        mint = TokenMint(key: key, run: incarnation, wallClock: environment.wallClock)
        started = environment.wallClock()
        userNames = UserNames(following: state.changedProfiles)
        gate = try StoreGate(
            engine: engine,
            state: state,
            clocks: clocks,
            peerRuns: peerRuns,
            environment: environment,
            limits: configuration.limits,
            meter: meter,
            diskReserve: configuration.diskReserve,
            deleteReserve: configuration.deleteReserve,
            isReadOnly: configuration.isReadOnly
        )
    }

    private static func makeContainer(
        _ configuration: Configuration,
        _ engine: any StorageEngine,
        _ state: WriterState,
        _ environment: NodeEnvironment
    ) throws -> WriterState {
        guard let container = configuration.container, !configuration.isReadOnly else {
            return state
        }
        var group = GroupCommit(engine: engine, state: state)
        let refusal = try group.run(now: environment.wallClock()) {
            (transaction: inout WriteTransaction) throws(EngineError) -> (ServiceError?, keep: Bool)
            in
            if let refusal = try Containers.refusal(container, in: transaction) {
                return (refusal, keep: false)
            }
            let existed = try Containers.create(container, in: &transaction)
            return (nil, keep: !existed)
        }
        if let refusal { throw refusal }
        return try group.commit()
    }

    /// Starts the store's threads.
    package func start() {
        gate.start(readers: configuration.readers)
        passwords.start()
        // Half of them may wait for the disk.
        assets.start(threads: 2 * configuration.readers)
    }

    /// Finishes the queued work and ends the threads.
    ///
    /// Callers get no more answers.
    package func stop() {
        handedStates.drop(unusedSince: .distant)
        // The threads of assets wait for no others.
        assets.stop()
        passwords.stop()
        gate.stop()
    }

    // MARK: Callers

    /// Makes the handler of a new connection.
    package func accept(_ link: any FrameLink, now: Instant) -> any FrameHandler {
        let connection = CallerConnection(node: self, link: link, now: now)
        let number = callerCount.wrappingAdd(1, ordering: .relaxed).newValue
        let entry = WeakCaller(connection: connection, loop: link.loop, number: number)
        callers.withLock { $0[ObjectIdentifier(connection)] = entry }
        meter.connections.add(1)
        if link is LocalConnection { meter.localConnections.add(1) }
        return connection
    }

    func forget(_ connection: CallerConnection) {
        let isGone = callers.withLock {
            $0.removeValue(forKey: ObjectIdentifier(connection)) != nil
        }
        guard isGone else { return }
        meter.connections.add(-1)
        if connection.link is LocalConnection { meter.localConnections.add(-1) }
    }

    // MARK: Draining

    package var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Takes no new calls; those in progress go on.
    ///
    /// Every caller is told.
    package func beginDraining() {
        draining.store(true, ordering: .relaxed)
        forEachCaller { $0.drain() }
    }

    /// Does something on the loop of each connection.
    func forEachCaller(_ work: @escaping @Sendable (CallerConnection) -> Void) {
        let entries = callers.withLock { $0.values.sorted { $0.number < $1.number } }
        for entry in entries {
            entry.loop.execute { if let connection = entry.connection { work(connection) } }
        }
    }

    /// Calls that are still in progress.
    package var callsInProgress: Int { meter.callsInProgress.value }
}
