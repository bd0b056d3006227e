// A connection whose caller ignores when to come again is read less; others are served beside it.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct RestraintTests {
    private static let start = Instant(milliseconds: 1_000)

    @Test func callsThatWereOnTheirWayAreForgiven() {
        var restraint = Restraint()
        for _ in 0..<Restraint.mostIgnored {
            restraint.refused(retryAfter: 500, now: Self.start)
            #expect(!restraint.isPausing(now: Self.start))
        }
        // The first one was none that came too soon.
        restraint.refused(retryAfter: 500, now: Self.start)
        #expect(restraint.isPausing(now: Self.start + 499))
        #expect(!restraint.isPausing(now: Self.start + 500))
    }

    @Test func whoComesInTimeIsNeverHeldUp() {
        var (restraint, now) = (Restraint(), Self.start)
        for _ in 0..<1_000 {
            restraint.refused(retryAfter: 10, now: now)
            now = now + 10
            #expect(!restraint.isPausing(now: now))
        }
    }

    @Test func aPauseIsShortAndWhoGoesOnGetsTheNextOne() {
        var (restraint, now) = (Restraint(), Self.start)
        for _ in 0...Restraint.mostIgnored { restraint.refused(retryAfter: 60_000, now: now) }
        #expect(restraint.isPausing(now: now + (Restraint.longestPause - 1)))
        now = now + Restraint.longestPause
        #expect(!restraint.isPausing(now: now))
        restraint.refused(retryAfter: 60_000, now: now)
        #expect(restraint.isPausing(now: now))
        // After calls that were taken it begins anew.
        for _ in 0..<10 { restraint.taken() }
        restraint.refused(retryAfter: 10, now: now + 2_000)
        restraint.refused(retryAfter: 10, now: now + 2_000)
        #expect(!restraint.isPausing(now: now + 2_000))
    }

    // MARK: Connections

    private final class Link: FrameLink {
        let loop: any FrameLoop = InPlaceLoop.shared
        let isLoopback = true
        let remoteAddress: Bytes
        let certificate: Bytes = []

        init(_ last: UInt8) { remoteAddress = [10, 0, 0, last] }

        func needsTurn() {}
    }

    /// A caller that has greeted.
    private func connection(of node: Node, at last: UInt8) -> CallerConnection {
        let connection = CallerConnection(node: node, link: Link(last), now: Self.start)
        RawClient.greeting().withUnsafeBytes { connection.received($0, now: Self.start) }
        _ = connection.turnEnded(now: Self.start)
        return connection
    }

    private func calls(_ streams: StrideTo<UInt32>) -> Bytes {
        var bytes: Bytes = []
        for stream in streams {
            let payload = CallHeader(.accountsWhoAmI).encoded(before: [])
            let frame = Frame(.call, isEnd: true, stream: stream, payload: payload)
            FrameEncoder.append(frame, to: &bytes)
        }
        return bytes
    }

    /// The numbers of calls that a turn answered and refused.
    private func ends(of turn: Turn) throws -> (answered: Int, refused: Int) {
        var decoder = FrameDecoder(frameLimit: 1 << 20, expectsPreface: false)
        turn.output.bytes.withUnsafeBytes { decoder.append($0) }
        var ends = (answered: 0, refused: 0)
        while let frame = try decoder.next() {
            if frame.kind == .message { ends.answered += 1 }
            if frame.kind == .status { ends.refused += 1 }
        }
        return ends
    }

    @Test func aFloodIsReadLessAndOthersAtOnce() throws {
        var configuration = Node.Configuration(
            version: Release.version,
            container: TestServer.container,
            operatorToken: [1]
        )
        configuration.limits.perCaller = CallerLimits(callsPerSecond: 1, callsBurst: 1)
        var environment = TestServer.environment
        environment.now = { Self.start }
        let node = try Node(configuration, engine: MemoryEngine(), environment: environment)
        let flood = connection(of: node, at: 1)
        calls(stride(from: 1, to: 4_001, by: 2)).withUnsafeBytes {
            flood.received($0, now: Self.start)
        }
        var now = Self.start
        let first = flood.turnEnded(now: now)
        #expect(!first.isReading && !first.closes)
        let ends = try ends(of: first)
        #expect(ends.answered == 1 && ends.refused == Restraint.mostIgnored + 1)
        // Nothing of it is taken while it waits, and another caller is answered in its turn.
        let other = connection(of: node, at: 2)
        calls(stride(from: 1, to: 3, by: 2)).withUnsafeBytes { other.received($0, now: now + 1) }
        #expect(try self.ends(of: other.turnEnded(now: now + 1)) == (1, 0))
        #expect(try self.ends(of: flood.turnEnded(now: now + 1)) == (0, 0))
        // It gets its call per second, and not many refusals.
        var sum = (answered: 0, refused: 0)
        for _ in 0..<10 {
            now = now + 1_000
            flood.timePassed(now: now)
            let ends = try self.ends(of: flood.turnEnded(now: now))
            sum = (sum.answered + ends.answered, sum.refused + ends.refused)
        }
        #expect(sum.answered == 10)
        #expect(sum.refused > 0 && sum.refused <= 10 * (Restraint.mostIgnored / 2 + 2))
        flood.closed()
        other.closed()
    }
}
