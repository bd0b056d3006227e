// The rules of a sync engine's pending changes and of its account, one by one.

import CumulusModel
import Testing

@testable import Cumulus

@Suite struct SyncRuleTests {
    private let a = SyncProbe.id("a")
    private let b = SyncProbe.id("b")

    // MARK: Pending changes

    @Test func pendingChangesAreASet() {
        var changes = PendingChanges<SyncEngine.PendingRecordZoneChange>()
        let isNew = [
            changes.add(.saveRecord(a)), changes.add(.saveRecord(b)),
            changes.add(.saveRecord(a)), changes.add(.deleteRecord(a)),
        ]
        #expect(isNew == [true, true, false, true])
        #expect(changes.all == [.deleteRecord(a), .saveRecord(b)])
        let wasThere = [changes.remove(.saveRecord(a)), changes.remove(.deleteRecord(a))]
        #expect(wasThere == [false, true])
        #expect(changes.all == [.saveRecord(b)])
    }

    @Test func manyPendingChangesKeepTheirOrder() {
        var changes = PendingChanges<SyncEngine.PendingRecordZoneChange>()
        let ids = (0..<1_000).map { SyncProbe.id("\($0)") }
        for id in ids { _ = changes.add(.saveRecord(id)) }
        for id in ids.prefix(900) { _ = changes.settle(.saveRecord(id), sentAt: changes.revision) }
        _ = changes.add(.saveRecord(ids[0]))
        #expect(changes.all == (ids.suffix(100) + ids.prefix(1)).map { .saveRecord($0) })
        for id in ids { _ = changes.remove(.saveRecord(id)) }
        #expect(changes.isEmpty)
    }

    /// An edit while the record is on its way is sent too; so is one while the batch is made.
    @Test(arguments: [false, true])
    func whatIsAddedMeanwhileStays(_ whileChoosing: Bool) {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a)])
        _ = probe.take()
        probe.state.request(2, .send(.init()))
        var sent = 0
        loop: while true {
            switch probe.state.next(now: probe.now, dice: { 0 }) {
            case .wait: break loop
            case .chooseBatch:
                if whileChoosing, sent == 0 { probe.state.add([.saveRecord(a)]) }
                let record = Record(recordType: "Note", recordID: a)
                probe.state.receive(.batch(.init(recordsToSave: [record])))
            case .call(.modifyRecords(let batch)):
                if !whileChoosing, sent == 0 { probe.state.add([.saveRecord(a)]) }
                sent += 1
                let saves = batch.recordsToSave.map { Result<_, ServiceError>.success($0) }
                probe.state.receive(.sentRecords(.init(saves: saves, deletes: [])))
            case .call(let call): probe.state.receive(probe.server.answer(call))
            default: break
            }
        }
        #expect(sent == 2)
        #expect(!probe.state.ledger.hasPendingChanges)
    }

    @Test func aDeleteReplacesASaveThatIsOnItsWay() {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a)])
        let id = a
        probe.onCall = { call, state in
            if case .modifyRecords(let batch) = call, !batch.recordsToSave.isEmpty {
                state.add([.deleteRecord(id)])
            }
            return nil
        }
        let told = probe.send().filter { $0.hasPrefix("sentRecords") }
        #expect(told == ["sentRecords +a", "sentRecords -a"])
    }

    /// What waited for the records of a zone goes with it; what was added since then stays.
    @Test func theDeletionOfAZoneSettlesItsRecords() {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a)])
        probe.state.add([.deleteZone(SyncProbe.zone)])
        let id = b
        probe.onCall = { call, state in
            if case .modifyZones(_, let deletes) = call, !deletes.isEmpty {
                state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
                state.add([.saveRecord(id)])
            }
            return nil
        }
        let told = probe.send().filter { $0.hasPrefix("sent") }
        #expect(told == ["sentZones -Z", "sentZones +Z", "sentRecords +b"])
    }

    @Test func aZoneThatIsNotThereCountsAsDeleted() {
        var probe = SyncProbe()
        probe.state.add([.deleteZone(SyncProbe.zone)])
        #expect(probe.send().contains("sentZones -Z"))
        #expect(!probe.state.ledger.hasPendingChanges)
    }

    @Test func scopesOfASend() {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a), .saveRecord(b)])
        probe.state.add([.saveZone(RecordZone(zoneName: "Other"))])
        #expect(
            probe.send(.init(scope: .recordIDs([b]))).filter { $0.hasPrefix("sent") }
                == ["sentRecords +b"]
        )
        let other = RecordZone.ID(zoneName: "Other")
        #expect(
            probe.send(.init(scope: .allExcluding([other]))).filter { $0.hasPrefix("sent") }
                == ["sentRecords +a"]
        )
        #expect(
            probe.send(.init(scope: .zoneIDs([other]))).filter { $0.hasPrefix("sent") }
                == ["sentZones +Other"]
        )
    }

    /// The delegate is asked although nothing is pending, once in a send.
    @Test func untrackedChangesAreAskedFor() {
        var probe = SyncProbe(isAutomatic: true)
        probe.run()
        probe.state.setUntrackedChanges(true)
        #expect(probe.take().filter { $0 == "[batch]" }.count == 1)
        #expect(probe.run() == nil)
    }

    @Test func aRecordThatIsLeftOutIsNotAskedForAgainAtOnce() {
        var probe = SyncProbe(isAutomatic: true)
        probe.record = { _ in nil }
        probe.state.add([.saveRecord(a)])
        #expect(probe.take().filter { $0 == "[batch]" }.count == 1)
        #expect(probe.run() == nil)
        #expect(probe.state.ledger.recordChanges.all == [.saveRecord(a)])
    }

    // MARK: Accounts

    @Test func anotherUserBeginsWithNothing() {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(a)])
        _ = probe.take()
        probe.server.user = "bob"
        #expect(probe.fetch().prefix(3) == ["[identify]", "switch ada bob", "state"])
        #expect(!probe.state.ledger.hasPendingChanges)
        probe.server.user = nil
        #expect(probe.fetch() == ["[identify]", "signOut bob", "state"])
        #expect(probe.ends == [1: .notAuthenticated, 2: nil])
        #expect(probe.state.ledger.zones.isEmpty && probe.state.ledger.databaseToken == nil)
    }

    /// Switches while the app was closed are one.
    @Test func aKeptStateOfAnotherUser() {
        var first = SyncProbe()
        first.begin()
        var second = SyncProbe(first.kept)
        second.server.user = "carol"
        #expect(second.send().prefix(3) == ["[identify]", "switch ada carol", "state"])
        var third = SyncProbe(first.kept)
        #expect(!third.fetch().contains { $0.hasPrefix("signIn") })
    }

    /// Changes that were added before the first sync belong to the first user; without one they
    /// wait.
    @Test func nobodyIsSignedIn() {
        var probe = SyncProbe(isAutomatic: true)
        probe.server.user = nil
        probe.state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
        #expect(probe.run() == nil)
        #expect(!probe.log.contains("willFetch"))
        probe.server.user = "ada"
        probe.state.hear()
        probe.state.add([.saveRecord(a)])
        probe.run()
        #expect(probe.log.contains("signIn ada"))
        #expect(probe.log.contains("sentRecords +a"))
    }
}
