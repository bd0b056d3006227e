// What a node says to what it should never be sent: precise refusals, and nothing else is harmed.
//
// Each test ends with a call on another connection, which must still be served.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@Suite(.serialized) struct BadInputTests {
    // MARK: Bytes

    @Test(arguments: 1...20) func randomBytesEndTheConnection(seed: UInt64) async throws {
        try await withServer { server in
            var dice = SeededGenerator(seed: seed)
            let client = try RawClient(server.endpoint)
            let bytes = (0..<1_000).map { _ in UInt8.random(in: 0...255, using: &dice) }
            try client.send(bytes)
            #expect(try client.refusal()?.reason == .protocolError, "seed \(seed)")
            try expectHealth(server)
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "POST /records HTTP/1.1\r\n\r\n",
    ])
    func anHTTPClientIsToldWhatThisIs(request: String) async throws {
        try await withServer { server in
            let client = try RawClient(server.endpoint)
            try client.send(request.utf8)
            let answer = String(decoding: try client.receiveAll(), as: UTF8.self)
            let body = try #require(answer.range(of: "\r\n\r\n")).upperBound
            #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(answer[body...].contains("Cumulus"))
            #expect(answer[body...].split(separator: "\r\n").count == 1)
            try expectHealth(server)
        }
    }

    /// Judged before a byte of payload is kept.
    @Test(arguments: [0xFFFF_FFFF, 0x8000_0000, 4 << 20 + 1, 4, 0] as [UInt32])
    func aLengthThatCantBeEndsTheConnection(length: UInt32) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            var bytes: Bytes = []
            FrameEncoder.append(length, to: &bytes)
            try client.send(bytes)
            let error = try #require(try client.refusal())
            #expect(error.reason == .protocolError && error.message.contains("\(length) bytes"))
            try expectHealth(server)
        }
    }

    @Test func aGreetingHasLessRoom() async throws {
        try await withServer { server in
            let client = try RawClient(server.endpoint)
            var bytes = Frame.preface
            FrameEncoder.append(UInt32(Limits.standard.greetingBytes + 1), to: &bytes)
            try client.send(bytes)
            #expect(try client.refusal()?.reason == .protocolError)
        }
    }

    /// The rest follows later, in a read of its own; or never.
    @Test func aFrameMayBeCutAtEachByte() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let whole = RawClient.greeting(token: token)
            for cut in 0...whole.count {
                let client = try RawClient(server.endpoint)
                try client.send(whole.prefix(cut))
                try await Task.sleep(for: .milliseconds(1))
                try client.send(whole.dropFirst(cut))
                try client.readHello()
            }
            let client = try RawClient(greeting: server.endpoint, token: token)
            for cut in 0..<60 {
                let call = client.call(.recordsFetch, RawRequest.fetch(["a", "b", "c"]))
                var bytes: Bytes = []
                FrameEncoder.append(call, to: &bytes)
                try client.send(bytes.prefix(cut))
                try await Task.sleep(for: .milliseconds(1))
                try client.send(bytes.dropFirst(cut))
                #expect(try client.answer(to: call).count == 1)
            }
            for cut in whole.indices {
                let client = try RawClient(server.endpoint)
                try client.send(whole.prefix(cut))
                client.close()
            }
            #expect(try await eventually { server.node.meter.connections.value == 1 })
            try expectHealth(server)
        }
    }

    @Test(arguments: [FrameKind.call, .cancel, .ping, .message, .nonce, .drain])
    func nothingComesBeforeHELLO(kind: FrameKind) async throws {
        try await withServer { server in
            let client = try RawClient(server.endpoint)
            try client.send(Frame.preface)
            try client.send(Frame(kind, stream: 1))
            #expect(try client.refusal()?.reason == .protocolError)
        }
    }

    /// What only servers say, also after the greeting.
    @Test(arguments: [FrameKind.nonce, .drain, .causal, .hello])
    func callersDoNotSpeakAsServers(kind: FrameKind) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            try client.send(Frame(kind, stream: 0))
            #expect(try client.refusal()?.reason == .protocolError)
        }
    }

    // MARK: Messages

    @Test func aMessageOverTheLimitIsRefusedAndTheConnectionGoesOn() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let huge = Bytes(repeating: 0, count: Limits.standard.requestBytes + 1)
            let error = try error {
                _ = try client.perform(.recordsModify, huge, requestID: RawRequest.newID())
            }
            #expect(error.code == .limitExceeded && error.reason == .tooLarge)
            try expectHealth(server)
            #expect(try client.perform(.accountsWhoAmI).count == 1)
        }
    }

    /// Messages whose parts are many and tiny would take many times their size in memory.
    @Test func aMessageOfManyTinyPartsIsRefused() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            // Field 2, a message of no bytes, again and again.
            let message =
                [0x08, 0x02] + Bytes((0..<500_000).flatMap { _ in [0x12, 0x00] as Bytes })
            let error = try error { _ = try client.perform(.recordsFetch, message) }
            #expect(error.code == .invalidArguments || error.code == .limitExceeded)
            try expectHealth(server)
        }
    }

    @Test(arguments: [[0x08], [0xFF], [0x0A, 0x05, 0x01], [0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]])
    func aMessageThatCantBeReadIsRefused(message: Bytes) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            for method in [Method.recordsFetch, .recordsModify, .recordsList, .zonesFetch] {
                let error = try error {
                    _ = try client.perform(method, message, requestID: RawRequest.newID())
                }
                #expect(error.code == .invalidArguments, "\(method)")
            }
        }
    }

    @Test(arguments: [[], [0x05], [0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [0x02, 0x08]])
    func aCallWhoseHeaderIsCutOffIsRefused(payload: Bytes) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            var call = client.call(.accountsWhoAmI)
            call.payload = payload
            try client.send(call)
            let error = try error { _ = try client.answer(to: call) }
            #expect(error.code == .invalidArguments && error.reason == .protocolError)
            #expect(try client.perform(.accountsWhoAmI).count == 1)
        }
    }

    // MARK: Names

    private static let badNames: [(name: Bytes, says: String)] = [
        ([], "empty"),
        ([0x61, 0x00, 0x62], "NUL"),
        ([0xC3, 0x28], "UTF-8"),
        ([0xED, 0xA0, 0x80], "UTF-8"),
        (Bytes(repeating: 0x61, count: 256), "256 bytes"),
        (Bytes("_name".utf8), "underscore"),
        (Bytes("naïve".utf8), "ASCII"),
        ([0x61, 0x0A], "ASCII"),
    ]

    @Test(arguments: badNames) func aBadRecordNameIsRefused(name: Bytes, says: String) async throws
    {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let id = WireRecordID(name: name, zone: nil)
            let fetch = FetchRecordsRequest(database: .private, ids: [id]).encoded()
            let messages = try client.perform(.recordsFetch, fetch)
            expectBadName(try FetchRecordsResponse(wire: messages[0]).results[0].refusal, says)
            let save = encodedSave(name: name)
            expectBadName(try save1(save, client), says)
        }
    }

    @Test(arguments: badNames) func aBadZoneNameIsRefused(name: Bytes, says: String) async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let zone = WireZoneID(name: name, owner: [])
            let modify = ModifyZonesRequest(database: .private, saves: [zone], deletes: [zone])
            let messages = try client.perform(
                .zonesModify,
                modify.encoded(),
                requestID: RawRequest.newID()
            )
            let answer = try ModifyZonesResponse(wire: messages[0])
            expectBadName(answer.saves[0].refusal, says)
            expectBadName(answer.deletes[0], says)
        }
    }

    @Test(arguments: badNames + [(Bytes("9lives".utf8), "letter"), (Bytes("a-b".utf8), "only")])
    func aBadTypeOrFieldNameIsRefused(name: Bytes, says: String) async throws {
        // A schema name has rules of its own: what it says about these differs.
        let isText = ["empty", "NUL", "UTF-8", "256 bytes"].contains(says)
        let words = isText ? says : ""
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            expectBadName(try save1(encodedSave(type: name), client), words)
            let field = encodedField(name: name) { $0.present(3, signed: 1) }
            #expect(try save1(encodedSave(fields: [field]), client)?.code == .invalidArguments)
        }
    }

    // MARK: Values

    @Test func valuesOutOfRangeAreRefused() async throws {
        let year10000: Int64 = 253_402_300_800_000
        let year1: Int64 = -62_135_596_800_000
        let values: [FieldValue] = [
            .double(.nan), .list([.double(1), .double(.nan)]),
            .timestamp(Timestamp(millisecondsSince1970: year10000)),
            .timestamp(Timestamp(millisecondsSince1970: year1 - 1)),
            .location(Location(latitude: 90.1, longitude: 0)),
            .location(Location(latitude: 0, longitude: -180.1)),
            .location(Location(latitude: .nan, longitude: 0)),
            .list(["text", 1]), .list([.double(1), 1]), .list([.list(["text"])]),
            .reference(Record.Reference(recordName: "_hidden")),
        ]
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            for value in values {
                let saved = try client.save([Record("bad", ["value": value])])
                let error = try #require(saved[0].refusal, "\(value)")
                #expect(error.code == .invalidArguments, "\(value): \(error)")
                #expect(error.message.contains("value"), "\(value): \(error)")
            }
            #expect(try client.fetch("bad")[0].refusal?.code == .unknownItem)
        }
    }

    @Test func textThatIsNotUTF8IsRefused() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let field = encodedField(name: Bytes("text".utf8)) {
                $0.present(2, bytes: [0xC3, 0x28])
            }
            let error = try save1(encodedSave(fields: [field]), client)
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test func aFieldKeepsItsType() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            _ = try client.save([Record("first", ["votes": 3])])[0].get()
            let refused = try client.save([Record("second", ["votes": "many"])])[0].refusal
            #expect(refused?.code == .invalidArguments && refused?.reason == .wrongType)
        }
    }

    @Test func aRecordOverAMegabyteIsRefusedAndItsNeighboursAreNot() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let huge = FieldValue.string(String(repeating: "x", count: 1 << 20))
            let saved = try client.save([Record("huge", ["text": huge]), Record("small")])
            #expect(saved[0].refusal?.code == .limitExceeded)
            #expect(saved[0].refusal?.reason == .tooLarge)
            #expect(saved[1].refusal == nil)
        }
    }

    @Test(arguments: [401, 5_000]) func moreThanFourHundredItemsAreRefused(
        count: Int
    ) async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let names = (0..<count).map { "r\($0)" }
            let fetch = try error {
                _ = try client.perform(.recordsFetch, RawRequest.fetch(names))
            }
            #expect(fetch.code == .limitExceeded && fetch.reason == .tooManyItems)
            let save = try error { _ = try client.save(names.map { Record($0) }) }
            #expect(save.code == .limitExceeded && save.reason == .tooManyItems)
            let zones = names.map { WireZoneID(name: Bytes($0.utf8), owner: []) }
            let request = ModifyZonesRequest(database: .private, saves: zones, deletes: [])
            let modify = try error {
                _ = try client.perform(
                    .zonesModify,
                    request.encoded(),
                    requestID: RawRequest.newID()
                )
            }
            #expect(modify.code == .limitExceeded)
        }
    }

    @Test func anUnknownZoneIsNamed() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let zone = RecordZone.ID(zoneName: "Nowhere")
            let record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "note", zoneID: zone)
            )
            let error = try client.save([record])[0].refusal
            #expect(error?.code == .zoneNotFound && error?.message.contains("Nowhere") == true)
        }
    }

    @Test(arguments: [0, 4, 257, .max]) func anUnknownDatabaseIsRefused(
        number: UInt32
    ) async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            var request = FetchRecordsRequest(database: .private, ids: [])
            request.database = number
            let error = try error { _ = try client.perform(.recordsFetch, request.encoded()) }
            #expect(error.code == .invalidArguments)
        }
    }

    // MARK: Answers

    /// What one small request asks for must not take memory without bound.
    @Test func aFetchOfManyLargeRecordsHoldsLittle() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let large = FieldValue.string(String(repeating: "x", count: 1_000_000))
            for number in 0..<40 {
                _ = try client.save([Record("r\(number)", ["text": large])])[0].get()
            }
            let names = (0..<40).map { "r\($0)" }
            let fetch = client.call(.recordsFetch, RawRequest.fetch(names))
            try client.send(fetch)
            let first = try client.nextFrame().payload
            #expect(try client.isSilent(for: 200))
            let held = server.node.meter.heldBytes.value
            #expect(held <= Limits.standard.unansweredBytes, "\(held) bytes are held")
            try client.credit(100 << 20, on: fetch)
            let messages = [first] + (try client.answer(to: fetch))
            let results = try messages.flatMap { try FetchRecordsResponse(wire: $0).results }
            #expect(results.count == 40)
            for result in results { #expect(result.refusal == nil) }
        }
    }

    /// What `Limits.nodeUnansweredBytes` promises while nobody connects: twice its number, and what
    /// readers had begun.
    private var mostUnanswered: Int {
        let limits = Limits.standard
        return 2 * limits.nodeUnansweredBytes + 4 * limits.answerBytes
    }

    /// Many unknown callers each ask for much and take nothing: the node's bound holds for all of
    /// them together, and a modest caller is answered beside them.
    @Test func manyDeafCallersHoldLittle() async throws {
        try await withServer(engine: CountingEngine()) { server in
            let token = try await server.makeUser("ada")
            let healthy = try RawClient(greeting: server.endpoint, token: token)
            let large = FieldValue.string(String(repeating: "x", count: 400_000))
            for number in 0..<5 {
                let record = Record("large\(number)", ["text": large])
                _ = try healthy.save([record], in: .public)[0].get()
            }
            _ = try healthy.save([Record("small", ["n": 1])])[0].get()
            let names = (0..<5).map { "large\($0)" }
            // All connect before one asks: a share is one of as many as there are connections.
            let deaf = try (0..<40).map { _ in
                try RawClient(greeting: server.endpoint, receiveBuffer: 4_096)
            }
            for client in deaf {
                try client.send(
                    (0..<10).map { _ in
                        client.call(.recordsFetch, RawRequest.fetch(names, in: .public))
                    }
                )
            }
            let limit = Limits.standard.nodeUnansweredBytes
            var highest = 0
            for _ in 0..<40 {
                highest = max(highest, server.node.meter.heldBytes.value)
                #expect(try healthy.fetch("small")[0].refusal == nil)
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(highest > limit / 2, "nothing was held up")
            #expect(highest <= mostUnanswered, "\(highest) bytes were held")
            for client in deaf { client.close() }
            #expect(try await eventually { server.node.meter.heldBytes.value < 1 << 20 })
        }
    }

    /// Callers that nobody knows ask for much and read nothing: large requests of others are
    /// answered, large reads are answered or refused, and deaf ones are closed until there is room.
    ///
    /// Saves of 900 KB took 29 s beside them. Waits for deaf ones to be closed: 6 s.
    @Test func deafCallersLeaveRoomForLargeRequests() async throws {
        try await withServer(engine: CountingEngine()) { server in
            let token = try await server.makeUser("ada")
            let healthy = try RawClient(greeting: server.endpoint, token: token)
            let text = FieldValue.string(String(repeating: "x", count: 400_000))
            let names = (0..<7).map { "large\($0)" }
            for name in names {
                _ = try healthy.save([Record(name, ["text": text])], in: .public)[0].get()
            }
            let deaf = try (0..<16).map { _ in
                try RawClient(greeting: server.endpoint, receiveBuffer: 4_096)
            }
            for client in deaf {
                let ask = RawRequest.fetch(names, in: .public)
                try client.send(
                    (0..<16).map { _ in client.call(.recordsFetch, ask, milliseconds: 600_000) }
                )
            }
            #expect(
                try await eventually {
                    let limit = Limits.standard.nodeUnansweredBytes
                    return server.node.meter.heldBytes.value > limit / 2
                }
            )
            let large = FieldValue.string(String(repeating: "y", count: 900_000))
            for number in 0..<5 {
                let start = Date()
                let record = Record("mine\(number)", ["text": large])
                _ = try healthy.save([record], in: .public)[0].get()
                #expect(Date().timeIntervalSince(start) < 5)
                let other = try RawClient(greeting: server.endpoint, token: token)
                do {
                    _ = try other.fetch("mine\(number)", in: .public)
                } catch let error as ServiceError {
                    #expect(error.reason == .overloaded)
                }
                #expect(Date().timeIntervalSince(start) < 10)
                other.close()
            }
            #expect(
                try await eventually(seconds: 10) {
                    let limit = Limits.standard.nodeUnansweredBytes
                    let meter = server.node.meter
                    return meter.heldBytes.value < limit / 2
                        && meter.connections.value < 1 + deaf.count
                }
            )
            for client in deaf { client.close() }
        }
    }

    /// The same with stale saves, whose refusals carry the server's records.
    @Test func manyStaleSaversThatAreDeafHoldLittle() async throws {
        try await withServer(engine: CountingEngine()) { server in
            let token = try await server.makeUser("ada")
            let healthy = try RawClient(greeting: server.endpoint, token: token)
            let large = FieldValue.string(String(repeating: "x", count: 400_000))
            _ = try healthy.save([Record("large", ["text": large])])[0].get()
            let stale = RawRequest.save([Record("large", ["text": "mine"])])
            let deaf = try (0..<10).map { _ in
                try RawClient(greeting: server.endpoint, token: token, receiveBuffer: 4_096)
            }
            for client in deaf {
                try client.send(
                    (0..<100).map { _ in
                        client.call(.recordsModify, stale, requestID: RawRequest.newID())
                    }
                )
            }
            var highest = 0
            for _ in 0..<40 {
                highest = max(highest, server.node.meter.heldBytes.value)
                #expect(try healthy.fetch("large")[0].refusal == nil)
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(highest <= mostUnanswered, "\(highest) bytes were held")
            for client in deaf { client.close() }
            #expect(try await eventually { server.node.meter.heldBytes.value < 1 << 20 })
        }
    }

    /// One unreadable row is reported to its reader and in the status; the rest is served.
    @Test func aDamagedRowShowsInTheStatus() async throws {
        let engine = MemoryEngine()
        let server = try await TestServer(engine: engine)
        let client = try RawClient(
            greeting: server.endpoint,
            token: try await server.makeUser("ada")
        )
        for name in ["good", "bad"] { try client.save([Record(name, ["n": 1])]) }
        #expect(server.node.state == "ready")
        let rows = try server.node.gate.latest(reach: .disk).rows(.records, .all(.record))
        var batch = EngineBatch()
        for row in rows where String(decoding: row.key, as: UTF8.self).contains("bad") {
            let write = EngineBatch.Write(family: .records, key: row.key, value: [0xFF])
            batch.writes.append(write)
        }
        engine.commit(batch)
        // News, so that readers take another look.
        try client.save([Record("more", ["n": 1])])
        let results = try client.fetch("bad", "good")
        #expect(results[0].refusal?.reason == .corrupt)
        #expect(results[1].refusal == nil)
        #expect(server.node.state == "damaged")
        try await server.stop()
    }

    // MARK: Slow and silent

    @Test func whoSaysNothingIsClosed() async throws {
        try await withServer(limits: limits { $0.greetingMilliseconds = 200 }) { server in
            let client = try RawClient(server.endpoint)
            let error = try #require(try client.refusal())
            #expect(error.message.contains("HELLO"))
            #expect(try await eventually { server.node.meter.connections.value == 0 })
        }
    }

    @Test func whoSendsAByteNowAndThenIsClosed() async throws {
        let limits = limits {
            $0.greetingMilliseconds = 400
            $0.frameMilliseconds = 400
        }
        try await withServer(limits: limits) { server in
            let greeting = RawClient.greeting()
            let slow = try RawClient(server.endpoint)
            try await expectClosed(slow, sending: greeting)
            let client = try RawClient(greeting: server.endpoint)
            var bytes: Bytes = []
            FrameEncoder.append(client.call(.accountsWhoAmI), to: &bytes)
            try await expectClosed(client, sending: bytes)
        }
    }

    @Test func whoNeverReadsIsClosedAndHoldsLittle() async throws {
        let engine = CountingEngine()
        let limits = limits { $0.stalledWriteMilliseconds = 500 }
        try await withServer(engine: engine, limits: limits) { server in
            let token = try await server.makeUser("ada")
            let healthy = try RawClient(greeting: server.endpoint, token: token)
            let content = FieldValue.string(String(repeating: "x", count: 60_000))
            _ = try healthy.save([Record("large", ["text": content])])[0].get()
            // The next fetches are answered on the event loop.
            #expect(try healthy.fetch("large")[0].refusal == nil)
            #expect(try await eventually { server.node.meter.heldBytes.value == 0 })
            let deaf = try RawClient(
                greeting: server.endpoint,
                token: token,
                receiveBuffer: 4_096
            )
            var calls: Bytes = []
            for _ in 0..<1_000 {
                let call = deaf.call(.recordsFetch, RawRequest.fetch(["large"]))
                FrameEncoder.append(call, to: &calls)
            }
            try deaf.send(calls)
            var highest = 0
            let isClosed = try await eventually {
                highest = max(highest, server.node.meter.heldBytes.value)
                return server.node.meter.connections.value == 1
            }
            #expect(isClosed)
            #expect(highest > 1 << 20, "nothing was held up")
            #expect(highest <= limits.unansweredBytes + 100_000, "\(highest) bytes were held")
            #expect(try healthy.fetch("large")[0].refusal == nil)
            #expect(server.node.meter.heldBytes.value < 1 << 20)
        }
    }

    // MARK: Parts

    /// Somebody else is still served.
    private func expectHealth(_ server: TestServer) throws {
        let client = try RawClient(greeting: server.endpoint)
        #expect(try client.perform(.accountsWhoAmI).count == 1)
    }

    private func expectBadName(
        _ error: ServiceError?,
        _ says: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            error?.code == .invalidArguments && error?.reason == .invalidName,
            "\(String(describing: error))",
            sourceLocation: sourceLocation
        )
        #expect(
            says.isEmpty || error?.message.contains(says) == true,
            sourceLocation: sourceLocation
        )
    }

    /// Sends a byte each 50 ms and wants to be closed before a second and a half is over.
    private func expectClosed(_ client: RawClient, sending bytes: Bytes) async throws {
        var isClosed = false
        for byte in bytes.prefix(30) where !isClosed {
            do {
                try client.send([byte])
                if try client.receive(within: 50) == nil { isClosed = true }
            } catch RawClient.Failure.silence {
                continue
            } catch RawClient.Failure.closed {
                isClosed = true
            }
        }
        #expect(isClosed)
    }

    /// The other side would end the connection for a frame that is too large.
    @Test func anAnswerThatFitsIntoNoFrameIsRefused() async throws {
        var limits = Limits.standard
        (limits.recordBytes, limits.requestBytes, limits.frameBytes) = (8_000, 16_000, 32_000)
        try await withServer(limits: limits) { server in
            let admin = server.nodeOperator()
            let filler = String(repeating: "x", count: 200)
            for number in 0..<200 { _ = try await admin.addUser("\(filler)\(number)", in: nil) }
            let error = await #expect(throws: ServiceError.self) {
                _ = try await admin.users(in: nil)
            }
            #expect(error?.code == .limitExceeded && error?.reason == .tooLarge)
            await admin.close()
            try expectHealth(server)
        }
    }

    /// Saves one encoded record and returns its error.
    private func save1(_ save: Bytes, _ client: RawClient) throws -> ServiceError? {
        let request = RawRequest.save(encoded: [save])
        return try client.modify(request, id: RawRequest.newID()).saves[0].refusal
    }

    /// A `SaveRecord` with names that a client's types can't hold.
    private func encodedSave(
        name: Bytes = Bytes("note".utf8),
        type: Bytes = Bytes("Note".utf8),
        fields: [Bytes] = []
    ) -> Bytes {
        var save = NodeModifyRecordsRequest.Save()
        save.record.id = WireRecordID(name: name, zone: nil)
        save.record.type = type
        save.record.fields = fields
        return save.encoded()
    }

    private func encodedField(name: Bytes, _ value: (inout CanonicalWriter) -> Void) -> Bytes {
        var field = CanonicalWriter()
        field.field(1, bytes: name)
        value(&field)
        return field.bytes
    }
}
