// The writer: how many saves share a flush, and what it does when the disk is nearly full, or the
// store can't go on.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct WriterTests {
    // MARK: Group commit

    @Test func sixtyFourSaversShareFlushes() async throws {
        let engine = CountingEngine(flushSeconds: 0.001)
        try await withServer(engine: engine) { server in
            let container = try await server.container(user: "ada", connections: 4)
            let database = container.privateCloudDatabase
            _ = try await database.save(Record("first"))
            let before = engine.flushes
            let counted = server.node.meter.flushes.value
            let saves = 64 * 20
            await withThrowingTaskGroup(of: Void.self) { group in
                for saver in 0..<64 {
                    group.addTask {
                        for number in 0..<20 {
                            _ = try await database.save(Record("r\(saver)-\(number)"))
                        }
                    }
                }
            }
            let flushes = engine.flushes - before
            #expect(flushes * 4 <= saves, "\(flushes) flushes for \(saves) saves")
            #expect(server.node.meter.flushes.value - counted == flushes)
            await container.close()
        }
    }

    @Test func oneSaverIsAcknowledgedAfterAFlushOfItsOwn() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let container = try await server.container(user: "ada")
            for number in 0..<50 {
                let before = engine.flushes
                _ = try await container.privateCloudDatabase.save(Record("r\(number)"))
                #expect(engine.flushes == before + 1)
            }
            await container.close()
        }
    }

    /// The operator is told how many; a batch that found no room does not count.
    @Test func rowsThatTheEngineTookAreCounted() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let node = server.nodeOperator()
            let before = try await node.status()
            let (rows, bytes) = (engine.rowsWritten, engine.rowBytesWritten)
            for number in 0..<3 { _ = try client.save([Record("r\(number)")])[0].get() }
            engine.setFull(true)
            _ = try error { _ = try client.save([Record("lost")]) }
            let after = try await node.status()
            await node.close()
            #expect(engine.rowsWritten - rows > 3)
            #expect(Int(after.rows - before.rows) == engine.rowsWritten - rows)
            #expect(Int(after.rowBytes - before.rowBytes) == engine.rowBytesWritten - bytes)
        }
    }

    @Test func whatChangesNothingIsNotFlushed() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let before = engine.flushes
            let refused = try client.save([Record("_hidden")])
            #expect(refused[0].refusal?.code == .invalidArguments)
            #expect(engine.flushes == before)
        }
    }

    // MARK: A full disk

    @Test func belowTheReserveWritesAreRefusedAndReadsGoOn() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine, diskReserve: 1 << 20) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try client.save([Record("before")])[0].get()
            engine.setFreeBytes(1 << 20)
            // What the file system said last counts for 100 ms.
            try await Task.sleep(for: .milliseconds(110))
            let flushes = engine.flushes
            let error = try error { _ = try client.save([Record("refused")]) }
            #expect(error.code == .serviceUnavailable && error.reason == .diskFull)
            #expect(engine.flushes == flushes)
            #expect(server.node.state == "disk full")
            #expect(try client.fetch("before")[0].get()["title"] == "a note")
            #expect(try client.fetch("refused")[0].refusal?.code == .unknownItem)
            engine.setFreeBytes(1 << 30)
            try await Task.sleep(for: .milliseconds(110))
            _ = try client.save([Record("after")])[0].get()
            #expect(server.node.state == "ready")
        }
    }

    /// Bytes written since the file system was asked are subtracted from its answer.
    @Test func theReserveIsNotUsedUpBetweenTwoLooks() async throws {
        let engine = CountingEngine()
        let token = try await makeToken(in: engine)
        engine.setFreeBytes(1 << 20 + 100_000)
        try await withServer(engine: engine, diskReserve: 1 << 20) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let content = FieldValue.string(String(repeating: "x", count: 30_000))
            _ = try client.save([Record("first", ["text": content])])[0].get()
            let error = try error { _ = try client.save([Record("second", ["text": content])]) }
            #expect(error.reason == .diskFull)
        }
    }

    /// Deletes make room, so they go on below the first reserve, until the second one is touched.
    @Test func belowTheFirstReserveDeletesGoThrough() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine, diskReserve: 2 << 20, deleteReserve: 1 << 20) {
            server in
            let container = try await server.container(user: "ada")
            let database = container.privateCloudDatabase
            let zone = RecordZone(zoneName: "z")
            _ = try await database.save(zone)
            let ids = ["a", "b", "c"].map { Record.ID(recordName: $0) }
            for id in ids { _ = try await database.save(Record(recordType: "Note", recordID: id)) }
            func free(_ bytes: UInt64) async throws {
                engine.setFreeBytes(bytes)
                // What the file system said last counts for 100 ms.
                try await Task.sleep(for: .milliseconds(110))
            }
            try await free(2 << 20)
            _ = try await database.deleteRecord(withID: ids[0])
            _ = try await database.deleteRecordZone(withID: zone.zoneID)
            #expect(server.node.state == "disk full")
            var refusal = await #expect(throws: ServiceError.self) {
                _ = try await database.modifyRecords(saving: [Record("d")], deleting: [ids[1]])
            }
            #expect(refusal?.reason == .diskFull)
            #expect(refusal?.message.contains("no writes but deletes") == true)

            try await free(1 << 20)
            refusal = await #expect(throws: ServiceError.self) {
                _ = try await database.deleteRecord(withID: ids[1])
            }
            #expect(refusal?.reason == .diskFull)
            #expect(refusal?.message.contains("no deletes") == true)
            #expect(server.node.state == "disk exhausted")
            _ = try await database.record(for: ids[1])

            try await free(1 << 30)
            _ = try await database.deleteRecord(withID: ids[1])
            _ = try await database.save(Record("d"))
            #expect(server.node.state == "ready")
            await container.close()
        }
    }

    /// A node that starts on such a disk says so before anybody writes.
    @Test func aNodeStartsBelowItsReserve() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { _ in }
        engine.setFreeBytes(3 << 20)
        try await withServer(engine: engine, diskReserve: 4 << 20, deleteReserve: 2 << 20) {
            #expect($0.node.state == "disk full")
        }
        try await withServer(engine: engine, diskReserve: 4 << 20, deleteReserve: 3 << 20) {
            #expect($0.node.state == "disk exhausted")
        }
    }

    /// Another program took the last byte: the batch is refused, and nothing of it stays.
    ///
    /// The node goes on, and tries again a second later.
    @Test func aBatchThatFindsNoRoomIsRefused() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try client.save([Record("before")])[0].get()
            engine.setFull(true)
            let first = try error { _ = try client.save([Record("lost")]) }
            #expect(first.code == .serviceUnavailable && first.reason == .diskFull)
            #expect(server.node.state == "disk exhausted")
            #expect(try client.fetch("before")[0].get()["title"] == "a note")
            #expect(try client.fetch("lost")[0].refusal?.code == .unknownItem)
            engine.setFull(false)
            let again = try await eventually { (try? client.save([Record("after")])) != nil }
            #expect(again)
            #expect(try client.fetch("lost")[0].refusal?.code == .unknownItem)
            #expect(server.node.state == "ready")
            let differences = try LogReplay.differences(in: engine)
            #expect(differences.isEmpty, "\(differences)")
        }
    }

    /// The writer has planned a batch upon one that finds no room: neither is written.
    @Test func whatWasPlannedUponARefusedBatchIsRefused() throws {
        let engine = CountingEngine()
        let time = Mutex(Instant(milliseconds: 1_000_000))
        var environment = TestServer.environment
        environment.now = { time.withLock { $0 } }
        let configuration = Node.Configuration(
            version: Release.version,
            container: TestServer.container,
            operatorToken: [1]
        )
        let gate = try Node(configuration, engine: engine, environment: environment).gate
        let told = Mutex<[String: Bool]>([:])
        func submit(_ container: String) {
            let job = StoreGate.Job(.commits) { transaction throws(EngineError) in
                let id = ScopeID(container: container, environment: .development)
                return try transaction.makeScope(id)
            } then: { outcome in
                told.withLock { $0[container] = (try? outcome.get()) != nil }
            }
            let write = StoreGate.QueuedWrite(job, byteCount: 0, loop: InPlaceLoop.shared)
            #expect(gate.submit(write) && gate.runBatch(leaving: true))
        }
        submit("first")
        gate.runFlush()
        engine.setFull(true)
        submit("second")
        submit("third")
        #expect(gate.hasFlush)
        gate.runFlush()
        #expect(told.withLock { $0 } == ["first": true, "second": false, "third": false])
        engine.setFull(false)
        time.withLock { $0 = $0 + 10_000 }
        submit("fourth")
        gate.runFlush()
        #expect(told.withLock { $0["fourth"] } == true)
        let reader = gate.latest(reach: .disk)
        let known = try ["first", "second", "third", "fourth"].map { container in
            try reader.scope(ScopeID(container: container, environment: .development)) != nil
        }
        #expect(known == [true, false, false, true])
        let differences = try LogReplay.differences(in: engine)
        #expect(differences.isEmpty, "\(differences)")
    }

    // MARK: A store that can't go on

    static let failures: [(EngineError, String)] = [
        (.failed("no flush"), "the store failed: failed(\"no flush\"); the next start recovers"),
        (.corrupt("table 7"), "the store is damaged: table 7; \(EngineError.remedy)"),
    ]

    /// The next start finds the same damage: it is not what helps.
    @Test(arguments: failures)
    func whatEndsTheProcessSaysWhatHelps(failure: EngineError, words: String) throws {
        let engine = CountingEngine()
        let said = Mutex<[String]>([])
        var environment = TestServer.environment
        environment.fail = { reason in said.withLock { $0.append(reason) } }
        let configuration = Node.Configuration(
            version: Release.version,
            container: TestServer.container,
            operatorToken: [1]
        )
        let node = try Node(configuration, engine: engine, environment: environment)
        engine.failFlushes(failure)
        let job = StoreGate.Job(.commits) { transaction throws(EngineError) in
            _ = try transaction.makeScope(ScopeID(container: "c", environment: .development))
        } then: { _ in
        }
        let write = StoreGate.QueuedWrite(job, byteCount: 0, loop: InPlaceLoop.shared)
        #expect(node.gate.submit(write))
        #expect(node.gate.runBatch())
        #expect(said.withLock { $0 } == [words])
    }
}
