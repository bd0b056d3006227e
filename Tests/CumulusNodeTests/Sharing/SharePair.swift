// Two users of a node in tests of sharing: one shares a zone with the other.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

/// Ada, who shares her zone with Bob, and how both are connected.
struct SharePair {
    let adaToken: String
    let bobToken: String
    let ada: Container
    let bob: Container
    /// Ada's record name, and Bob's.
    let owner: String
    let user: Record.ID

    var zone: RecordZone.ID { RecordZone.ID(zoneName: "Trips") }
    var sharedZone: RecordZone.ID { RecordZone.ID(zoneName: "Trips", ownerName: owner) }
    var wireZone: WireZoneID {
        WireZoneID(name: Bytes("Trips".utf8), owner: Bytes(owner.utf8))
    }
    var share: Record.ID {
        Record.ID(recordName: Share.zoneWideRecordName, zoneID: zone)
    }

    init(at server: TestServer) async throws {
        adaToken = try await server.makeUser("ada")
        bobToken = try await server.makeUser("bob")
        ada = server.container(token: adaToken)
        bob = server.container(token: bobToken)
        owner = try await ada.userRecordID().recordName
        user = try await bob.userRecordID()
        let database = ada.privateCloudDatabase
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(note("oslo", in: zone))
        var share = Share(recordZoneID: zone)
        share.addParticipant(Share.Participant(userRecordID: user, permission: .readWrite))
        share = try await database.save(share)
        try await bob.accept(try #require(share.url))
    }

    func note(_ name: String, in zone: RecordZone.ID) -> Record {
        let id = Record.ID(recordName: name, zoneID: zone)
        var record = Record(recordType: "Note", recordID: id)
        record["text"] = .string("about \(name)")
        return record
    }

    func close() async {
        await ada.close()
        await bob.close()
    }

    /// The share without Bob.
    func shareWithoutBob() async throws -> Share {
        var share = try #require(
            Share(try await ada.privateCloudDatabase.record(for: share))
        )
        share.removeParticipant(Share.Participant(userRecordID: user))
        return share
    }

    /// Follows the zone as Bob does, and reads its first page.
    func follow(_ client: RawClient) throws -> Frame {
        let request = FetchZoneChangesRequest(
            database: .shared,
            zone: wireZone,
            token: [],
            limit: 0
        )
        let call = client.call(.changesFollowZone, request.encoded())
        try client.send(call)
        while true {
            let frame = try client.nextFrame()
            guard frame.stream == call.stream else { continue }
            if frame.kind == .status { throw try ServiceError(wire: frame.payload) }
            return call
        }
    }

    /// The code with which Bob fetches a record; nil if it is shown.
    func code(_ client: RawClient, _ name: String = "oslo") throws -> ServiceError.Code? {
        let id = WireRecordID(name: Bytes(name.utf8), zone: wireZone)
        let request = FetchRecordsRequest(database: .shared, ids: [id])
        let messages = try client.perform(.recordsFetch, request.encoded())
        return try messages.flatMap { try FetchRecordsResponse(wire: $0).results }
            .first?.refusal?.code
    }
}

/// Runs a test with a pair that is disconnected at the end.
func withPair(
    at server: TestServer,
    _ body: (SharePair) async throws -> Void
) async throws {
    let pair = try await SharePair(at: server)
    do {
        try await body(pair)
    } catch {
        await pair.close()
        throw error
    }
    await pair.close()
}
