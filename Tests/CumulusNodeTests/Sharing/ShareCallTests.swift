// A participant whose right is taken while it is connected, here or at another node; what a save
// can not say; shared assets over the wire.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@testable import CumulusNode

@Suite(.serialized, .timeLimit(.minutes(2))) struct ShareCallTests {
    /// Reads a stream up to the error that ends it, and says how long that took.
    private func end(
        of call: Frame,
        _ client: RawClient,
        since start: ContinuousClock.Instant
    ) throws -> ServiceError.Code {
        let code = try client.end(of: call).code
        let time = ContinuousClock.now - start
        #expect(time < .seconds(1), "the stream ended after \(time)")
        return code
    }

    // MARK: Removal

    @Test func whoIsRemovedIsOutWithTheNextCallAndItsStreamEnds() async throws {
        try await withServer { server in
            try await withPair(at: server) { pair in
                let bob = try RawClient(greeting: server.endpoint, token: pair.bobToken)
                let follower = try RawClient(greeting: server.endpoint, token: pair.bobToken)
                #expect(try pair.code(bob) == nil)
                let call = try pair.follow(follower)
                let share = try await pair.shareWithoutBob()
                try await pair.ada.privateCloudDatabase.save(share)
                let start = ContinuousClock.now
                #expect(try pair.code(bob) == .zoneNotFound)
                #expect(try end(of: call, follower, since: start) == .zoneNotFound)
                let again = try error { _ = try pair.follow(follower) }
                #expect(again.code == .zoneNotFound)
            }
        }
    }

    /// Bob asks one node, and Ada removes him at the other one.
    @Test func aRemovalEndsStreamsOfAnotherNode() async throws {
        let key = Bytes(repeating: 0x5E, count: 32)
        let first = try await TestServer(clusterKey: key)
        let second = try await TestServer(clusterKey: key)
        first.follow([second])
        second.follow([first])
        // Once this user has arrived, the first node has heard that the second one knows shares.
        try await waitForUser(try await second.makeUser("eve"), at: first)
        try await withPair(at: first) { pair in
            try await waitForUser(pair.bobToken, at: second)
            let bob = try RawClient(greeting: second.endpoint, token: pair.bobToken)
            let follower = try RawClient(greeting: second.endpoint, token: pair.bobToken)
            #expect(try await eventually { try pair.code(bob) == nil }, "the share did not arrive")
            let call = try pair.follow(follower)
            let share = try await pair.shareWithoutBob()
            try await pair.ada.privateCloudDatabase.save(share)
            #expect(try end(of: call, follower, since: .now) == .zoneNotFound)
            #expect(try pair.code(bob) == .zoneNotFound)
        }
        try await first.stop()
        try await second.stop()
    }

    /// The removal is in the queue before the save, in the same batch.
    @Test func aSaveThatWaitsIsNotMade() async throws {
        let engine = MemoryEngine()
        var waiting: (pair: SharePair, removal: Bytes)?
        try await withServer(engine: engine) { server in
            try await withPair(at: server) { pair in
                let share = try await pair.shareWithoutBob()
                waiting = (
                    pair, RawRequest.save(encoded: [share.record.encodedSave(allKeys: true)])
                )
            }
        }
        let (pair, removal) = try #require(waiting)
        try await withServer(engine: engine, startsThreads: false) { server in
            let ada = try RawClient(greeting: server.endpoint, token: pair.adaToken)
            let bob = try RawClient(greeting: server.endpoint, token: pair.bobToken)
            let late = pair.note("late", in: pair.sharedZone).encodedSave(allKeys: true)
            let calls = [
                ada.call(.recordsModify, removal, requestID: RawRequest.newID()),
                bob.call(
                    .recordsModify,
                    RawRequest.save(encoded: [late], in: .shared),
                    requestID: RawRequest.newID()
                ),
            ]
            for (client, call) in zip([ada, bob], calls) {
                try client.send(call)
                // Once this is answered, the save is in the queue.
                _ = try client.perform(.accountsWhoAmI)
            }
            _ = server.node.gate.runBatch()
            let answers = try zip([ada, bob], calls).map { client, call in
                try ModifyRecordsResponse(wire: client.answer(to: call)[0]).saves[0]
            }
            _ = try answers[0].get()
            #expect(answers[1].refusal?.code == .zoneNotFound)
        }
    }

    // MARK: What saves can't say

    /// 31 createdBy, roles, entries written by a client.
    @Test func whatOnlyTheServerSaysIsNotWritten() async throws {
        try await withServer { server in
            try await withPair(at: server) { pair in
                let bob = try RawClient(greeting: server.endpoint, token: pair.bobToken)
                func save(_ record: Record) throws -> RecordResult {
                    let save = RawRequest.save(
                        encoded: [record.encodedSave(allKeys: true)],
                        in: .shared
                    )
                    return try bob.modify(save, id: RawRequest.newID()).saves[0]
                }
                // The creator of a record is no field.
                var forged = pair.note("forged", in: pair.sharedZone)
                forged["___createdBy"] = .string(pair.owner)
                #expect(try save(forged).refusal?.code == .invalidArguments)
                _ = try save(pair.note("bergen", in: pair.sharedZone)).get()
                let id = Record.ID(recordName: "bergen", zoneID: pair.zone)
                let saved = try await pair.ada.privateCloudDatabase.record(for: id)
                #expect(saved.creatorUserRecordName == pair.user.recordName)
                #expect(saved.lastModifiedUserRecordName == pair.user.recordName)
                // Nobody makes itself an administrator, or shares a record of somebody else.
                let shared = Record.ID(
                    recordName: Share.zoneWideRecordName,
                    zoneID: pair.sharedZone
                )
                let found = try await pair.bob.sharedCloudDatabase.record(for: shared)
                var share = try #require(Share(found))
                var own = try #require(share.currentUserParticipant)
                own.role = .administrator
                share.addParticipant(own)
                #expect(try save(share.record).refusal?.code == .permissionFailure)
                var tree = Record(
                    recordType: Share.recordType,
                    recordID: Record.ID(recordName: "tree", zoneID: pair.sharedZone)
                )
                tree.shareDetails = ShareDetails(root: "oslo")
                #expect(try save(tree).refusal?.code == .permissionFailure)
                let now = try #require(
                    Share(try await pair.ada.privateCloudDatabase.record(for: pair.share))
                )
                #expect(now.participants.map(\.role) == [.owner, .privateUser])
            }
        }
    }

    /// Bob's file is Ada's to read, and is gone for him with the share.
    @Test func assetsGoThroughTheSharedDatabase() async throws {
        try await withServer { server in
            try await withPair(at: server) { pair in
                let content = SampleAsset.stream(300_000)
                var photo = pair.note("photo", in: pair.sharedZone)
                photo["file"] = .asset(Asset(data: Data(content)))
                try await pair.bob.sharedCloudDatabase.save(photo)
                let id = Record.ID(recordName: "photo", zoneID: pair.zone)
                let found = try await pair.ada.privateCloudDatabase.record(for: id)
                guard case .asset(let asset)? = found["file"] else {
                    Issue.record("\(found) has no asset")
                    return
                }
                let bob = try RawClient(greeting: server.endpoint, token: pair.bobToken)
                func code() throws -> ServiceError.Code? {
                    var request = DownloadAssetRequest(database: .shared, asset: asset.digest)
                    request.record = WireRecordID(
                        name: Bytes("photo".utf8),
                        zone: pair.wireZone
                    )
                    request.field = Bytes("file".utf8)
                    do {
                        _ = try bob.perform(.assetsDownload, request.encoded())
                        return nil
                    } catch let error as ServiceError {
                        return error.code
                    }
                }
                #expect(try code() == nil)
                try await pair.ada.privateCloudDatabase.save(try await pair.shareWithoutBob())
                #expect(try code() == .assetNotAvailable)
            }
        }
    }
}
