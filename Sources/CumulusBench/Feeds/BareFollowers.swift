// The bound of a fan-out: as many sockets as there are followers, and a loop that writes the same
// bytes to each of them, without a protocol.
//
// The loop is `cumulusd bound writer`. The sockets are read as followers are, on one thread.

import CumulusModel
import CumulusTerminal
import CumulusTransport
import CumulusWire

final class BareFollowers: Sendable {
    private let process: BenchProcess
    private let loops = EventLoops(threads: 1)
    private let asker: BareAsker
    private let tally = BenchTally()
    private let count: Int
    private let bytes: Int

    /// - Parameter bytes: The size of one event.
    init(_ count: Int, bytes: Int, _ cleanup: Cleanup) async throws {
        self.count = count
        self.bytes = bytes
        process = try BenchProcess(["bound", "writer", "--listen", "127.0.0.1:0"], cleanup)
        guard let endpoint = process.readyAddress() else {
            throw BenchProblem(message: "the bound 'writer' did not start")
        }
        let (dialer, tally) = (NIOFrameDialer(loops: loops), tally)
        let asker = BareAsker()
        self.asker = asker
        // The first connection asks for what the others are sent.
        try await dialer.connect(to: endpoint) { link, _ in asker.handler(link) }
        for _ in 0..<count {
            try await dialer.connect(to: endpoint) { _, _ in BareFollower(tally, bytes) }
        }
    }

    /// Sends all of them so many events, and returns how long that took, in seconds.
    func tell(_ times: Int) async throws -> Double {
        tally.expect(times * count)
        let asked = BenchTally.now()
        asker.ask(times: UInt32(times), bytes: UInt32(bytes))
        return Double(try await tally.reached() - asked) / 1e9
    }

    func close() async {
        try? await loops.stop()
        process.stop()
    }
}

/// Counts bytes.
private final class BareFollower: FrameHandler {
    private let tally: BenchTally
    private let eventBytes: Int
    private var rest = 0

    init(_ tally: BenchTally, _ eventBytes: Int) {
        self.tally = tally
        self.eventBytes = eventBytes
    }

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        rest += bytes.count
        tally.add(notifications: rest / eventBytes, bytes: bytes.count)
        rest %= eventBytes
    }

    func turnEnded(now: Instant) -> Turn { Turn(output: FrameOutput(), wake: nil, closes: false) }
    func timePassed(now: Instant) {}
    func writing(_ pendingBytes: Int, now: Instant) {}
    func closed() { tally.fail("the bound 'writer' has closed a connection") }
}
