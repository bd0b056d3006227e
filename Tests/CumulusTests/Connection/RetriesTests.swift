// The steps that are tried again, where, and the errors of calls.

import CumulusModel
import CumulusWire
import Testing

@testable import Cumulus

@Suite struct RetriesTests {
    @Test func whatIsSafeIsRepeatedOverALostConnection() {
        var read = retries()
        #expect(read.lost(true) == "again after 50")
        var change = retries(isChange: true)
        #expect(change.lost(true) == "again after 50")
        var single = retries(isRepeatable: false)
        #expect(single.lost(false) == "again after 50")
        #expect(single.lost(true) == unknown)
    }

    /// What an earlier attempt did is said by the answer, or stays unknown.
    @Test func aRefusalSaysNothingAboutAnEarlierAttempt() {
        let full = ServiceError(.serviceUnavailable, .diskFull, "full")
        let wrong = ServiceError(.invalidArguments, "wrong")
        var change = retries(isChange: true)
        #expect(change.refused(full) == fails(full))
        change.lost(true)
        #expect(change.refused(full) == unknown)
        // It was wrong then too.
        #expect(change.refused(wrong) == fails(wrong))
        var read = retries()
        read.lost(true)
        #expect(read.refused(full) == fails(full))
    }

    @Test func whatPassesIsWaitedForAsLongAsThereIsTime() {
        let busy = ServiceError(.requestRateLimited, .overloaded, "busy")
        var retries = retries()
        #expect(retries.refused(busy) == "again after 50")
        #expect(retries.refusal?.message == busy.message)
        #expect(retries.refused(busy, canWait: false) == fails(busy))
    }

    @Test func aNodeThatAsksForTimeGetsIt() {
        var draining = ServiceError(.serviceUnavailable, .draining, "leaving")
        draining.retryAfterMilliseconds = 700
        var alone = retries()
        #expect(alone.refused(draining) == "again after 700")
        // It asked for itself.
        var several = retries(endpoints: 2)
        #expect(several.refused(draining) == "elsewhere after 50: leaving")
    }

    @Test func fullDisksAreAskedOnceEach() {
        let full = ServiceError(.serviceUnavailable, .diskFull, "full")
        var retries = retries(endpoints: 3)
        for _ in 0..<3 { #expect(retries.refused(full) == "elsewhere after 50: full") }
        #expect(retries.refused(full) == fails(full))
    }

    /// Over each connection once: a clock that stays wrong ends it.
    @Test func aRequestThatIsTooOldGetsANewID() {
        let expired = ServiceError(.invalidArguments, .requestIDExpired, "too old")
        var change = retries(isChange: true, connections: 2)
        #expect(change.refused(expired) == "anew")
        #expect(change.refused(expired) == "anew")
        #expect(change.refused(expired) == fails(expired))
        var chosen = retries(isChange: true, hasOwnID: true)
        #expect(chosen.refused(expired) == fails(expired))
        // A new id could do it a second time.
        var sent = retries(isChange: true)
        sent.lost(true)
        #expect(sent.refused(expired) == unknown)
    }

    private func retries(
        endpoints: Int = 1,
        isChange: Bool = false,
        isRepeatable: Bool = true,
        hasOwnID: Bool = false,
        connections: Int = 1
    ) -> Retries {
        let settings = ClientSettings(
            endpoints: Array(repeating: "node:1", count: endpoints),
            connections: connections,
            hello: Hello(),
            callMilliseconds: 1_000
        )
        return Retries(
            settings,
            isChange: isChange,
            isRepeatable: isRepeatable,
            hasOwnID: hasOwnID
        )
    }
}

private let unknown = fails(Retries.outcomeUnknown)

private func fails(_ error: ServiceError) -> String { "\(error.code): \(error.message)" }

extension Retries {
    fileprivate mutating func refused(_ error: ServiceError, canWait: Bool = true) -> String {
        step(after: .refused(error), backoff: 50) { _ in canWait }.told
    }

    @discardableResult
    fileprivate mutating func lost(_ wasSent: Bool) -> String {
        step(after: .lost(wasSent: wasSent), backoff: 50) { _ in true }.told
    }
}

extension Retries.Step {
    fileprivate var told: String {
        switch self {
        case .again(let pause): "again after \(pause)"
        case .elsewhere(let pause, let why): "elsewhere after \(pause): \(why)"
        case .anew: "anew"
        case .fail(let error): fails(error)
        }
    }
}
