// Sharing by the client library at a node: an owner, somebody who joins by the URL, somebody who is
// invited by an address, and a stranger.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct ShareTests {
    /// A node and three users; Ada has a zone with a note.
    private struct World {
        let server: TestServer
        let ada: Container
        let bob: Container
        let eve: Container
        /// As Ada names it, and as others do.
        let zone = RecordZone.ID(zoneName: "Trips")
        let sharedZone: RecordZone.ID

        init() async throws {
            server = try await TestServer()
            ada = try await server.container(user: "ada")
            bob = try await server.container(user: "bob")
            eve = try await server.container(user: "eve")
            let owner = try await ada.userRecordID()
            sharedZone = RecordZone.ID(zoneName: "Trips", ownerName: owner.recordName)
            try await ada.privateCloudDatabase.save(RecordZone(zoneID: zone))
            try await ada.privateCloudDatabase.save(note("oslo", in: zone))
        }

        func note(_ name: String, in zone: RecordZone.ID, below parent: String? = nil) -> Record {
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: name, zoneID: zone)
            )
            record["text"] = .string("about \(name)")
            if let parent { record.parent = Record.Reference(recordName: parent) }
            return record
        }

        /// Names of the records that a user finds in Ada's zone.
        func names(for user: Container) async throws -> [String] {
            try await user.sharedCloudDatabase
                .recordZoneChanges(inZoneWith: sharedZone, since: nil)
                .modificationResultsByID.keys.map(\.recordName).sorted()
        }
    }

    private func withWorld(_ body: (World) async throws -> Void) async throws {
        let world = try await World()
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(world))
        } catch {
            result = .failure(error)
        }
        for container in [world.ada, world.bob, world.eve] { await container.close() }
        try await world.server.stop()
        try result.get()
    }

    private func code(of body: () async throws -> Void) async -> ServiceError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test func aZoneIsSharedByItsURL() async throws {
        try await withWorld { world in
            let (mine, theirs) = (world.ada.privateCloudDatabase, world.bob.sharedCloudDatabase)
            var share = Share(recordZoneID: world.zone)
            share.title = "Our trips"
            share.publicPermission = .readOnly
            share = try await mine.save(share)
            let url = try #require(share.url)
            let ada = try await world.ada.userRecordID()
            #expect(share.owner?.userRecordID == ada && share.owner?.isCurrentUser == true)
            #expect(share.participants.map(\.role) == [.owner])

            let found = try await world.bob.shareMetadata(for: url)
            #expect(found.share.title == "Our trips" && found.zoneID == world.sharedZone)
            #expect(found.participantRole == .publicUser && found.participantStatus == .unknown)
            #expect(found.participantPermission == .readOnly && found.ownerUserRecordID == ada)
            #expect(try await theirs.allRecordZones().isEmpty)

            let start = try await theirs.databaseChanges(since: nil)
            #expect(start.modifications.isEmpty)
            let accepted = try await world.bob.accept(found)
            #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
            try await world.bob.accept(url)
            #expect(try await theirs.allRecordZones().map(\.zoneID) == [world.sharedZone])
            let came = try await theirs.databaseChanges(since: start.changeToken)
            #expect(came.modifications.map(\.zoneID) == [world.sharedZone])
            #expect(try await world.names(for: world.bob) == ["cloudkit.zoneshare", "oslo"])

            // Reading only, until the owner says otherwise.
            let stockholm = world.note("stockholm", in: world.sharedZone)
            #expect(await code { try await theirs.save(stockholm) } == .permissionFailure)
            // Bob has joined since the share was saved.
            share.publicPermission = .readWrite
            #expect(await code { _ = try await mine.save(share) } == .serverRecordChanged)
            share = try #require(try await mine.share(ofZoneWith: world.zone))
            share.publicPermission = .readWrite
            share = try await mine.save(share)
            try await theirs.save(stockholm)
            let id = Record.ID(recordName: "stockholm", zoneID: world.zone)
            let saved = try await mine.record(for: id)
            let bob = try await world.bob.userRecordID()
            #expect(saved.creatorUserRecordName == bob.recordName)
            #expect(share.participants.map(\.userRecordID) == [ada, bob])

            share.publicPermission = .none
            share = try await mine.save(share)
            #expect(await code { try await theirs.save(stockholm) } == .zoneNotFound)
            let left = try await theirs.databaseChanges(since: came.changeToken)
            #expect(left.deletions.map(\.zoneID) == [world.sharedZone])
            #expect(try await theirs.allRecordZones().isEmpty)

            // The same URL leads to the next share of the zone.
            try await mine.deleteRecord(withID: share.recordID)
            #expect(await code { _ = try await world.bob.shareMetadata(for: url) } == .unknownItem)
            let next = try await mine.save(Share(recordZoneID: world.zone))
            #expect(next.url == url)
            #expect(try await mine.share(ofZoneWith: world.zone)?.url == url)
        }
    }

    @Test func somebodyIsInvitedByAnAddress() async throws {
        try await withWorld { world in
            let mine = world.ada.privateCloudDatabase
            let admin = world.server.nodeOperator()
            _ = try await admin.setHandle(.emailAddress("bob@example.org"), of: "bob", isHeld: true)
            await admin.close()
            var share = Share(recordZoneID: world.zone)
            var guest = try await world.ada.shareParticipant(forEmailAddress: "Bob@example.org")
            #expect(guest.userRecordID == nil && guest.acceptanceStatus == .pending)
            guest.permission = .readWrite
            share.addParticipant(guest)
            share = try await mine.save(share)
            let url = try #require(share.url)
            #expect(share.participants.map(\.role) == [.owner, .privateUser])

            #expect(await code { try await world.eve.accept(url) } != nil)
            let found = try await world.bob.shareMetadata(for: url)
            #expect(found.participantStatus == .pending && found.participantRole == .privateUser)
            #expect(found.participantPermission == .readWrite)
            try await world.bob.accept(found)
            let bob = try await world.bob.userRecordID()
            share = try #require(try await mine.share(ofZoneWith: world.zone))
            let member = try #require(share.participants.last)
            #expect(member.userRecordID == bob && member.acceptanceStatus == .accepted)
            #expect(member.lookupInfo == .emailAddress("bob@example.org"))

            // As an administrator he invites others.
            var administrator = member
            administrator.role = .administrator
            share.addParticipant(administrator)
            share = try await mine.save(share)
            let theirs = world.bob.sharedCloudDatabase
            var seen = try #require(try await theirs.share(ofZoneWith: world.sharedZone))
            #expect(seen.currentUserParticipant?.role == .administrator)
            let eve = try await world.eve.userRecordID()
            seen.addParticipant(Share.Participant(userRecordID: eve))
            seen = try await theirs.save(seen)
            #expect(seen.participants.count == 3)
            // An old list would undo that.
            #expect(await code { try await mine.save(share) } == .serverRecordChanged)
            try await world.eve.accept(url)
            #expect(try await world.names(for: world.eve) == ["cloudkit.zoneshare", "oslo"])

            try await theirs.leave(seen)
            #expect(try await theirs.allRecordZones().isEmpty)
            #expect(try await world.names(for: world.eve) == ["cloudkit.zoneshare", "oslo"])
            share = try #require(try await mine.share(ofZoneWith: world.zone))
            #expect(share.participants.map(\.userRecordID?.recordName).last == eve.recordName)
            share.removeParticipant(Share.Participant(userRecordID: eve))
            share = try await mine.save(share)
            #expect(try await world.eve.sharedCloudDatabase.allRecordZones().isEmpty)
        }
    }

    @Test func aRecordIsSharedWithAllBelowIt() async throws {
        try await withWorld { world in
            let (mine, theirs) = (world.ada.privateCloudDatabase, world.bob.sharedCloudDatabase)
            try await mine.save(world.note("museum", in: world.zone, below: "oslo"))
            try await mine.save(world.note("secret", in: world.zone))
            let id = Record.ID(recordName: "oslo", zoneID: world.zone)
            var share = Share(rootRecord: try await mine.record(for: id))
            share.publicPermission = .readWrite
            let saved = try await mine.save(share, rootRecord: try await mine.record(for: id))
            #expect(saved.rootRecord.share?.recordName == saved.share.recordID.recordName)
            #expect(try await mine.share(of: saved.rootRecord)?.url == saved.share.url)
            let url = try #require(saved.share.url)
            let found = try await world.bob.shareMetadata(for: url, fetchingRootRecord: true)
            #expect(found.rootRecord?["text"] == "about oslo")
            #expect(found.hierarchicalRootRecordID?.recordName == "oslo")
            try await world.bob.accept(url)
            let name = saved.share.recordID.recordName
            #expect(try await world.names(for: world.bob) == ["museum", "oslo", name].sorted())
            let secret = Record.ID(recordName: "secret", zoneID: world.sharedZone)
            #expect(await code { _ = try await theirs.record(for: secret) } == .unknownItem)
            let orphan = world.note("orphan", in: world.sharedZone)
            #expect(await code { try await theirs.save(orphan) } == .permissionFailure)
            try await theirs.save(world.note("opera", in: world.sharedZone, below: "oslo"))
            let again = Share(rootRecord: saved.rootRecord)
            #expect(
                await code { try await mine.save(again, rootRecord: saved.rootRecord) }
                    == .alreadyShared
            )
            // The zone can't be shared as a whole either, as long as the record is shared.
            let whole = Share(recordZoneID: world.zone)
            #expect(await code { try await mine.save(whole) } == .alreadyShared)
            try await mine.deleteRecord(withID: saved.share.recordID)
            try await mine.save(whole)
        }
    }

    /// Each handle and each URL has an answer of its own.
    @Test func manyAreLookedUpAtOnce() async throws {
        try await withWorld { world in
            let admin = world.server.nodeOperator()
            let number = "+493012345678"
            _ = try await admin.setHandle(.phoneNumber(number), of: "bob", isHeld: true)
            await admin.close()
            let numbers = [number, "+493087654321"]
            let people = try await world.ada.shareParticipants(forPhoneNumbers: numbers)
            // Whether a user has it is not told.
            #expect(Set(people.keys) == Set(numbers))
            for (number, person) in people {
                #expect(person.lookupInfo == .phoneNumber(number))
                #expect(person.userRecordID == nil && person.permission == .readOnly)
            }
            let database = world.ada.privateCloudDatabase
            let id = Record.ID(recordName: "oslo", zoneID: world.zone)
            let root = try await database.record(for: id)
            var share = Share(rootRecord: root)
            share.addParticipant(try #require(people[number]))
            share = try await database.save(share, rootRecord: root).share
            let url = try #require(share.url)
            let guess = try #require(URL(string: "cumulus:/share/AAAAAAAAAAAAAAAAAAAAAA"))
            let found = try await world.bob.shareMetadatas(for: [url, guess, url])
            #expect(found.count == 2)
            #expect(try found[url]?.get().participantStatus == .pending)
            #expect(await code { _ = try found[guess]?.get() } == .unknownItem)
            let part = try await world.bob.shareMetadata(
                for: url,
                fetchingRootRecord: true,
                desiredKeys: ["mood"]
            )
            #expect(part.rootRecord?.recordID.recordName == "oslo")
            #expect(part.rootRecord?["text"] == nil)
        }
    }

    /// Names and rights, and no titles.
    @Test func anOperatorListsAndStopsShares() async throws {
        try await withWorld { world in
            var share = Share(recordZoneID: world.zone)
            share.title = "Our trips"
            share.publicPermission = .readOnly
            share = try await world.ada.privateCloudDatabase.save(share)
            let url = try #require(share.url)
            try await world.bob.accept(url)
            let admin = world.server.nodeOperator()
            let container = TestServer.container
            let found = try await admin.shares(of: "ada", in: container, .development)
            #expect(found.map(\.url) == [url] && found.map(\.title) == [nil])
            #expect(found.map(\.recordID.zoneID) == [world.sharedZone])
            let bob = try await world.bob.userRecordID()
            #expect(found[0].participants.map(\.role) == [.owner, .publicUser])
            #expect(found[0].participants.last?.userRecordID == bob)
            #expect(try await admin.shares(of: "bob", in: container, .development).isEmpty)
            func stop() async throws -> Bool {
                try await admin.stop(share.recordID, of: "ada", in: container, .development)
            }
            #expect(try await stop())
            #expect(try await !stop())
            await admin.close()
            #expect(try await world.bob.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(await code { try await world.bob.accept(url) } == .unknownItem)
        }
    }

    @Test func strangersLearnNothing() async throws {
        try await withWorld { world in
            let share = try await world.ada.privateCloudDatabase
                .save(Share(recordZoneID: world.zone))
            let url = try #require(share.url)
            #expect(await code { try await world.eve.accept(url) } == .permissionFailure)
            #expect(await code { try await world.ada.accept(url) } == .invalidArguments)
            let text = url.absoluteString
            let last = text.hasSuffix("A") ? "Q" : "A"
            let other = try #require(URL(string: text.dropLast() + last))
            #expect(await code { try await world.bob.accept(other) } == .unknownItem)
            let cut = try #require(URL(string: String(text.dropLast())))
            #expect(await code { try await world.bob.accept(cut) } == .invalidArguments)
            let nobody = world.server.container()
            #expect(await code { try await nobody.accept(url) } == .notAuthenticated)
            await nobody.close()
            let database = world.eve.sharedCloudDatabase
            let id = Record.ID(recordName: "oslo", zoneID: world.sharedZone)
            #expect(await code { _ = try await database.record(for: id) } == .zoneNotFound)
            #expect(
                await code { try await database.save(RecordZone(zoneName: "Mine")) } == .badDatabase
            )
            #expect(await code { try await database.save(share) } != nil)
        }
    }

    /// A subscription to the shared database tells of zones that came, changed, and went.
    @Test func aFeedTellsOfZonesOfOthers() async throws {
        try await withWorld { world in
            let mine = world.ada.privateCloudDatabase
            var share = Share(recordZoneID: world.zone)
            share.publicPermission = .readOnly
            share = try await mine.save(share)
            let own = RecordZone.ID(zoneName: "Own")
            try await world.bob.privateCloudDatabase.save(RecordZone(zoneID: own))
            let all = Subscription(id: "all", kind: .database())
            try await world.bob.privateCloudDatabase.save(all)
            try await world.bob.sharedCloudDatabase.save(all)
            var pages = world.bob.notifications(since: nil).makeAsyncIterator()
            func told() async throws -> [FeedNotification.News] {
                while let page = try await pages.next() {
                    if !page.notifications.isEmpty { return page.notifications.map(\.news) }
                }
                return []
            }
            while let page = try await pages.next(), !page.isUpToDate {}
            let url = try #require(share.url)
            let news = FeedNotification.News.zones([world.sharedZone], more: false)
            try await world.bob.accept(url)
            #expect(try await told() == [news])
            try await mine.save(world.note("bergen", in: world.zone))
            #expect(try await told() == [news])
            share = try #require(try await mine.share(ofZoneWith: world.zone))
            share.publicPermission = .none
            try await mine.save(share)
            #expect(try await told() == [news])
            // He is not told of later changes there, of the share either.
            try await mine.save(world.note("tromso", in: world.zone))
            share = try #require(try await mine.share(ofZoneWith: world.zone))
            share.title = "not his matter"
            try await mine.save(share)
            try await world.bob.privateCloudDatabase.save(world.note("mine", in: own))
            #expect(try await told() == [.zones([own], more: false)])
        }
    }
}
