// gRPC as others know it: Python's grpcio, with stubs that its tools made of `proto/`, against
// nodes that are processes of their own.
//
// The client is `Tests/PythonClient/grpc_client.py`; each of its steps judges what it sees. Python
// takes half a second to start.

import Crypto
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(
    .serialized,
    .timeLimit(.minutes(10)),
    // `cluster/chaos` fails without it.
    .enabled(if: GRPCPython.path != nil || Chaos.isAsked, GRPCPython.skipped)
)
struct GRPCTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func node(_ arguments: [String] = []) async throws -> NodeProcess {
        try await .ready(data: folder.node, arguments: ["--grpc", "127.0.0.1:0"] + arguments)
    }

    /// Runs a step of the client; returns what it printed.
    @discardableResult
    private func run(
        _ step: String,
        _ rest: [String] = [],
        at endpoint: String,
        token: String = "",
        authority: String? = nil
    ) throws -> String {
        let words = [
            Checkout.file("Tests/PythonClient/grpc_client.py").path(), "\(folder.path)/stubs",
            endpoint, "--token", token,
        ]
        let trust = authority.map { ["--authority", $0] } ?? []
        let python = try #require(GRPCPython.path)
        let (code, text) = try GRPCPython.run(python, words + trust + [step] + rest)
        #expect(code == 0, "\(step): \(text)")
        return text
    }

    // MARK: Calls

    @Test func aUserSavesFetchesAndQueries() async throws {
        let node = try await node()
        let token = try await node.makeToken()
        let endpoint = try await node.grpcEndpoint()
        try run("story", at: endpoint, token: token)
        try run("many", ["60"], at: endpoint, token: token)
        #expect(try await node.end(SIGTERM) == .exit(0), "\(node.errors.suffix(3_000))")
    }

    @Test func whatIsRefusedSaysWhy() async throws {
        let node = try await node()
        let token = try await node.makeToken()
        try run("refusals", at: try await node.grpcEndpoint(), token: token)
    }

    @Test func deadlinesAreKept() async throws {
        let node = try await node()
        let token = try await node.makeToken()
        try run("deadline", at: try await node.grpcEndpoint(), token: token)
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    @Test func operatorsAskToo() async throws {
        let node = try await node()
        try run("operate", [try node.operatorToken], at: try await node.grpcEndpoint())
    }

    @Test func aDeviceRegistersItsPushAddress() async throws {
        let key = P256.Signing.PrivateKey().pemRepresentation
        try Data(key.utf8).write(to: URL(filePath: "\(folder.path)/k.p8"))
        let services = """
            [{"service": "apns", "keyFile": "k.p8", "keyID": "K1", "teamID": "T1",
              "topics": ["com.example.notes"]}]
            """
        let file = "\(folder.path)/pushes.json"
        try Data(services.utf8).write(to: URL(filePath: file))
        let node = try await node(["--pushes", file])
        let token = try await node.makeToken()
        try run("push", at: try await node.grpcEndpoint(), token: token)
    }

    @Test func toolsFindTheServices() async throws {
        let node = try await node()
        let endpoint = try await node.grpcEndpoint()
        #expect(try run("reflect", at: endpoint).contains("services: 18"))
        try run("health", at: endpoint)
    }

    // MARK: Streams

    /// A megabyte, and as much as `cluster/chaos` asks for.
    @Test func aFileGoesUpAndDown() async throws {
        let node = try await node()
        let token = try await node.makeToken()
        let size = (Chaos.isAsked ? 100 : 1) << 20
        let endpoint = try await node.grpcEndpoint()
        let before = node.residentBytes
        let said = try run("asset", ["\(size + 7)"], at: endpoint, token: token)
        print("gRPC: \(said.trimmingCharacters(in: .whitespacesAndNewlines))")
        if let before, let after = node.residentBytes {
            #expect(after - before < 128 << 20, "from \(before >> 20) to \(after >> 20) MB")
        }
    }

    /// The node is killed while a device follows its feed and was not told all; the device goes on
    /// at the same address with its token, and is told each record once.
    @Test func aFeedGoesOnAfterAKill() async throws {
        let (port, grpc) = (TestPort.free(), TestPort.free())
        let flags = ["--grpc", "127.0.0.1:\(grpc)"]
        var node = try await NodeProcess.ready(data: folder.node, port: port, arguments: flags)
        let token = try await node.makeToken()
        let endpoint = "127.0.0.1:\(grpc)"
        let mark = "\(folder.path)/told"
        let kills = Chaos.isAsked ? 5 : 2
        let device = Task.detached { [self] in
            try run("feed", [mark, "\(5 * (kills + 1))"], at: endpoint, token: token)
        }
        // The feed has begun.
        try await waitUntil(mark, says: 0)
        for round in 0...kills {
            try run("save", ["\(5 * round)", "5"], at: endpoint, token: token)
            guard round < kills else { break }
            try await #expect(node.end(SIGKILL) == .signal(SIGKILL))
            node = try await NodeProcess.ready(data: folder.node, port: port, arguments: flags)
        }
        let said = try await device.value
        #expect(said.contains("told: \(5 * (kills + 1)) breaks:"), "\(said)")
        #expect(!said.contains("breaks: 0"), "\(said)")
    }

    /// A device goes on at another node when its own is killed for good.
    @Test func aFeedGoesOnAtAnotherNode() async throws {
        let (first, second, token) = try await twoNodes()
        let endpoints = [try await first.grpcEndpoint(), try await second.grpcEndpoint()]
        // Both know the user, and the zone.
        try run("causal", [endpoints[1], "1"], at: endpoints[0], token: token)
        let mark = "\(folder.path)/told"
        let device = Task.detached { [self] in
            try run("feed", [mark, "10"], at: endpoints.joined(separator: ","), token: token)
        }
        try await waitUntil(mark, says: 0)
        try run("save", ["0", "5"], at: endpoints[0], token: token)
        try await waitUntil(mark, says: 5)
        try await #expect(first.end(SIGKILL) == .signal(SIGKILL))
        try run("save", ["5", "5"], at: endpoints[1], token: token)
        let said = try await device.value
        #expect(said.contains("told: 10 breaks:"), "\(said)")
        #expect(try await second.end(SIGTERM) == .exit(0))
    }

    @Test func whatOneNodeSaidIsFoundAtAnother() async throws {
        let (first, second, token) = try await twoNodes()
        let other = try await second.grpcEndpoint()
        try run("causal", [other, "20"], at: try await first.grpcEndpoint(), token: token)
        #expect(try await second.end(SIGTERM) == .exit(0))
        #expect(try await first.end(SIGTERM) == .exit(0))
    }

    /// Two nodes of one cluster, and a user's token.
    private func twoNodes() async throws -> (NodeProcess, NodeProcess, token: String) {
        let first = try await node()
        let second = try await NodeProcess.ready(
            data: "\(folder.path)/second",
            arguments: [
                "--grpc", "127.0.0.1:0", "--cluster-key", "\(folder.node)/cluster.key",
                "--peers", try first.endpoint,
            ]
        )
        return (first, second, try await first.makeToken())
    }

    private func waitUntil(_ mark: String, says count: Int) async throws {
        for _ in 0..<2_000 {
            let text = (try? String(contentsOfFile: mark, encoding: .utf8)) ?? ""
            if let told = Int(text), told >= count { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("the device was not told \(count) records")
    }

    // MARK: Strangers

    @Test func theCertificateOfTheNodeIsShown() async throws {
        let made = try await CommandLineRun(
            ["cluster", "certificate", "127.0.0.1", "--directory", "\(folder.path)/tls"]
        )
        #expect(made.code == 0, "\(made.errors)")
        let tls = "\(folder.path)/tls"
        let node = try await node([
            "--tls-certificate", "\(tls)/127.0.0.1.pem", "--tls-key", "\(tls)/127.0.0.1.key",
            "--tls-authority", "\(tls)/authority.pem",
        ])
        let endpoint = try await node.grpcEndpoint()
        try run("health", at: endpoint, authority: "\(tls)/authority.pem")
        let python = try #require(GRPCPython.path)
        let words = [
            Checkout.file("Tests/PythonClient/grpc_client.py").path(), "\(folder.path)/stubs",
            endpoint, "health",
        ]
        #expect(try GRPCPython.run(python, words).code != 0)
    }

    /// Damaged requests, damaged metadata and damaged HTTP/2: the node serves others, and grows
    /// little.
    ///
    /// `cluster/chaos` sends more.
    @Test func damagedCallsHarmNobodyElse() async throws {
        let node = try await node()
        let token = try await node.makeToken()
        let endpoint = try await node.grpcEndpoint()
        let healthy = try HealthyCaller(node, token)
        try run("attack", ["\(Chaos.seed)", "300"], at: endpoint, token: token)
        let before = node.residentBytes
        let count = Chaos.isAsked ? Chaos.mutations : 1_000
        let said = try run("attack", ["\(Chaos.seed + 1)", "\(count)"], at: endpoint, token: token)
        try healthy.stop()
        print("gRPC: \(said)")
        if let before, let after = node.residentBytes {
            #expect(after - before < 64 << 20, "from \(before >> 20) to \(after >> 20) MB")
        }
        try run("story", at: endpoint, token: token)
        #expect(try await node.end(SIGTERM) == .exit(0), "\(node.errors.suffix(3_000))")
        #expect(!node.errors.contains("damaged"))
    }

    // MARK: The article

    /// The block of a language in the article, run as a reader would.
    private func block(_ language: String) throws -> String {
        let path = "Sources/CumulusGRPC/CumulusGRPC.docc/GRPC.md"
        let article = try String(contentsOf: Checkout.file(path), encoding: .utf8)
        let blocks = article.matches(of: /```(\w+)\n((?s:.*?))\n```/)
        return String(try #require(blocks.first { $0.output.1 == language }).output.2)
    }

    @Test func theQuickStartInPythonWorks() async throws {
        let node = try await node()
        let token = try await node.makeToken()
        try run("health", at: try await node.grpcEndpoint())
        let program = try block("python")
        #expect(program.split(separator: "\n").allSatisfy { $0.count <= 100 })
        // The stubs are beside it.
        let script = "\(folder.path)/stubs/quickstart.py"
        try program.write(toFile: script, atomically: true, encoding: .utf8)
        let python = try #require(GRPCPython.path)
        let endpoint = try await node.grpcEndpoint()
        let (code, text) = try GRPCPython.run(python, [script, endpoint, token])
        #expect(code == 0, "\(text)")
        let shown = try block("text").replacing(/[0-9a-f]{16}/, with: "TAG")
        let said = text.trimmingCharacters(in: .newlines).replacing(/[0-9a-f]{16}/, with: "TAG")
        #expect(said == shown)
    }

    /// Where Debian's `ruby-grpc` and `protobuf-compiler-grpc` are.
    @Test(.enabled(if: GRPCTests.hasRuby, "no Ruby with grpc, or no grpc_ruby_plugin"))
    func aProgramInRubyWorks() async throws {
        let node = try await node()
        let token = try await node.makeToken()
        let proto = Checkout.file("proto").path()
        let files = try FileManager.default.contentsOfDirectory(atPath: proto)
            .filter { $0.hasSuffix(".proto") }
        let made = try GRPCPython.run(
            "/usr/bin/protoc",
            [
                "-I\(proto)", "--ruby_out=\(folder.path)", "--grpc_out=\(folder.path)",
                "--plugin=protoc-gen-grpc=\(GRPCTests.rubyPlugin)",
            ] + files
        )
        #expect(made.code == 0, "\(made.text)")
        let script = "\(folder.path)/quickstart.rb"
        try GRPCTests.programInRuby.write(toFile: script, atomically: true, encoding: .utf8)
        let endpoint = try await node.grpcEndpoint()
        let (code, text) = try GRPCPython.run(GRPCTests.ruby, [script, endpoint, token])
        #expect(code == 0, "\(text)")
        #expect(text.contains("saved, change tag") && text.hasSuffix("fetched: Hi\n"), "\(text)")
    }

    /// Saves and fetches with the code that Ruby's plugin made of `proto/`.
    private static let programInRuby = #"""
        # quickstart.rb ENDPOINT TOKEN
        $LOAD_PATH.unshift(__dir__)
        require "grpc"
        require "services_services_pb"
        include Cumulus::V1

        endpoint, token = ARGV
        me = { "authorization" => "Bearer #{token}", "cumulus-container" => "iCloud.dev.cumulus" }
        records = Records::Stub.new(endpoint, :this_channel_is_insecure)
        id = RecordID.new(name: "hi")
        note = Record.new(id: id, type: "Note", fields: [Field.new(name: "text", string: "Hi")])
        save = ModifyRecordsRequest.new(database: :PRIVATE, policy: :ALL_KEYS)
        save.saves << SaveRecord.new(record: note)
        saved = records.modify(save, metadata: me, deadline: Time.now + 5).saves.first
        puts "saved, change tag #{saved.record.change_tag.unpack1("H*")}"
        fetch = FetchRecordsRequest.new(database: :PRIVATE, ids: [id])
        fetched = records.fetch(fetch, metadata: me).results.first
        puts "fetched: #{fetched.record.fields.first.string}"

        """#

    private static let ruby = "/usr/bin/ruby"
    private static let rubyPlugin = "/usr/bin/grpc_ruby_plugin"

    private static let hasRuby: Bool = {
        guard FileManager.default.isExecutableFile(atPath: rubyPlugin),
            FileManager.default.isExecutableFile(atPath: ruby)
        else { return false }
        return (try? GRPCPython.run(ruby, ["-e", "require 'grpc'"]))?.code == 0
    }()
}
