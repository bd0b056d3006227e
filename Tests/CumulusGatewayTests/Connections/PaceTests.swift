// How slow a caller may be.

import Testing

@testable import CumulusGateway

@Suite struct PaceTests {
    private func pace() -> Pace { Pace(milliseconds: 10_000, bytesPerSecond: 1_000) }

    @Test func silenceEnds() {
        var pace = pace()
        #expect(pace.microseconds == 10_000_000)
        pace.waited(microseconds: 9_000_000)
        #expect(pace.microseconds == 1_000_000)
        pace.waited(microseconds: 2_000_000)
        #expect(pace.microseconds == 0)
    }

    /// A byte now and then does not keep a connection.
    @Test func tricklesEnd() {
        var pace = pace()
        var seconds = 0
        while pace.microseconds > 0 {
            pace.waited(microseconds: 1_000_000)
            pace.passed(bytes: 10)
            seconds += 1
        }
        #expect(seconds == 11)
    }

    @Test func aSteadyCallerIsWaitedFor() {
        var pace = pace()
        for _ in 0..<10_000 {
            pace.waited(microseconds: 1_000_000)
            pace.passed(bytes: 1_000)
        }
        #expect(pace.microseconds == 10_000_000)
    }

    /// Much at once is no right to be silent for longer afterwards.
    @Test func bytesAreNotSavedUp() {
        var pace = pace()
        pace.passed(bytes: .max)
        #expect(pace.microseconds == 10_000_000)
        pace.waited(microseconds: 10_000_000)
        #expect(pace.microseconds == 0)
    }
}
