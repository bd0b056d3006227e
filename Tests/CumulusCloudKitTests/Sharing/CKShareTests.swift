// Shares and participants as values: what is set, kept in archives, and carried through a save.

import Cumulus
import CumulusModel
import Foundation
import Testing

@testable import CumulusCloudKit

@Suite struct CKShareTests {
    private let zone = CKRecordZone.ID(zoneName: "Trips")

    private func guest(_ email: String = "bo@example.org") -> CKShare.Participant {
        CKShare.Participant(.init(lookupInfo: .emailAddress(email)))
    }

    private func archived<Value: NSObject & NSCoding>(_ value: Value) throws -> Value {
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: value,
            requiringSecureCoding: true
        )
        return try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data)
        )
    }

    @Test func aNewShareHasItsOwnerAndNothingElse() throws {
        let trip = CKRecord(recordType: "Trip", zoneID: zone)
        let named = CKRecord.ID(recordName: "s", zoneID: zone)
        for (share, name) in [
            (CKShare(rootRecord: trip), nil), (CKShare(rootRecord: trip, shareID: named), "s"),
            (CKShare(recordZoneID: zone), CKRecordNameZoneWideShare),
        ] {
            #expect(share.recordType == CKRecord.SystemType.share && share.recordID.zoneID == zone)
            if let name { #expect(share.recordID.recordName == name) }
            #expect(share.url == nil && share.publicPermission == .none)
            #expect(share.participants == [share.owner])
            #expect(share.currentUserParticipant == share.owner)
            #expect(share.owner.role == .owner && share.owner.permission == .readWrite)
            #expect(share.owner.acceptanceStatus == .accepted)
            #expect(!share.allowsAccessRequests && share.requesters.isEmpty)
        }
        #expect(CKShare(rootRecord: trip).recordID != CKShare(rootRecord: trip).recordID)
    }

    @Test func fieldsAreThoseOfARecord() {
        let share = CKShare(recordZoneID: zone)
        share[CKShare.SystemFieldKey.title] = "Our trips"
        share[CKShare.SystemFieldKey.shareType] = "org.example.trip"
        share["colour"] = "red"
        #expect(share.changedKeys() == ["cloudkit.title", "cloudkit.type", "colour"])
        #expect(share[CKShare.SystemFieldKey.title] as? String == "Our trips")
    }

    /// Participants of a share are views of it: setting a property of one changes the share.
    @Test func participantsWriteIntoTheirShare() throws {
        let share = CKShare(recordZoneID: zone)
        let bo = guest()
        #expect(bo.permission == .readOnly && bo.role == .privateUser)
        bo.permission = .readWrite
        #expect(share.participants.count == 1)
        share.addParticipant(bo)
        #expect(share.participants.map(\.permission) == [.readWrite, .readWrite])
        bo.permission = .none
        share.participants[1].role = .administrator
        let seen = try #require(share.participants.last)
        #expect(seen.permission == .none && seen.role == .administrator && seen == bo)
        #expect(seen.userIdentity.lookupInfo?.emailAddress == "bo@example.org")
        #expect(!seen.userIdentity.hasiCloudAccount && seen.userIdentity.userRecordID == nil)

        // Adding one who is in sets role and permission.
        let again = guest("Bo@Example.org")
        share.addParticipant(again)
        #expect(share.participants.count == 2)
        #expect(share.participants[1].permission == .readOnly)
        share.removeParticipant(again)
        bo.permission = .readWrite
        #expect(share.participants == [share.owner])
        share.removeParticipant(share.owner)
        share.addParticipant(share.owner)
        #expect(share.participants == [share.owner])
    }

    @Test func sharesAndParticipantsAreArchived() throws {
        let share = CKShare(rootRecord: CKRecord(recordType: "Trip", zoneID: zone))
        share[CKShare.SystemFieldKey.title] = "Our trips"
        share.publicPermission = .readOnly
        let bo = guest()
        bo.permission = .readWrite
        share.addParticipant(bo)
        let again = try archived(share)
        #expect(again.recordID == share.recordID && again.publicPermission == .readOnly)
        #expect(again[CKShare.SystemFieldKey.title] as? String == "Our trips")
        #expect(again.participants.map(\.permission) == [.readWrite, .readWrite])
        #expect(try archived(bo) == bo)

        // Without its fields it is still a share, with all its participants.
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        share.encodeSystemFields(with: coder)
        coder.finishEncoding()
        let decoder = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        let system = try #require(CKShare(coder: decoder))
        #expect(system.participants == share.participants && system.allKeys().isEmpty)

        let note = NSKeyedArchiver(requiringSecureCoding: true)
        CKRecord(recordType: "Note").encodeSystemFields(with: note)
        note.finishEncoding()
        #expect(CKShare(coder: try NSKeyedUnarchiver(forReadingFrom: note.encodedData)) == nil)
    }

    /// Nodes send no requesters; an archive may hold them.
    @Test func requestersComeFromArchives() throws {
        let user = CKShare(recordZoneID: zone).owner.userIdentity
        let info = CKUserIdentity.LookupInfo(emailAddress: "bo@example.org")
        func decoder(_ parts: [String: NSObject]) throws -> NSKeyedUnarchiver {
            let coder = NSKeyedArchiver(requiringSecureCoding: true)
            for (key, part) in parts { coder.encode(part, forKey: key) }
            coder.finishEncoding()
            return try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        }
        let whole = try decoder(["userIdentity": user, "participantLookupInfo": info])
        let requester = try archived(try #require(CKShare.AccessRequester(coder: whole)))
        #expect(requester.participantLookupInfo == info)
        #expect(requester.userIdentity.userRecordID == user.userRecordID)
        #expect(CKShare.AccessRequester(coder: try decoder(["userIdentity": user])) == nil)

        let part = try decoder(["userIdentity": user])
        let blocked = try archived(try #require(CKShare.BlockedIdentity(coder: part)))
        #expect(blocked.userIdentity.userRecordID == user.userRecordID)
        #expect(CKShare.BlockedIdentity(coder: try decoder([:])) == nil)
    }

    @Test func aCopyGoesItsOwnWay() throws {
        let share = CKShare(recordZoneID: zone)
        let copy = try #require(share.copy() as? CKShare)
        copy.addParticipant(guest())
        #expect(copy.participants.count == 2 && share.participants.count == 1)
    }

    @Test func aFetchedShareIsAShare() {
        let record = CKShare(recordZoneID: zone).read { $0 }
        #expect(CKRecord.object(for: record) is CKShare)
        #expect(!(CKRecord.object(for: Record(recordType: "Note", recordID: .init())) is CKShare))
    }

    @Test func whoIsAddedDuringASaveStays() throws {
        let share = CKShare(recordZoneID: zone)
        let sent = try share.prepared()
        share.addParticipant(guest())
        var saved = sent
        saved.shareDetails?.url = "https://example.org/share/a"
        saved.markSaved()
        share.become(saved, sent: sent)
        #expect(share.url != nil && share.participants.count == 2)
    }

    /// Numbers that apps store and compare are CloudKit's, and each is the client library's value.
    @Test func casesHaveCloudKitsNumbers() {
        for (number, permission) in [ShareParticipant.Permission.none, .readOnly, .readWrite]
            .enumerated()
        {
            let own = CKShare.ParticipantPermission(permission)
            #expect(own.rawValue == number + 1 && own.model == permission)
        }
        let roles: [ShareParticipant.Role] = [.owner, .administrator, .privateUser, .publicUser]
        for (number, role) in roles.enumerated() {
            let own = CKShare.ParticipantRole(role)
            #expect(own.rawValue == number + 1 && own.model == role)
        }
        for status in ShareParticipant.AcceptanceStatus.allCases {
            let own = CKShare.ParticipantAcceptanceStatus(status)
            #expect(own.rawValue == Int(status.rawValue))
        }
        #expect(CKSharingParticipantAccessOption.any.rawValue == 3)
        #expect(CKSharingParticipantPermissionOption.readWrite.rawValue == 2)
        #expect(CKShareParticipantType.self == CKShare.ParticipantRole.self)
        #expect(CKShareTitleKey == "cloudkit.title" && CKRecordTypeShare == "cloudkit.share")
        #expect(CKShareTypeKey == "cloudkit.type")
        #expect(CKShareThumbnailImageDataKey == "cloudkit.thumbnailImageData")
        #expect(CKRecordNameZoneWideShare == "cloudkit.zoneshare")
    }
}
