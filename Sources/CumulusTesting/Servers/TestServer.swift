// A node in this process, on a real socket: for tests of the client, of sessions and of the wire.
//
// Runs the production node over any engine; the default one keeps everything in memory. Time is the
// machine's, but with a `StillEnvironment`.
//
// Folder: nodes and programs for tests. Read `TestServer`, then `RawClient` and `NodeProcess`.

package import Cumulus
package import CumulusModel
package import CumulusNode
package import CumulusStorage
import CumulusTransport
import Foundation
package import Logging
import Synchronization

package final class TestServer: Sendable {
    package static let container = "iCloud.dev.cumulus"
    package static let operatorToken = "cumulus_operator_for_tests_0123456789"

    package let node: Node
    /// "127.0.0.1:PORT".
    package let endpoint: String
    private let loops: EventLoops
    private let listener: NIOFrameListener
    private let following = Mutex<Task<Void, Never>?>(nil)
    private let keepers: [Task<Void, Never>]
    private let lead: ClockLead

    /// Starts a node on a free port of loopback.
    package init(
        engine: any StorageEngine = MemoryEngine(),
        packs: any PackFiles = MemoryPacks(),
        limits: Limits = .standard,
        diskReserve: UInt64 = 0,
        deleteReserve: UInt64 = 0,
        startsThreads: Bool = true,
        port: Int = 0,
        clusterKey: Bytes? = nil,
        joins: Bool = false,
        clockLead: Int64 = 0,
        paysCascades: Bool = true,
        paysIndexRows: Bool = true,
        takesRegistrations: Bool = false,
        idTokens: TokenIssuers? = nil,
        knowsWebhook: @escaping Node.WebhookNames = { _, _ in false },
        pushOffers: @escaping @Sendable (_ container: String) -> [PushOffer] = { _ in [] },
        accessLease: Int64 = 0,
        audit: (@Sendable ([UInt8]) -> Void)? = nil,
        logger: Logger? = nil,
        still: StillEnvironment? = nil,
        onFailure fail: @escaping @Sendable (String) -> Void = TestServer.endTest
    ) async throws {
        let lead = ClockLead(clockLead)
        self.lead = lead
        var configuration = Node.Configuration(
            version: Release.version,
            container: TestServer.container,
            operatorToken: Bytes(TestServer.operatorToken.utf8)
        )
        configuration.limits = limits
        configuration.diskReserve = diskReserve
        configuration.deleteReserve = deleteReserve
        configuration.clusterKey = clusterKey
        configuration.joins = joins
        configuration.reportMilliseconds = 20
        configuration.takesRegistrations = takesRegistrations
        configuration.idTokens = idTokens
        configuration.knowsWebhook = knowsWebhook
        configuration.pushOffers = pushOffers
        configuration.accessLeaseMilliseconds = accessLease
        var environment = TestServer.environment(lead, onFailure: fail)
        environment.audit = audit
        still?.apply(to: &environment)
        if let logger { environment.logger = logger }
        let node = try Node(configuration, engine: engine, packs: packs, environment: environment)
        if startsThreads { node.start() }
        loops = EventLoops(threads: 2)
        listener = NIOFrameListener(host: "127.0.0.1", port: port, loops: loops)
        endpoint = try await listener.start { link, now in node.accept(link, now: now) }
        self.node = node
        var keepers: [Task<Void, Never>] = []
        if startsThreads {
            keepers.append(Task { await SchemaKeeper(node).run() })
            keepers.append(Task { await ComparisonKeeper(node).run() })
            keepers.append(Task { await DeletionKeeper(node).run() })
            if paysCascades { keepers.append(Task { await CascadeKeeper(node).run() }) }
            if paysIndexRows { keepers.append(Task { await IndexKeeper(node).run() }) }
        }
        self.keepers = keepers
        if clusterKey != nil { node.join(endpoint: endpoint) }
    }

    /// Pulls from other nodes until this one stops.
    package func follow(_ others: [TestServer]) {
        follow(endpoints: others.map(\.endpoint))
    }

    package func follow(endpoints: [String]) {
        let links = PeerLinks(node, dialer: NIOFrameDialer(loops: loops))
        following.withLock { $0 = Task { await links.run(endpoints) } }
    }

    /// Pulls no more: returns when the connections to other nodes are over.
    package func unfollow() async {
        let following = following.withLock { $0 }
        following?.cancel()
        await following?.value
        // A connection that is being closed may still take what is saved at its other end.
        while node.hasLinkedPeers { try? await Task.sleep(for: .milliseconds(1)) }
    }

    /// Forgets what it may.
    package func collect(_ schedule: Collector.Schedule = Collector.Schedule()) async throws {
        let collector = Collector(node, schedule: schedule)
        try await collector.truncateLogs()
        try await collector.purge()
        try await collector.forgetTokens()
        try await collector.forgetPushes()
        try await collector.collectAssets()
    }

    package func stop() async throws {
        await unfollow()
        for keeper in keepers { keeper.cancel() }
        for keeper in keepers { await keeper.value }
        await listener.stopAccepting()
        node.stop()
        try await listener.stop()
    }

    /// Calls that callers began and that have not ended.
    package var callsInProgress: Int { node.callsInProgress }

    /// Sends its callers away, as before its end.
    package func drain() { node.beginDraining() }

    /// Milliseconds by which the node's wall clock is ahead of the machine's.
    package var clockLead: Int64 {
        get { lead.milliseconds.load(ordering: .relaxed) }
        set { lead.milliseconds.store(newValue, ordering: .relaxed) }
    }

    private final class ClockLead: Sendable {
        let milliseconds: Atomic<Int64>

        init(_ milliseconds: Int64) {
            self.milliseconds = Atomic(milliseconds)
        }
    }

    /// The machine's time and dice; a store that fails ends the test.
    package static var environment: NodeEnvironment {
        environment(ClockLead(0), onFailure: endTest)
    }

    /// Ends the process on a failure of the store, if no test waits for one.
    package static func endTest(_ reason: String) {
        fatalError("the store failed: \(reason)")
    }

    private static func environment(
        _ lead: ClockLead,
        onFailure fail: @escaping @Sendable (String) -> Void
    ) -> NodeEnvironment {
        NodeEnvironment(
            now: MonotonicClock.now,
            nanoseconds: MonotonicClock.nanoseconds,
            wallClock: {
                Int64(Date().timeIntervalSince1970 * 1_000)
                    + lead.milliseconds.load(ordering: .relaxed)
            },
            random: { UInt64.random(in: .min ... .max) },
            sleep: { try await Task.sleep(for: .milliseconds($0)) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            fail: fail,
            end: {}
        )
    }

    // MARK: Callers

    /// A client of this node; anonymous without a token.
    ///
    /// Patient: many tests share few threads, and some of these wait for what blocks.
    package func container(
        token: String? = nil,
        timeout: Duration = .seconds(300),
        connections: Int = 1,
        encryptionKeys: [EncryptionKey] = [],
        assetDirectory: String? = nil,
        assetCacheBytes: UInt64? = nil,
        deviceID: String = "",
        serviceKey: ServiceKey? = nil
    ) -> Container {
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.accessToken = token
        configuration.timeout = timeout
        configuration.connections = connections
        configuration.deviceID = deviceID
        configuration.serviceKey = serviceKey
        configuration.encryptionKeys = encryptionKeys
        configuration.assetDirectory = assetDirectory
        if let assetCacheBytes { configuration.assetCacheBytes = assetCacheBytes }
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    /// Makes a user, and an access token for it.
    package func makeUser(_ name: String) async throws -> String {
        let admin = nodeOperator()
        _ = try await admin.addUser(name, in: nil)
        let token = try await admin.addToken(forUser: name)
        await admin.close()
        return token
    }

    /// A user holds an e-mail address from now on, verified.
    package func setAddress(_ address: String, of user: String) async throws {
        let admin = nodeOperator()
        _ = try await admin.setHandle(.emailAddress(address), of: user, isHeld: true)
        await admin.close()
    }

    /// Makes the development schema what a text in the schema language says.
    package func importSchema(_ ckdb: String) async throws {
        let admin = nodeOperator()
        _ = try await admin.importSchema(
            ckdb,
            of: TestServer.container,
            .development
        )
        await admin.close()
    }

    package func nodeOperator() -> NodeOperator {
        NodeOperator(
            endpoint: endpoint,
            token: TestServer.operatorToken,
            timeout: .seconds(300)
        )
    }

    /// A client of a new user.
    package func container(user name: String, connections: Int = 1) async throws -> Container {
        container(token: try await makeUser(name), connections: connections)
    }
}
