// What a sync engine tells, as values: compared, and described for people.

import Foundation
import Testing

@testable import CumulusCloudKit

@Suite struct SyncValueTests {
    private let zone = CKRecordZone.ID(zoneName: "Notes")
    private let other = CKRecordZone.ID(zoneName: "Trips")
    private var note: CKRecord.ID { CKRecord.ID(recordName: "a", zoneID: zone) }

    @Test func scopesAreCompared() {
        let fetch = CKSyncEngine.FetchChangesOptions(scope: .zoneIDs([zone]))
        #expect(fetch.scope == .zoneIDs([CKRecordZone.ID(zoneName: "Notes")]))
        #expect(fetch.scope != .zoneIDs([other]) && fetch.scope != .allExcluding([zone]))
        let send = CKSyncEngine.SendChangesOptions(scope: .recordIDs([note]))
        #expect(send.scope == .recordIDs([note]) && send.scope != .all)
        #expect(CKSyncEngine.SendChangesOptions().scope == .all)
    }

    @Test func accountsAreCompared() {
        let (ada, bo) = (CKRecord.ID(recordName: "ada"), CKRecord.ID(recordName: "bo"))
        let change = CKSyncEngine.Event.AccountChange(changeType: .signOut(previousUser: ada))
        #expect(change.changeType == .signOut(previousUser: CKRecord.ID(recordName: "ada")))
        #expect(change.changeType != .signOut(previousUser: bo))
        #expect(change.changeType != .signIn(currentUser: ada))
    }

    @Test func changesOfRecordsAreMembersOfSets() {
        let record = CKRecord(recordType: "Note", recordID: note)
        let change = CKDatabase.RecordZoneChange.Modification(record: record)
        let another = CKDatabase.RecordZoneChange.Modification(record: CKRecord(recordType: "A"))
        #expect(Set([change, another, change]).count == 2 && change != another)
    }

    @Test func changesAndOptionsAreDescribed() {
        let record = CKRecord(recordType: "Note", recordID: note)
        #expect(
            CKSyncEngine.PendingRecordZoneChange.saveRecord(note).description
                == "saveRecord(\(note))"
        )
        #expect(
            CKSyncEngine.PendingDatabaseChange.deleteZone(zone).description
                == "deleteZone(\(zone))"
        )
        #expect(CKSyncEngine.SyncReason.manual.description == "manual")
        let fetch = CKSyncEngine.FetchChangesOptions(scope: .allExcluding([zone]))
        #expect(
            fetch.description
                == "<FetchChangesOptions: scope=allExcluding([\(zone)]), prioritizedZoneIDs=[]>"
        )
        let send = CKSyncEngine.SendChangesOptions(scope: .recordIDs([note]))
        #expect(send.description == "<SendChangesOptions: scope=recordIDs([\(note)])>")
        let batch = CKSyncEngine.RecordZoneChangeBatch(recordsToSave: [record])
        #expect(batch.description.hasPrefix("<RecordZoneChangeBatch: recordsToSave=[\(note)], "))
    }

    /// An event names what it is about, and keeps the fields of records to itself.
    @Test func eventsAreDescribed() {
        let record = CKRecord(recordType: "Note", recordID: note)
        record["text"] = "secret"
        let fetched = CKSyncEngine.Event.FetchedRecordZoneChanges(
            modifications: [CKDatabase.RecordZoneChange.Modification(record: record)],
            deletions: []
        )
        let text = CKSyncEngine.Event.fetchedRecordZoneChanges(fetched).description
        #expect(text == "<FetchedRecordZoneChanges: modifications=[\(note)], deletions=[]>")
        let failure = CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave(
            record: record,
            error: CKError(.zoneBusy)
        )
        let sent = CKSyncEngine.Event.SentRecordZoneChanges(
            savedRecords: [],
            failedRecordSaves: [failure],
            deletedRecordIDs: [note],
            failedRecordDeletes: [:]
        )
        #expect(sent.description.contains("failedRecordSaves=[\(failure)]"))
        #expect(failure.description.hasPrefix("<FailedRecordSave: record=\(note), error="))
        #expect(!sent.description.contains("secret"))
        let end = CKSyncEngine.Event.DidFetchRecordZoneChanges(zoneID: zone, error: nil)
        #expect(end.description == "<DidFetchRecordZoneChanges: zoneID=\(zone), error=nil>")
    }
}
