// What leaves and enters a socket, seen from inside its pipeline: one flush per turn, pauses, the
// end.
//
// A real node's session sits behind the handler; the channel and its loop are played by hand, on
// the test's own thread.

import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusTransport
import CumulusWire
import Foundation
import NIOCore
import NIOEmbedded
import NIOTLS
import Synchronization
import Testing

@Suite struct FrameChannelHandlerTests {
    // MARK: TLS

    /// A channel that waits for a handshake; the handshake is played.
    private func securedChannel() throws -> (channel: EmbeddedChannel, made: Count) {
        let channel = EmbeddedChannel()
        let made = Count()
        let node = try PlayedSocket().node
        let handler = FrameChannelHandler(
            loop: NIOFrameLoop(channel.embeddedEventLoop),
            .listener(Bytes(repeating: 1, count: 32))
        ) { link, now in
            made.add()
            #expect(link.certificate.count == 32)
            return node.accept(link, now: now)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, made)
    }

    @Test func aHandshakeThatNeverEndsIsGivenUp() throws {
        let (channel, made) = try securedChannel()
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
        #expect(made.value == 0)
    }

    @Test func whoSpeaksAnotherProtocolIsNotServed() throws {
        for name in ["h2", nil] {
            let (channel, made) = try securedChannel()
            let event = TLSUserEvent.handshakeCompleted(negotiatedProtocol: name)
            channel.pipeline.fireUserInboundEventTriggered(event)
            channel.embeddedEventLoop.run()
            #expect(!channel.isActive)
            #expect(made.value == 0)
        }
        let (channel, made) = try securedChannel()
        let event = TLSUserEvent.handshakeCompleted(negotiatedProtocol: "cumulus/1")
        channel.pipeline.fireUserInboundEventTriggered(event)
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(channel.isActive)
        #expect(made.value == 1)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    // MARK: Flushes

    @Test func sixteenReadsThatArriveTogetherCauseOneFlush() throws {
        let socket = try PlayedSocket()
        try socket.greet()
        let calls = (0..<17).map { number in
            Frame(
                .call,
                isEnd: true,
                stream: UInt32(2 * number + 1),
                payload: CallHeader(.recordsFetch).encoded(before: PlayedSocket.fetch)
            )
        }
        // A reader thread opens the zone for the first fetch.
        try socket.receive([calls[0]])
        #expect(socket.node.gate.runRead())
        socket.loop.run()
        #expect(try socket.sent().count == 1)
        let before = socket.meter.flushes
        try socket.receive(Array(calls.dropFirst()))
        #expect(socket.meter.flushes == before + 1)
        #expect(try socket.sent().map(\.stream) == calls.dropFirst().map(\.stream))
    }

    @Test func sixteenSavesThatShareABatchCauseOneFlush() throws {
        let socket = try PlayedSocket()
        try socket.greet(token: TestServer.operatorToken)
        let calls = (0..<16).map { number in
            var header = CallHeader(.operatorAddUser)
            header.container = Bytes(TestServer.container.utf8)
            let message = BytesRequest(Bytes("user\(number)".utf8)).encoded()
            return Frame(
                .call,
                isEnd: true,
                stream: UInt32(2 * number + 1),
                payload: header.encoded(before: message)
            )
        }
        let before = socket.meter.flushes
        try socket.receive(calls)
        #expect(socket.meter.flushes == before)
        #expect(socket.node.gate.runBatch())
        socket.loop.run()
        #expect(socket.meter.flushes == before + 1)
        #expect(try socket.sent().map(\.stream) == calls.map(\.stream))
        #expect(socket.node.meter.flushes.value == 1)
    }

    @Test func aReadThatCausesNoAnswerCausesNoFlush() throws {
        let socket = try PlayedSocket()
        try socket.greet()
        let before = socket.meter.flushes
        try socket.receive([Frame(.pong, payload: Bytes(repeating: 0, count: 8))])
        #expect(socket.meter.flushes == before)
    }

    // MARK: Pauses

    @Test func readingPausesWhileTooMuchIsUnanswered() throws {
        var limits = Limits.standard
        limits.nodeUnansweredBytes = 1_000
        let socket = try PlayedSocket(limits: limits)
        try socket.greet(token: TestServer.operatorToken)
        #expect(socket.isReading)
        try socket.queueWrites()
        #expect(!socket.isReading)
        let reads = socket.meter.reads
        #expect(socket.node.gate.runBatch())
        socket.loop.run()
        #expect(socket.isReading)
        #expect(socket.meter.reads == reads + 1)
    }

    /// A slow neighbour holds up only itself.
    @Test func readingGoesOnWhileOthersHoldTooMuch() throws {
        var limits = Limits.standard
        limits.nodeUnansweredBytes = 1_000
        let socket = try PlayedSocket(limits: limits)
        try socket.greet()
        socket.node.meter.heldBytes.add(1_000_000)
        try socket.receive([Frame(.ping, payload: Bytes(repeating: 0, count: 8))])
        #expect(socket.isReading)
        #expect(try socket.sent().last?.kind == .pong)
    }

    /// Room is taken for a whole frame, before its bytes are; the one before it gives no right.
    @Test func aLargeFrameWaitsOutsideUntilThereIsRoom() throws {
        var limits = Limits.standard
        limits.nodeUnansweredBytes = 10_000
        let socket = try PlayedSocket(limits: limits)
        try socket.greet()
        let meter = socket.node.meter
        meter.heldBytes.add(10_000)
        var ping: Bytes = []
        FrameEncoder.append(Frame(.ping, payload: Bytes(repeating: 0, count: 8)), to: &ping)
        try socket.receive(Bytes(ping.prefix(10)))
        #expect(socket.isReading)
        var large: Bytes = []
        FrameEncoder.append(
            Frame(.call, isEnd: true, stream: 1, payload: Bytes(repeating: 0xFF, count: 20_000)),
            to: &large
        )
        try socket.receive(Bytes(ping.dropFirst(10)) + Bytes(large.prefix(1_000)))
        #expect(!socket.isReading)
        #expect(meter.heldBytes.value < 11_000)
        meter.heldBytes.add(-10_000)
        socket.loop.advanceTime(by: .milliseconds(60))
        #expect(!socket.isReading, "it is larger than all the room there is")
    }

    @Test func aLargeFrameGoesOnWhenOthersHaveLetGo() throws {
        var limits = Limits.standard
        limits.nodeUnansweredBytes = 30_000
        let socket = try PlayedSocket(limits: limits)
        try socket.greet()
        let meter = socket.node.meter
        meter.heldBytes.add(30_000)
        socket.node.meter.connections.add(9)
        var large: Bytes = []
        FrameEncoder.append(
            Frame(.call, isEnd: true, stream: 1, payload: Bytes(repeating: 0xFF, count: 20_000)),
            to: &large
        )
        try socket.receive(Bytes(large.prefix(1_000)))
        #expect(!socket.isReading)
        meter.heldBytes.add(-30_000)
        socket.loop.advanceTime(by: .milliseconds(60))
        #expect(socket.isReading)
        #expect(meter.heldBytes.value >= 20_000)
        try socket.receive(Bytes(large.dropFirst(1_000)))
        #expect(try socket.sent().last?.kind == .status)
        #expect(meter.heldBytes.value < 1_000)
    }

    /// Silence of a connection that nobody reads says nothing about its other side.
    @Test func aPausedConnectionIsNotTakenForDead() throws {
        var limits = Limits.standard
        limits.nodeUnansweredBytes = 1_000
        limits.idleMilliseconds = 40
        limits.frameMilliseconds = 40
        let socket = try PlayedSocket(limits: limits)
        try socket.greet(token: TestServer.operatorToken)
        // Half a frame behind them, so that the clock of frames runs too.
        try socket.queueWrites(followedBy: [0, 0, 0, 13, 7])
        #expect(!socket.isReading)
        for _ in 0..<8 {
            Thread.sleep(forTimeInterval: 0.02)
            socket.loop.advanceTime(by: .milliseconds(60))
        }
        #expect(socket.node.gate.runBatch())
        socket.loop.run()
        #expect(socket.isReading)
        try socket.receive(Bytes(repeating: 0, count: 12))
        #expect(try socket.sent().last?.kind == .pong)
    }

    // MARK: The end

    @Test func aFaultIsNamedBeforeTheOutputIsClosed() throws {
        let socket = try PlayedSocket()
        try socket.greet()
        try socket.receive([Frame(.call, isEnd: true, stream: 2)])
        let last = try #require(try socket.sent().last)
        #expect(last.kind == .status && last.stream == 0)
        #expect(socket.meter.closes == [.output])
        socket.loop.advanceTime(by: .seconds(2))
        #expect(socket.meter.closes == [.output, .all])
    }

    @Test func whatComesAfterAFaultIsNotLookedAt() throws {
        let socket = try PlayedSocket()
        try socket.greet()
        try socket.receive([Frame(.call, isEnd: true, stream: 2)])
        _ = try socket.sent()
        let call = CallHeader(.accountsWhoAmI).encoded(before: [])
        try socket.receive([Frame(.call, isEnd: true, stream: 5, payload: call)])
        #expect(try socket.sent().isEmpty)
    }

    @Test func aWriteThatMakesNoProgressEndsTheConnection() throws {
        var limits = Limits.standard
        limits.stalledWriteMilliseconds = 40
        let socket = try PlayedSocket(limits: limits)
        try socket.greet()
        socket.meter.isStuck = true
        try socket.receive([Frame(.ping, payload: Bytes(repeating: 0, count: 8))])
        #expect(socket.meter.closes.isEmpty)
        Thread.sleep(forTimeInterval: 0.05)
        socket.loop.advanceTime(by: .milliseconds(60))
        #expect(socket.meter.closes == [.output])
    }

    /// A client that reads slowly, and goes on, is not cut off.
    @Test func partsThatLeaveAreProgress() throws {
        var limits = Limits.standard
        limits.stalledWriteMilliseconds = 2_000
        let socket = try PlayedSocket(limits: limits)
        try socket.greet()
        socket.meter.isStuck = true
        let ping = Frame(.ping, payload: Bytes(repeating: 0, count: 8))
        try socket.receive(Array(repeating: ping, count: 4_000))
        for _ in 0..<2 {
            Thread.sleep(forTimeInterval: 1.2)
            #expect(socket.meter.letOnePass())
            socket.loop.advanceTime(by: .milliseconds(1_200))
            #expect(socket.meter.closes.isEmpty)
        }
    }

    @Test func aConnectionThatEndsIsForgotten() throws {
        let socket = try PlayedSocket()
        try socket.greet()
        #expect(socket.node.meter.connections.value == 1)
        _ = try socket.channel.finish(acceptAlreadyClosed: true)
        #expect(socket.node.meter.connections.value == 0)
        #expect(socket.node.meter.heldBytes.value == 0)
    }
}

/// A connection whose socket is played: bytes go in, and out of its pipeline.
///
/// For one thread.
/// Counts from several threads.
private final class Count: Sendable {
    private let number = Mutex(0)
    var value: Int { number.withLock { $0 } }
    func add() { number.withLock { $0 += 1 } }
}

private final class PlayedSocket {
    let node: Node
    let channel: EmbeddedChannel
    let meter = SocketMeter()
    private var decoder = FrameDecoder(frameLimit: 4 << 20)

    static let fetch = FetchRecordsRequest(
        database: .public,
        ids: [WireRecordID(name: Bytes("nothing".utf8), zone: nil)]
    ).encoded()

    init(limits: Limits = .standard) throws {
        var configuration = Node.Configuration(
            version: "test",
            container: TestServer.container,
            operatorToken: Bytes(TestServer.operatorToken.utf8)
        )
        configuration.limits = limits
        let node = try Node(
            configuration,
            engine: MemoryEngine(),
            environment: TestServer.environment
        )
        self.node = node
        channel = EmbeddedChannel()
        let handler = FrameChannelHandler(loop: NIOFrameLoop(channel.embeddedEventLoop)) {
            node.accept($0, now: $1)
        }
        try channel.pipeline.syncOperations.addHandlers([meter, handler])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        loop.run()
    }

    deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

    var loop: EmbeddedEventLoop { channel.embeddedEventLoop }

    var isReading: Bool {
        let last = channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }
        return last?.value as? Bool ?? true
    }

    func greet(token: String = "") throws {
        var hello = Hello()
        hello.role = (token.isEmpty ? WireRole.client : .operator).rawValue
        hello.container = Bytes(TestServer.container.utf8)
        hello.environment = UInt32(Environment.development.rawValue)
        hello.token = Bytes(token.utf8)
        try receive(RawClient.greeting(hello))
        let kinds = try sent().map(\.kind)
        #expect(kinds == [.nonce, .hello])
    }

    /// Sends eight calls of 200 bytes that wait for the writer.
    func queueWrites(followedBy rest: Bytes = []) throws {
        let name = Bytes(repeating: 0x61, count: 200)
        let call = CallHeader(.operatorAddUser).encoded(
            before: BytesRequest(name).encoded()
        )
        var bytes: Bytes = []
        for number in 0..<8 {
            let stream = UInt32(2 * number + 1)
            let frame = Frame(.call, isEnd: true, stream: stream, payload: call)
            FrameEncoder.append(frame, to: &bytes)
        }
        try receive(bytes + rest)
    }

    func receive(_ frames: [Frame]) throws {
        var bytes: Bytes = []
        for frame in frames { FrameEncoder.append(frame, to: &bytes) }
        try receive(bytes)
    }

    /// One read.
    func receive(_ bytes: Bytes) throws {
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    /// The frames that were flushed since the last time.
    func sent() throws -> [Frame] {
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) {
            buffer.withUnsafeReadableBytes { decoder.append($0) }
        }
        var frames: [Frame] = []
        while let frame = try decoder.next() { frames.append(frame) }
        return frames
    }
}

/// Stands between the handler and the socket and counts what passes.
///
/// Confined to the test's thread.
private final class SocketMeter: ChannelOutboundHandler, @unchecked Sendable {
    typealias OutboundIn = ByteBuffer

    private(set) var flushes = 0
    private(set) var reads = 0
    private(set) var closes: [CloseMode] = []
    /// The other side takes nothing: writes never end.
    var isStuck = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isStuck else { return stuck.append(promise) }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        flushes += 1
        context.flush()
    }

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        closes.append(mode)
        for promise in stuck { promise?.fail(ChannelError.ioOnClosedChannel) }
        stuck = []
        // An embedded channel can't close one direction only.
        if mode == .all { context.close(mode: mode, promise: promise) }
    }

    private var stuck: [EventLoopPromise<Void>?] = []

    /// False: nothing is stuck.
    func letOnePass() -> Bool {
        if stuck.isEmpty { return false }
        stuck.removeFirst()?.succeed()
        return true
    }
}
