// What an import says while no answer comes, and when it ends.

import CumulusModel
import Testing

@testable import CumulusTransfer

@Suite struct ImportWaitTests {
    private let start = ContinuousClock.now

    private func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// Looks each second, and returns the seconds at which something is said.
    private func told(
        _ wait: inout ImportWait,
        isConnected: Bool,
        _ seconds: ClosedRange<Int>
    ) -> [Int] {
        seconds.filter { second in
            let step = wait.step(isConnected: isConnected, after(Double(second)))
            return step != .wait && step != .giveUp
        }
    }

    @Test func silenceIsToldOnceAndThenEachHalfMinute() {
        var wait = ImportWait(patience: .seconds(600))
        wait.begin(start)
        #expect(told(&wait, isConnected: true, 0...70) == [5, 35, 65])
        // An answer begins it anew.
        wait.begin(after(70))
        wait.end(saving: 200, after(71))
        #expect(told(&wait, isConnected: false, 71...80) == [76])
        #expect(wait.saved == 200)
        // Without a call nothing is waited for, however long the next lines take.
        wait.end(saving: 7, after(81))
        #expect(told(&wait, isConnected: false, 81...500).isEmpty)
        #expect(wait.saved == 207)
    }

    @Test func onlyTheTimeWithoutAConnectionCounts() {
        var wait = ImportWait(patience: .seconds(30))
        wait.begin(start)
        #expect(wait.step(isConnected: true, after(100)) == .tell(.seconds(100)))
        #expect(wait.step(isConnected: false, after(101)) == .wait)
        #expect(wait.step(isConnected: false, after(129)) == .wait)
        #expect(wait.step(isConnected: true, after(130)) == .tell(.seconds(130)))
        #expect(wait.step(isConnected: false, after(131)) == .wait)
        #expect(wait.step(isConnected: false, after(161)) == .giveUp)
        // What was idle begins with all of the time.
        wait.end(saving: 1, after(162))
        #expect(wait.step(isConnected: false, after(900)) == .wait)
        wait.begin(after(900))
        #expect(wait.step(isConnected: false, after(901)) == .wait)
        #expect(wait.step(isConnected: false, after(931)) == .giveUp)
    }

    @Test func theEndSaysHowMuchIsSavedAndHowToGoOn() {
        let lost = ServiceError(.networkFailure, "could not reach a:1: connection refused")
        let message = lost.ofImport(saved: 400).message
        #expect(message.hasPrefix(lost.message + "; 400 lines are saved: run the same import"))
        #expect(message.contains("--endpoint") && message.contains("--timeout"))
        #expect(lost.ofImport(saved: 1).message.contains("; 1 line is saved: "))
        #expect(lost.ofImport(saved: 0).message.contains("; 0 lines are saved: "))
        // Nothing else is there to say of a node that never was there, or lets nobody in.
        let never = ServiceError(.networkUnavailable, "cannot reach a:1")
        #expect(never.ofImport(saved: 0).message == never.message)
        let refused = ServiceError(.notAuthenticated, "the token is not valid")
        #expect(refused.ofImport(saved: 0).message == refused.message)
        #expect(refused.ofImport(saved: 2).message == "the token is not valid; 2 lines are saved")
    }
}
