// Three nodes of one cluster in this process, on real sockets: for faults of feeds that need other
// limits than a process has.

import CumulusModel
import CumulusStorage
import CumulusTesting

final class NodeRing {
    private let engines = (0..<3).map { _ in MemoryEngine() }
    private let ports = (0..<3).map { _ in TestPort.free() }
    private let limits: Limits
    private var servers: [TestServer] = []

    init(limits: Limits) async throws {
        self.limits = limits
        for number in ports.indices { servers.append(try await start(number)) }
        for number in ports.indices { follow(number) }
    }

    var endpoints: [String] { ports.map { "127.0.0.1:\($0)" } }

    private func start(_ number: Int) async throws -> TestServer {
        try await TestServer(
            engine: engines[number],
            limits: limits,
            port: ports[number],
            clusterKey: Bytes(repeating: 0x5A, count: 32)
        )
    }

    private func follow(_ number: Int) {
        servers[number].follow(endpoints: endpoints.filter { $0 != endpoints[number] })
    }

    func makeUser(_ name: String) async throws -> String { try await servers[0].makeUser(name) }

    /// Stops a node, and starts it again on what it stored.
    func restart(_ number: Int) async throws {
        try await servers[number].stop()
        try await Task.sleep(for: .milliseconds(100))
        servers[number] = try await start(number)
        follow(number)
    }

    /// Runs a test; nothing of the nodes is left after it.
    func use(_ test: () async throws -> Void) async throws {
        do {
            try await test()
        } catch {
            await stop()
            throw error
        }
        await stop()
    }

    private func stop() async {
        for server in servers { try? await server.stop() }
    }
}
