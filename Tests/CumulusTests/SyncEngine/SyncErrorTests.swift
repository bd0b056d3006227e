// What a sync engine does after errors, how long it waits, and how it is cancelled.

import CumulusModel
import CumulusWire
import Testing

@testable import Cumulus

@Suite struct SyncErrorTests {
    private let a = SyncProbe.id("a")
    private let b = SyncProbe.id("b")

    // MARK: Errors

    /// Each error of a record: whether the change stays pending, and whether the send ends.
    @Test(arguments: ServiceError.Code.allCases)
    func errorsOfARecord(_ code: ServiceError.Code) {
        let isRetried: Set<ServiceError.Code> = [
            .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure,
            .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy,
            .operationCancelled, .serverResponseLost, .changeTokenExpired,
        ]
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a), .deleteRecord(b)])
        probe.server.refusals = [
            a: ServiceError(code, "refused"), b: ServiceError(code, "refused"),
        ]
        #expect(probe.send().contains("sentRecords !a \(code) !b \(code)"))
        #expect(probe.state.ledger.recordChanges.isEmpty == !isRetried.contains(code))
        #expect(probe.ends[2] == (isRetried.contains(code) ? code : .partialFailure))
    }

    /// A whole request that fails is told as a failure of each of its records.
    @Test func aRequestThatFails() {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a), .saveRecord(b)])
        probe.onCall = { call, _ in
            guard case .modifyRecords = call else { return nil }
            return .failed(ServiceError(.networkFailure, "no"))
        }
        let told = probe.send()
        #expect(told.suffix(2) == ["sentRecords !a networkFailure !b networkFailure", "didSend"])
        #expect(probe.state.ledger.recordChanges.all.count == 2)
    }

    /// The duties of an app: make the zone, merge and save again, create anew.
    @Test func theAppMendsAndAddsAgain() {
        var probe = SyncProbe()
        probe.begin()
        probe.elsewhere(saves: ["a"])
        var stale = Record(recordType: "Note", recordID: b)
        stale.recordChangeTag = "99"
        var copies: [Record.ID: Record] = [b: stale]
        probe.onEvent = { event, state in
            guard case .sentRecordZoneChanges(let sent) = event else { return }
            for failure in sent.failedRecordSaves {
                copies[failure.record.recordID] = failure.error.serverRecord
                state.add([.saveRecord(failure.record.recordID)])
            }
        }
        probe.state.add([.saveRecord(a), .saveRecord(b)])
        probe.record = { copies[$0] ?? Record(recordType: "Note", recordID: $0) }
        #expect(
            probe.send().filter { $0.hasPrefix("sent") } == [
                "sentRecords !a serverRecordChanged !b unknownItem"
            ]
        )
        #expect(probe.ends[2] == .partialFailure)
        #expect(probe.state.ledger.recordChanges.all == [.saveRecord(a), .saveRecord(b)])
        #expect(probe.send().contains("sentRecords +a +b"))
        #expect(probe.ends == [1: nil, 2: nil])
    }

    /// A refusal does not keep the other changes from being sent, and is told before the end.
    @Test func theRestIsSentAfterARefusal() {
        var probe = SyncProbe()
        probe.begin()
        let (first, second) = (a, b)
        probe.server.refusals = [a: ServiceError(.permissionFailure, "no")]
        probe.onEvent = { event, state in
            guard case .sentRecordZoneChanges(let sent) = event,
                !sent.failedRecordSaves.isEmpty
            else { return }
            state.add([.saveRecord(first), .saveRecord(second)])
        }
        probe.state.add([.saveRecord(a)])
        #expect(
            probe.send().filter { $0.hasPrefix("sent") || $0.hasPrefix("[send") || $0 == "didSend" }
                == [
                    "[send 1]", "sentRecords !a permissionFailure", "[send 1]", "sentRecords +b",
                    "didSend",
                ]
        )
        #expect(probe.ends[2] == .partialFailure)
        #expect(probe.state.ledger.recordChanges.all == [.saveRecord(a)])
    }

    /// A record that can't be sent at all is told in the same way, and once.
    @Test func whatCannotBeSentIsRefused() {
        var probe = SyncProbe()
        probe.begin()
        probe.unsendable = [a]
        let id = a
        probe.onEvent = { event, state in
            guard case .sentRecordZoneChanges(let sent) = event,
                !sent.failedRecordSaves.isEmpty
            else { return }
            state.add([.saveRecord(id)])
        }
        probe.state.add([.saveRecord(a), .saveRecord(b)])
        #expect(
            probe.send().filter { $0.hasPrefix("sent") } == [
                "sentRecords !a invalidArguments", "sentRecords +b",
            ]
        )
        #expect(probe.ends[2] == .partialFailure)
        #expect(probe.state.ledger.recordChanges.all == [.saveRecord(a)])
    }

    @Test func aMissingZoneIsMadeBeforeItsRecords() {
        var probe = SyncProbe()
        probe.onEvent = { event, state in
            guard case .sentRecordZoneChanges(let sent) = event else { return }
            for failure in sent.failedRecordSaves where failure.error.code == .zoneNotFound {
                state.add([.saveRecord(failure.record.recordID)])
                state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
            }
        }
        probe.state.add([.saveRecord(a)])
        #expect(
            probe.send().filter { $0.hasPrefix("sent") } == [
                "sentRecords !a zoneNotFound", "sentZones +Z",
            ]
        )
        #expect(probe.send().filter { $0.hasPrefix("sent") } == ["sentRecords +a"])
    }

    @Test func anAtomicBatchFailsAsAWhole() {
        var probe = SyncProbe()
        probe.begin()
        probe.isAtomic = true
        probe.state.add([.saveRecord(a), .saveRecord(b)])
        probe.server.refusals = [a: ServiceError(.quotaExceeded, "full")]
        #expect(
            probe.send().contains("sentRecords !a quotaExceeded !b batchRequestFailed")
        )
        #expect(!probe.state.ledger.hasPendingChanges)
    }

    @Test func whatIsTooMuchGoesInHalves() {
        var probe = SyncProbe()
        probe.begin()
        probe.server.itemLimit = 2
        probe.state.add((0..<5).map { .saveRecord(SyncProbe.id("\($0)")) })
        let told = probe.send()
        #expect(
            told.filter { $0.hasPrefix("[send") || $0.hasPrefix("sent") } == [
                "[send 5]", "[send 3]", "[send 2]", "sentRecords +0 +1", "[send 1]",
                "sentRecords +2", "[send 2]", "sentRecords +3 +4",
            ]
        )
    }

    /// What can't be cut is the app's to mend.
    @Test func anAtomicZoneIsNotCut() {
        var probe = SyncProbe()
        probe.begin()
        probe.isAtomic = true
        probe.server.itemLimit = 1
        probe.state.add([.saveRecord(a), .saveRecord(b)])
        #expect(probe.send().contains("sentRecords !a limitExceeded !b limitExceeded"))
        #expect(!probe.state.ledger.hasPendingChanges)
    }

    /// An app that adds again what can't succeed does not keep the engine busy.
    @Test func sendsWithoutSuccessWait() {
        var probe = SyncProbe(isAutomatic: true)
        probe.begin()
        probe.onCall = { call, _ in
            guard case .modifyRecords = call else { return nil }
            return .failed(ServiceError(.permissionFailure, "no"))
        }
        let id = a
        probe.onEvent = { event, state in
            if case .sentRecordZoneChanges = event { state.add([.saveRecord(id)]) }
        }
        probe.state.add([.saveRecord(a)])
        let told = probe.take()
        #expect(told.filter { $0 == "[send 1]" }.count == SyncState.mostFruitlessSends)
        #expect(told.last { $0 != "state" } == "didSend")
        #expect(probe.state.ledger.recordChanges.all == [.saveRecord(a)])
        #expect(probe.run() == 1_000)
        probe.now = probe.now + 1_000
        #expect(probe.take().filter { $0 == "[send 1]" }.count == 1)
        #expect(probe.run() == 2_000)
        // A success ends that.
        probe.onCall = { _, _ in nil }
        probe.onEvent = { _, _ in }
        probe.now = probe.now + 2_000
        #expect(probe.take().contains("sentRecords +a"))
        #expect(probe.run() == nil)
    }

    // MARK: Waiting

    @Test func failuresAreWaitedForLongerAndLonger() {
        var probe = SyncProbe(isAutomatic: true)
        probe.onCall = { _, _ in .failed(ServiceError(.serviceUnavailable, "no")) }
        var waits: [Int64?] = []
        for _ in 0..<11 {
            let wait = probe.run()
            waits.append(wait)
            probe.now = probe.now + (wait ?? 0)
        }
        #expect(
            waits == [
                1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000,
                300_000,
            ]
        )
        // News don't hurry it, and a success ends it.
        probe.run()
        probe.state.hear()
        #expect(probe.run() == 300_000)
        probe.onCall = { _, _ in nil }
        probe.now = probe.now + 300_000
        #expect(probe.run() == nil)
        #expect(probe.log.last == "didFetch")
    }

    @Test func theServersAdviceIsTakenAsItIs() {
        var probe = SyncProbe(isAutomatic: true)
        probe.onCall = { _, _ in
            var error = ServiceError(.requestRateLimited, "no")
            error.retryAfterMilliseconds = 123_456
            return .failed(error)
        }
        #expect(probe.run() == 123_456)
    }

    @Test func jitterTakesAtMostHalf() {
        for dice in [UInt64.min, 1, 77_777, .max] {
            var backoff = SyncBackoff()
            for _ in 0..<5 {
                backoff.fail(ServiceError(.zoneBusy, "no"), Instant(milliseconds: 0), dice)
            }
            #expect((8_000...16_000).contains(backoff.until.milliseconds))
        }
    }

    /// Offline, and back: what waited for the network waits no longer.
    @Test func newsEndTheWaitForTheNetwork() {
        var probe = SyncProbe(isAutomatic: true)
        probe.run()
        probe.state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
        probe.onCall = { _, _ in .failed(ServiceError(.networkUnavailable, "no")) }
        #expect(probe.run() == 1_000)
        #expect(probe.take() == [])
        probe.onCall = { _, _ in nil }
        probe.state.hear()
        #expect(probe.run() == nil)
        #expect(probe.log.contains("sentZones +Z"))
    }

    @Test func aRequestDoesNotWait() {
        var probe = SyncProbe(isAutomatic: true)
        probe.onCall = { _, _ in .failed(ServiceError(.networkUnavailable, "no")) }
        probe.run()
        probe.onCall = { _, _ in nil }
        #expect(probe.fetch().last == "didFetch")
        #expect(probe.ends == [1: nil])
    }

    @Test func nothingHappensByItselfIfNotWanted() {
        var probe = SyncProbe()
        probe.state.add([.saveRecord(a)])
        probe.state.hear()
        #expect(probe.take() == ["state"])
    }

    // MARK: Cancelling

    @Test func aCancelledSendKeepsWhatItDidNotSend() {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a)])
        _ = probe.take()
        probe.state.request(3, .fetch(.init()))
        probe.onCall = { call, state in
            guard case .modifyRecords = call else { return nil }
            _ = state.cancelAll()
            return .failed(SyncState.cancelled)
        }
        let told = probe.send()
        // The fetch came first and had ended by then.
        #expect(told.suffix(2) == ["sentRecords !a operationCancelled", "didSend"])
        #expect(probe.ends == [1: nil, 2: .operationCancelled, 3: nil])
        #expect(probe.state.ledger.recordChanges.all == [.saveRecord(a)])
        probe.onCall = { _, _ in nil }
        #expect(probe.send().contains("sentRecords +a"))
    }

    @Test func aRequestThatHasNotBegunIsCancelled() {
        var probe = SyncProbe()
        probe.state.request(1, .fetch(.init()))
        probe.state.request(2, .send(.init()))
        let run = probe.state.cancel(2)
        #expect(run == nil)
        let told = probe.take()
        #expect(told.last == "didFetch")
        #expect(probe.ends == [1: nil, 2: .operationCancelled])
    }

    @Test func aCancelledFetchClosesWhatItOpened() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a"])
        probe.onEvent = { event, state in
            if case .willFetchRecordZoneChanges = event { _ = state.cancelAll() }
        }
        #expect(
            probe.fetch().suffix(4) == [
                "will Z", "state", "did Z !operationCancelled", "didFetch",
            ]
        )
        #expect(probe.ends == [1: .operationCancelled])
        #expect(probe.state.ledger.unfetched == [SyncProbe.zone])
    }
}
