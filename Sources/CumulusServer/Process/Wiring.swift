// The composition root: it connects a transport, a store and a node, and runs the process.
//
// Every way in which a start can fail ends in one clear line.

import CoreMetrics
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusSystem
import CumulusTransport
import CumulusWire
import Logging
import RocksDBStorage

struct Wiring {
    let configuration: Configuration
    let logger: Logger
    /// nil: the operator names no identity providers.
    let issuers: IssuerFile?
    /// nil: no webhooks are registered.
    let webhooks: WebhookFile?
    /// nil: no devices are woken.
    let pushes: PushFile?
    /// The newest lines of the log, for the console.
    let recentLines = RecentLines()
    /// The metrics of this process's libraries.
    let libraries = PrometheusRegistry()

    init(_ configuration: Configuration) throws {
        self.configuration = configuration
        var logger = Wiring.logger(
            in: try configuration[\.node.logFormat],
            also: recentLines
        )
        logger.logLevel = try configuration[\.node.logLevel]
        self.logger = logger
        issuers = try IssuerFile(configuration[\.users.issuers], logger)
        webhooks = try WebhookFile(configuration[\.users.webhooks], logger)
        pushes = try PushFile(configuration[\.users.pushes], logger)
    }

    /// Runs the node until a signal ends it.
    func run() async throws {
        // Libraries use it when they make their counters and timers.
        MetricsSystem.bootstrap(libraries)
        OpenFiles.keepStandardOnes()
        let fileLimit = OpenFiles.raiseLimit()
        Allocator.giveBackSoon()
        let plan = try judge()
        let loops = EventLoops(threads: plan.threads)
        let connections = OpenFiles.connectionLimit(
            of: fileLimit,
            besides: Int(try configuration[\.engine.profile].openTables)
        )
        let grpcConnections = plan.grpc == nil ? 0 : OpenFiles.grpcShare(of: connections)
        let listener = NIOFrameListener(
            host: plan.address.host,
            port: plan.address.port,
            loops: loops,
            identity: plan.identity,
            connectionLimit: connections - grpcConnections,
            onRefusal: RefusedConnections(logger).note
        )
        // This comes before anything is made on the disk.
        do {
            try await listener.probe()
        } catch {
            throw cannotListen(error)
        }
        try await probeHTTP(plan.http, loops)
        try await probeGRPC(plan.grpc, loops)
        let outside = Outside(
            plan: plan,
            loops: loops,
            listener: listener,
            grpcConnections: grpcConnections
        )
        guard let database = try awaitedDatabase() else { return try await serve(outside) }
        let signals = await EndSignals()
        let doors = HealthDoors(address: plan.http, identity: plan.identity, loops: loops)
        while try await waitForTurn(at: database, signals, doors) {
            do {
                return try await serve(outside, signals)
            } catch is Overtaken {
                logger.notice("another process was faster")
            }
        }
        logger.info("ended while it stood by")
    }

    /// What there is of a process before its store is opened.
    private struct Outside {
        let plan: Plan
        let loops: EventLoops
        let listener: NIOFrameListener
        let grpcConnections: Int
    }

    /// Opens the store, and serves from it until a signal ends that.
    private func serve(_ outside: Outside, _ trapped: EndSignals? = nil) async throws {
        let (plan, loops, listener) = (outside.plan, outside.loops, outside.listener)
        let directory = try DataHome(configuration[\.node.data])
        let audit = plan.auditBytes.map {
            AuditFiles(directory: directory.path, byteLimit: $0, logger: logger)
        }
        let node: Node
        let bound: String
        let signals: EndSignals
        do {
            node = try open(directory, plan.settings, plan.identity, audit)
            audit?.start()
            if let trapped { signals = trapped } else { signals = await EndSignals() }
            bound = try await listen(listener, for: node, peers: plan.peers)
        } catch {
            directory.abandon()
            throw error
        }
        Wiring.say("cumulusd listens on \(bound)")
        let web = try await serveHTTP(node, at: plan.http, plan.identity, audit, loops)
        let grpc = try await serveGRPC(
            node,
            at: plan.grpc,
            plan.identity,
            loops,
            connections: outside.grpcConnections
        )
        let profile = plan.settings.profile
        let tasks = takePart(node, plan, at: bound, loops) { [logger] in
            Wiring.say("cumulusd ready on \(bound)")
            logger.info(
                "ready",
                metadata: [
                    "address": "\(bound)", "data": "\(directory.path)",
                    "version": "\(Release.version)", "profile": "\(profile)",
                ]
            )
        }
        await signals.wait()
        for task in tasks { task.cancel() }
        try await drain(node, listener, grpc, tasks + web, plan.patience)
        audit?.stop()
    }

    // MARK: Parts

    private func open(
        _ directory: DataHome,
        _ settings: Node.Configuration,
        _ identity: TLSIdentity?,
        _ audit: AuditFiles?
    ) throws -> Node {
        try prepare(directory)
        var environment = environment()
        let store = try openStore(in: directory, environment)
        var settings = settings
        settings.clusterKey = store.clusterKey
        settings.joins = store.joins
        settings.isBackup = store.isBackup
        environment.certificateEnd = { identity?.end }
        let node = try openNode(settings, store, directory, environment, audit)
        try store.secrets?.settle(namesKey: namesKey)
        return node
    }

    /// Starts the node's threads and accepts connections; returns the address that was bound.
    private func listen(
        _ listener: NIOFrameListener,
        for node: Node,
        peers: [String]
    ) async throws -> String {
        node.start()
        node.expectPeers(peers)
        do {
            return try await listener.start { link, now in node.accept(link, now: now) }
        } catch {
            node.stop()
            throw cannotListen(error)
        }
    }

    /// Enters the node into its cluster, and begins what it does by itself; one that only shows
    /// what it has does nothing.
    ///
    /// - Parameter whenReady: Called once the node lets clients in.
    private func takePart(
        _ node: Node,
        _ plan: Plan,
        at bound: String,
        _ loops: EventLoops,
        whenReady: @escaping @Sendable () -> Void
    ) -> [Task<Void, Never>] {
        if plan.settings.isReadOnly {
            whenReady()
            return []
        }
        node.join(endpoint: plan.advertised ?? bound)
        let dialer = NIOFrameDialer(loops: loops, trust: plan.trust)
        let links = PeerLinks(node, dialer: dialer)
        let own = OwnAddress(node: node, endpoint: plan.advertised ?? bound, dialer: dialer)
        let isKnownByCertificate =
            plan.identity != nil && !configuration[\.tls.authority].isEmpty
        let collector = Collector(node, schedule: plan.schedule)
        return [
            Task { await links.run(plan.peers, whenReady: whenReady) },
            Task { await collector.run() },
            Task { await SchemaKeeper(node).run() },
            Task { await CascadeKeeper(node).run() },
            Task { await ComparisonKeeper(node).run() },
            Task { await IndexKeeper(node).run() },
            Task { await DeletionKeeper(node).run() },
            Task { if isKnownByCertificate { await own.run() } },
        ] + deliverWebhooks(node, loops) + deliverPushes(node, loops)
    }

    private func cannotListen(_ error: any Error) -> StartProblem {
        StartProblem(
            """
            can't listen on \(configuration[\.cluster.listen]): \(error); choose another address \
            with --listen, or end what listens there
            """
        )
    }

    /// Checks and makes what has to be there before the store.
    private func prepare(_ directory: DataHome) throws {
        try Backup.checkFinished(directory)
        try checkPlace(of: directory)
        if try database() != nil { return }
        try restore(to: directory)
        try Backup.checkDrafts(of: directory)
        try directory.checkStore()
        if try configuration[\.node.readOnly], !directory.hasStore {
            throw StartProblem(
                \.node.readOnly,
                "there is no store in \(directory.path) that could be shown"
            )
        }
    }

    /// The parts that the node runs with, made from its settings.
    private struct Plan {
        let settings: Node.Configuration
        let patience: Int64
        let threads: Int
        let address: (host: String, port: Int)
        /// nil: no HTTP.
        let http: (host: String, port: Int)?
        /// nil: no gRPC.
        let grpc: (host: String, port: Int)?
        let peers: [String]
        let schedule: Collector.Schedule
        let identity: TLSIdentity?
        let trust: TLSTrust
        let advertised: String?
        /// Bytes of disk for each file of the audit log; nil means that none is kept.
        let auditBytes: Int?
    }

    /// Throws where a setting can't be used; nothing is opened or made.
    func check() throws {
        _ = try judge()
    }

    private func judge() throws -> Plan {
        let address = try address(of: \.cluster.listen)
        // A store that is opened read-only needs no room, and one in a database has its own.
        let isElsewhere = try database() != nil
        if try !isElsewhere && !configuration[\.node.readOnly] { try configuration.checkDisk() }
        return Plan(
            settings: try settings(),
            patience: Int64(try configuration[\.node.drain]),
            threads: try configuration[\.engine.threads],
            address: address,
            http: try http(),
            grpc: try grpc(),
            peers: try peers(),
            schedule: try configuration.schedule(),
            identity: try identity(),
            trust: try trust(),
            advertised: try advertised(address.host),
            auditBytes: try configuration.auditBytes()
        )
    }

    /// The address that other nodes are told; nil means the address on which it listens.
    private func advertised(_ host: String) throws -> String? {
        let endpoint = configuration[\.cluster.advertise]
        if endpoint.isEmpty {
            guard Endpoint.isWildcard(host) else { return nil }
            guard configuration[\.cluster.peers].isEmpty, configuration[\.cluster.key].isEmpty
            else {
                throw StartProblem(
                    \.cluster.advertise,
                    """
                    a node of a cluster that listens on all addresses (\(host)) has to say at \
                    which one the others reach it, or they never hear of what is saved here; set \
                    it to host:port
                    """
                )
            }
            return ""
        }
        return try address(endpoint, \.cluster.advertise)
    }

    /// The address that a text of a setting means, as "host:port".
    func address(_ text: String, _ setting: Configuration.Text) throws -> String {
        if let address = Endpoint.address(from: text) { return address }
        throw StartProblem(setting, "'\(text)' is no address; write \(Endpoint.form)")
    }

    private func peers() throws -> [String] {
        try configuration[\.cluster.peers].split(separator: ",").map {
            try address($0.trimmed, \.cluster.peers)
        }
    }

    /// Begins with another node's backup where there is no store yet.
    private func restore(to directory: DataHome) throws {
        let backup = configuration[\.node.fromBackup]
        if backup.isEmpty { return }
        let isMade = try Backup.restore(
            backup,
            to: directory,
            try configuration[\.engine.profile],
            environment()
        )
        logger.info(
            isMade ? "the data is that of a backup" : "there is a store already; no backup is used",
            metadata: ["backup": "\(backup)"]
        )
    }

    /// The node's configuration, checked before anything is made on the disk.
    private func settings() throws -> Node.Configuration {
        let container = configuration[\.node.container]
        let profile = try configuration[\.engine.profile]
        var settings = Node.Configuration(
            version: Release.version,
            container: container.isEmpty ? nil : container,
            operatorToken: []  // read where there is a directory
        )
        _ = try configuration[\.engine.cache]
        settings.diskReserve = try configuration.diskReserve()
        settings.deleteReserve = profile.deleteReserveBytes
        settings.replicas = try configuration[\.cluster.replicas]
        settings.readers = try configuration[\.engine.readers]
        settings.profile = profile.rawValue
        let lease = try configuration.accessLease()
        settings.accessLeaseMilliseconds = lease
        settings.accessLeaseClosesAll = try configuration[\.users.leaseClosesAll]
        let report = min(10_000, try configuration.schedule().logMilliseconds)
        settings.reportMilliseconds = lease == 0 ? report : min(report, lease / 3)
        settings.limits = try configuration.limits()
        settings.acceptsInsecureCredentials = try configuration[\.tls.insecureCredentials]
        settings.takesRegistrations = try configuration[\.users.registration]
        settings.resetURL = try resetURL()
        settings.shareURL = try configuration.shareURL()
        settings.idTokens = issuers?.issuers
        if let webhooks { settings.knowsWebhook = { webhooks.knows($0, in: $1) } }
        if let pushes { settings.pushOffers = { pushes.offers(in: $0) } }
        settings.acceptsLostAssets = try configuration[\.node.lostAssets]
        settings.isReadOnly = try configuration[\.node.readOnly]
        do throws(ServiceError) {
            if !container.isEmpty {
                _ = try Names.checkIdentifier(Bytes(container.utf8)[...], "container")
            }
        } catch {
            throw StartProblem(error.message)
        }
        return settings
    }

    private func openNode(
        _ settings: Node.Configuration,
        _ store: OpenedStore,
        _ directory: DataHome,
        _ environment: NodeEnvironment,
        _ audit: AuditFiles?
    ) throws -> Node {
        var environment = environment
        audit?.keepLines(of: &environment)
        environment.processUse = ProcessUse.now
        let token =
            if let secrets = store.secrets {
                try secrets.operatorToken(environment)
            } else {
                try directory.operatorToken(environment)
            }
        var settings = settings
        settings.operatorToken = token
        settings.backUp = backUp(store, directory, token)
        do {
            return try Node(
                settings,
                engine: store.engine,
                packs: store.packs,
                environment: environment
            )
        } catch let error as PackError {
            throw StartProblem("the assets can't be opened: \(error)")
        } catch let error as ServiceError {
            throw StartProblem(error.message)
        } catch let failure as OpenStore.Failure {
            throw StartProblem(failure.message)
        }
    }

    private func environment() -> NodeEnvironment {
        let logger = logger
        var environment = NodeEnvironment(
            now: MonotonicClock.now,
            nanoseconds: MonotonicClock.nanoseconds,
            wallClock: Wiring.wallClock,
            random: { UInt64.random(in: .min ... .max) },
            sleep: { try await Task.sleep(for: .milliseconds($0)) },
            logger: logger,
            fail: { reason in
                logger.critical("\(reason); the process ends")
                _exit(70)
            },
            end: { kill(getpid(), SIGTERM) }
        )
        environment.sleptMilliseconds = MachineSleep.milliseconds
        return environment
    }

    static func say(_ line: String) {
        // Nobody may be listening.
        write(line + "\n", to: STDOUT_FILENO)
    }
}
