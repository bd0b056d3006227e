// The endpoint that a client tries next, and its report about the ones that it tried.

import CumulusModel
import CumulusWire
import Testing

@testable import Cumulus

@Suite struct EndpointRefusalsTests {
    private static let now = Instant(milliseconds: 1_000)

    private func busy(_ milliseconds: UInt32) -> ServiceError {
        var error = ServiceError(.requestRateLimited, .overloaded, "it is busy")
        error.retryAfterMilliseconds = milliseconds
        return error
    }

    /// An old refusal says nothing about a node that has gone since.
    @Test func aLaterAttemptEndsARefusal() {
        var turns = EndpointRefusals(longestPause: 2_000)
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
        #expect(turns.choose(of: ["a:1"], from: 0, now: Self.now).pause == 0)
    }

    /// Endpoints are tried in their turn, and those whose nodes ask for time after the others.
    @Test func theNodeThatAsksForTheLeastTimeIsNext() {
        var turns = EndpointRefusals(longestPause: 2_000)
        let endpoints = ["a:1", "b:1", "c:1"]
        let first = turns.choose(of: endpoints, from: 4, now: Self.now)
        #expect(first.endpoint == "b:1" && first.offset == 0 && first.pause == 0)
        turns.refuse("b:1", busy(900), attempt: 1, now: Self.now)
        turns.refuse("c:1", busy(700), attempt: 2, now: Self.now)
        let second = turns.choose(of: endpoints, from: 1, now: Self.now)
        #expect(second.endpoint == "a:1" && second.offset == 2 && second.pause == 0)
        turns.refuse("a:1", busy(.max), attempt: 3, now: Self.now)
        let third = turns.choose(of: endpoints, from: 0, now: Self.now)
        #expect(third.endpoint == "c:1" && third.offset == 2 && third.pause == 700)
        turns.admit("b:1")
        turns.admit("c:1")
        #expect(turns.choose(of: ["a:1"], from: 0, now: Self.now).pause == 2_000)
    }
}
