// Devices that follow a feed, and cost little: the transport and the frames of the client library,
// and behind them nothing that looks at a page but a count of its notifications.
//
// All are on one thread, so that a figure takes at most one processor for them.
//
// Folder: what listens in the path 'feed'. Read `BenchFollowers`, then `BareFollowers`.

import CumulusModel
import CumulusTransport
import CumulusWire

final class BenchFollowers: Sendable {
    /// A device that follows.
    struct Device: Sendable {
        var token: String
        var name: String
    }

    let count: Int
    let tally = BenchTally()
    private let loops = EventLoops(threads: 1)

    /// Connects them and waits until all are up to date.
    ///
    /// - Parameter token: The feed's token; empty means from now on.
    init(_ devices: [Device], of container: String, at endpoint: String, since token: Bytes = [])
        async throws
    {
        count = devices.count
        let progress = BenchProgress("connecting followers")
        defer { progress.end() }
        let (dialer, tally) = (NIOFrameDialer(loops: loops), tally)
        // A server certainly queues this many connections that wait to be accepted.
        for start in stride(from: 0, to: count, by: 100) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for device in devices[start..<min(start + 100, count)] {
                    group.addTask {
                        let hello = BenchFollowers.hello(device, container)
                        try await dialer.connect(to: endpoint) { _, now in
                            Follower(hello, since: token, tally, now: now)
                        }
                    }
                }
                try await group.waitForAll()
            }
            progress.show(start, of: count)
        }
        guard token.isEmpty else { return }
        try await tally.wait("the first pages") { $0.upToDate >= devices.count }
    }

    private static func hello(_ device: Device, _ container: String) -> Hello {
        var hello = Hello(ofBenchIn: container)
        hello.deviceID = Bytes(device.name.utf8)
        hello.token = Bytes(device.token.utf8)
        return hello
    }

    /// Closes all connections.
    func close() async {
        try? await loops.stop()
    }
}

/// One device, with one call on its connection.
private final class Follower: FrameHandler {
    private static let stream: UInt32 = 1
    /// More than a figure tells: nobody has to grant any later.
    private static let credit: UInt32 = 1 << 30

    private let tally: BenchTally
    private var connection: FrameConnection
    private var isUpToDate = false
    private var isClosing = false

    init(_ hello: Hello, since token: Bytes, _ tally: BenchTally, now: Instant) {
        self.tally = tally
        connection = FrameConnection(limits: .standard, now: now)
        let stream = Follower.stream
        let request = FollowFeedRequest(token: token).encoded()
        let call = CallHeader(.feedsFollow).encoded(before: request)
        var credit: Bytes = []
        FrameEncoder.append(Follower.credit, to: &credit)
        connection.send(Frame(.hello, payload: hello.encoded()))
        connection.send(Frame(.call, isEnd: true, stream: stream, payload: call))
        connection.send(Frame(.credit, stream: stream, payload: credit))
    }

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        var notifications = 0
        do {
            try connection.received(bytes, now: now)
            while let frame = try connection.next() { notifications += try take(frame) }
        } catch {
            tally.fail("\(error)")
            isClosing = true
        }
        tally.add(notifications: notifications, bytes: bytes.count)
    }

    /// How many notifications a frame brings.
    private func take(_ frame: Frame) throws -> Int {
        switch frame.kind {
        case .hello:
            connection.finishGreeting()
            return 0
        case .message: return try page(frame.payload)
        case .status: throw try ServiceError(wire: frame.payload)
        default: return 0
        }
    }

    private func page(_ payload: Bytes) throws -> Int {
        let page = try BenchPage(wire: payload)
        guard !page.isReset else { throw BenchProblem(message: "the node has reset the feed") }
        if page.isCheckpoint, !isUpToDate {
            isUpToDate = true
            tally.addUpToDate(token: page.token)
        }
        return page.notifications
    }

    func turnEnded(now: Instant) -> Turn {
        Turn(output: connection.takeOutput(), wake: nil, closes: isClosing)
    }

    func timePassed(now: Instant) {}
    func writing(_ pendingBytes: Int, now: Instant) {}
    func closed() { tally.fail("the node has closed its connection") }
}
