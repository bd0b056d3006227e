// What callers of gRPC may not do for long: begin and not end, send and not read, stay and say
// nothing. The client is raw and never resets a stream, so each end is the server's.

import Cumulus
import CumulusDescriptors
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusWire
import NIOPosix
import Testing

@testable import CumulusGRPC

@Suite(.timeLimit(.minutes(2))) struct GRPCStrangerTests {
    /// gRPC's numbers.
    private static let (deadline, tooMuch, unavailable, unauthenticated) = (4, 8, 14, 16)
    private static let noError: UInt32 = 0

    private static let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

    struct Served: Sendable {
        let listener: GRPCListener
        let server: TestServer
        let token: String
        let port: Int
    }

    /// Limits that are looked after every 40 milliseconds.
    private static func limits(_ change: (inout Limits) -> Void = { _ in }) -> Limits {
        var limits = Limits.standard
        limits.crowdedWriteMilliseconds = 200
        change(&limits)
        return limits
    }

    private func serve(
        _ limits: Limits = GRPCStrangerTests.limits(),
        _ bounds: GRPCListener.Bounds = .init(),
        _ body: (Served) async throws -> Void
    ) async throws {
        let server = try await TestServer(limits: limits)
        let token = try await server.makeUser("ada")
        let listener = GRPCListener(server.node, descriptors: DescriptorFile.all, bounds: bounds)
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
        var port = 0
        for await bound in ports {
            port = bound
            break
        }
        try await body(Served(listener: listener, server: server, token: token, port: port))
        task.cancel()
        _ = try? await task.value
        try await server.stop()
    }

    /// A question for all services, whose answer has a few hundred bytes; one for the file of
    /// services, with all that it needs.
    private static let services: Bytes = [0x3A, 0]
    private static let file: Bytes = [0x1A, 14] + Bytes("services.proto".utf8)

    private static let follow = FetchDatabaseChangesRequest(
        database: .private,
        token: [],
        limit: 0
    ).encoded()

    // MARK: Requests that don't end

    static let paths = [
        "/cumulus.v1.Records/Query", "/cumulus.v1.Changes/FollowDatabase",
        "/cumulus.v1.Assets/Upload", "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch", reflection,
    ]

    @Test(arguments: paths)
    func aHeadAloneEndsWithItsTime(_ path: String) async throws {
        try await serve { served in
            let client = try RawHTTP2(served.port)
            let stream = try client.begin(path, ["grpc-timeout": "200m"], token: served.token)
            let end = try await client.end(of: stream)
            #expect(end.status == Self.deadline, "\(path)")
            #expect(end.reset == Self.noError, "\(path)")
        }
    }

    @Test(arguments: ["/cumulus.v1.Records/Query", "/cumulus.v1.Changes/FollowDatabase"])
    func aRequestWithoutAnEndIsNotWaitedFor(_ path: String) async throws {
        let limits = Self.limits { $0.callMilliseconds = 500 }
        try await serve(limits) { served in
            let client = try RawHTTP2(served.port)
            let bare = try client.begin(path, token: served.token)
            let whole = try client.begin(path, token: served.token)
            try client.message(Self.follow, isEnd: false, on: whole)
            for stream in [bare, whole] {
                let end = try await client.end(of: stream)
                #expect(end.status == Self.deadline && end.reset == Self.noError, "\(end)")
            }
            #expect(served.server.callsInProgress == 0)
        }
    }

    @Test func aMessageThatStopsIsNotWaitedFor() async throws {
        let limits = Self.limits { $0.frameMilliseconds = 200 }
        try await serve(limits) { served in
            let client = try RawHTTP2(served.port)
            let stream = try client.begin("/cumulus.v1.Records/Query", token: served.token)
            try client.send(RawHTTP2.data, on: stream, payload: [0, 0, 0, 1, 0, 0xFF])
            #expect(try await client.end(of: stream).reset != nil)
        }
    }

    @Test func aMessageThatIsTooLargeIsRefusedInWords() async throws {
        try await serve { served in
            let client = try RawHTTP2(served.port)
            let stream = try client.begin("/cumulus.v1.Records/Query", token: served.token)
            try client.send(RawHTTP2.data, on: stream, payload: [0, 0xFF, 0xFF, 0xFF, 0xFF, 1])
            let end = try await client.end(of: stream)
            #expect(end.status == Self.tooMuch && end.reset == Self.noError, "\(end)")
        }
    }

    /// What comes behind the answer is nobody's room, and the stream does not stay.
    @Test func whatComesBehindTheAnswerIsNotHeld() async throws {
        try await serve { served in
            let client = try RawHTTP2(served.port)
            let path = "/cumulus.v1.Records/Query"
            let stream = try client.begin(path, token: served.token, container: nil)
            let end = try await client.end(of: stream)
            #expect(end.status == 3 && end.reset == Self.noError, "\(end)")
            try client.send(RawHTTP2.data, on: stream, payload: [0, 0xFF, 0xFF, 0xFF, 0xFF])
            let next = try client.begin("/grpc.health.v1.Health/Check")
            try client.message([], isEnd: true, on: next)
            #expect(try await client.end(of: next, isRequestWhole: true).status == 0)
        }
    }

    // MARK: Calls that the node ends

    @Test func aTokenThatIsTakenBackEndsAStream() async throws {
        try await serve { served in
            let client = try RawHTTP2(served.port)
            let path = "/cumulus.v1.Changes/FollowDatabase"
            let stream = try client.begin(path, token: served.token)
            try client.message(Self.follow, isEnd: true, on: stream)
            #expect(try await client.comes(RawHTTP2.data))
            let admin = served.server.nodeOperator()
            try await admin.revokeAllSessions(of: "ada")
            await admin.close()
            let end = try await client.end(of: stream, isRequestWhole: true)
            #expect(end.status == Self.unauthenticated, "\(end)")
            // It covers the page that was told.
            #expect(end.hasToken)
        }
    }

    /// Its caller sends nothing more, and is told at once.
    @Test func anUploadEndsWithItsNode() async throws {
        try await serve { served in
            let client = try RawHTTP2(served.port)
            let stream = try client.begin("/cumulus.v1.Assets/Upload", token: served.token)
            let begin = UploadChunksRequest(database: .private).encoded()
            try client.message([0x0A, UInt8(begin.count)] + begin, isEnd: false, on: stream)
            try await wait { served.server.callsInProgress == 1 }
            served.server.drain()
            let end = try await client.end(of: stream)
            #expect(end.status == Self.unavailable && end.reset == Self.noError, "\(end)")
        }
    }

    /// The caller is told to go elsewhere, and gets the answer that it had no room for yet.
    @Test func aGoodbyeLosesNoAnswer() async throws {
        try await serve { served in
            let client = try RawHTTP2(served.port, window: 0)
            let stream = try client.begin(Self.reflection)
            try client.message(Self.file, isEnd: true, on: stream)
            try await wait { served.listener.answersDue == 1 }
            served.listener.sayGoodbye()
            #expect(try await client.comes(RawHTTP2.goAway))
            try await Task.sleep(for: .milliseconds(200))
            #expect(served.listener.answersDue == 1)
            try client.takeMore(1 << 20, on: stream)
            let end = try await client.end(of: stream, isRequestWhole: true)
            #expect(end.status == 0 && end.byteCount > 10_000, "\(end)")
            try await wait { served.listener.answersDue == 0 }
            // All its calls have ended.
            try await client.readToEnd()
            #expect(throws: (any Error).self) { try RawHTTP2(served.port) }
        }
    }

    // MARK: Callers that read nothing

    @Test func aStreamWhoseAnswerNobodyTakesIsReset() async throws {
        let limits = Self.limits { $0.stalledWriteMilliseconds = 400 }
        try await serve(limits) { served in
            let client = try RawHTTP2(served.port, window: 0)
            let stream = try client.begin(Self.reflection)
            try client.message(Self.file, isEnd: false, on: stream)
            let end = try await client.end(of: stream)
            #expect(end.reset != nil && end.status == nil && end.byteCount == 0, "\(end)")
            // Its connection goes on.
            try client.send(RawHTTP2.ping, payload: Bytes(repeating: 7, count: 8))
            #expect(try await client.comes(RawHTTP2.ping))
        }
    }

    @Test func aSocketThatNobodyReadsIsClosed() async throws {
        let limits = Self.limits {
            $0.stalledWriteMilliseconds = 600
            $0.crowdedWriteMilliseconds = 600
        }
        try await serve(limits) { served in
            let large = UInt32(Int32.max)
            let client = try RawHTTP2(served.port, window: large, receiveBuffer: 4_096)
            try client.takeMore(large - 65_535)
            for _ in 0..<100 {
                let stream = try client.begin(Self.reflection)
                for _ in 0..<8 { try client.message(Self.file, isEnd: false, on: stream) }
            }
            try await Task.sleep(for: .seconds(3))
            try await client.readToEnd()
        }
    }

    /// A caller that takes no answers gets no more of them: they are not made, and others go on.
    @Test func aReaderThatTakesNothingHoldsUpItselfAlone() async throws {
        let limits = Self.limits {
            ($0.unansweredBytes, $0.nodeUnansweredBytes) = (4 << 20, 6 << 20)
            $0.crowdedWriteMilliseconds = 3_000
        }
        try await serve(limits) { served in
            let client = try RawHTTP2(served.port, window: 0)
            for _ in 0..<100 {
                let stream = try client.begin(Self.reflection)
                for _ in 0..<8 { try client.message(Self.file, isEnd: false, on: stream) }
            }
            try await wait { served.listener.keptBytes > 1 << 20 }
            let kept = served.listener.keptBytes
            #expect(kept <= 7 << 20, "\(kept)")
            let other = try RawHTTP2(served.port, from: "127.0.0.2")
            let stream = try other.begin(Self.reflection)
            try other.message(Self.services, isEnd: true, on: stream)
            #expect(try await other.end(of: stream, isRequestWhole: true).status == 0)
            client.close()
            try await wait { served.listener.keptBytes == 0 }
        }
    }

    // MARK: Connections

    @Test func aConnectionWithoutCallsIsClosed() async throws {
        var bounds = GRPCListener.Bounds()
        (bounds.idleMilliseconds, bounds.graceMilliseconds) = (200, 200)
        try await serve(Self.limits(), bounds) { served in
            let client = try RawHTTP2(served.port)
            client.answersPings = false
            try await client.readToEnd()
        }
    }

    @Test func aConnectionThatAnswersNoPingsIsClosed() async throws {
        var bounds = GRPCListener.Bounds()
        bounds.silenceMilliseconds = 200
        try await serve(Self.limits(), bounds) { served in
            for answers in [true, false] {
                let client = try RawHTTP2(served.port)
                client.answersPings = answers
                let path = "/cumulus.v1.Changes/FollowDatabase"
                let stream = try client.begin(path, token: served.token)
                try client.message(Self.follow, isEnd: true, on: stream)
                if answers {
                    for _ in 0..<3 { #expect(try await client.comes(RawHTTP2.ping)) }
                } else {
                    try await client.readToEnd()
                }
            }
        }
    }

    private func wait(until isTrue: () -> Bool) async throws {
        for _ in 0..<500 where !isTrue() { try await Task.sleep(for: .milliseconds(10)) }
        #expect(isTrue())
    }
}
