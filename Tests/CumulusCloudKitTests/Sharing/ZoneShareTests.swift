// A zone that is shared as a whole names its share, for its owner and for participants.

import CumulusCloudKit
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct ZoneShareTests {
    @Test func aZoneNamesItsShare() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { ada in
                let mine = ada.privateCloudDatabase
                let other = try await mine.save(CKRecordZone(zoneName: "Other"))
                let zone = try await mine.save(CKRecordZone(zoneName: "Trips"))
                #expect(zone.share == nil && other.share == nil)
                let share = CKShare(recordZoneID: zone.zoneID)
                share.publicPermission = .readOnly
                try await mine.save(share)

                let fetched = try await mine.recordZone(for: zone.zoneID)
                let reference: CKRecord.Reference = try #require(fetched.share)
                #expect(reference.recordID.recordName == CKRecordNameZoneWideShare)
                #expect(reference.action == .none)
                #expect(try await mine.record(for: reference.recordID) is CKShare)
                #expect(try await mine.save(zone).share == reference)
                let all = try await mine.allRecordZones()
                let shared = all.filter { $0.share != nil }.map(\.zoneID.zoneName)
                #expect(all.count == 3 && shared == ["Trips"])
                #expect(try restored(fetched).share == reference)
                #expect(try restored(other).share == nil)

                let url = try #require(share.url)
                try await cloud.asUser("bo") { bo in
                    try await bo.accept(try await bo.shareMetadata(for: url))
                    let joined = try await bo.sharedCloudDatabase.allRecordZones()
                    let id = try #require(joined.first?.share?.recordID)
                    #expect(try await bo.sharedCloudDatabase.record(for: id) is CKShare)
                }
                try await mine.deleteRecord(withID: reference.recordID)
                #expect(try await mine.recordZone(for: zone.zoneID).share == nil)
            }
        }
    }

    /// A share of a record is no share of its zone.
    @Test func aZoneWithASharedRecordNamesNoShare() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { ada in
                let mine = ada.privateCloudDatabase
                let zone = try await mine.save(CKRecordZone(zoneName: "Trips"))
                let trip = record("Trip", "oslo", in: zone.zoneID)
                let share = CKShare(rootRecord: trip)
                _ = try await mine.modifyRecords(saving: [trip, share], deleting: [])
                #expect(share.url != nil)
                #expect(try await mine.recordZone(for: zone.zoneID).share == nil)
            }
        }
    }

    /// The zone after a life in an archive.
    private func restored(_ zone: CKRecordZone) throws -> CKRecordZone {
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: zone,
            requiringSecureCoding: true
        )
        let kept = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecordZone.self, from: data)
        return try #require(kept)
    }
}
