// Nodes with another key are told of once an hour, whatever strangers claim.

import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct RefusedPeersTests {
    private let hour = RefusedPeers.pauseMilliseconds

    private func instant(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    @Test func aLineForEachAddressAndHour() {
        var peers = RefusedPeers()
        let told = [("a:1", 0), ("b:1", 5), ("a:1", hour - 1), ("a:1", hour), ("b:1", hour)].map {
            peers.isNews($0, .claimed, now: instant($1))
        }
        #expect(told == [true, true, false, true, false])
    }

    @Test func strangersKeepNoLineOutOfTheLog() {
        var peers = RefusedPeers()
        let lines = (0..<1_000).count { peers.isNews("10.0.0.\($0):1", .claimed, now: instant(0)) }
        #expect(lines == RefusedPeers.mostStrangers)
        // Also one that claims its address says nothing for it.
        _ = peers.isNews("10.0.0.5:1", .claimed, now: instant(1))
        let dialled = peers.isNews("10.0.0.5:1", .dialled, now: instant(1))
        let later = peers.isNews("late:1", .claimed, now: instant(hour))
        #expect(dialled && later)
    }
}
