// A record object during a save: what was set meanwhile stays, and what can't be saved is refused.

import CumulusModel
import Foundation
import Testing

@testable import CumulusCloudKit

@Suite struct SavingTests {
    @Test func whatIsSetDuringASaveStaysChanged() throws {
        let note = CKRecord(recordType: "Note")
        note["title"] = "one"
        note["votes"] = 1
        let sent = try note.prepared()
        note["votes"] = 2
        note["late"] = "yes"
        var saved = sent
        saved.markSaved()
        note.become(saved, sent: sent)
        #expect(note.changedKeys() == ["late", "votes"])
        #expect(note["votes"] as? Int == 2 && note["title"] as? String == "one")
        #expect(note.ancestor?["votes"] == 1)
        note["title"] = nil
        #expect(note.changedKeys().contains("title"))
    }

    @Test func whatIsAddedDuringASaveIsAddedByTheNextOne() throws {
        let note = CKRecord(recordType: "Note")
        note.increment("votes", by: 2)
        let sent = try note.prepared()
        note.increment("votes")
        note.increment("shares")
        var saved = sent
        saved.receive(.int64(2), for: "votes")
        saved.markSaved()
        note.become(saved, sent: sent)
        #expect(try note.prepared().increments == ["votes": 1, "shares": 1])
        #expect(note["votes"] as? Int == 2 && note.changedKeys().isEmpty)
    }

    @Test func aSavedAssetKeepsItsFile() throws {
        let note = CKRecord(recordType: "Note")
        let file = URL(filePath: #filePath)
        note["photo"] = CKAsset(fileURL: file)
        note["photos"] = [CKAsset(fileURL: file)]
        let sent = try note.prepared()
        var saved = sent
        let uploaded = FieldValue.asset(Asset(digest: [UInt8](repeating: 1, count: 32), size: 9))
        saved.receive(uploaded, for: "photo")
        saved.receive(.list([uploaded]), for: "photos")
        saved.markSaved()
        note.become(saved, sent: sent)
        let asset = try #require(note["photo"] as? CKAsset)
        #expect(asset.fileURL?.path == file.path && asset.model.digest.count == 32)
        #expect((note["photos"] as? [CKAsset])?.first?.fileURL?.path == file.path)
        #expect(note.changedKeys().isEmpty)
    }

    @Test func whatNoFieldCanHoldIsRefusedWhenItIsSaved() throws {
        let note = CKRecord(recordType: "Note")
        note["number"] = Double.nan
        let error = #expect(throws: ServiceError.self) { try note.prepared() }
        #expect(error?.code == .invalidArguments && error?.message.contains("'number'") == true)
        note["number"] = 1.0
        #expect(throws: Never.self) { try note.prepared() }
        let elsewhere = CKRecord.ID(recordName: "o", zoneID: .init(zoneName: "Other"))
        note["other"] = CKRecord.Reference(recordID: elsewhere, action: .none)
        let zoneError = #expect(throws: ServiceError.self) { try note.prepared() }
        #expect(zoneError?.message.contains("zone 'Other'") == true)
        note.setValue(URL(filePath: "/tmp"), forKey: "other")
        #expect(throws: ServiceError.self) { try note.prepared() }
        note["other"] = nil
        #expect(throws: Never.self) { try note.prepared() }
        // A value is read before the record is locked, so that it may be the record itself.
        note.setValue(note, forKey: "itself")
        note.setValue(nil, forKey: "itself")
        #expect(throws: Never.self) { try note.prepared() }
        note["photos"] = [CKAsset(fileURL: URL(filePath: "/nowhere/photo"))]
        let fileError = #expect(throws: ServiceError.self) { try note.prepared() }
        #expect(fileError?.code == .assetFileNotFound)
    }
}
