// Servers that come in with a key, on a real node: what the signature binds, what the key opens,
// and how it ends.

import CumulusModel
import CumulusOperations
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct ServiceKeyTests {
    private static let refusal = ServiceKeys.refusal.message
    private static let hour: Int64 = 3_600_000

    /// What a greeting is refused with.
    private func refusal(
        at server: TestServer,
        _ make: (inout TestServiceKey.Challenge) throws -> Hello
    ) throws -> ServiceError {
        let challenged = try RawClient.challenged(by: server)
        var challenge = challenged.challenge
        return try error { _ = try challenged.client.greet(try make(&challenge)) }
    }

    @Test func aKeyOpensThePublicDatabaseAndNothingElse() async throws {
        try await withServer { server in
            let admin = try RawClient.administering(server)
            let key = try TestServiceKey()
            let added = try admin.add(key, label: "importer")
            #expect(!added.existed && added.key.label == "importer")
            #expect(added.key.id == key.registered.id && added.key.expires == 0)

            let client = try RawClient.greeting(server, with: key)
            let me = try WhoAmIResponse(wire: client.perform(.accountsWhoAmI)[0]).caller
            #expect(me.user == key.registered.recordName && me.user == added.key.user)
            _ = try client.save([Record("note")], in: .public)[0].get()
            // Its own record is there like a user's, and nobody else is its creator.
            _ = try client.fetch(me.user, in: .public)[0].get()
            _ = try client.overwrite(Record("note", ["title": "again"])).get()
            let other = try TestServiceKey(2)
            try admin.add(other)
            let foreign = try RawClient.greeting(server, with: other)
            _ = try foreign.fetch("note", in: .public)[0].get()
            #expect(try foreign.overwrite(Record("note")).refusal?.code == .permissionFailure)

            let closed: [() throws -> Void] = [
                { _ = try client.fetch("note") }, { _ = try client.save([Record("note")]) },
                { _ = try client.fetch("note", in: .shared) },
                {
                    let zone = WireZoneID(name: Bytes(Names.defaultZone.utf8), owner: [])
                    let request = FetchZoneChangesRequest(
                        database: .private,
                        zone: zone,
                        token: [],
                        limit: 0
                    )
                    _ = try client.perform(.changesZone, request.encoded())
                },
                { _ = try client.sessions() }, { _ = try client.revoke() },
                {
                    let request = FetchSubscriptionsRequest(database: .public, ids: [])
                    _ = try client.perform(.subscriptionsFetch, request.encoded())
                },
                { _ = try client.perform(.feedsFollow) }, { _ = try client.perform(.keysList) },
            ]
            for (number, call) in closed.enumerated() {
                #expect(try error(of: call).code == .permissionFailure, "\(number)")
            }
        }
    }

    @Test func aSignatureIsForOneConnectionClusterAndScope() async throws {
        try await withServer { server in
            let admin = try RawClient.administering(server)
            let key = try TestServiceKey()
            try admin.add(key)
            let production = try TestServiceKey(
                scope: ScopeID(container: TestServer.container, environment: .production)
            )
            // Signed for another connection, and by what the other side might have changed.
            let earlier = try RawClient.challenged(by: server).challenge
            let wrong: [(inout TestServiceKey.Challenge) throws -> Hello] = [
                { _ in try key.hello(answering: earlier) },
                {
                    $0.clusterID[0] ^= 1
                    return try key.hello(answering: $0)
                },
                {
                    $0.certificate = Bytes(repeating: 3, count: 32)
                    return try key.hello(answering: $0)
                },
                {
                    var hello = try key.hello(answering: $0)
                    hello.nonce[31] ^= 1
                    return hello
                },
                // Signed for the one environment, said in the other.
                {
                    var hello = try key.hello(answering: $0)
                    hello.environment = UInt32(Environment.production.rawValue)
                    return hello
                },
                {
                    var hello = try production.hello(answering: $0)
                    hello.keyID = key.registered.id
                    return hello
                },
                { try production.hello(answering: $0) },
                { try TestServiceKey(2).hello(answering: $0) },
                {
                    var hello = try TestServiceKey(2).hello(answering: $0)
                    hello.keyID = key.registered.id
                    return hello
                },
                {
                    var hello = try key.hello(answering: $0)
                    hello.signature = []
                    return hello
                },
            ]
            for (number, make) in wrong.enumerated() {
                let refused = try refusal(at: server, make)
                #expect(refused.code == .notAuthenticated, "\(number)")
                #expect(refused.message == Self.refusal, "\(number)")
            }
            _ = try RawClient.greeting(server, with: key)
        }
    }

    @Test func noByteOfASignatureCanBeAnother() async throws {
        try await withServer { server in
            let key = try TestServiceKey()
            try RawClient.administering(server).add(key)
            for index in 0..<72 {
                let refused = try refusal(at: server) { challenge in
                    var hello = try key.hello(answering: challenge)
                    hello.signature[index % hello.signature.count] ^= 1
                    return hello
                }
                #expect(refused.message == Self.refusal, "\(index)")
            }
        }
    }

    @Test func aGreetingThatCanNotBeIsToldSo() async throws {
        try await withServer { server in
            let key = try TestServiceKey()
            try RawClient.administering(server).add(key)
            let token = try await server.makeUser("ada")
            let changes: [@Sendable (inout Hello) -> Void] = [
                { $0.token = Bytes(token.utf8) }, { $0.keyID.removeLast() },
                { $0.nonce.removeLast() }, { $0.role = WireRole.operator.rawValue },
            ]
            for (number, change) in changes.enumerated() {
                let refused = try refusal(at: server) { challenge in
                    var hello = try key.hello(answering: challenge)
                    change(&hello)
                    return hello
                }
                #expect(refused.code == .invalidArguments, "\(number)")
            }
        }
    }

    @Test func aRevokedKeyEndsAndStaysEnded() async throws {
        try await withServer { server in
            let admin = try RawClient.administering(server)
            let (key, other) = (try TestServiceKey(), try TestServiceKey(2))
            for key in [key, other] { try admin.add(key) }
            let clients = try [key, other].map { try RawClient.greeting(server, with: $0) }
            for client in clients {
                _ = try client.save([Record("note-\(client === clients[0])")], in: .public)[0].get()
            }
            #expect(try admin.revokeKey(key.registered.id))
            #expect(try !admin.revokeKey(key.registered.id))
            #expect(try !admin.revokeKey(Bytes(repeating: 9, count: 16)))
            let next = try error { _ = try clients[0].save([Record("late")], in: .public) }
            #expect(next.code == .notAuthenticated && next.message == Self.refusal)
            let greeting = try refusal(at: server) { try key.hello(answering: $0) }
            #expect(greeting.message == Self.refusal)
            #expect(try admin.keys().map(\.id) == [other.registered.id])
            let again = try error { _ = try admin.add(key) }
            #expect(again.code == .invalidArguments)
            _ = try clients[1].fetch("note-true", in: .public)[0].get()
        }
    }

    @Test func aKeyExpires() async throws {
        try await withServer { server in
            let admin = try RawClient.administering(server)
            let key = try TestServiceKey()
            let now = server.node.environment.wallClock()
            let past = try error { _ = try admin.add(key, expires: now - 1) }
            #expect(past.code == .invalidArguments)
            let end = now + Self.hour
            _ = try admin.add(key, expires: end)
            let client = try RawClient.greeting(server, with: key)
            _ = try client.save([Record("note")], in: .public)[0].get()
            server.clockLead = Self.hour
            let late = try error { _ = try client.fetch("note", in: .public) }
            #expect(late.message == Self.refusal)
            let greeting = try refusal(at: server) { try key.hello(answering: $0) }
            #expect(greeting.message == Self.refusal)
            // An operator sees it, and may prolong it.
            let listed = try admin.keys()
            #expect(listed.map(\.expires) == [end])
            let prolonged = try admin.add(key, expires: end + Self.hour)
            #expect(prolonged.existed)
            _ = try client.fetch("note", in: .public)[0].get()
        }
    }

    /// What the curve does not hold is no key.
    @Test func onlyAPointOfTheCurveIsRegistered() async throws {
        try await withServer { server in
            let admin = try RawClient.administering(server)
            var moved = try TestServiceKey().publicKey
            moved[64] ^= 1
            for bytes in [[], moved, Bytes(moved.dropLast())] {
                let request = AddKeyRequest(publicKey: bytes, label: "", expires: 0)
                let refused = try error { _ = try admin.perform(.keysAdd, in: request.encoded()) }
                #expect(refused.code == .invalidArguments)
            }
            #expect(try admin.keys().isEmpty)
        }
    }
}

extension RawClient {
    /// An operator's call on the development environment of the tests' container.
    fileprivate func perform(_ method: Method, in message: Bytes) throws -> [Bytes] {
        var header = CallHeader(method)
        header.container = Bytes(TestServer.container.utf8)
        header.environment = UInt32(Environment.development.rawValue)
        return try perform(header, message)
    }

    /// Saves a record of the public database, whatever its change tag is.
    fileprivate func overwrite(_ record: Record) throws -> RecordResult {
        let saves = [record.encodedSave(allKeys: true)]
        let request = RawRequest.save(encoded: saves, in: .public, policy: 2)
        return try modify(request, id: RawRequest.newID()).saves[0]
    }

    @discardableResult
    fileprivate func add(
        _ key: TestServiceKey,
        label: String = "",
        expires: Int64 = 0
    ) throws -> AddKeyResponse {
        let request = AddKeyRequest(publicKey: key.publicKey, label: label, expires: expires)
        return try AddKeyResponse(wire: perform(.keysAdd, in: request.encoded())[0])
    }

    fileprivate func keys() throws -> [WireServiceKey] {
        try perform(.keysList, in: []).flatMap { try ListKeysResponse(wire: $0).elements }
    }

    fileprivate func revokeKey(_ id: Bytes) throws -> Bool {
        try RevokeKeyResponse(wire: perform(.keysRevoke, in: RevokeKeyRequest(id).encoded())[0])
            .flag
    }
}
