// The access lease: users are let in as long as this node has read as far as recent reports of all
// other members; on values with a clock of their own, and on nodes with real sockets.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct AccessLeaseTests {
    private static let members: [(nodeID: Bytes, name: String)] = [
        (nodeID: [1], name: "b:1"), (nodeID: [2], name: "c:1"),
    ]
    private static let container = ScopeID(container: "c", environment: .development)

    private func time(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    private func vector(_ seq: UInt64) -> VersionVector {
        var vector = VersionVector()
        vector[Incarnation(7)] = seq
        return vector
    }

    /// Looks with what this node has read.
    private func renew(
        _ lease: AccessLease,
        _ members: [(nodeID: Bytes, name: String)] = AccessLeaseTests.members,
        read: UInt64
    ) {
        lease.renew(members, [.cluster, Self.container]) { _, needed in
            vector(read).covers(needed)
        }
    }

    private func missing(_ lease: AccessLease, at milliseconds: Int64) -> String? {
        lease.missing(in: Self.container, now: time(milliseconds))
    }

    @Test func everyMemberHasToReportInTime() {
        let lease = AccessLease(milliseconds: 1_000, closesAll: false)
        #expect(missing(lease, at: 0) == "the other nodes")
        renew(lease, read: 9)
        #expect(missing(lease, at: 0) == "b:1")
        lease.note(vector(1), of: [1], .cluster, now: time(100))
        renew(lease, read: 9)
        #expect(missing(lease, at: 100) == "c:1")
        lease.note(vector(1), of: [2], .cluster, now: time(300))
        renew(lease, read: 9)
        #expect(missing(lease, at: 1_100) == nil)
        #expect(missing(lease, at: 1_101) == "b:1")
        // One more report of the one is not enough for the other's.
        lease.note(vector(1), of: [1], .cluster, now: time(1_200))
        renew(lease, read: 9)
        #expect(missing(lease, at: 1_300) == nil)
        #expect(missing(lease, at: 1_301) == "c:1")
        // It is taken off the list.
        renew(lease, [Self.members[0]], read: 9)
        #expect(missing(lease, at: 1_301) == nil)
        renew(lease, [], read: 9)
        #expect(missing(lease, at: 1_000_000) == nil)
    }

    /// A report counts from when it was made, once this node has read what the member had.
    @Test func whatAMemberHadReadHasToBeHere() {
        let lease = AccessLease(milliseconds: 1_000, closesAll: false)
        let members = [Self.members[0]]
        lease.note(vector(3), of: [1], .cluster, now: time(0))
        renew(lease, members, read: 3)
        lease.note(vector(5), of: [1], .cluster, now: time(500))
        lease.note(vector(8), of: [1], .cluster, now: time(900))
        renew(lease, members, read: 4)
        #expect(missing(lease, at: 1_000) == nil)
        #expect(missing(lease, at: 1_001) == "b:1")
        renew(lease, members, read: 5)
        #expect(missing(lease, at: 1_500) == nil)
        #expect(missing(lease, at: 1_501) == "b:1")
        renew(lease, members, read: 8)
        #expect(missing(lease, at: 1_900) == nil)
        #expect(missing(lease, at: 1_901) == "b:1")
    }

    /// Roles are in a container's scope.
    @Test func aContainerIsHeldToItsOwnReports() {
        let lease = AccessLease(milliseconds: 1_000, closesAll: false)
        let members = [Self.members[0]]
        lease.note(vector(1), of: [1], .cluster, now: time(900))
        lease.note(vector(2), of: [1], Self.container, now: time(100))
        renew(lease, members, read: 9)
        #expect(missing(lease, at: 1_100) == nil)
        #expect(missing(lease, at: 1_101) == "b:1")
        #expect(lease.missing(in: .cluster, now: time(1_101)) == nil)
    }

    // MARK: Nodes

    /// What a save in a database is refused with; nil if it is made.
    private func refusal(_ client: RawClient, in database: DatabaseScope) throws -> ServiceError? {
        do {
            return try client.save([Record("note-\(database.name)")], in: database)[0].refusal
        } catch let error as ServiceError {
            return error
        }
    }

    @Test func aNodeThatIsCutOffShutsUsersOutOfWhatIsNotTheirs() async throws {
        let key = Bytes(repeating: 0x5D, count: 32)
        let first = try await TestServer(clusterKey: key, accessLease: 2_000)
        let second = try await TestServer(clusterKey: key, accessLease: 2_000)
        first.follow([second])
        second.follow([first])
        let admin = try RawClient.administering(first)
        let token = try await first.makeUser("ada")
        try admin.setPassword("a good password", of: "ada")
        try await waitForUser(token, at: second)
        let ada = try RawClient(greeting: first.endpoint, token: token)
        // Both tell each other how far they are.
        #expect(
            try await eventually { try refusal(ada, in: .public)?.code == .serverRecordChanged }
        )
        let readers = try [DatabaseScope.public, .private].map { database in
            let client = try RawClient(greeting: first.endpoint, token: token)
            return (client: client, call: try follow(client, database))
        }
        await second.unfollow()
        await first.unfollow()
        // It is held to the reports that it has for as long as the lease.
        #expect(try await eventually { try refusal(ada, in: .public)?.code == .serviceUnavailable })
        let refused = try #require(try refusal(ada, in: .public))
        #expect(refused.message.contains(second.endpoint))
        #expect(refused.retryAfterMilliseconds != nil)
        #expect(try error { _ = try ada.fetch("note", in: .public) }.code == .serviceUnavailable)
        // What others share is closed too: it can't know who was removed.
        let zones = ListZonesRequest(database: .shared).encoded()
        let closed = try error { _ = try ada.perform(.zonesList, zones) }
        #expect(closed.code == .serviceUnavailable)
        let accept = AcceptShareRequest(Bytes("cumulus:/share/AAAAAAAAAAAAAAAAAAAAAA".utf8))
        let joined = try error { _ = try ada.perform(.sharingAccept, accept.encoded()) }
        #expect(joined.code == .serviceUnavailable)
        #expect(try refusal(ada, in: .private) == nil)
        // Strangers see what all see, and users sign in and end their sessions.
        let stranger = try RawClient(greeting: first.endpoint)
        _ = try stranger.fetch("note", in: .public)
        let opened = try stranger.signIn("ada", "a good password")
        let signedIn = try RawClient(
            greeting: first.endpoint,
            token: String(decoding: opened.token, as: UTF8.self)
        )
        #expect(try signedIn.sessions().count == 2)
        // A stream of the public database ends before it tells news; a stream of the private one
        // goes on.
        try await changePublicly(first)
        let end = try error { _ = try readers[0].client.answer(to: readers[0].call) }
        #expect(end.code == .serviceUnavailable)
        let frame = try readers[1].client.nextFrame()
        #expect(frame.stream == readers[1].call.stream && frame.kind == .message)
        first.follow([second])
        second.follow([first])
        #expect(
            try await eventually { try refusal(ada, in: .public)?.code == .serverRecordChanged }
        )
        try await first.stop()
        try await second.stop()
    }

    /// As if it was cut off right after it joined: it has read the other member's commits, and has
    /// no report of it.
    @Test func aNodeThatJoinedIsClosedUntilTheFirstReport() async throws {
        let key = Bytes(repeating: 0x5E, count: 32)
        let first = try await TestServer(clusterKey: key, accessLease: 1_000)
        let token = try await first.makeUser("ada")
        let second = try await TestServer(clusterKey: key, accessLease: 1_000)
        second.follow([first])
        try await waitForUser(token, at: second)
        let ada = try RawClient(greeting: second.endpoint, token: token)
        // Over several looks at the list of members, and longer than the lease.
        for _ in 0..<15 {
            #expect(try refusal(ada, in: .public)?.code == .serviceUnavailable)
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(try refusal(ada, in: .public)?.message.contains(first.endpoint) == true)
        #expect(try refusal(ada, in: .private) == nil)
        // It reports once it dials.
        first.follow([second])
        #expect(try await eventually { try refusal(ada, in: .public) == nil })
        try await first.stop()
        try await second.stop()
    }

    /// One node has never reached the others that its settings name, and one has no others.
    @Test func aNodeThatReachesNobodyIsClosedAndOneThatIsAloneOpen() async throws {
        let key = Bytes(repeating: 0x5F, count: 32)
        for (endpoints, code) in [
            (["127.0.0.1:1"], ServiceError.Code.serviceUnavailable), ([], nil),
        ] {
            let server = try await TestServer(clusterKey: key, accessLease: 1_000)
            let token = try await server.makeUser("ada")
            server.follow(endpoints: endpoints)
            let ada = try RawClient(greeting: server.endpoint, token: token)
            if code == nil {
                // The first save is carried out; the second is refused because the record exists.
                #expect(
                    try await eventually {
                        try refusal(ada, in: .public)?.code == .serverRecordChanged
                    }
                )
            }
            // Over several looks at the list of members, and longer than the lease.
            for _ in 0..<15 {
                let refused = try refusal(ada, in: .public)?.code
                #expect(refused == code ?? .serverRecordChanged)
                try await Task.sleep(for: .milliseconds(100))
            }
            try await server.stop()
        }
    }

    /// A node judges its lease before its listener opens.
    @Test func theFirstCallFindsTheLeaseJudged() throws {
        func node(_ peers: [String], isReadOnly: Bool = false) throws -> Node {
            var configuration = Node.Configuration(
                version: Release.version,
                container: isReadOnly ? nil : TestServer.container,
                operatorToken: []
            )
            configuration.accessLeaseMilliseconds = 1_000
            configuration.isReadOnly = isReadOnly
            let node = try Node(
                configuration,
                engine: MemoryEngine(),
                environment: TestServer.environment
            )
            node.expectPeers(peers)
            return node
        }
        func missing(_ node: Node) -> String? {
            node.accessLease?.missing(in: Self.container, now: node.environment.now())
        }
        #expect(try missing(node([])) == nil)
        #expect(try missing(node(["127.0.0.1:1"])) == "the other nodes")
        let hasLease = try node(["127.0.0.1:1"], isReadOnly: true).accessLease != nil
        #expect(!hasLease)
    }

    /// The settings of all nodes may name the same addresses.
    @Test func aNodeThatNamesOnlyItselfExpectsNoOthers() {
        let catchUp = CatchUp(joins: false)
        #expect(catchUp.expectsOthers)
        catchUp.expect(["a:1"])
        #expect(catchUp.expectsOthers)
        catchUp.reach("a:1", [1], isOwn: true)
        #expect(!catchUp.expectsOthers)
        catchUp.expect(["a:1", "b:1"])
        catchUp.reach("a:1", [1], isOwn: true)
        catchUp.reach("b:1", [2], isOwn: false)
        #expect(catchUp.expectsOthers)
    }

    /// A change that no caller asked for, as if another node had made it.
    private func changePublicly(_ server: TestServer) async throws {
        let zone = Commit.Zone(database: .public, name: Names.defaultZone, generation: 1)
        let put = Commit.Put(
            recordName: "news",
            birth: nil,
            type: "Note",
            fields: RecordBody()
        )
        let scope = ScopeID(container: TestServer.container, environment: .development)
        _ = try await server.node.gate.change(.commits) { transaction throws(EngineError) in
            let number = try transaction.makeScope(scope)
            let operation = Commit.Operation.put(put)
            _ = try transaction.perform([operation], in: number, zone: zone, author: Author())
            return true
        }
    }

    private func follow(_ client: RawClient, _ database: DatabaseScope) throws -> Frame {
        let zone = WireZoneID(name: Bytes(Names.defaultZone.utf8), owner: [])
        let request = FetchZoneChangesRequest(database: database, zone: zone, token: [], limit: 0)
        let call = client.call(.changesFollowZone, request.encoded())
        try client.send(call)
        while try client.nextFrame().stream != call.stream {}
        return call
    }
}
