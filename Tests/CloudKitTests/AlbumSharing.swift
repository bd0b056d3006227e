// Albums that are shared, as Apple's guides of 2016 do it: operations with the first names.

import CloudKit
import Foundation

class AlbumSharing {
    let container = CKContainer.default()
    let zone = CKRecordZone(zoneName: "Albums")

    func makeZone(completion: @escaping (Error?) -> Void) {
        container.privateCloudDatabase.save(zone) { _, error in completion(error) }
    }

    func share(
        album title: String,
        with email: String,
        completion: @escaping (URL?, Error?) -> Void
    ) {
        let id = CKRecordID(recordName: UUID().uuidString, zoneID: zone.zoneID)
        let album = CKRecord(recordType: "Album", recordID: id)
        album["title"] = title as CKRecordValue
        let share = CKShare(rootRecord: album)
        share[CKShareTitleKey] = title as CKRecordValue
        share[CKShareTypeKey] = "org.example.album" as CKRecordValue
        share.publicPermission = .none

        let info = CKUserIdentityLookupInfo(emailAddress: email)
        let people = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [info])
        people.shareParticipantFetchedBlock = { participant in
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        people.fetchShareParticipantsCompletionBlock = { error in
            if let error = error {
                completion(nil, error)
                return
            }
            let save = CKModifyRecordsOperation(
                recordsToSave: [album, share],
                recordIDsToDelete: nil
            )
            save.modifyRecordsCompletionBlock = { _, _, error in completion(share.url, error) }
            self.container.privateCloudDatabase.add(save)
        }
        container.add(people)
    }

    func accept(_ url: URL, completion: @escaping (CKShare?, Error?) -> Void) {
        let fetch = CKFetchShareMetadataOperation(shareURLs: [url])
        fetch.shouldFetchRootRecord = true
        fetch.perShareMetadataBlock = { _, metadata, error in
            guard let metadata = metadata else {
                completion(nil, error)
                return
            }
            let accept = CKAcceptSharesOperation(shareMetadatas: [metadata])
            accept.perShareCompletionBlock = { _, share, error in completion(share, error) }
            self.container.add(accept)
        }
        container.add(fetch)
    }

    /// The titles of all albums that others share, and what may be done with them.
    func sharedAlbums(completion: @escaping ([String]) -> Void) {
        let database = container.sharedCloudDatabase
        database.fetchAllRecordZones { zones, _ in
            let ids = (zones ?? []).map { $0.zoneID }
            let changes = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: ids,
                optionsByRecordZoneID: nil
            )
            var lines: [String] = []
            changes.recordChangedBlock = { record in
                if let share = record as? CKShare {
                    let isWriter = share.currentUserParticipant?.permission == .readWrite
                    lines.append(isWriter ? "writer" : "reader")
                } else {
                    lines.append(record["title"] as? String ?? "")
                }
            }
            changes.fetchRecordZoneChangesCompletionBlock = { _ in completion(lines.sorted()) }
            database.add(changes)
        }
    }
}
