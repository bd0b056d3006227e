// Three nodes that see each other through a faulty network only, with writers on each and clients
// that follow changes from node to node: what faults are tried on, and what is expected after.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

final class FaultCluster {
    let network = FaultyNetwork()
    /// Where the nodes are if not on loopback; then they see each other without a proxy.
    private let places: Places?
    private let folder: TestFolder
    private let ports: [Int]
    private let proxies: [String]
    private(set) var nodes: [NodeProcess] = []
    private(set) var token = ""
    private(set) var writers: [Writers] = []
    private var containers: [Container] = []
    /// The writers' own.
    private var writing: [Container] = []
    private var tasks: [Task<Void, Never>] = []
    private(set) var followers: [Follower] = []

    /// Where a node runs: its address, and the words that bring a program there.
    typealias Places = (_ number: Int) -> (host: String, prefix: [String])

    init(_ count: Int = 3, at places: Places? = nil) throws {
        self.places = places
        folder = try TestFolder()
        ports = (0..<count).map { _ in TestPort.free() }
        var proxies: [String] = []
        for (number, port) in ports.enumerated() {
            let host = places?(number).host
            let proxy = try host.map { "\($0):\(port)" } ?? network.proxy(of: number, port: port)
            proxies.append(proxy)
        }
        self.proxies = proxies
    }

    private func host(_ number: Int) -> String { places?(number).host ?? "127.0.0.1" }

    var pairs: [(Int, Int)] {
        ports.indices.flatMap { one in ports.indices.filter { $0 > one }.map { (one, $0) } }
    }

    func data(_ number: Int) -> String { "\(folder.path)/node\(number)" }

    // MARK: Nodes

    /// Starts all nodes, and makes a user that they know.
    func start(
        arguments: [String] = [],
        environment: (Int) -> [String: String] = { _ in [:] }
    ) async throws {
        for number in ports.indices {
            nodes.append(try await make(number, arguments, environment(number)))
        }
        token = try await nodes[0].makeToken()
        for number in ports.indices {
            let container = try container(number)
            _ = try await eventually {
                (try? await container.privateCloudDatabase.allRecordZones()) != nil
            }
            containers.append(container)
        }
    }

    private func make(
        _ number: Int,
        _ arguments: [String],
        _ environment: [String: String],
        waitsUntilReady: Bool = true
    ) async throws -> NodeProcess {
        let others = proxies.indices.filter { $0 != number }.map { proxies[$0] }
        let node = try NodeProcess(
            data: data(number),
            host: host(number),
            port: ports[number],
            prefix: places?(number).prefix ?? [],
            arguments: [
                "--advertise", proxies[number], "--peers", others.joined(separator: ","),
                "--container", NodeProcess.container,
            ] + (places == nil ? [] : ["--insecure", "--insecure-credentials"])
                + (number == 0 ? [] : ["--cluster-key", "\(data(0))/cluster.key"]) + arguments,
            environment: environment
        )
        try await node.wait(for: waitsUntilReady ? "ready" : "listens")
        let status = try await self.status(node)
        if case .string(let id)? = status["node"] {
            network.name(Bytes(hex: id) ?? [], number)
        }
        return node
    }

    /// Starts a node again whose process has ended.
    func restart(
        _ number: Int,
        arguments: [String] = [],
        environment: [String: String] = [:],
        waitsUntilReady: Bool = true
    ) async throws {
        nodes[number] = try await make(
            number,
            arguments,
            environment,
            waitsUntilReady: waitsUntilReady
        )
    }

    func container(
        _ number: Int,
        identifier: String = NodeProcess.container,
        seconds: Int = 60,
        concern: Container.WriteConcern = .standard
    ) throws -> Container {
        let endpoint = "\(host(number)):\(ports[number])"
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.tls = .never
        configuration.accessToken = token
        configuration.timeout = .seconds(seconds)
        configuration.writeConcern = concern
        return Container(identifier: identifier, configuration: configuration)
    }

    func `operator`(of number: Int) throws -> NodeOperator {
        NodeOperator(
            endpoint: try nodes[number].endpoint,
            token: try nodes[number].operatorToken
        )
    }

    /// Whether every node has heard of every other one's clock.
    func haveMet() async throws -> Bool {
        try await eventually {
            var heard = 0
            for node in nodes {
                guard case .array(let members) = try await run(["cluster", "status"], at: node)
                else { return false }
                heard += members.count { if case .string? = $0["heard"] { true } else { false } }
            }
            return heard == nodes.count * (nodes.count - 1)
        }
    }

    func status(_ node: NodeProcess) async throws -> JSON {
        try await run(["status"], at: node)
    }

    /// Runs the command line as a node's operator.
    private func run(_ words: [String], at node: NodeProcess) async throws -> JSON {
        let run = try await CommandLineRun(
            words + ["--json"],
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TLS": "never",
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        )
        guard run.code == 0 else {
            throw ChildProcess.Failure(
                "\(words) ended with \(run.code): \(run.errors); the node \(node.ending as Any) "
                    + "said: \(node.errors.suffix(2_000))"
            )
        }
        return try JSONReader.read(run.output.utf8)
    }

    // MARK: Load

    /// Begins to write on nodes, all unless said, and to follow what is written there.
    func load(
        writersPerNode: Int = 4,
        followers count: Int = 2,
        on chosen: [Int]? = nil,
        concern: Container.WriteConcern = .standard
    ) async throws {
        let chosen = chosen ?? Array(containers.indices)
        for number in chosen {
            let container = try container(number, concern: concern)
            writing.append(container)
            let writers = Writers(container.privateCloudDatabase, first: number * 100)
            if number == chosen.first {
                try await writers.prepare()
            } else {
                _ = try await eventually { try await writers.isPrepared }
            }
            self.writers.append(writers)
            tasks.append(Task { await writers.run(count: writersPerNode, seed: Chaos.seed) })
        }
        for number in 0..<count {
            let follower = Follower(
                chosen.map { containers[$0] },
                seed: Chaos.seed &+ UInt64(number)
            )
            followers.append(follower)
            tasks.append(Task { await follower.run() })
        }
    }

    /// Ends all load.
    func finish() async {
        for writers in writers { writers.finish() }
        for follower in followers { follower.finish() }
        for task in tasks { await task.value }
        tasks = []
    }

    /// Runs a test; nothing of the cluster is left after it.
    func use(_ test: () async throws -> Void) async throws {
        do {
            try await test()
        } catch {
            await close()
            throw error
        }
        await close()
    }

    private func close() async {
        for container in containers + writing { await container.close() }
        for node in nodes { _ = try? await node.end(SIGKILL) }
        network.stop()
    }

    // MARK: Verdict

    /// Expects that all nodes converge once nothing holds them up: equal data, with everything that
    /// was acknowledged, once and whole.
    func expectOne(within seconds: Double) async throws {
        let isEqual = try await eventually(seconds: seconds) {
            var scopes: [JSON?] = []
            for node in nodes { scopes.append(try await status(node)["scopes"]) }
            return scopes.dropFirst().allSatisfy { $0 == scopes[0] }
        }
        #expect(isEqual, "the nodes are not equal after \(seconds) s, seed \(Chaos.seed)")
        let ledgers = writers.map(\.state)
        for ledger in ledgers {
            #expect(ledger.failed.isEmpty, "\(ledger.failed.first as Any), seed \(Chaos.seed)")
        }
        for number in nodes.indices {
            let database = containers[number].privateCloudDatabase
            try await expect(ledgers, in: database, "node \(number), seed \(Chaos.seed)")
        }
        for follower in followers {
            try await follower.catchUp()
            #expect(follower.faults.isEmpty, "\(follower.faults), seed \(Chaos.seed)")
        }
    }

    private func expect(_ ledgers: [Ledger], in database: Database, _ place: String) async throws {
        var names: Set<String> = []
        for try await record in database.allRecords(desiredKeys: []) {
            names.insert(record.recordID.recordName)
        }
        for try await record in database.allRecords(inZoneWith: Writers.zone, desiredKeys: []) {
            names.insert(record.recordID.recordName)
        }
        let expected = Set(ledgers.flatMap(\.acknowledged).joined()).union(Writers.counters)
        let missing = expected.subtracting(names)
        #expect(missing.isEmpty, "\(place) lacks \(missing.count): \(missing.sorted().prefix(3))")
        let lost = ledgers.reduce(0) { $0 + $1.lostIncrements }
        for name in Writers.counters {
            let sum = ledgers.reduce(Int64(0)) { $0 + ($1.sums[name] ?? 0) }
            let counter = try await database.record(for: Record.ID(recordName: name))
            let value = counter["count"]?.int64 ?? -1
            #expect((sum...(sum + Int64(lost))).contains(value), "\(place): \(name) is \(value)")
        }
    }

    /// Changes that were acknowledged so far.
    var acknowledged: Int { writers.reduce(0) { $0 + $1.state.acknowledged.count } }
}

/// A client that keeps a copy of a zone by its changes, and asks another node each time.
final class Follower: Sendable {
    private struct State {
        var token: ServerChangeToken?
        var names: Set<String> = []
        var pages = 0
        var resets = 0
        var faults: [String] = []
        var dice: SeededGenerator
    }

    private let containers: [Container]
    private let state: Mutex<State>
    private let isOver = Atomic<Bool>(false)

    init(_ containers: [Container], seed: UInt64) {
        self.containers = containers
        state = Mutex(State(dice: SeededGenerator(seed: seed)))
    }

    var faults: [String] { state.withLock { $0.faults } }
    var pages: Int { state.withLock { $0.pages } }
    var resets: Int { state.withLock { $0.resets } }

    func finish() {
        isOver.store(true, ordering: .relaxed)
    }

    func run() async {
        while !isOver.load(ordering: .relaxed) {
            let next = state.withLock { Int.random(in: containers.indices, using: &$0.dice) }
            // A node that is cut off, or gone, is asked again another time.
            if (try? await fetch(from: next)) == nil {
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Fetches a page; whether more is coming.
    @discardableResult
    private func fetch(from number: Int) async throws -> Bool {
        let token = state.withLock { $0.token }
        do {
            let page = try await containers[number].privateCloudDatabase.recordZoneChanges(
                inZoneWith: Writers.zone,
                since: token,
                desiredKeys: [],
                resultsLimit: 50
            )
            return state.withLock { state in
                state.pages += 1
                state.token = page.changeToken
                state.names.formUnion(page.modificationResultsByID.keys.map(\.recordName))
                state.names.subtract(page.deletions.map(\.recordID.recordName))
                return page.moreComing
            }
        } catch let error as ServiceError where error.code == .changeTokenExpired {
            state.withLock { state in
                state.resets += 1
                (state.token, state.names) = (nil, [])
            }
            return true
        }
    }

    /// Fetches the rest, and compares the copy with the zone.
    func catchUp() async throws {
        while try await fetch(from: 0) {}
        var names: Set<String> = []
        let records = containers[0].privateCloudDatabase
            .allRecords(inZoneWith: Writers.zone, desiredKeys: [])
        for try await record in records { names.insert(record.recordID.recordName) }
        state.withLock { state in
            let missing = names.subtracting(state.names).sorted()
            let surplus = state.names.subtracting(names).sorted()
            if !missing.isEmpty { state.faults.append("was not told of \(missing.prefix(3))") }
            if !surplus.isEmpty { state.faults.append("holds \(surplus.prefix(3)) for ever") }
        }
    }
}

/// Whether something comes true in time.
func eventually(
    seconds: Double = 60,
    _ condition: () async throws -> Bool
) async throws -> Bool {
    let end = Date().addingTimeInterval(seconds)
    while Date() < end {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return try await condition()
}
