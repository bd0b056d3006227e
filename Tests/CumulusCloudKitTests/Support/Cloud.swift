// A node in this process, and containers of its users over a real socket.

import CumulusCloudKit
import CumulusModel
import CumulusTesting
import Testing

struct Cloud {
    let server: TestServer

    /// Runs a test with a node, and stops it after.
    ///
    /// - Parameters:
    ///   - schema: What the development schema holds at the beginning.
    ///   - limits: What the node keeps.
    ///   - offers: What devices can be woken with.
    static func run(
        schema: String? = nil,
        limits: Limits = .standard,
        offers: [PushOffer] = [],
        _ body: (Cloud) async throws -> Void
    ) async throws {
        let server = try await TestServer(limits: limits, pushOffers: { _ in offers })
        if let schema { try await server.importSchema(schema) }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(Cloud(server: server)))
        } catch {
            result = .failure(error)
        }
        try await server.stop()
        try result.get()
    }

    /// Runs a part of a test with the container of a new user, and closes it after.
    func asUser(_ name: String, _ body: (CKContainer) async throws -> Void) async throws {
        let token = try await server.makeUser(name)
        try await with(connection(token), body)
    }

    func connection(_ token: String?, device: String = "phone") -> CumulusConnection {
        var connection = CumulusConnection(endpoints: [server.endpoint], accessToken: token)
        connection.deviceID = device
        return connection
    }

    func with(
        _ connection: CumulusConnection,
        _ body: (CKContainer) async throws -> Void
    ) async throws {
        let container = CKContainer(identifier: TestServer.container, connection: connection)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(container))
        } catch {
            result = .failure(error)
        }
        await container.close()
        try result.get()
    }
}

/// What a call fails with.
func failure<Value>(of body: () async throws -> Value) async -> CKError? {
    await #expect(throws: CKError.self) { _ = try await body() }
}

/// A record with fields.
func record(
    _ type: CKRecord.RecordType,
    _ name: String,
    in zone: CKRecordZone.ID = .default,
    _ fields: [CKRecord.FieldKey: any CKRecordValueProtocol] = [:]
) -> CKRecord {
    let id = CKRecord.ID(recordName: name, zoneID: zone)
    let record = CKRecord(recordType: type, recordID: id)
    for (key, value) in fields { record[key] = value }
    return record
}
