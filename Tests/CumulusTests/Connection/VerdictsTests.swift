// When a call stops waiting for a node: what attempts at all endpoints have told.

import CumulusModel
import CumulusTesting
import CumulusTransport
import Testing

@testable import Cumulus

@Suite struct VerdictsTests {
    private static let all = ["a:1", "b:2"]
    private static let refused = Verdicts.Verdict(
        failure: NIOFrameDialer.Failure.absent("Connection refused")
    )
    private static let late = Verdicts.Verdict(failure: NIOFrameDialer.Failure.unreachable("late"))

    @Test func nobodyAnywhereIsSaidAtOnce() {
        var verdicts = Verdicts(failsFast: true)
        #expect(verdicts.note(Self.refused, of: "a:1", Self.all) == nil)
        let error = verdicts.note(Self.refused, of: "b:2", Self.all)
        #expect(error?.code == .networkUnavailable)
        #expect(
            error?.message == "cannot reach a:1: connection refused; b:2: connection refused; "
                + "is cumulusd running there?"
        )
    }

    /// A timeout may end: its endpoint has to be refused before all are.
    @Test func aTimeoutStaysATimeout() {
        var verdicts = Verdicts(failsFast: true)
        #expect(verdicts.note(Self.refused, of: "a:1", Self.all) == nil)
        #expect(verdicts.note(Self.late, of: "b:2", Self.all) == nil)
        #expect(verdicts.note(Self.late, of: "a:1", Self.all) == nil)
        #expect(verdicts.note(Self.refused, of: "b:2", Self.all) == nil)
        #expect(verdicts.note(Self.refused, of: "a:1", Self.all) != nil)
    }

    @Test func appsAndWhoHasReachedANodeGoOnWaiting() {
        var app = Verdicts(failsFast: false)
        #expect(app.note(Self.refused, of: "a:1", ["a:1"]) == nil)
        #expect(app.note(.foreign("an HTTP port"), of: "a:1", ["a:1"]) == nil)
        var reached = Verdicts(failsFast: true)
        reached.admit()
        #expect(reached.note(Self.refused, of: "a:1", ["a:1"]) == nil)
    }

    @Test func aRefusalCountsOnceAllWereTried() {
        let untrusted = Verdicts.Verdict(failure: NIOFrameDialer.Failure.untrusted("no TLS"))
        var app = Verdicts(failsFast: false)
        #expect(app.note(untrusted, of: "a:1", Self.all) == nil)
        #expect(app.note(Self.late, of: "b:2", Self.all)?.message == "no TLS")
        var fast = Verdicts(failsFast: true)
        #expect(fast.note(Self.refused, of: "a:1", Self.all) == nil)
        let error = fast.note(.foreign("an HTTP port"), of: "b:2", Self.all)
        #expect(error?.message == "b:2 is an HTTP port" && error?.code == .networkFailure)
    }

    /// The system says so within milliseconds.
    @Test(arguments: ["127.0.0.1:\(TestPort.free())", "[::1]:\(TestPort.free())"])
    func aClosedPortIsNoReasonToWait(endpoint: String) async throws {
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.timeout = .seconds(30)
        configuration.failsFast = true
        let container = Container(identifier: "iCloud.x", configuration: configuration)
        let start = ContinuousClock.now
        let error = await #expect(throws: ServiceError.self) {
            try await container.userRecordID()
        }
        #expect(error?.code == .networkUnavailable, "\(error as Any)")
        #expect(ContinuousClock.now - start < .seconds(5))
        await container.close()
    }
}
