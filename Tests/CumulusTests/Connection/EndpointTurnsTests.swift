// Which endpoint a client tries next, and what it says of those that it tried.

import CumulusModel
import CumulusWire
import Testing

@testable import Cumulus

@Suite struct EndpointTurnsTests {
    private static let now = Instant(milliseconds: 1_000)

    private func busy(_ milliseconds: UInt32) -> ServiceError {
        var error = ServiceError(.requestRateLimited, .overloaded, "it is busy")
        error.retryAfterMilliseconds = milliseconds
        return error
    }

    /// An old refusal says nothing about a node that has gone since.
    @Test func aLaterAttemptEndsARefusal() {
        var turns = EndpointTurns()
        turns.refuse("a:1", busy(700), attempt: 2, now: Self.now)
        turns.giveUp("a:1", "it is busy", attempt: 2)
        #expect(turns.unreachable(["a:1"]).code == .requestRateLimited)
        // An attempt that began before the refused one.
        turns.giveUp("a:1", "the connection was lost", attempt: 1)
        #expect(turns.unreachable(["a:1"]).code == .requestRateLimited)
        turns.giveUp("a:1", "nobody answers", attempt: 3)
        let error = turns.unreachable(["a:1"])
        #expect(error.code == .networkFailure)
        #expect(error.message == "could not reach a:1: nobody answers")
        #expect(turns.choose(of: ["a:1"], now: Self.now).pause == 0)
    }
}
