// Two users and a stranger share by `CKShare` alone, with a real node over a socket.

import CumulusCloudKit
import CumulusTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct SharingTests {
    private let zone = CKRecordZone(zoneName: "Trips")

    /// Ada has a zone with a trip; Bo holds an address; Eve is a stranger.
    private func withUsers(
        _ body: (_ ada: CKContainer, _ bo: CKContainer, _ eve: CKContainer) async throws -> Void
    ) async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { ada in
                try await cloud.asUser("bo") { bo in
                    try await cloud.asUser("eve") { eve in
                        try await cloud.server.setAddress("bo@example.org", of: "bo")
                        try await ada.privateCloudDatabase.save(zone)
                        try await body(ada, bo, eve)
                    }
                }
            }
        }
    }

    private func zone(of owner: CKContainer) async throws -> CKRecordZone.ID {
        let user = try await owner.userRecordID()
        return CKRecordZone.ID(zoneName: zone.zoneID.zoneName, ownerName: user.recordName)
    }

    private func names(_ database: CKDatabase, _ zone: CKRecordZone.ID) async throws -> [String] {
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
        return page.modificationResultsByID.keys.map(\.recordName).sorted()
    }

    @Test func aTripIsSharedWithSomebodyInvited() async throws {
        try await withUsers { ada, bo, eve in
            let (mine, theirs) = (ada.privateCloudDatabase, bo.sharedCloudDatabase)
            let trip = record("Trip", "oslo", in: zone.zoneID, ["title": "Oslo"])
            let share = CKShare(rootRecord: trip)
            share[CKShare.SystemFieldKey.title] = "Our trip"
            let guest = try await ada.shareParticipant(forEmailAddress: "bo@example.org")
            guest.permission = .readWrite
            share.addParticipant(guest)
            _ = try await mine.modifyRecords(saving: [trip, share], deleting: [])
            let url = try #require(share.url)
            #expect(trip.share?.recordID == share.recordID && share.participants.count == 2)

            let stranger = await failure { try await eve.shareMetadata(for: url) }
            #expect(stranger?.code == .permissionFailure)
            let metadata = try await bo.shareMetadata(for: url)
            #expect(metadata.participantStatus == .pending && metadata.rootRecord == nil)
            #expect(metadata.participantPermission == .readWrite)
            #expect(metadata.hierarchicalRootRecordID?.recordName == "oslo")
            #expect(metadata.ownerIdentity.userRecordID == (try await ada.userRecordID()))
            #expect(metadata.share[CKShare.SystemFieldKey.title] as? String == "Our trip")

            let joined = try await bo.accept(metadata)
            #expect(joined.currentUserParticipant?.acceptanceStatus == .accepted)
            try await bo.accept(metadata)
            let shared = try await zone(of: ada)
            #expect(
                try await theirs.databaseChanges(since: nil).modifications.map(\.zoneID) == [shared]
            )
            #expect(
                try await names(theirs, shared) == ["oslo", share.recordID.recordName].sorted()
            )

            // He edits the trip and adds below it; Ada sees who did.
            let id = CKRecord.ID(recordName: "oslo", zoneID: shared)
            let copy = try await theirs.record(for: id)
            copy["title"] = "Oslo and Bergen"
            let stop = record("Stop", "museum", in: shared)
            stop.setParent(copy)
            _ = try await theirs.modifyRecords(saving: [copy, stop], deleting: [])
            let seen = try await mine.record(for: trip.recordID)
            #expect(seen["title"] as? String == "Oslo and Bergen")
            #expect(seen.lastModifiedUserRecordID == (try await bo.userRecordID()))
            #expect(seen.share?.recordID == share.recordID)

            // The share comes with changes, and says that he has joined.
            let changes = try await mine.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            let result = try #require(changes.modificationResultsByID[share.recordID])
            let fetched = try #require(try result.get().record as? CKShare)
            #expect(fetched.participants.last?.acceptanceStatus == .accepted)
            share[CKShare.SystemFieldKey.title] = "Later"
            let stale = await failure { try await mine.save(share) }
            #expect(stale?.code == .serverRecordChanged && stale?.serverRecord is CKShare)

            // Less, then nothing.
            fetched.participants.last?.permission = .readOnly
            try await mine.save(fetched)
            let late = record("Stop", "late", in: shared)
            late.setParent(id)
            #expect(await failure { try await theirs.save(late) }?.code == .permissionFailure)
            try await mine.deleteRecord(withID: fetched.recordID)
            #expect(await failure { try await theirs.record(for: id) }?.code == .zoneNotFound)
            #expect(await failure { try await bo.shareMetadata(for: url) }?.code == .unknownItem)
        }
    }

    @Test func aZoneIsSharedByItsURLWithOperations() async throws {
        try await withUsers { ada, bo, eve in
            let mine = ada.privateCloudDatabase
            try await mine.save(record("Trip", "oslo", in: zone.zoneID))
            let share = CKShare(recordZoneID: zone.zoneID)
            share.publicPermission = .readWrite
            let save = CKModifyRecordsOperation(recordsToSave: [share])
            await run(save) { mine.add(save) }
            let url = try #require(share.url)
            let other = try #require(URL(string: "https://example.org/nothing"))

            let log = Mutex<[String]>([])
            let metadatas = Mutex<[CKShare.Metadata]>([])
            let fetch = CKFetchShareMetadataOperation(shareURLs: [url, other])
            fetch.perShareMetadataResultBlock = { found, result in
                log.withLock { $0.append("\(found == url) \((try? result.get()) != nil)") }
                metadatas.withLock { $0 += (try? result.get()).map { [$0] } ?? [] }
            }
            fetch.fetchShareMetadataResultBlock = { result in
                log.withLock { $0.append("end \((try? result.get()) != nil)") }
            }
            fetch.fetchShareMetadataCompletionBlock = { error in
                let errors = (error as? CKError)?.partialErrorsByItemID ?? [:]
                log.withLock { $0.append("\(errors[other] != nil) \(errors.count)") }
            }
            await run(fetch) { bo.add(fetch) }
            #expect(log.withLock { $0 } == ["true true", "false false", "end true", "true 1"])

            let metadata = try #require(metadatas.withLock { $0.first })
            #expect(metadata.participantRole == .publicUser)
            #expect(metadata.hierarchicalRootRecordID == nil)
            let data = try NSKeyedArchiver.archivedData(
                withRootObject: metadata,
                requiringSecureCoding: true
            )
            let kept = try #require(
                try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.Metadata.self, from: data)
            )
            #expect(kept == metadata && kept.hash == metadata.hash)
            let joined = Mutex<CKShare?>(nil)
            let accept = CKAcceptSharesOperation(shareMetadatas: [kept])
            accept.perShareResultBlock = { _, result in joined.withLock { $0 = try? result.get() } }
            await run(accept) { bo.add(accept) }
            let seen = try #require(joined.withLock { $0 })
            #expect(seen.currentUserParticipant?.role == .publicUser)
            let shared = try await zone(of: ada)
            #expect(try await names(bo.sharedCloudDatabase, shared).contains("oslo"))

            // Bo leaves by deleting the share, and Ada keeps everything.
            try await bo.sharedCloudDatabase.deleteRecord(withID: seen.recordID)
            #expect(try await bo.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(try await names(mine, zone.zoneID).contains("oslo"))
            let own = await failure { try await ada.accept(metadata) }
            #expect(own?.code == .invalidArguments)
        }
    }

    /// What can't be shared fails with the codes that apps look for.
    @Test func refusalsHaveCloudKitsCodes() async throws {
        try await withUsers { ada, bo, eve in
            let mine = ada.privateCloudDatabase
            let trip = record("Trip", "oslo", in: zone.zoneID)
            let share = CKShare(rootRecord: trip)
            #expect(await failure { try await mine.save(share) }?.code == .invalidArguments)
            _ = try await mine.modifyRecords(saving: [trip, share], deleting: [])
            let again = CKShare(rootRecord: trip)
            let results = try await mine.modifyRecords(saving: [trip, again], deleting: [])
            let refused = await failure { try results.saveResults[again.recordID]?.get() }
            #expect(refused?.code == .alreadyShared)
            let note = record("Note", "n")
            let shared = CKShare(rootRecord: note)
            let inDefault = try await mine.modifyRecords(saving: [note, shared], deleting: [])
            let wrong = await failure { try inDefault.saveResults[shared.recordID]?.get() }
            #expect(wrong?.code == .invalidArguments)
            for number in 0...100 {
                let id = CKRecord.ID(recordName: "_\(String(number).padded(to: 32))")
                share.addParticipant(try await ada.shareParticipant(forUserRecordID: id))
            }
            #expect(await failure { try await mine.save(share) }?.code == .tooManyParticipants)

            // Stopping with the root in the batch tells that it is the root of none.
            let root = try await mine.record(for: trip.recordID)
            #expect(root.share?.recordID == share.recordID)
            root["title"] = "Oslo"
            let stopped = try await mine.modifyRecords(saving: [root], deleting: [share.recordID])
            #expect((try? stopped.saveResults[root.recordID]?.get()) != nil && root.share == nil)
        }
    }

    /// Somebody is invited by an address that no user has shown to hold: it may be anybody's.
    @Test func anAddressIsVerifiedBeforeItLetsIn() async throws {
        try await withUsers { ada, _, eve in
            let share = CKShare(recordZoneID: zone.zoneID)
            share.addParticipant(
                try await ada.shareParticipant(forEmailAddress: "eve@example.org")
            )
            try await ada.privateCloudDatabase.save(share)
            let url = try #require(share.url)
            let found = try await eve.shareMetadatas(for: [url])
            let error = await failure { try found[url]?.get() }
            #expect(error?.code == .permissionFailure)
        }
    }

    @Test func participantsAreLookedUp() async throws {
        try await withUsers { ada, bo, _ in
            let user = try await bo.userRecordID()
            let found = try await ada.shareParticipants(
                forEmailAddresses: ["bo@example.org", "no address"]
            )
            #expect(found.count == 2 && (try? found["bo@example.org"]?.get()) != nil)
            let wrong = await failure { try found["no address"]?.get() }
            #expect(wrong?.code == .invalidArguments)
            let numbers = try await ada.shareParticipants(forPhoneNumbers: ["+49 30 1234567"])
            #expect((try? numbers.values.first?.get()) != nil)

            let log = Mutex<[String]>([])
            let infos: [CKUserIdentity.LookupInfo] = [
                .init(emailAddress: "bo@example.org"), .init(userRecordID: user),
            ]
            let people = try await ada.shareParticipants(
                for: infos + [.init(emailAddress: "no address")]
            )
            #expect(people.count == 3)
            #expect(try people[infos[0]]?.get().userIdentity.userRecordID == nil)
            #expect(try people[infos[1]]?.get().userIdentity.userRecordID == user)
            let fetch = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
            fetch.perShareParticipantResultBlock = { info, result in
                let identity = (try? result.get())?.userIdentity
                let isUser = identity?.userRecordID == user
                log.withLock { $0.append("\(info.emailAddress ?? "record") \(isUser)") }
            }
            fetch.fetchShareParticipantsResultBlock = { _ in log.withLock { $0.append("end") } }
            await run(fetch) { ada.add(fetch) }
            #expect(log.withLock { $0 } == ["bo@example.org false", "record true", "end"])
            let (single, error): (CKShare.Participant?, (any Error)?) =
                await withCheckedContinuation { done in
                    ada.fetchShareParticipant(withUserRecordID: user) {
                        done.resume(returning: ($0, $1))
                    }
                }
            #expect(single?.userIdentity.userRecordID == user && error == nil)
        }
    }

    private func code(_ result: Result<Void, any Error>) -> CKError.Code? {
        guard case .failure(let error) = result else { return nil }
        return (error as? CKError)?.code
    }

    @Test func nodesTakeNoRequestsForAccess() async throws {
        let container = CKContainer(identifier: "iCloud.x", connection: CumulusConnection())
        let url = try #require(URL(string: "https://example.org/share/a"))
        let codes = Mutex<[CKError.Code?]>([])
        let ask = CKShareRequestAccessOperation(shareURLs: [url])
        ask.perShareAccessRequestResultBlock = { _, result in
            codes.withLock { $0.append(code(result)) }
        }
        ask.shareAccessRequestResultBlock = { result in
            codes.withLock { $0.append(code(result)) }
        }
        await run(ask) { container.add(ask) }
        #expect(codes.withLock { $0 } == [.serverRejectedRequest, .serverRejectedRequest])
        let results = try await container.requestShareAccess(for: [url, url])
        #expect(results.mapValues { code($0) } == [url: .serverRejectedRequest])
        await container.close()
    }

    /// What the owner's engine sends reaches a participant's engine on the shared database.
    @Test func enginesCarryShares() async throws {
        try await withUsers { ada, bo, _ in
            let trip = record("Trip", "oslo", in: zone.zoneID)
            let share = CKShare(rootRecord: trip)
            share.publicPermission = .readOnly
            let owner = Keeper([trip, share])
            let engine = owner.engine(ada.privateCloudDatabase)
            engine.state.add(
                pendingRecordZoneChanges: [trip, share].map { .saveRecord($0.recordID) }
            )
            try await engine.sendChanges()
            #expect(trip.share?.recordID == share.recordID)
            let url = try #require(share.url)
            try await bo.accept(try await bo.shareMetadata(for: url))
            let guest = Keeper([])
            let theirs = guest.engine(bo.sharedCloudDatabase)
            try await theirs.fetchChanges()
            #expect(guest.records.map(\.recordID.recordName).contains("oslo"))
            let seen = try #require(guest.records.compactMap { $0 as? CKShare }.first)
            #expect(seen.currentUserParticipant?.role == .publicUser)
        }
    }

    /// An app that keeps the records that it has and gets.
    private final class Keeper: CKSyncEngineDelegate {
        private let kept: Mutex<[CKRecord]>

        init(_ records: [CKRecord]) { kept = Mutex(records) }

        var records: [CKRecord] { kept.withLock { $0 } }

        func engine(_ database: CKDatabase) -> CKSyncEngine {
            var configuration = CKSyncEngine.Configuration(
                database: database,
                stateSerialization: nil,
                delegate: self
            )
            configuration.automaticallySync = false
            return CKSyncEngine(configuration)
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            guard case .fetchedRecordZoneChanges(let changes) = event else { return }
            kept.withLock { $0 += changes.modifications.map(\.record) }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext,
            syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            let pending = syncEngine.state.pendingRecordZoneChanges
            return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { id in
                self.records.first { $0.recordID == id }
            }
        }
    }

    /// Starts an operation, and returns when it has ended.
    private func run(_ operation: CKOperation, _ start: () -> Void) async {
        await withCheckedContinuation { done in
            operation.completionBlock = { done.resume() }
            start()
        }
    }
}

extension String {
    fileprivate func padded(to count: Int) -> String {
        String(repeating: "0", count: max(0, count - self.count)) + self
    }
}
