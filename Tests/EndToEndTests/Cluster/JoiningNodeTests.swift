// New nodes that join a cluster, as processes: what they answer until they have taken a state, and
// how one says that it reaches nobody.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct JoiningNodeTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func start(_ name: String, _ arguments: [String] = []) throws -> NodeProcess {
        try NodeProcess(data: "\(folder.path)/\(name)", arguments: arguments)
    }

    /// The flags of a node that joins the cluster of the first one.
    private func joining(_ peer: String) -> [String] {
        ["--cluster-key", "\(folder.path)/first/cluster.key", "--peers", peer]
    }

    private func container(
        _ endpoints: [String],
        _ token: String,
        timeout: Duration
    ) -> Container {
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.accessToken = token
        configuration.timeout = timeout
        return Container(identifier: NodeProcess.container, configuration: configuration)
    }

    /// Runs the command line as a node's operator.
    private func run(_ words: [String], at node: NodeProcess) async throws -> JSON {
        let run = try await CommandLineRun(
            words + ["--json"],
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint,
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        )
        #expect(run.code == 0, "\(run.errors)")
        return try JSONReader.read(run.output.utf8)
    }

    private func fill(_ database: Database) async throws {
        for batch in 0..<30 {
            let records = (0..<200).map { number in
                let id = Record.ID(recordName: "\(batch)-\(number)")
                var record = Record(recordType: "Note", recordID: id)
                record["text"] = .string(String(repeating: "x", count: 300))
                return record
            }
            _ = try await database.modifyRecords(saving: records, deleting: [])
        }
    }

    /// No container, token, zone or record looks as if it did not exist.
    @Test func whatIsNotHereYetIsNotDenied() async throws {
        let first = try start("first")
        try await first.wait(for: "ready")
        let token = try await first.makeToken()
        let writer = container([try first.endpoint], token, timeout: .seconds(30))
        try await fill(writer.privateCloudDatabase)
        await writer.close()
        let last = Record.ID(recordName: "29-199")
        let second = try start("second", joining(try first.endpoint))
        try await second.wait(for: "listens")
        var refusals: Set<ServiceError.Code> = []
        while true {
            let reader = container([try second.endpoint], token, timeout: .seconds(2))
            do {
                _ = try await reader.privateCloudDatabase.record(for: last)
                await reader.close()
                break
            } catch let error as ServiceError {
                refusals.insert(error.code)
            }
            await reader.close()
        }
        #expect(refusals.isSubset(of: [.serviceUnavailable, .networkFailure]), "\(refusals)")
        try await second.wait(for: "ready")
        for node in [second, first] { #expect(try await node.end(SIGTERM) == .exit(0)) }
    }

    /// It says so wherever somebody looks, with the address; and clients go to another node.
    @Test func aNodeThatReachesNobodyIsNotReady() async throws {
        let first = try start("first")
        try await first.wait(for: "ready")
        let token = try await first.makeToken()
        let dead = "127.0.0.1:\(TestPort.free())"
        let second = try start("second", joining(dead) + ["--http", "127.0.0.1:0"])
        try await second.wait(for: "listens")
        let isWarned = try await eventually {
            second.errors.split(separator: "\n").contains {
                $0.contains("warning") && $0.contains(dead)
            }
        }
        #expect(isWarned, "\(second.errors)")

        let page = try RawClient.exchange(
            try await second.httpEndpoint(),
            "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        #expect(page.hasPrefix("HTTP/1.1 503"), "\(page)")
        #expect(page.contains("joining: ") && page.contains(dead), "\(page)")

        let status = try await run(["status"], at: second)
        #expect(status["state"] == .string("joining"))
        #expect(status.text.components(separatedBy: dead).count > 2, "\(status)")

        let members = try await run(["cluster", "status"], at: second)
        guard case .array(let lines) = members else { throw NodeProcess.Failure("\(members)") }
        #expect(lines.map { $0["state"] } == [.string("joining"), .string("not reached")])
        #expect(lines.last?["endpoint"] == .string(dead))

        // A good token is not called revoked, and nothing is written.
        let patient = container([try second.endpoint], token, timeout: .seconds(3))
        let id = Record.ID(recordName: "r")
        let error = await #expect(throws: ServiceError.self) {
            _ = try await patient.privateCloudDatabase.save(
                Record(recordType: "Note", recordID: id)
            )
        }
        await patient.close()
        #expect(error?.code == .serviceUnavailable)
        #expect((error?.retryAfterMilliseconds ?? 0) > 0)
        // Only operators see the list of peers.
        #expect(error?.message.contains(dead) == false, "\(error as Any)")
        let both = container(
            [try second.endpoint, try first.endpoint],
            token,
            timeout: .seconds(10)
        )
        _ = try await both.privateCloudDatabase.save(Record(recordType: "Note", recordID: id))
        await both.close()
        #expect(!second.isReady)
        for node in [second, first] { #expect(try await node.end(SIGTERM) == .exit(0)) }
    }

    /// A node with a certificate is no peer for one that was told of none.
    @Test func aNodeWithoutTLSSaysWhatItLacks() async throws {
        let made = try await CommandLineRun(
            ["cluster", "certificate", "127.0.0.1", "--directory", "\(folder.path)/tls"]
        )
        #expect(made.code == 0, "\(made.errors)")
        let first = try start(
            "first",
            [
                "--tls-certificate", "\(folder.path)/tls/127.0.0.1.pem",
                "--tls-key", "\(folder.path)/tls/127.0.0.1.key",
            ]
        )
        try await first.wait(for: "ready")
        let second = try start("second", joining(try first.endpoint))
        let isTold = try await eventually { second.errors.contains("--tls-authority") }
        #expect(isTold, "\(second.errors)")
        #expect(!second.isReady)
        for node in [second, first] { #expect(try await node.end(SIGTERM) == .exit(0)) }
    }
}
