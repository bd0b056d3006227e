// gRPC on real sockets, from grpc-swift's own client: each form of a call, what ends it, and who is
// not let in.

import CumulusDescriptors
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusWire
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import NIOCore
import NIOPosix
import Testing

@testable import CumulusGRPC

@Suite(.timeLimit(.minutes(2))) struct GRPCSocketTests {
    /// A node, its gRPC and a client of it.
    private func withClient(
        bounds: GRPCListener.Bounds = .init(),
        limits: Limits = .standard,
        _ body: @Sendable @escaping (GRPCCaller, TestServer) async throws -> Void
    ) async throws {
        let server = try await TestServer(limits: limits)
        let token = try await server.makeUser("ada")
        let listener = GRPCListener(
            server.node,
            descriptors: DescriptorFile.all,
            bounds: bounds
        )
        let (ports, source) = AsyncStream<Int>.makeStream()
        let task = Task {
            try await listener.run(
                host: "127.0.0.1",
                port: 0,
                on: MultiThreadedEventLoopGroup.singleton,
                onRefusal: { _ in },
                onRunning: { source.yield($0) }
            )
        }
        var port: Int?
        for await bound in ports {
            port = bound
            break
        }
        let transport = try HTTP2ClientTransport.Posix(
            target: .ipv4(address: "127.0.0.1", port: try #require(port)),
            transportSecurity: .plaintext
        )
        try await withGRPCClient(transport: transport) { client in
            try await body(GRPCCaller(client: client, token: token, port: port ?? 0), server)
        }
        task.cancel()
        _ = try? await task.value
        try await server.stop()
    }

    private static let zone = WireZoneID(name: Bytes("notes".utf8), owner: [])

    @Test func eachForm() async throws {
        try await withClient { caller, _ in
            let zones = ModifyZonesRequest(database: .private, saves: [Self.zone], deletes: [])
            let made = try await caller.call("Zones/Modify", zones.encoded())
            #expect(try ModifyZonesResponse(wire: made.messages[0]).saves.count == 1)
            let id = Array(made.trailers[binaryValues: "cumulus-request-id-bin"])
            #expect(id.map(\.count) == [16])
            let list = ListZonesRequest(database: .private).encoded()
            let listed = try await caller.call("Zones/List", list)
            #expect(listed.messages[0].contains(Self.zone.name))
            #expect(Array(listed.trailers[binaryValues: "cumulus-causal-bin"]).count == 1)
            let records = try await caller.call("Records/List", RawRequest.list())
            #expect(!records.messages.isEmpty)
            let begin = UploadChunksRequest(database: .private).encoded()
            let part = [0x0A, UInt8(begin.count)] + begin
            let sent = try await caller.call("Assets/Upload", part)
            #expect(sent.messages.count == 1)
        }
    }

    @Test func whatFailsSaysWhy() async throws {
        try await withClient { caller, _ in
            let error = await caller.refusal("Records/Query", [0xFF])
            #expect(error?.code == .invalidArgument)
            let told = try #require(error?.metadata[binaryValues: "cumulus-status-bin"])
            let status = try #require(Array(told).first)
            #expect(try ServiceError(wire: status).reason == .protocolError)
            var stranger = caller
            stranger.token = "cumulus_wrong"
            #expect(await stranger.refusal("Zones/List", [])?.code == .unauthenticated)
            #expect(await caller.refusal("Operators/Status", [])?.code == .unauthenticated)
            #expect(await caller.refusal("Peers/Pull", [])?.code == .unimplemented)
            #expect(await caller.refusal("Records/Query", [], [])?.code == .invalidArgument)
            let huge = Bytes(repeating: 0, count: 5 << 20)
            #expect(await caller.refusal("Records/Query", huge)?.code == .resourceExhausted)
            // And the next call is answered.
            _ = try await caller.call("Accounts/WhoAmI", [])
        }
    }

    @Test func aStreamEndsWithItsDeadline() async throws {
        try await withClient { caller, server in
            var patient = caller
            patient.timeout = .milliseconds(300)
            let follow = FetchDatabaseChangesRequest(database: .private, token: [], limit: 0)
                .encoded()
            let error = await patient.refusal("Changes/FollowDatabase", follow)
            #expect(error?.code == .deadlineExceeded)
            for _ in 0..<200 where server.callsInProgress > 0 {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(server.callsInProgress == 0)
        }
    }

    @Test func aNodeThatGoesSaysSo() async throws {
        try await withClient { caller, server in
            let watcher = Task {
                let follow = FetchDatabaseChangesRequest(database: .private, token: [], limit: 0)
                    .encoded()
                return await caller.refusal("Changes/FollowDatabase", follow)
            }
            for _ in 0..<500 where server.callsInProgress == 0 {
                try await Task.sleep(for: .milliseconds(10))
            }
            server.drain()
            #expect(await watcher.value?.code == .unavailable)
            #expect(await caller.refusal("Accounts/WhoAmI", [])?.code == .unavailable)
            let health = try await caller.call("Check", [], of: GRPCHealth.service)
            #expect(health.messages == [[8, 2]])
        }
    }

    @Test func health() async throws {
        try await withClient { caller, _ in
            let health = try await caller.call("Check", [], of: GRPCHealth.service)
            #expect(health.messages == [[8, 1]])
            let name = Bytes("cumulus.v1.Records".utf8)
            let named = [0x0A, UInt8(name.count)] + name
            let one = try await caller.call("Check", named, of: GRPCHealth.service)
            #expect(one.messages == [[8, 1]])
            let unknown = await caller.refusal("Check", [0x0A, 1, 0x78], of: GRPCHealth.service)
            #expect(unknown?.code == .notFound)
        }
    }

    @Test func connectionsBeyondTheBoundAreClosed() async throws {
        var bounds = GRPCListener.Bounds()
        bounds.connectionsOfOne = 2
        try await withClient(bounds: bounds) { caller, _ in
            _ = try await caller.call("Accounts/WhoAmI", [])
            let second = try RawClient("127.0.0.1:\(caller.port)")
            try await Task.sleep(for: .milliseconds(100))
            let third = try RawClient("127.0.0.1:\(caller.port)")
            // It is closed before anything is said; the server's settings come to the second one.
            #expect(throws: RawClient.Failure.self) { try third.takeByte() }
            second.close()
            _ = try await caller.call("Accounts/WhoAmI", [])
        }
    }
}

/// Calls methods with bytes, and gets bytes.
struct GRPCCaller: Sendable {
    let client: GRPCClient<HTTP2ClientTransport.Posix>
    var token: String
    let port: Int
    var timeout: Duration?

    struct Answer: Sendable {
        var messages: [Bytes] = []
        var trailers: Metadata = [:]
    }

    /// - Parameter path: Behind the package, such as `Records/Fetch`; or the name of a method of
    ///   another service.
    func call(
        _ path: String,
        _ message: Bytes,
        of service: String? = nil
    ) async throws -> Answer {
        try await call(path, [message], of: service)
    }

    private func call(
        _ path: String,
        _ messages: [Bytes],
        of service: String?
    ) async throws -> Answer {
        let names = path.split(separator: "/").map(String.init)
        let method = MethodDescriptor(
            fullyQualifiedService: service ?? "cumulus.v1.\(names[0])",
            method: names.last ?? ""
        )
        var options = CallOptions.defaults
        options.timeout = timeout
        let request = StreamingClientRequest<Bytes>(metadata: metadata) { writer in
            for message in messages { try await writer.write(message) }
        }
        return try await client.bidirectionalStreaming(
            request: request,
            descriptor: method,
            serializer: PassingBytes(),
            deserializer: PassingBytes(),
            options: options
        ) { response in
            var answer = Answer()
            for try await part in try response.accepted.get().bodyParts {
                switch part {
                case .message(let message): answer.messages.append(message)
                case .trailingMetadata(let trailers): answer.trailers = trailers
                }
            }
            return answer
        }
    }

    private var metadata: Metadata {
        [
            "authorization": .string("Bearer \(token)"),
            "cumulus-container": .string(TestServer.container),
        ]
    }

    /// What a call that fails is told; nil if it is answered.
    func refusal(
        _ path: String,
        _ messages: Bytes...,
        of service: String? = nil
    ) async -> RPCError? {
        do {
            _ = try await call(path, messages, of: service)
            return nil
        } catch {
            return error as? RPCError
        }
    }
}
