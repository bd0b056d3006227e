// A node forgets tokens that expired long ago, once every member has read what is known of them.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct TokenCollectionTests {
    private static let password = "correct horse"
    private static let day: Int64 = 24 * 3_600_000

    /// Makes a user with an operator's token and two sessions, one of them revoked.
    private func signInAda(at server: TestServer) async throws {
        _ = try await server.makeUser("ada")
        let admin = try RawClient.administering(server)
        try admin.setPassword(Self.password, of: "ada")
        let nobody = try RawClient(greeting: server.endpoint)
        for _ in 0..<2 { _ = try nobody.signIn("ada", Self.password) }
        let session = try #require(try admin.sessions(of: "ada").last)
        #expect(try admin.revoke(session.id, of: "ada"))
    }

    private func count(_ namespace: String, at server: TestServer) throws -> Int {
        let reader = server.node.gate.latest(reach: .disk)
        let scope = try #require(try reader.scope(.cluster))
        return try reader.registerRows(scope, namespace).count
    }

    @Test func sessionsDoNotPileUp() async throws {
        try await withServer { server in
            try await signInAda(at: server)
            server.clockLead = 59 * Self.day
            try await server.collect()
            #expect(try count("token", at: server) == 3)
            server.clockLead = 61 * Self.day
            try await server.collect()
            // The operator's never expires.
            #expect(try count("token", at: server) == 1)
            #expect(try count("revoked", at: server) == 0)
            #expect(try count("session", at: server) == 1)
        }
    }

    /// A member that is away may not know of the revocation.
    @Test func aMemberThatNeverReportedHoldsThemUp() async throws {
        let key = Bytes(repeating: 0x5B, count: 32)
        let server = try await TestServer(clusterKey: key)
        try await signInAda(at: server)
        let peer = Bytes(repeating: 7, count: 16)
        let link = try RawClient(greeting: server.endpoint, asPeer: peer, key: key)
        let isListed = try await eventually {
            let reader = server.node.gate.latest(reach: .disk)
            return try !Members.others(than: server.node.nodeID, in: reader).isEmpty
        }
        #expect(isListed)
        link.close()
        server.clockLead = 61 * Self.day
        try await server.collect()
        #expect(try count("token", at: server) == 3)
        #expect(try count("revoked", at: server) == 1)

        let admin = server.nodeOperator()
        _ = try await admin.removeMember(peer.hex)
        await admin.close()
        try await server.collect()
        #expect(try count("token", at: server) == 1)
        #expect(try count("revoked", at: server) == 0)
        try await server.stop()
    }
}
