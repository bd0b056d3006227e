// Databases with `await`, a real socket and a node in memory.

import CumulusCloudKit
import CumulusTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct DatabaseTests {
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE,
                title STRING QUERYABLE SORTABLE,
                votes INT64 QUERYABLE SORTABLE,
                photo ASSET,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );
        """

    @Test func aRecordIsSavedFetchedChangedAndDeleted() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                let note = record("Note", "n", ["title": "one", "votes": 1])
                let saved = try await database.save(note)
                #expect(saved === note && note.recordChangeTag != nil)
                #expect(note.changedKeys().isEmpty && note.creationDate != nil)
                let tag = note.recordChangeTag
                note["title"] = "two"
                try await database.save(note)
                #expect(note.recordChangeTag != tag)

                let fetched = try await database.record(for: note.recordID)
                #expect(fetched["title"] as? String == "two" && fetched["votes"] as? Int == 1)
                let user = try await container.userRecordID()
                #expect(fetched.creatorUserRecordID == user)
                let some = try await database.records(
                    for: [note.recordID, CKRecord.ID(recordName: "none")],
                    desiredKeys: ["votes"]
                )
                #expect(try some[note.recordID]?.get().allKeys() == ["votes"])
                let missing = some[CKRecord.ID(recordName: "none")]
                #expect(throws: CKError.self) { try missing?.get() }

                #expect(try await database.deleteRecord(withID: note.recordID) == note.recordID)
                let gone = await failure { try await database.record(for: note.recordID) }
                #expect(gone?.code == .unknownItem)
            }
        }
    }

    @Test func aConflictIsMergedIntoTheServersRecord() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                try await database.save(record("Note", "n", ["title": "one"]))
                let mine = try await database.record(for: CKRecord.ID(recordName: "n"))
                let theirs = try await database.record(for: mine.recordID)
                theirs["title"] = "theirs"
                try await database.save(theirs)
                mine["title"] = "mine"
                let error = await failure { try await database.save(mine) }
                #expect(error?.code == .serverRecordChanged && error?.clientRecord === mine)
                #expect(error?.ancestorRecord?["title"] as? String == "one")
                let merged = try #require(error?.serverRecord)
                #expect(merged["title"] as? String == "theirs")
                merged["title"] = "both"
                try await database.save(merged)
                #expect(mine["title"] as? String == "mine")
            }
        }
    }

    /// The two saves do not see each other's additions.
    @Test func twoSavesThatAddBothCount() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                let note = try await database.save(record("Note", "n", ["votes": 1]))
                let copies = [
                    try await database.record(for: note.recordID),
                    try await database.record(for: note.recordID),
                ]
                for (copy, delta) in zip(copies, [2, 5]) {
                    copy.increment("votes", by: delta)
                    let results = try await database.modifyRecords(
                        saving: [copy],
                        deleting: [],
                        savePolicy: .changedKeys
                    )
                    _ = try results.saveResults[note.recordID]?.get()
                }
                let sum = try await database.record(for: note.recordID)
                #expect(sum["votes"] as? Int == 8)
            }
        }
    }

    @Test func queriesGoOnFromTheirCursors() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                let notes = (0..<7).map { record("Note", "n\($0)", ["votes": $0]) }
                let results = try await database.modifyRecords(saving: notes, deleting: [])
                #expect(results.saveResults.count == 7)
                let query = CKQuery(
                    recordType: "Note",
                    predicate: NSPredicate(format: "votes >= %d", 2)
                )
                query.sortDescriptors = [NSSortDescriptor(key: "votes", ascending: false)]
                var page = try await database.records(matching: query, resultsLimit: 3)
                var found = try page.matchResults.map { try $0.1.get()["votes"] as? Int }
                while let cursor = page.queryCursor {
                    let data = try NSKeyedArchiver.archivedData(
                        withRootObject: cursor,
                        requiringSecureCoding: true
                    )
                    let kept = try #require(
                        try NSKeyedUnarchiver.unarchivedObject(
                            ofClass: CKQueryCursor.self,
                            from: data
                        )
                    )
                    #expect(kept == cursor)
                    page = try await database.records(continuingMatchFrom: kept, resultsLimit: 3)
                    found += try page.matchResults.map { try $0.1.get()["votes"] as? Int }
                }
                #expect(found == [6, 5, 4, 3, 2])
                let bad = CKQuery(
                    recordType: "Note",
                    predicate: NSPredicate(format: "title ENDSWITH 'x'")
                )
                let error = await failure { try await database.records(matching: bad) }
                #expect(error?.code == .invalidArguments)
            }
        }
    }

    @Test func anAssetComesWithItsRecord() async throws {
        let folder = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "photo")
        let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 * $0) })
        try content.write(to: file)
        try await Cloud.run(schema: Self.schema) { cloud in
            var connection = cloud.connection(try await cloud.server.makeUser("ada"))
            connection.assetDirectory = folder.appending(path: "cache").path
            try await cloud.with(connection) { container in
                let database = container.publicCloudDatabase
                let photo = record("Note", "p", ["title": "Sun", "photo": CKAsset(fileURL: file)])
                try await database.save(photo)
                #expect((photo["photo"] as? CKAsset)?.fileURL != nil)

                let fetched = try await database.record(for: photo.recordID)
                let asset = try #require(fetched["photo"] as? CKAsset)
                #expect(try Data(contentsOf: try #require(asset.fileURL)) == content)
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                let page = try await database.records(matching: query)
                let found = try page.matchResults.first?.1.get()
                #expect((found?["photo"] as? CKAsset)?.fileURL != nil)
                let titles = try await database.records(matching: query, desiredKeys: ["title"])
                #expect(try titles.matchResults.first?.1.get()["photo"] == nil)

                let lost = record(
                    "Note",
                    "l",
                    [
                        "photo": CKAsset(fileURL: folder.appending(path: "none"))
                    ]
                )
                let error = await failure { try await database.save(lost) }
                #expect(error?.code == .assetFileNotFound)
            }
        }
    }

    @Test func zonesAndTheirChanges() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                let zone = try await database.save(CKRecordZone(zoneName: "Trips"))
                #expect(zone.capabilities.contains([.fetchChanges, .atomic]))
                #expect(try await database.allRecordZones().count == 2)
                let trip = record("Trip", "t", in: zone.zoneID, ["title": "Oslo"])
                let stop = record("Stop", "s", in: zone.zoneID)
                stop["trip"] = CKRecord.Reference(record: trip, action: .deleteSelf)
                _ = try await database.modifyRecords(saving: [stop, trip], deleting: [])

                let changed = try await database.databaseChanges(since: nil)
                #expect(changed.modifications.map(\.zoneID) == [zone.zoneID])
                let first = try await database.recordZoneChanges(
                    inZoneWith: zone.zoneID,
                    since: nil
                )
                #expect(first.modificationResultsByID.count == 2 && !first.moreComing)
                try await database.deleteRecord(withID: trip.recordID)
                let data = try NSKeyedArchiver.archivedData(
                    withRootObject: first.changeToken,
                    requiringSecureCoding: true
                )
                let token = try NSKeyedUnarchiver.unarchivedObject(
                    ofClass: CKServerChangeToken.self,
                    from: data
                )
                #expect(token == first.changeToken)
                let second = try await database.recordZoneChanges(
                    inZoneWith: zone.zoneID,
                    since: token
                )
                #expect(Set(second.deletions.map(\.recordType)) == ["Trip", "Stop"])

                try await database.deleteRecordZone(withID: zone.zoneID)
                let gone = await failure { try await database.recordZone(for: zone.zoneID) }
                #expect(gone?.code == .zoneNotFound)
                let later = try await database.databaseChanges(since: changed.changeToken)
                #expect(later.deletions.map(\.reason) == [.deleted])
            }
        }
    }

    @Test func oneBadItemFailsItsZone() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                let zone = try await database.save(CKRecordZone(zoneName: "Trips")).zoneID
                let good = record("Trip", "good", in: zone, ["title": "Oslo"])
                let orphan = record("Trip", "orphan", in: zone)
                orphan.setParent(CKRecord.ID(recordName: "none", zoneID: zone))
                let results = try await database.modifyRecords(
                    saving: [good, orphan],
                    deleting: []
                )
                func code(_ record: CKRecord) -> CKError.Code? {
                    do {
                        _ = try results.saveResults[record.recordID]?.get()
                        return nil
                    } catch {
                        return (error as? CKError)?.code
                    }
                }
                #expect(code(orphan) == .referenceViolation && code(good) == .batchRequestFailed)
                #expect(good.recordChangeTag == nil && good.changedKeys() == ["title"])

                // What can't be sent fails its zone in the same way, and nothing else.
                let bad = record("Trip", "bad", in: zone, ["rank": Double.nan])
                let apart = record("Trip", "apart", ["title": "Rome"])
                let again = try await database.modifyRecords(
                    saving: [good, bad, apart],
                    deleting: [CKRecord.ID(recordName: "old", zoneID: zone)]
                )
                #expect(throws: CKError.self) { try again.saveResults[good.recordID]?.get() }
                #expect(throws: CKError.self) { try again.saveResults[bad.recordID]?.get() }
                #expect(throws: CKError.self) { try again.deleteResults.values.first?.get() }
                #expect(apart.recordChangeTag != nil && again.saveResults.count == 3)
            }
        }
    }

    @Test func aCallerWithoutAUserIsRefused() async throws {
        try await Cloud.run(schema: Self.schema) { cloud in
            try await cloud.with(cloud.connection(nil)) { container in
                #expect(try await container.accountStatus() == .noAccount)
                let user = await failure { try await container.userRecordID() }
                #expect(user?.code == .notAuthenticated)
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                let found = try await container.publicCloudDatabase.records(matching: query)
                #expect(found.matchResults.isEmpty)
                let refused = await failure {
                    try await container.publicCloudDatabase.save(record("Note", "n"))
                }
                #expect(refused?.code == .notAuthenticated)
            }
            try await cloud.asUser("ada") { container in
                #expect(try await container.accountStatus() == .available)
                let id = try await container.userRecordID()
                let user = try await container.publicCloudDatabase.record(for: id)
                #expect(user.recordType == CKRecord.SystemType.userRecord)
                let before = try await container.applicationPermissionStatus(
                    for: .userDiscoverability
                )
                #expect(before == .initialState)
                let now = try await container.requestApplicationPermission(.userDiscoverability)
                #expect(now == .granted)
                let own = try await container.userIdentity(forUserRecordID: id)
                #expect(own?.userRecordID == id)
            }
        }
    }

    @Test func usersAreFoundByTheirRecords() async throws {
        try await Cloud.run { cloud in
            var ids: [CKRecord.ID] = []
            for name in ["ada", "bo"] {
                try await cloud.asUser(name) { container in
                    ids.append(try await container.userRecordID())
                    guard name == "ada" else { return }
                    _ = try await container.requestApplicationPermission(.userDiscoverability)
                }
            }
            let (ada, bo) = (ids[0], ids[1])
            try await cloud.asUser("eve") { container in
                let nobody = CKRecord.ID(recordName: "nobody")
                #expect(try await container.userIdentity(forUserRecordID: bo) == nil)
                let own = try await container.userRecordID()
                let asked = [nobody, bo, ada, own]
                let all = try await container.userIdentities(forUserRecordIDs: asked)
                #expect(Set(all.keys) == [ada, own])
                let found = Mutex<[CKRecord.ID?]>([])
                let discover = CKDiscoverUserIdentitiesOperation(
                    userIdentityLookupInfos: CKUserIdentity.LookupInfo.lookupInfos(with: asked)
                )
                discover.userIdentityDiscoveredBlock = { identity, info in
                    let isAsked = info.userRecordID == identity.userRecordID
                    found.withLock { $0.append(isAsked ? identity.userRecordID : nil) }
                }
                await withCheckedContinuation { done in
                    discover.completionBlock = { done.resume() }
                    container.add(discover)
                }
                #expect(found.withLock { $0 } == [ada, own])
                let discovered: CKUserIdentity? = await withCheckedContinuation { done in
                    container.discoverUserIdentity(withUserRecordID: ada) { identity, _ in
                        done.resume(returning: identity)
                    }
                }
                #expect(discovered?.userRecordID == ada && discovered?.hasiCloudAccount == true)
            }
        }
    }
}
