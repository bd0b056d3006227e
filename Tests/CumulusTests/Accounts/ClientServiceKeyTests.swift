// A server with a service key, by the client library at a node.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct ClientServiceKeyTests {
    private static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Moderator;
            RECORD TYPE Report (
                text STRING, GRANT CREATE TO "_icloud", GRANT READ TO Moderator
            );
        """

    private func register(
        _ key: TestServiceKey,
        by admin: NodeOperator
    ) async throws -> (key: NodeOperator.RegisteredKey, existed: Bool) {
        try await admin.addKey(
            key.publicKey,
            label: "importer",
            expires: nil,
            in: TestServer.container,
            .development
        )
    }

    /// The code with which something fails; nil if it doesn't.
    private func code(of body: () async throws -> Void) async -> ServiceError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test func aServerHasTheRolesThatItIsGiven() async throws {
        let server = try await TestServer()
        try await server.importSchema(Self.schema)
        let admin = server.nodeOperator()
        let key = try TestServiceKey()
        let registered = try await register(key, by: admin).key
        #expect(try await register(key, by: admin).existed)

        let program = server.container(
            serviceKey: try ServiceKey(id: registered.id, pem: key.pem)
        )
        #expect(try await program.userRecordID().recordName == registered.recordName)
        let database = program.publicCloudDatabase
        let report = Record(recordType: "Report", recordID: .init(recordName: "report"))
        try await database.save(report)
        func read() async -> ServiceError.Code? {
            await code { _ = try await database.record(for: report.recordID) }
        }
        func give(_ isGiven: Bool, to name: String) async throws {
            _ = try await admin.setRole(
                "Moderator",
                ofUser: name,
                isGiven: isGiven,
                in: TestServer.container,
                .development
            )
        }
        #expect(await read() == .permissionFailure)
        try await give(true, to: registered.recordName)
        #expect(await read() == nil)
        let roles = try await admin.roles(
            ofUser: nil,
            nil,
            in: TestServer.container,
            .development
        )
        #expect(roles.map(\.user) == [registered.recordName])
        #expect(roles.map(\.recordName) == [registered.recordName])
        try await give(false, to: registered.recordName)
        #expect(await read() == .permissionFailure)
        let stranger = "_" + String(repeating: "0", count: 32)
        #expect(await code { try await give(true, to: stranger) } == .unknownItem)
        await program.close()
        await admin.close()
        try await server.stop()
    }

    @Test func aKeyOfAnotherClusterOrARevokedOneIsRefused() async throws {
        let server = try await TestServer()
        let admin = server.nodeOperator()
        let key = try TestServiceKey()
        let registered = try await register(key, by: admin).key
        func use(_ id: String, _ pem: String) async throws -> ServiceError.Code? {
            let program = server.container(serviceKey: try ServiceKey(id: id, pem: pem))
            let code = await code { _ = try await program.userRecordID() }
            await program.close()
            return code
        }
        #expect(try await use(registered.id, key.pem) == nil)
        let elsewhere = String(repeating: "0", count: 32) + registered.id.suffix(32)
        #expect(try await use(elsewhere, key.pem) == .notAuthenticated)
        #expect(try await use(registered.id, TestServiceKey(2).pem) == .notAuthenticated)
        #expect(try await !admin.revokeKey(elsewhere))
        #expect(
            try await admin.keys(in: TestServer.container, .development) == [registered]
        )
        #expect(try await admin.revokeKey(registered.id))
        #expect(try await use(registered.id, key.pem) == .notAuthenticated)
        #expect(try await admin.keys(in: TestServer.container, .development).isEmpty)
        await admin.close()
        try await server.stop()
    }

    @Test func filesAndIdsThatAreNoneAreNamed() throws {
        let key = try TestServiceKey()
        let id = String(repeating: "a", count: 64)
        #expect(try ServiceKey(id: id, pem: key.pem).id == id)
        for pem in [key.pem, key.publicPEM] {
            #expect(try ServiceKey.publicKey(ofPEM: pem) == key.publicKey)
        }
        let made = ServiceKey.makePEM()
        #expect(try ServiceKey.publicKey(ofPEM: made) != key.publicKey)
        for (id, pem) in [
            (id, key.publicPEM), (id, ""), (id, "secret"), ("", key.pem),
            (String(id.dropLast()), key.pem), (id + "aa", key.pem),
        ] {
            let error = #expect(throws: ServiceError.self) { try ServiceKey(id: id, pem: pem) }
            #expect(error?.code == .invalidArguments)
        }
        #expect(throws: ServiceError.self) { try ServiceKey.publicKey(ofPEM: "secret") }
    }
}
