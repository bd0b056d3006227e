// A request that names one thing twice: what the contract says of it, method by method.

import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusTesting
import CumulusWire
import Testing

@Suite struct NamedTwiceTests {
    /// Runs a test with the calls of a user, whose record name it gets.
    private func withCaller(
        _ body: (LocalConnection, _ user: String) async throws -> Void
    ) async throws {
        try await withServer { server in
            let token = try await server.makeUser("anna")
            let scope = ScopeID(container: TestServer.container, environment: .development)
            let digest = Sessions.digest(of: Bytes(token.utf8))
            let (connection, user) = try await LocalConnection.open(
                LocalEntrance(scope, .session(digest: digest)),
                on: server.node
            )
            defer { connection.close() }
            try await body(connection, user)
        }
    }

    private func save(_ record: Record, twiceAs other: Record?, deletes: [Record.ID] = []) -> Bytes
    {
        ModifyRecordsRequest(
            database: .private,
            policy: 2,
            isAtomic: false,
            saves: [record, other].compactMap { $0?.encodedSave(allKeys: false) },
            deletes: deletes.map { WireRecordID($0) },
            deleteTags: []
        ).encoded()
    }

    @Test func aFetchAnswersAsOftenAsItIsAsked() async throws {
        try await withCaller { connection, user in
            let own = RecordZone.ID(zoneName: Names.defaultZone, ownerName: user)
            let record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
            _ = try await connection.change(
                CallHeader(.recordsModify),
                save(record, twiceAs: nil)
            )
            let ids = [record.recordID, record.recordID, Record.ID(recordName: "a", zoneID: own)]
            let fetch = FetchRecordsRequest(
                database: .private,
                ids: ids.map { WireRecordID($0) }
            )
            let records = try await connection.call(CallHeader(.recordsFetch), fetch.encoded())
                .flatMap { try FetchRecordsResponse(wire: $0).results }
            #expect(try records.map { try $0.get().recordID.recordName } == ["a", "a", "a"])
            let zones = FetchZonesRequest(
                database: .private,
                ids: [.default, own].map { WireZoneID($0) }
            )
            let found = try await connection.call(CallHeader(.zonesFetch), zones.encoded())
                .flatMap { try FetchZonesResponse(wire: $0).results }
            #expect(try found.map { try $0.get().zoneID.zoneName }.count == 2)
            let none = Bytes("none".utf8)
            let wanted = FetchSubscriptionsRequest(database: .private, ids: [none, none])
            let subscriptions = try await connection.call(
                CallHeader(.subscriptionsFetch),
                wanted.encoded()
            ).flatMap { try FetchSubscriptionsResponse(wire: $0).results }
            #expect(subscriptions.count == 2)
        }
    }

    @Test func aChangeOfOneRecordTwiceIsRefused() async throws {
        try await withCaller { connection, user in
            let own = RecordZone.ID(zoneName: Names.defaultZone, ownerName: user)
            let record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
            let spelled = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "a", zoneID: own)
            )
            let requests = [
                save(record, twiceAs: record), save(record, twiceAs: spelled),
                save(record, twiceAs: nil, deletes: [spelled.recordID]),
            ]
            for request in requests {
                await #expect {
                    _ = try await connection.change(CallHeader(.recordsModify), request)
                } throws: {
                    ($0 as? ServiceError)?.code == .invalidArguments
                }
            }
        }
    }
}
