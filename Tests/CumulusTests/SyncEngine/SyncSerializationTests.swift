// What a sync engine hands to its app to keep, and how it cuts batches.

import CumulusModel
import Foundation
import Testing

@testable import Cumulus

@Suite struct SyncSerializationTests {
    private let a = SyncProbe.id("a")
    private let b = SyncProbe.id("b")

    // MARK: Keeping the state

    @Test func aKeptStateIsReadAgain() throws {
        var probe = SyncProbe()
        probe.elsewhere(saves: ["a"])
        _ = probe.fetch()
        probe.elsewhere(saves: ["b"])
        _ = probe.fetch(.init(scope: .zoneIDs([])))
        probe.state.add([.saveRecord(a), .deleteRecord(b)])
        probe.state.add([.deleteZone(RecordZone.ID(zoneName: "Old"))])
        probe.state.add([.saveZone(RecordZone(zoneName: "New"))])
        probe.state.setUntrackedChanges(true)
        probe.run()
        let text = try JSONEncoder().encode(try #require(probe.kept))
        let kept = try JSONDecoder().decode(SyncEngine.State.Serialization.self, from: text)
        let (read, ledger) = (kept.ledger, probe.state.ledger)
        #expect(read.user == "ada")
        #expect(read.databaseToken == ledger.databaseToken && read.databaseToken != nil)
        #expect(read.zones.mapValues(\.token) == ledger.zones.mapValues(\.token))
        #expect(read.unfetched == [SyncProbe.zone])
        #expect(read.recordChanges.all == [.saveRecord(a), .deleteRecord(b)])
        #expect(read.zoneChanges.all == ledger.zoneChanges.all)
        #expect(read.zoneChanges.all.count == 2)
        #expect(read.hasUntrackedChanges)
        #expect(!read.isChanged)
    }

    /// A form of a later release is refused, and says what to do.
    @Test func aStateOfALaterRelease() {
        let error = #expect(throws: DecodingError.self) {
            let text = Data(#"{"version":2}"#.utf8)
            _ = try JSONDecoder().decode(SyncEngine.State.Serialization.self, from: text)
        }
        #expect("\(String(describing: error))".contains("update the app"))
    }

    /// The form of this release, so that later ones read it.
    @Test func theFirstForm() throws {
        let text = Data(
            #"""
            {"version":1,"user":"ada","databaseToken":"AAAA","unfetched":[{"name":"Z","owner":"o"}],
            "zones":[{"zone":{"name":"Z","owner":"o"},"token":"AQID","isRefetched":true}],
            "zoneChanges":[{"zone":{"name":"Z","owner":"o"},"isDeletion":true}],
            "recordChanges":[{"name":"a","zone":{"name":"Z","owner":"o"},"isDeletion":false}],
            "hasUntrackedChanges":true}
            """#.utf8
        )
        let read = try JSONDecoder().decode(SyncEngine.State.Serialization.self, from: text).ledger
        let zone = RecordZone.ID(zoneName: "Z", ownerName: "o")
        #expect(read.user == "ada" && read.databaseToken?.text == "AAAA")
        #expect(read.zones[zone]?.token?.text == "AQID" && read.zones[zone]?.isRefetched == true)
        #expect(read.unfetched == [zone] && read.hasUntrackedChanges)
        #expect(read.zoneChanges.all == [.deleteZone(zone)])
        #expect(
            read.recordChanges.all == [.saveRecord(Record.ID(recordName: "a", zoneID: zone))]
        )
    }

    /// What an app keeps of a record is enough to save it again.
    @Test func systemFieldsAreReadAgain() throws {
        var record = Record(recordType: "Note", recordID: a)
        record["title"] = "hello"
        record.recordChangeTag = "0a0b"
        record.creationDate = Timestamp(millisecondsSince1970: 12)
        record.creatorUserRecordName = "ada"
        record.modificationDate = Timestamp(millisecondsSince1970: 34)
        record.lastModifiedUserRecordName = "bob"
        record.parent = Record.Reference(recordName: "b")
        let text = try JSONEncoder().encode(record.systemFields)
        let read = Record(try JSONDecoder().decode(Record.SystemFields.self, from: text))
        #expect(read.systemFields == record.systemFields)
        #expect(read.recordID == a && read.recordType == "Note")
        #expect(read.recordChangeTag == "0a0b" && read.parent == record.parent)
        #expect(read.creationDate == record.creationDate)
        #expect(read.modificationDate == record.modificationDate)
        #expect(read.creatorUserRecordName == "ada" && read.lastModifiedUserRecordName == "bob")
        #expect(read.allKeys() == [] && read.changedKeys() == [])
        #expect(read.changedParent == nil)
    }

    // MARK: Batches

    @Test func aBatchIsCutToItsLimits() async throws {
        let ids = (0..<10).map { SyncProbe.id("\($0)") }
        let changes = ids.map { SyncEngine.PendingRecordZoneChange.saveRecord($0) }
        let many = await SyncEngine.RecordZoneChangeBatch(
            pendingChanges: changes + [.deleteRecord(a)],
            limits: .init(itemCount: 4, byteCount: 1 << 20)
        ) { $0 == ids[1] ? nil : Record(recordType: "Note", recordID: $0) }
        #expect(many?.recordsToSave.map(\.recordID) == [ids[0], ids[2], ids[3], ids[4]])
        let large = await SyncEngine.RecordZoneChangeBatch(
            pendingChanges: changes,
            limits: .init(itemCount: 400, byteCount: 25_000)
        ) { id in
            var record = Record(recordType: "Note", recordID: id)
            record["text"] = .string(String(repeating: "x", count: 10_000))
            return record
        }
        #expect(large?.recordsToSave.count == 2)
        let alone = await SyncEngine.RecordZoneChangeBatch(
            pendingChanges: changes,
            limits: .init(itemCount: 400, byteCount: 10)
        ) { Record(recordType: "Note", recordID: $0) }
        #expect(alone?.recordsToSave.count == 1)
        let none = await SyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { _ in nil }
        #expect(none == nil)
    }
}
