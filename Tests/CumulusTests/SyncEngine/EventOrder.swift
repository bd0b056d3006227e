// Checks the order in which a sync engine tells events and makes calls, one history at a time.

import CumulusModel
import Testing

@testable import Cumulus

struct EventOrder {
    private enum Place: Equatable {
        case outside
        case fetching
        case zone(RecordZone.ID)
        case sending
    }

    private var place = Place.outside

    mutating func note(_ event: SyncEngine.Event) {
        switch event {
        case .stateUpdate: break
        case .accountChange: expect(.outside, event)
        case .willFetchChanges: go(.outside, .fetching, event)
        case .fetchedDatabaseChanges: expect(.fetching, event)
        case .willFetchRecordZoneChanges(let fetch):
            go(.fetching, .zone(fetch.zoneID), event)
        case .fetchedRecordZoneChanges(let changes):
            let ids =
                changes.modifications.map(\.record.recordID)
                + changes.deletions.map(\.recordID)
            #expect(!ids.isEmpty)
            for id in ids { expect(.zone(id.zoneID), event) }
        case .didFetchRecordZoneChanges(let fetch):
            go(.zone(fetch.zoneID), .fetching, event)
        case .didFetchChanges: go(.fetching, .outside, event)
        case .willSendChanges: go(.outside, .sending, event)
        case .sentDatabaseChanges, .sentRecordZoneChanges: expect(.sending, event)
        case .didSendChanges: go(.sending, .outside, event)
        }
    }

    mutating func note(_ call: SyncState.Call) {
        switch call {
        case .identify: #expect(place == .outside)
        case .databaseChanges: #expect(place == .fetching)
        case .zoneChanges(let zone, _): #expect(place == .zone(zone))
        case .modifyZones, .modifyRecords: #expect(place == .sending)
        }
    }

    private func expect(_ wanted: Place, _ event: SyncEngine.Event) {
        #expect(place == wanted, "\(event)")
    }

    private mutating func go(_ from: Place, _ to: Place, _ event: SyncEngine.Event) {
        expect(from, event)
        place = to
    }
}
