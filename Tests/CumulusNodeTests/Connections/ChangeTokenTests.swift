// Change tokens on real nodes: each is accepted, refused with the code that is promised, or waited
// for; whatever is done to it, it never shows another caller's data.

import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import Cumulus

@Suite(.serialized) struct ChangeTokenTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)
    private let zone = WireZoneID(name: Bytes("Notes".utf8), owner: [])

    private func request(_ token: Bytes, limit: UInt32 = 0) -> Bytes {
        FetchZoneChangesRequest(database: .private, zone: zone, token: token, limit: limit)
            .encoded()
    }

    private func fetch(_ client: RawClient, _ token: Bytes) throws -> FetchZoneChangesResponse {
        try FetchZoneChangesResponse(wire: client.perform(.changesZone, request(token))[0])
    }

    /// The first token of a zone with a record, as bytes.
    private func token(_ client: RawClient) throws -> Bytes {
        let zones = ModifyZonesRequest(database: .private, saves: [zone], deletes: [])
        _ = try client.perform(
            .zonesModify,
            zones.encoded(),
            requestID: RawRequest.newID()
        )
        return try fetch(client, []).token
    }

    /// Short form of the token fuzz: nothing but expired for what no node made.
    @Test func aDamagedTokenHasExpired() async throws {
        let server = try await TestServer()
        let client = try RawClient(
            greeting: server.endpoint,
            token: try await server.makeUser("ada")
        )
        let whole = try token(client)
        var dice = SeededGenerator(seed: 29)
        var codes: [ServiceError.Code: Int] = [:]
        for number in 0..<2_000 {
            let damaged =
                number % 4 == 0
                ? Bytes(
                    (0..<Int.random(in: 1...200, using: &dice)).map { _ in
                        UInt8.random(in: 0...255, using: &dice)
                    }
                ) : Damage.mutation(of: whole, using: &dice)
            if damaged == whole || damaged.isEmpty { continue }
            do {
                _ = try fetch(client, damaged)
                Issue.record("accepted \(damaged.hex)")
            } catch let error as ServiceError {
                codes[error.code, default: 0] += 1
            }
        }
        #expect(Set(codes.keys) == [.changeTokenExpired], "\(codes)")
        #expect(try fetch(client, whole).changed.isEmpty)
        try await server.stop()
    }

    @Test func aTokenIsGoodForItsCallerOnly() async throws {
        let server = try await TestServer()
        let ada = try RawClient(
            greeting: server.endpoint,
            token: try await server.makeUser("ada")
        )
        let eve = try RawClient(
            greeting: server.endpoint,
            token: try await server.makeUser("eve")
        )
        let token = try token(ada)
        _ = try self.token(eve)
        let error = #expect(throws: ServiceError.self) { _ = try fetch(eve, token) }
        #expect(error?.code == .invalidArguments)
        // A token of another kind is invalid.
        let other = #expect(throws: ServiceError.self) {
            let request = FetchDatabaseChangesRequest(database: .private, token: token, limit: 0)
            _ = try eve.perform(.changesDatabase, request.encoded())
        }
        #expect(other?.code == .invalidArguments)
        try await server.stop()
    }

    /// The cluster of a token is gone: begin anew.
    @Test func aTokenOfAnotherClusterHasExpired() async throws {
        let one = try await TestServer(clusterKey: Self.key)
        let other = try await TestServer(clusterKey: Bytes(repeating: 1, count: 32))
        let theirs = try token(
            RawClient(greeting: one.endpoint, token: try await one.makeUser("ada"))
        )
        let client = try RawClient(
            greeting: other.endpoint,
            token: try await other.makeUser("ada")
        )
        _ = try token(client)
        let error = #expect(throws: ServiceError.self) { _ = try fetch(client, theirs) }
        #expect(error?.code == .changeTokenExpired)
        for server in [one, other] { try await server.stop() }
    }

    /// Told at once, however far the other environment is: their vectors can't be compared.
    @Test func aTokenOfAnotherEnvironmentHasExpired() async throws {
        let server = try await TestServer()
        let user = try await server.makeUser("ada")
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.accessToken = user
        configuration.timeout = .seconds(20)
        var containers: [Container] = []
        for environment in Environment.allCases {
            configuration.environment = environment
            containers.append(
                Container(identifier: TestServer.container, configuration: configuration)
            )
        }
        let zoneID = RecordZone.ID(zoneName: "Notes")
        for container in containers {
            try await container.privateCloudDatabase.save(RecordZone(zoneID: zoneID))
        }
        for number in 0..<20 {
            let id = Record.ID(recordName: "n\(number)", zoneID: zoneID)
            let note = Record(recordType: "Note", recordID: id)
            try await containers[0].privateCloudDatabase.save(note)
        }
        let token = try await containers[0].privateCloudDatabase
            .recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        let error = await #expect(throws: ServiceError.self) {
            _ = try await containers[1].privateCloudDatabase
                .recordZoneChanges(inZoneWith: zoneID, since: token)
        }
        #expect(error?.code == .changeTokenExpired)
        for container in containers { await container.close() }
        try await server.stop()
    }

    /// A node that has not got what a token covers waits for it, and answers with it.
    @Test func aTokenGoesOnAtAnotherNode() async throws {
        let one = try await TestServer(clusterKey: Self.key)
        let other = try await TestServer(clusterKey: Self.key)
        let user = try await one.makeUser("ada")
        other.follow([one])
        let writer = one.container(token: user)
        let reader = other.container(token: user)
        let zoneID = RecordZone.ID(zoneName: "Notes")
        let database = writer.privateCloudDatabase
        try await database.save(RecordZone(zoneID: zoneID))
        for _ in 0..<500 {
            if (try? await reader.privateCloudDatabase.recordZone(for: zoneID)) != nil { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        var told: Set<String> = []
        var token: ServerChangeToken?
        for number in 0..<50 {
            let name = "n\(number)"
            try await database.save(
                Record(recordType: "Note", recordID: .init(recordName: name, zoneID: zoneID))
            )
            let source = number % 2 == 0 ? database : reader.privateCloudDatabase
            let changes = try await source.recordZoneChanges(inZoneWith: zoneID, since: token)
            told.formUnion(changes.modificationResultsByID.keys.map(\.recordName))
            token = changes.changeToken
            if number % 2 == 0 { #expect(told.contains(name)) }
        }
        #expect(told.count >= 49)
        // The other node never gets what follows.
        await other.unfollow()
        try await database.save(
            Record(recordType: "Note", recordID: .init(recordName: "last", zoneID: zoneID))
        )
        let ahead = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
        // The node says so by itself, when it has waited: no time of the client's runs out before.
        let alone = try RawClient(greeting: other.endpoint, token: user)
        let error = #expect(throws: ServiceError.self) {
            _ = try fetch(alone, ahead.changeToken.bytes)
        }
        #expect(error?.reason == .nodeBehind)
        for container in [writer, reader] { await container.close() }
        for server in [other, one] { try await server.stop() }
    }
}
