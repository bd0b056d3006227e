// The rules of a connection, one by one, as a peer meets them that speaks frames and does what it
// likes.

import CumulusModel
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct SessionTests {
    @Test func twoHundredCallsAreInFlightOnOneConnection() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let calls = (0..<200).map { number in
                number % 2 == 0
                    ? client.call(.recordsFetch, RawRequest.fetch(["nothing"]))
                    : client.call(
                        .recordsModify,
                        RawRequest.save([Record("record\(number)")]),
                        requestID: RawRequest.newID()
                    )
            }
            try client.send(calls)
            var open = Set(calls.map(\.stream))
            while !open.isEmpty {
                let frame = try client.nextFrame()
                #expect(frame.kind == .message && frame.isEnd)
                #expect(open.remove(frame.stream) != nil)
            }
        }
    }

    @Test func callsMayFollowTheGreetingAtOnce() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(server.endpoint)
            let save = client.call(
                .recordsModify,
                RawRequest.save([Record("first")]),
                requestID: RawRequest.newID()
            )
            var bytes = RawClient.greeting(token: token)
            FrameEncoder.append(save, to: &bytes)
            try client.send(bytes)
            _ = try client.answer(to: save)
            #expect(try client.fetch("first").count == 1)
        }
    }

    /// The token has to be looked up on the disk while a large call stands behind the greeting.
    @Test func aLargeCallWaitsUntilTheGreetingIsJudged() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        engine.setCold(true)
        try await withServer(engine: engine) { server in
            let client = try RawClient(server.endpoint)
            let content = String(repeating: "x", count: 300_000)
            let save = client.call(
                .recordsModify,
                RawRequest.save([Record("large", ["text": .string(content)])]),
                requestID: RawRequest.newID()
            )
            var bytes = RawClient.greeting(token: token)
            FrameEncoder.append(save, to: &bytes)
            try client.send(bytes)
            _ = try client.answer(to: save)
        }
    }

    // MARK: Deadlines and cancellation

    @Test func aSaveWhoseTimeIsUpMakesNoEngineCall() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let flushes = engine.flushes
            let call = try client.beginSave(Record("late"), milliseconds: 1)
            #expect(try await eventually { server.node.callsInProgress == 1 })
            try await Task.sleep(for: .milliseconds(20))
            let before = server.node.meter.engineCalls.value
            #expect(server.node.gate.runBatch())
            let error = try error { _ = try client.answer(to: call) }
            #expect(error.code == .serviceUnavailable && error.reason == .deadline)
            #expect(server.node.meter.engineCalls.value == before)
            #expect(engine.flushes == flushes)
        }
    }

    @Test func aReadWhoseTimeIsUpMakesNoEngineCall() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            engine.setCold(true)
            let call = client.call(.recordsFetch, RawRequest.fetch(["a"]), milliseconds: 1)
            try client.send(call)
            #expect(try await eventually { server.node.callsInProgress == 1 })
            try await Task.sleep(for: .milliseconds(20))
            let before = server.node.meter.engineCalls.value
            #expect(server.node.gate.runRead())
            let error = try error { _ = try client.answer(to: call) }
            #expect(error.reason == .deadline)
            #expect(server.node.meter.engineCalls.value == before)
        }
    }

    /// Found by the simulation of whole nodes (seed 2041): what a leaving node made of what came to
    /// it, and told in an answer, was gone with it, and its caller waited for it everywhere.
    @Test func aNodeThatIsAboutToGoShowsNothing() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            engine.setCold(true)
            let call = client.call(.recordsFetch, RawRequest.fetch(["a"]))
            try client.send(call)
            #expect(try await eventually { server.node.callsInProgress == 1 })
            server.node.leaving.store(true, ordering: .sequentiallyConsistent)
            #expect(server.node.gate.runRead())
            let error = try error { _ = try client.answer(to: call) }
            #expect(error.reason == .draining)
        }
    }

    @Test func aCancelledSaveIsNotMade() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let flushes = engine.flushes
            let call = try client.beginSave(Record("unwanted"))
            try client.send(Frame(.cancel, stream: call.stream))
            let error = try error { _ = try client.answer(to: call) }
            #expect(error.code == .operationCancelled)
            #expect(server.node.gate.runBatch())
            #expect(engine.flushes == flushes)
        }
    }

    @Test func aSaveIsNotMadeWhenItsConnectionIsGone() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let flushes = engine.flushes
            _ = try client.beginSave(Record("unwanted"))
            #expect(try await eventually { server.node.callsInProgress == 1 })
            client.close()
            #expect(try await eventually { server.node.callsInProgress == 0 })
            #expect(server.node.gate.runBatch())
            #expect(engine.flushes == flushes)
        }
    }

    @Test func aCancelledListStopsWithinOnePage() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await fill(engine, token, records: 40)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let list = client.call(.recordsList, RawRequest.list())
            try client.send(list)
            try client.credit(100 << 20, on: list)
            for _ in 0..<2 {
                #expect(server.node.gate.runRead())
                #expect(try client.nextFrame().kind == .message)
            }
            try client.send(Frame(.cancel, stream: list.stream))
            #expect(throws: ServiceError.self) { try client.answer(to: list) }
            let before = server.node.meter.engineCalls.value
            // The next page was asked for before the call was cancelled.
            #expect(server.node.gate.runRead())
            #expect(server.node.meter.engineCalls.value == before)
            #expect(server.node.callsInProgress == 0)
        }
    }

    // MARK: Credit

    @Test func aListWaitsForCreditAndGoesOn() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await fill(engine, token, records: 40)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let list = client.call(.recordsList, RawRequest.list())
            try client.send(list)
            var names: [String] = []
            let first = try client.nextFrame()
            names += try ListRecordsResponse(wire: first.payload).records.map(\.recordID.recordName)
            #expect(try client.isSilent(for: 200))
            let reads = server.node.meter.engineCalls.value
            #expect(names.count < 40)
            // Room for what was overdrawn, and for a byte more.
            let initial = Limits.standard.initialCredit
            try client.credit(UInt32(first.payload.count - initial + 1), on: list)
            let second = try client.nextFrame()
            names += try ListRecordsResponse(wire: second.payload).records
                .map(\.recordID.recordName)
            #expect(try client.isSilent(for: 200))
            #expect(server.node.meter.engineCalls.value == reads + 1)
            try client.credit(100 << 20, on: list)
            for message in try client.answer(to: list) {
                names += try ListRecordsResponse(wire: message).records.map(\.recordID.recordName)
            }
            #expect(names == (0..<40).map { "record\(100 + $0)" })
        }
    }

    /// A list shows the moment in which it began.
    @Test func aListIsOfOneMoment() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await fill(engine, token, records: 40)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let list = client.call(.recordsList, RawRequest.list())
            try client.send(list)
            _ = try client.nextFrame()
            try RawClient(greeting: server.endpoint, token: token).save([Record("zzz")])
            try client.credit(100 << 20, on: list)
            let names = try client.answer(to: list).flatMap {
                try ListRecordsResponse(wire: $0).records.map(\.recordID.recordName)
            }
            #expect(names.last == "record139")
        }
    }

    @Test func moreCreditThanANumberHoldsEndsTheConnection() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await fill(engine, token, records: 40)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let list = client.call(.recordsList, RawRequest.list())
            try client.send(list)
            _ = try client.nextFrame()
            try client.credit(.max, on: list)
            let error = try #require(try client.refusal())
            #expect(error.reason == .protocolError && error.message.contains("credit"))
        }
    }

    @Test func aListEndsAtItsDeadlineWhileItWaitsForCredit() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await fill(engine, token, records: 40)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let list = client.call(.recordsList, RawRequest.list(), milliseconds: 200)
            try client.send(list)
            let error = try error { _ = try client.answer(to: list) }
            #expect(error.reason == .deadline && error.message.contains("credit"))
            #expect(server.node.callsInProgress == 0)
        }
    }

    // MARK: Ping

    @Test func aPingIsAnsweredWithItsBytes() async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            try client.send(Frame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]))
            let pong = try client.nextFrame()
            #expect(pong == Frame(.pong, payload: [1, 2, 3, 4, 5, 6, 7, 8]))
        }
    }

    @Test func aConnectionThatIsIdleIsAskedAndThenClosed() async throws {
        try await withServer(limits: limits { $0.idleMilliseconds = 200 }) { server in
            let client = try RawClient(greeting: server.endpoint)
            for _ in 0..<2 {
                let ping = try client.nextFrame()
                #expect(ping.kind == .ping)
                try client.send(Frame(.pong, payload: ping.payload))
            }
            #expect(try client.nextFrame().kind == .ping)
            let error = try #require(try client.refusal())
            #expect(error.message.contains("PING"))
            #expect(try await eventually { server.node.meter.connections.value == 0 })
        }
    }

    // MARK: Draining

    @Test func aDrainingNodeFinishesWhatRunsAndTakesNothingNew() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await fill(engine, token, records: 40)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let list = client.call(.recordsList, RawRequest.list())
            try client.send(list)
            #expect(try client.nextFrame().kind == .message)
            server.node.beginDraining()
            let notice = try client.nextFrame()
            #expect(notice.kind == .drain && notice.stream == 0)
            #expect(try !DrainNotice(wire: notice.payload).message.isEmpty)
            let refused = try error { _ = try client.fetch("record100") }
            #expect(refused.code == .serviceUnavailable && refused.reason == .draining)
            #expect(refused.retryAfterMilliseconds != nil)
            try client.credit(100 << 20, on: list)
            #expect(try !client.answer(to: list).isEmpty)
            #expect(server.node.callsInProgress == 0)
        }
    }

    @Test func whoConnectsToADrainingNodeIsTold() async throws {
        try await withServer { server in
            server.node.beginDraining()
            let client = try RawClient(greeting: server.endpoint)
            #expect(try client.nextFrame().kind == .drain)
        }
    }

    // MARK: Streams

    @Test(arguments: [3, 1]) func aStreamUsedTwiceEndsTheConnection(second: UInt32) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            var call = client.call(.accountsWhoAmI)
            call.stream = 3
            try client.send(call)
            _ = try client.answer(to: call)
            call.stream = second
            try client.send(call)
            let error = try #require(try client.refusal())
            #expect(error.code == .invalidArguments && error.reason == .protocolError)
            #expect(error.message.contains("stream \(second)"))
        }
    }

    @Test(arguments: [0, 2, 1_000]) func anEvenStreamEndsTheConnection(
        stream: UInt32
    ) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            var call = client.call(.accountsWhoAmI)
            call.stream = stream
            try client.send(call)
            #expect(try client.refusal()?.reason == .protocolError)
        }
    }

    @Test func framesOfUnknownKindsAreSkipped() async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            for kind in [0x00, 0x0C, 0x7F, 0x80, 0xFF] as [UInt8] {
                try client.send([0, 0, 0, 8, kind, 0, 0, 0, 1, 7, 7, 7])
            }
            #expect(try client.perform(.accountsWhoAmI).count == 1)
        }
    }

    @Test(arguments: [0, 15, 95, .max]) func anUnknownMethodIsRefused(
        number: UInt32
    ) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            var header = CallHeader(.accountsWhoAmI)
            header.method = number
            let payload = header.encoded(before: [])
            let call = Frame(.call, isEnd: true, stream: 1, payload: payload)
            try client.send(call)
            let error = try error { _ = try client.answer(to: call) }
            #expect(error.code == .invalidArguments && error.reason == .protocolError)
            var next = client.call(.accountsWhoAmI)
            next.stream = 3
            try client.send(next)
            #expect(try client.answer(to: next).count == 1)
        }
    }

    @Test func aMessageOnACallThatTakesOneEndsTheConnection() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let call = try client.beginSave(Record("first"))
            try client.send(Frame(.message, isEnd: true, stream: call.stream))
            #expect(try client.refusal()?.reason == .protocolError)
        }
    }

    @Test(arguments: [FrameKind.message, .cancel, .credit, .status])
    func aFrameOnAStreamThatWasNeverOpenedEndsTheConnection(kind: FrameKind) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            try client.send(Frame(kind, stream: 7, payload: kind == .credit ? [0, 0, 0, 1] : []))
            #expect(try client.refusal()?.reason == .protocolError)
        }
    }

    @Test(arguments: [FrameKind.message, .cancel, .credit, .status])
    func aFrameOnAStreamThatIsOverMeansNothing(kind: FrameKind) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            let call = client.call(.accountsWhoAmI)
            try client.send(call)
            _ = try client.answer(to: call)
            let payload: Bytes = kind == .credit ? [0, 0, 0, 1] : []
            try client.send(Frame(kind, stream: call.stream, payload: payload))
            #expect(try client.perform(.accountsWhoAmI).count == 1)
        }
    }

    @Test(arguments: [FrameKind.hello, .nonce]) func aSecondGreetingEndsTheConnection(
        kind: FrameKind
    ) async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            try client.send(Frame(kind))
            #expect(try client.refusal()?.reason == .protocolError)
        }
    }

    @Test func aCallWithoutItsEndBitIsRefusedAndTheConnectionGoesOn() async throws {
        try await withServer { server in
            let client = try RawClient(greeting: server.endpoint)
            var call = client.call(.accountsWhoAmI)
            call.isEnd = false
            try client.send(call)
            let error = try error { _ = try client.answer(to: call) }
            #expect(error.reason == .protocolError && error.message.contains("end bit"))
            #expect(try client.perform(.accountsWhoAmI).count == 1)
        }
    }

    // MARK: Too much

    @Test func moreCallsThanAConnectionMayHaveAreRefused() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        let limits = limits { $0.streamsPerConnection = 4 }
        try await withServer(engine: engine, limits: limits, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let calls = try (0..<4).map { try client.beginSave(Record("record\($0)")) }
            let fifth = try client.beginSave(Record("record5"))
            let error = try error { _ = try client.answer(to: fifth) }
            #expect(error.code == .requestRateLimited && error.reason == .overloaded)
            #expect(server.node.gate.runBatch())
            for call in calls { #expect(try client.answer(to: call).count == 1) }
        }
    }

    @Test func aFullQueueRefusesWrites() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        let limits = limits { $0.queuedWrites = 3 }
        try await withServer(engine: engine, limits: limits, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let calls = try (0..<3).map { try client.beginSave(Record("record\($0)")) }
            let fourth = try client.beginSave(Record("record3"))
            let error = try error { _ = try client.answer(to: fourth) }
            #expect(error.code == .requestRateLimited && error.reason == .overloaded)
            #expect(error.retryAfterMilliseconds != nil)
            #expect(server.node.gate.runBatch())
            for call in calls { #expect(try client.answer(to: call).count == 1) }
            let again = try client.beginSave(Record("record3"))
            #expect(server.node.gate.runBatch())
            #expect(try client.answer(to: again).count == 1)
        }
    }

    @Test func moreUnansweredBytesThanAConnectionMayHaveAreRefused() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        let limits = limits { $0.unansweredBytes = 40_000 }
        try await withServer(engine: engine, limits: limits, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let content = FieldValue.string(String(repeating: "x", count: 25_000))
            let first = try client.beginSave(Record("first", ["text": content]))
            let second = try client.beginSave(Record("second", ["text": content]))
            let error = try error { _ = try client.answer(to: second) }
            #expect(error.code == .requestRateLimited && error.reason == .overloaded)
            #expect(server.node.gate.runBatch())
            #expect(try client.answer(to: first).count == 1)
        }
    }

    // MARK: Parts

    /// Saves records of 20 KB, "record100" and on.
    private func fill(_ engine: CountingEngine, _ token: String, records count: Int) async throws {
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let content = FieldValue.string(String(repeating: "x", count: 20_000))
            try client.save((0..<count).map { Record("record\(100 + $0)", ["text": content]) })
        }
    }
}
