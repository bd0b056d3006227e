// The order of a sync engine's events, of every kind of fetch and send.

import CumulusModel
import Testing

@testable import Cumulus

@Suite struct SyncEventTests {
    /// A new engine: who is signed in, then zones, then each zone's records by pages.
    @Test func theFirstFetch() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a", "b", "c"])
        #expect(
            probe.fetch() == [
                "[identify]", "signIn ada", "state", "willFetch", "[zones from begin]",
                "zones +Z", "state", "will Z", "state", "[Z from begin]", "records +a +b", "state",
                "[Z]", "records +c", "did Z", "state", "didFetch",
            ]
        )
        #expect(probe.ends == [1: nil])
        #expect(probe.state.ledger.unfetched == [])
    }

    @Test func aFetchOfWhatChangedSince() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a", "b"])
        _ = probe.fetch()
        probe.elsewhere(saves: ["b"], deletes: ["a"])
        #expect(
            probe.fetch() == [
                "[identify]", "willFetch", "[zones]", "zones +Z", "state", "will Z", "[Z]",
                "records +b -a", "did Z", "state", "didFetch",
            ]
        )
    }

    /// A state is told only if there is a new one.
    @Test func aFetchOfNothing() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a"])
        _ = probe.fetch()
        #expect(probe.fetch() == ["[identify]", "willFetch", "[zones]", "didFetch"])
    }

    @Test func aZoneIsGone() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a"])
        _ = probe.fetch()
        _ = probe.server.answer(.modifyZones(saves: [], deletes: [SyncProbe.zone]))
        #expect(
            probe.fetch() == [
                "[identify]", "willFetch", "[zones]", "zones -Z", "state", "didFetch",
            ]
        )
        #expect(probe.state.ledger.zones.isEmpty)
    }

    /// Zones first, then records, until the delegate has no more.
    @Test func aSend() {
        var probe = SyncProbe()
        probe.state.add([.saveRecord(SyncProbe.id("a")), .deleteRecord(SyncProbe.id("b"))])
        probe.state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
        #expect(
            probe.send() == [
                "state", "[identify]", "signIn ada", "state", "willSend", "[send zones]",
                "sentZones +Z", "state", "[batch]", "[send 2]", "sentRecords +a -b", "state",
                "didSend",
            ]
        )
        #expect(!probe.state.ledger.hasPendingChanges)
        #expect(probe.ends == [2: nil])
    }

    @Test func aSendOfNothing() {
        var probe = SyncProbe()
        probe.begin()
        #expect(probe.send() == ["[identify]", "willSend", "didSend"])
    }

    /// The app hears of what it adds also while nothing is synced.
    @Test func aStateUpdateOfItsOwn() {
        var probe = SyncProbe()
        probe.begin()
        probe.state.add([.saveRecord(SyncProbe.id("a"))])
        #expect(probe.take() == ["state"])
        probe.state.add([.saveRecord(SyncProbe.id("a"))])
        #expect(probe.take() == [])
        probe.state.remove([.saveRecord(SyncProbe.id("a"))])
        #expect(probe.take() == ["state"])
    }

    /// Zones in the delegate's order; those out of scope wait for another fetch.
    @Test func prioritiesAndScopes() {
        var probe = SyncProbe()
        let zones = ["A", "B", "C", "D"].map { RecordZone(zoneName: $0) }
        probe.server.pageSize = 10
        _ = probe.server.answer(.modifyZones(saves: zones, deletes: []))
        let told = probe.fetch(
            .init(
                scope: .allExcluding([zones[1].zoneID]),
                prioritizedZoneIDs: [zones[3].zoneID, zones[2].zoneID]
            )
        )
        #expect(told.filter { $0.hasPrefix("will ") } == ["will D", "will C", "will A"])
        #expect(probe.state.ledger.unfetched == [zones[1].zoneID])
        probe.options = { _ in .init(scope: .zoneIDs([zones[1].zoneID])) }
        #expect(probe.fetch().filter { $0.hasPrefix("will ") } == ["will B"])
    }

    /// An expired token is absorbed: the zone is told anew, as a whole.
    @Test func anExpiredTokenOfAZone() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a", "b", "c"])
        _ = probe.fetch()
        _ = probe.server.answer(.modifyZones(saves: [], deletes: [SyncProbe.zone]))
        probe.elsewhere(saves: ["c", "d", "e"])
        #expect(
            probe.fetch() == [
                "[identify]", "willFetch", "[zones]", "zones +Z", "state", "will Z", "[Z]",
                "did Z !changeTokenExpired", "state", "will Z anew", "[Z from begin]",
                "records +c +d", "[Z]", "records +e", "did Z", "state", "didFetch",
            ]
        )
        #expect(probe.ends == [1: nil])
    }

    /// What a whole listing does not name is gone.
    @Test func anExpiredTokenOfTheDatabase() {
        var probe = SyncProbe()
        let other = RecordZone(zoneName: "Other")
        _ = probe.server.answer(.modifyZones(saves: [other], deletes: []))
        probe.elsewhere(saves: ["a"])
        _ = probe.fetch()
        _ = probe.server.answer(.modifyZones(saves: [], deletes: [other.zoneID]))
        probe.server.expireTokens()
        let told = probe.fetch()
        #expect(
            told.prefix(6) == [
                "[identify]", "willFetch", "[zones]", "state", "[zones from begin]",
                "zones +Z -Other",
            ]
        )
        #expect(told.suffix(4) == ["records +a", "did Z", "state", "didFetch"])
    }

    /// A zone that this device made and never fetched is known too.
    @Test func aListingKnowsOwnZones() {
        var probe = SyncProbe()
        probe.state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
        _ = probe.send()
        _ = probe.server.answer(.modifyZones(saves: [], deletes: [SyncProbe.zone]))
        #expect(probe.fetch().contains("zones -Z"))
    }

    /// A fetch without a token does not tell deletions that are over.
    @Test func recordsSavedBeforeTheFirstFetch() {
        var probe = SyncProbe()
        probe.state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
        probe.state.add([.saveRecord(SyncProbe.id("a"))])
        _ = probe.send()
        probe.elsewhere(saves: ["b"], deletes: ["a"])
        let told = probe.fetch()
        #expect(told.contains("will Z anew"))
        #expect(told.contains("records +b"))
    }

    /// A crash after a page and before its state is kept: what was told is told again, as a whole.
    @Test func aCrashInTheFirstFetch() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a", "b"])
        var kept: SyncEngine.State.Serialization?
        var atPage: SyncEngine.State.Serialization?
        probe.onEvent = { event, _ in
            if case .stateUpdate(let update) = event { kept = update.stateSerialization }
            if case .fetchedRecordZoneChanges = event { atPage = kept }
        }
        _ = probe.fetch()
        var next = SyncProbe(atPage)
        next.server = probe.server
        #expect(next.fetch().contains("will Z anew"))
    }

    /// Every zone has an end of its own; the others go on.
    @Test func aZoneThatCannotBeFetched() {
        var probe = SyncProbe()
        let (first, second) = (RecordZone(zoneName: "A"), RecordZone(zoneName: "B"))
        _ = probe.server.answer(.modifyZones(saves: [first, second], deletes: []))
        probe.onCall = { call, _ in
            guard case .zoneChanges(first.zoneID, _) = call else { return nil }
            return .failed(ServiceError(.permissionFailure, "no"))
        }
        let told = probe.fetch()
        #expect(
            told.suffix(10) == [
                "will A", "state", "[A from begin]", "did A !permissionFailure", "will B", "state",
                "[B from begin]", "did B", "state", "didFetch",
            ]
        )
        #expect(probe.ends == [1: .permissionFailure])
        #expect(probe.state.ledger.unfetched == [first.zoneID])
    }

    /// A zone that went away meanwhile is no error: the next fetch says what became of it.
    @Test func aZoneThatIsNotThere() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a"])
        probe.onCall = { call, _ in
            guard case .zoneChanges = call else { return nil }
            return .failed(ServiceError(.zoneNotFound, "no"))
        }
        #expect(probe.fetch().suffix(3) == ["did Z !zoneNotFound", "state", "didFetch"])
        #expect(probe.ends == [1: nil])
    }

    /// A fetch that breaks off closes what it opened, and goes on with its last page.
    @Test func aFetchThatBreaksOff() {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a", "b", "c"])
        probe.onCall = { call, _ in
            guard case .zoneChanges(_, .some) = call else { return nil }
            return .failed(ServiceError(.networkFailure, "no"))
        }
        #expect(
            probe.fetch().suffix(5) == [
                "records +a +b", "state", "[Z]", "did Z !networkFailure", "didFetch",
            ]
        )
        #expect(probe.ends == [1: .networkFailure])
        probe.onCall = { _, _ in nil }
        #expect(
            probe.fetch() == [
                "[identify]", "willFetch", "[zones]", "will Z", "[Z]", "records +c", "did Z",
                "state", "didFetch",
            ]
        )
    }
}
