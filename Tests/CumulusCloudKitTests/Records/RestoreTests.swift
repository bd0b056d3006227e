// Records that an app made again of archives: saved on top of what the server has, also from
// archives of a later release.

import CumulusCloudKit
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct RestoreTests {
    private func systemFields(of record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    private func record(from data: Data) throws -> CKRecord {
        let decoder = try NSKeyedUnarchiver(forReadingFrom: data)
        decoder.requiresSecureCoding = true
        return try #require(CKRecord(coder: decoder))
    }

    /// The archive as a later release might write it: with keys that this one doesn't know.
    private func later(_ data: Data) throws -> Data {
        let decoder = try NSKeyedUnarchiver(forReadingFrom: data)
        let fields = try #require(decoder.decodeObject(of: NSData.self, forKey: "systemFields"))
        var object = try #require(
            try JSONSerialization.jsonObject(with: fields as Data) as? [String: Any]
        )
        object["later"] = ["number": 7]
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        coder.encode(
            try JSONSerialization.data(withJSONObject: object) as NSData,
            forKey: "systemFields"
        )
        coder.encode("later" as NSString, forKey: "laterKey")
        coder.finishEncoding()
        return coder.encodedData
    }

    @Test(arguments: [false, true])
    func whatIsSetAfterwardsIsSavedUnlessTheRecordChanged(isLater: Bool) async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                let note = CumulusCloudKitTests.record("Note", "n", ["title": "one", "votes": 1])
                note.setParent(nil as CKRecord?)
                try await database.save(note)
                let kept = try isLater ? later(systemFields(of: note)) : systemFields(of: note)
                let again = try record(from: kept)
                #expect(again.recordID == note.recordID && again.recordType == "Note")
                #expect(again.recordChangeTag == note.recordChangeTag)
                #expect(again.creationDate == note.creationDate)
                #expect(again.modificationDate == note.modificationDate)
                #expect(again.creatorUserRecordID == note.creatorUserRecordID)
                #expect(again.allKeys().isEmpty && again.changedKeys().isEmpty)

                // Only fields that were set are sent, with the tag of the archive.
                again["title"] = "two"
                try await database.save(again)
                let saved = try await database.record(for: note.recordID)
                #expect(saved["title"] as? String == "two" && saved["votes"] as? Int == 1)
                let stale = try record(from: kept)
                stale["title"] = "three"
                let error = await failure { try await database.save(stale) }
                #expect(error?.code == .serverRecordChanged)
                #expect(error?.serverRecord?["title"] as? String == "two")
                #expect(error?.ancestorRecord?.recordChangeTag == note.recordChangeTag)

                // The archive of a deleted record is worth nothing.
                try await database.deleteRecord(withID: note.recordID)
                let orphan = try record(from: kept)
                orphan["title"] = "four"
                #expect(await failure { try await database.save(orphan) }?.code == .unknownItem)
            }
        }
    }
}
