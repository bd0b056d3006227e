// Streams that a client follows, on a real node and a real socket: what is told and when, credit,
// how many there may be, and their ends.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@testable import CumulusNode

@Suite(.timeLimit(.minutes(2))) struct FollowTests {
    private static let notes = RecordZone.ID(zoneName: "Notes")
    private static let other = RecordZone.ID(zoneName: "Other")

    private func request(
        _ zone: RecordZone.ID = Self.notes,
        of database: DatabaseScope = .private,
        token: Bytes = []
    ) -> Bytes {
        FetchZoneChangesRequest(
            database: database,
            zone: WireZoneID(zone),
            token: token,
            limit: 0
        ).encoded()
    }

    private func note(_ name: String, in zone: RecordZone.ID = Self.notes, size: Int = 4) -> Record
    {
        let id = Record.ID(recordName: name, zoneID: zone)
        var record = Record(recordType: "Note", recordID: id)
        record["text"] = .string(String(repeating: "x", count: size))
        return record
    }

    private func modifyZones(
        _ client: RawClient,
        saving saves: [RecordZone.ID] = [],
        deleting deletes: [RecordZone.ID] = []
    ) throws {
        let request = ModifyZonesRequest(
            database: .private,
            saves: saves.map { WireZoneID($0) },
            deletes: deletes.map { WireZoneID($0) }
        )
        let messages = try client.perform(
            .zonesModify,
            request.encoded(),
            requestID: RawRequest.newID()
        )
        #expect(try ModifyZonesResponse(wire: messages[0]).deletes.allSatisfy { $0 == nil })
    }

    /// Two connections of a user, in a database with both zones, each with a record: one that
    /// follows, and one that writes and so loses frames that it does not wait for.
    private func clients(
        _ server: TestServer,
        user: String = "ada"
    ) async throws -> (follower: RawClient, writer: RawClient) {
        let token = try await server.makeUser(user)
        let writer = try RawClient(greeting: server.endpoint, token: token)
        try modifyZones(writer, saving: [Self.notes, Self.other])
        try writer.save([note("first"), note("first", in: Self.other)])
        return (try RawClient(greeting: server.endpoint, token: token), writer)
    }

    /// A stream that has told what there was: answers of several may come in any order.
    private func upToDate(_ client: RawClient) throws -> Frame {
        let call = try follow(client, request())
        _ = try page(client, of: call)
        return call
    }

    private func page(_ client: RawClient, of call: Frame) throws -> FetchZoneChangesResponse {
        try FetchZoneChangesResponse(wire: try message(client, of: call))
    }

    /// The next message of a stream; throws the STATUS that ends it.
    private func message(_ client: RawClient, of call: Frame) throws -> Bytes {
        while true {
            let frame = try client.nextFrame()
            guard frame.stream == call.stream else { continue }
            if frame.kind == .status { throw try ServiceError(wire: frame.payload) }
            #expect(!frame.isEnd)
            return frame.payload
        }
    }

    private func follow(_ client: RawClient, _ request: Bytes) throws -> Frame {
        let call = client.call(.changesFollowZone, request)
        try client.send(call)
        return call
    }

    // MARK: What is told

    @Test func whatIsThereThenEachChange() async throws {
        try await withServer { server in
            let (client, writer) = try await clients(server)
            let call = try follow(client, request())
            let first = try page(client, of: call)
            #expect(first.changed.map(\.recordID.recordName) == ["first"])
            #expect(!first.moreComing)
            try writer.save([note("second")])
            let second = try page(client, of: call)
            #expect(second.changed.map(\.recordID.recordName) == ["second"])
            #expect(!second.moreComing)
            // A stream begins behind a token of another with word that there is nothing new.
            let again = try follow(client, request(token: second.token))
            let checkpoint = try page(client, of: again)
            #expect(checkpoint.changed.isEmpty && checkpoint.deleted.isEmpty)
            #expect(!checkpoint.moreComing)
            #expect(try client.isSilent(for: 100))
        }
    }

    @Test func pagesEndWithACheckpoint() async throws {
        try await withServer { server in
            let (client, writer) = try await clients(server)
            try writer.save((0..<20).map { note("n\($0)") })
            let request = FetchZoneChangesRequest(
                database: .private,
                zone: WireZoneID(Self.notes),
                token: [],
                limit: 4
            )
            let call = try follow(client, request.encoded())
            var names: [String] = []
            var flags: [Bool] = []
            repeat {
                let page = try page(client, of: call)
                names += page.changed.map(\.recordID.recordName)
                flags.append(page.moreComing)
            } while flags.last == true
            #expect(names.count == 21 && Set(names).count == 21)
            #expect(flags.count == 6)
        }
    }

    /// However rings and reads fall together, the last state is told.
    @Test func aBurstEndsWithItsLastState() async throws {
        try await withServer { server in
            let (client, writer) = try await clients(server)
            let call = try follow(client, request())
            _ = try page(client, of: call)
            try client.credit(10 << 20, on: call)
            for round in 0..<10 {
                let saves = (0..<20).map { number in
                    var record = note("burst")
                    record["text"] = .string("\(round) \(number)")
                    let save = RawRequest.save(
                        encoded: [record.encodedSave(allKeys: true)],
                        policy: 2
                    )
                    return writer.call(.recordsModify, save, requestID: RawRequest.newID())
                }
                try writer.send(saves)
                var last: FieldValue?
                while last != .string("\(round) 19") {
                    last = try page(client, of: call).changed.last?["text"]
                }
            }
        }
    }

    @Test func databasesAndDefaultZonesAreFollowed() async throws {
        try await withServer { server in
            let (client, writer) = try await clients(server)
            let request = FetchDatabaseChangesRequest(database: .private, token: [], limit: 0)
            let call = client.call(.changesFollowDatabase, request.encoded())
            try client.send(call)
            func zones() throws -> [String] {
                try FetchDatabaseChangesResponse(wire: try message(client, of: call)).changed
                    .map { String(decoding: $0.name, as: UTF8.self) }
            }
            #expect(try zones() == ["Notes", "Other"])
            try writer.save([Record("loose")])
            #expect(try zones() == ["_defaultZone"])
            try modifyZones(writer, deleting: [Self.other])
            let page = try FetchDatabaseChangesResponse(wire: try message(client, of: call))
            #expect(page.deleted.map(\.id.name) == [Bytes("Other".utf8)])
        }
    }

    /// CloudKit keeps no changes there.
    ///
    /// Nothing was written to it when the stream begins.
    @Test func everyoneFollowsThePublicDatabase() async throws {
        try await withServer { server in
            let (_, writer) = try await clients(server)
            let reader = try RawClient(greeting: server.endpoint)
            let call = try follow(reader, request(.default, of: .public))
            #expect(try page(reader, of: call).changed.isEmpty)
            try writer.save([Record("news")], in: .public)
            #expect(try page(reader, of: call).changed.map(\.recordID.recordName) == ["news"])
            let mine = try follow(reader, request())
            let refusal = try error { _ = try page(reader, of: mine) }
            #expect(refusal.code == .notAuthenticated)
        }
    }

    // MARK: What it costs

    /// Another zone's changes begin no read; a change of its own begins one.
    @Test func othersChangesDoNotWakeIt() async throws {
        let engine = MemoryEngine()
        var token = ""
        try await withServer(engine: engine) { server in
            token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try modifyZones(client, saving: [Self.notes, Self.other])
            try client.save([note("first"), note("first", in: Self.other)])
        }
        try await withServer(engine: engine, startsThreads: false) { server in
            let gate = server.node.gate
            let follower = try RawClient(greeting: server.endpoint, token: token)
            let writer = try RawClient(greeting: server.endpoint, token: token)
            let call = try follow(follower, request())
            #expect(try await eventually { gate.hasReads })
            #expect(gate.runRead())
            #expect(try page(follower, of: call).changed.count == 1)
            #expect(try await eventually { gate.bell.waiterCount == 1 })
            let elsewhere = try writer.beginSave(note("second", in: Self.other))
            #expect(try await eventually { gate.hasWrites })
            #expect(gate.runBatch())
            _ = try writer.answer(to: elsewhere)
            // What the ring sent to the follower's loop is done before this is answered.
            try follower.send(Frame(.ping, payload: Bytes(repeating: 1, count: 8)))
            #expect(try follower.nextFrame().kind == .pong)
            #expect(!gate.hasReads)
            #expect(gate.bell.waiterCount == 1)
            let here = try writer.beginSave(note("third"))
            #expect(try await eventually { gate.hasWrites })
            #expect(gate.runBatch())
            _ = try writer.answer(to: here)
            #expect(try await eventually { gate.hasReads })
            #expect(gate.runRead())
            #expect(try page(follower, of: call).changed.map(\.recordID.recordName) == ["third"])
        }
    }

    /// Two who follow the same are told with the same bytes, the seal of the token included.
    @Test func followersOfAZoneShareItsPages() async throws {
        let engine = MemoryEngine()
        var token = ""
        try await withServer(engine: engine) { server in
            token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try modifyZones(client, saving: [Self.notes])
            try client.save([note("first")])
        }
        try await withServer(engine: engine, startsThreads: false) { server in
            let gate = server.node.gate
            let clients = try (0..<2).map { _ in
                try RawClient(greeting: server.endpoint, token: token)
            }
            let calls = try clients.map { try follow($0, request()) }
            for _ in calls {
                #expect(try await eventually { gate.hasReads })
                #expect(gate.runRead())
            }
            let firsts = try zip(clients, calls).map { try message($0, of: $1) }
            #expect(firsts[0] != firsts[1])
            #expect(try await eventually { gate.bell.waiterCount == 2 })
            let writer = try RawClient(greeting: server.endpoint, token: token)
            let save = try writer.beginSave(note("second"))
            #expect(try await eventually { gate.hasWrites })
            #expect(gate.runBatch())
            _ = try writer.answer(to: save)
            for _ in 0..<2 {
                #expect(try await eventually { gate.hasReads })
                #expect(gate.runRead())
            }
            let seconds = try zip(clients, calls).map { try message($0, of: $1) }
            #expect(seconds[0] == seconds[1])
        }
    }

    /// A follower that gives no credit is told nothing, and nothing is read or held for it; later
    /// it gets what has changed.
    @Test func withoutCreditNothingIsRead() async throws {
        try await withServer { server in
            let (client, writer) = try await clients(server)
            let (eve, evesWriter) = try await clients(server, user: "eve")
            try evesWriter.save([note("large", size: 100_000)])
            let call = try follow(eve, request())
            let first = try message(eve, of: call)
            #expect(first.count > Limits.standard.initialCredit)
            try evesWriter.save([note("second")])
            #expect(try eve.isSilent(for: 100))
            let reads = server.node.meter.engineCalls.value
            for number in 0..<20 { try evesWriter.save([note("n\(number)")]) }
            #expect(try eve.isSilent(for: 100))
            // Each save is one.
            #expect(server.node.meter.engineCalls.value - reads < 30)
            #expect(try await eventually { server.node.meter.heldBytes.value == 0 })
            // Others are told meanwhile.
            let theirs = try follow(client, request())
            _ = try page(client, of: theirs)
            try writer.save([note("theirs")])
            #expect(try page(client, of: theirs).changed.count == 1)
            try eve.credit(UInt32(first.count), on: call)
            #expect(try page(eve, of: call).changed.count == 21)
        }
    }

    /// Followers leave half of a connection's calls to others.
    @Test func followersTakeHalfOfTheCalls() async throws {
        try await withServer(limits: limits { $0.streamsPerConnection = 8 }) { server in
            let (client, _) = try await clients(server)
            let calls = try (0..<4).map { _ in try upToDate(client) }
            let refusal = try error {
                let call = try follow(client, request())
                _ = try page(client, of: call)
            }
            #expect(refusal.reason == .overloaded)
            #expect(try client.fetch("none").count == 1)
            try client.send(Frame(.cancel, stream: calls[0].stream))
            let cancelled = try error { _ = try page(client, of: calls[0]) }
            #expect(cancelled.code == .operationCancelled)
            let next = try follow(client, request())
            #expect(try page(client, of: next).changed.count == 1)
        }
    }

    // MARK: Ends

    @Test func aStreamThatEndsLeavesNothing() async throws {
        try await withServer { server in
            let (client, _) = try await clients(server)
            let calls = try (0..<10).map { _ in try upToDate(client) }
            #expect(try await eventually { server.node.gate.bell.waiterCount >= 10 })
            let others = server.node.gate.bell.waiterCount - 10
            try client.send(calls.prefix(5).map { Frame(.cancel, stream: $0.stream) })
            #expect(try await eventually { server.node.callsInProgress == 5 })
            client.close()
            #expect(try await eventually { server.node.callsInProgress == 0 })
            #expect(try await eventually { server.node.gate.bell.waiterCount <= others })
        }
    }

    @Test func theEndOfAZoneEndsItsStreams() async throws {
        try await withServer { server in
            let (client, writer) = try await clients(server)
            let notes = try follow(client, request())
            let token = try page(client, of: notes).token
            try modifyZones(writer, deleting: [Self.notes])
            let gone = try error { _ = try page(client, of: notes) }
            #expect(gone.code == .zoneNotFound)
            #expect(gone.message.contains("was deleted"))
            try modifyZones(writer, saving: [Self.notes])
            let anew = try follow(client, request(token: token))
            #expect(try error { _ = try page(client, of: anew) }.code == .changeTokenExpired)
            let never = try follow(client, request(RecordZone.ID(zoneName: "Never")))
            #expect(try error { _ = try page(client, of: never) }.code == .zoneNotFound)
        }
    }

    /// Tokens of others are refused before a page that somebody else was told could be shared.
    @Test func nobodyFollowsAnothersZone() async throws {
        try await withServer { server in
            let (ada, writer) = try await clients(server)
            let (eve, _) = try await clients(server, user: "eve")
            let call = try follow(ada, request())
            let token = try page(ada, of: call).token
            try writer.save([note("secret")])
            _ = try page(ada, of: call)
            let stolen = try follow(eve, request(token: token))
            #expect(try error { _ = try page(eve, of: stolen) }.code == .invalidArguments)
            let damaged = try follow(eve, request(token: Bytes(1...90)))
            #expect(try error { _ = try page(eve, of: damaged) }.code == .changeTokenExpired)
        }
    }

    @Test func aNodeThatShutsDownSendsItsFollowersAway() async throws {
        try await withServer { server in
            let (client, _) = try await clients(server)
            let call = try follow(client, request())
            _ = try page(client, of: call)
            server.node.beginDraining()
            #expect(try error { _ = try page(client, of: call) }.reason == .draining)
        }
    }
}
