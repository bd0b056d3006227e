// Two processes over one database: one serves, the other one stands by and takes over.
//
// Used by `TakeoverTests`. Each has a data directory and a port of its own.

import Cumulus
import CumulusTesting
import Foundation
import Testing

final class StorePair {
    let server: PostgresServer
    private let folder: TestFolder
    private let store: String
    private let ports = [TestPort.free(), TestPort.free()]
    private var nodes: [NodeProcess] = []
    /// The number of the one that serves.
    private(set) var active = 0
    private var probes = 0
    /// Names of records that a measurement saved, or tried to.
    private(set) var probed: (acknowledged: Set<String>, tried: Set<String>) = ([], [])

    init() async throws {
        server = try PostgresServer.own()
        folder = try TestFolder()
        store = server.url(of: try server.makeDatabase())
        let first = try start(0)
        try await first.wait(for: "ready")
        nodes = [first, try start(1)]
        try await waitForStandby()
    }

    private func start(_ number: Int) throws -> NodeProcess {
        try NodeProcess(
            data: "\(folder.path)/\(number)",
            port: ports[number],
            arguments: ["--store", store, "--standby"]
        )
    }

    var endpoints: [String] { ports.map { "127.0.0.1:\($0)" } }
    var serving: NodeProcess { nodes[active] }
    var standby: NodeProcess { nodes[1 - active] }

    /// Starts the one that ended again, beside the one that took over.
    func replaceServing() async throws {
        active = 1 - active
        nodes[1 - active] = try start(1 - active)
        try await waitForStandby()
    }

    private func waitForStandby() async throws {
        for _ in 0..<2_000 {
            if standby.output.contains("cumulusd stands by while ") { return }
            guard standby.ending == nil else { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw NodeProcess.Failure("it never stood by: \(standby.errors)")
    }

    /// Tries to save records until the one that stood by has acknowledged one.
    func waitForTakeover(_ token: String) async throws {
        try await waitForSave(at: endpoints[1 - active], token)
    }

    /// The same at the one that serves.
    func waitForSave(_ token: String) async throws {
        try await waitForSave(at: endpoints[active], token)
    }

    private func waitForSave(at endpoint: String, _ token: String) async throws {
        for _ in 0..<600 {
            if await save(at: endpoint, token) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw NodeProcess.Failure("nobody took over: \(standby.errors)")
    }

    /// Tries once, over a connection of its own: nothing is left of earlier failures.
    private func save(at endpoint: String, _ token: String) async -> Bool {
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.accessToken = token
        configuration.failsFast = true
        configuration.timeout = .seconds(2)
        let container = Container(identifier: NodeProcess.container, configuration: configuration)
        probes += 1
        let name = "probe\(probes)"
        probed.tried.insert(name)
        let id = Record.ID(recordName: name)
        let saved = try? await container.privateCloudDatabase.save(
            Record(recordType: "Probe", recordID: id)
        )
        await container.close()
        guard saved != nil else { return false }
        probed.acknowledged.insert(name)
        return true
    }

    /// Ends both, the one that stands by first.
    func end() async throws {
        try await #expect(standby.end(SIGTERM) == .exit(0))
        try await #expect(serving.end(SIGTERM) == .exit(0))
    }
}
