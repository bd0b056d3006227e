// What becomes of a client's calls when its connections end or fall silent.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusTransport
import CumulusWire
import Foundation
import Testing

@Suite struct ConnectionTests {
    /// Each of them ends, at whatever step of its way the container is closed.
    @Test(.timeLimit(.minutes(5))) func noCallOutlivesItsContainer() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        for round in 0..<30 {
            let container = server.container(token: token, connections: 2)
            let database = container.privateCloudDatabase
            let known = Record.ID(recordName: "\(round)")
            try await database.save(Record(recordType: "Note", recordID: known))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        while (try? await database.record(for: known)) != nil {}
                    }
                    group.addTask {
                        let id = Record.ID(recordName: "\(round)-\(number)")
                        while (try? await database.save(Record(recordType: "Note", recordID: id)))
                            != nil
                        {}
                    }
                }
                group.addTask {
                    try? await Task.sleep(for: .microseconds(round * 400))
                    await container.close()
                }
            }
        }
        try await server.stop()
    }

    @Test func tasksThatPreferTheThreadOfTheConnectionsStayOnIt() async throws {
        let server = try await TestServer()
        let container = server.container()
        let database = container.publicCloudDatabase
        let missing = [Record.ID(recordName: "none")]
        let threads = try await withThrowingTaskGroup(of: [Int].self) { group in
            let executor = container.connectionExecutor
            for _ in 0..<8 {
                group.addTask(executorPreference: executor) {
                    var threads = [pthread_self().hashValue]
                    for _ in 0..<20 {
                        _ = try await database.records(for: missing)
                        threads.append(pthread_self().hashValue)
                    }
                    return threads
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.formUnion($1) }
        }
        #expect(threads.count == 1)
        await container.close()
        try await server.stop()
    }

    #if os(Linux)
        /// A server that has a container for each of its users has no thread for each.
        @Test func manyContainersShareTheirThreads() async throws {
            /// Event loops; tests beside this one start nodes, which have other threads too.
            func loops() throws -> Int {
                let tasks = "/proc/self/task"
                return try FileManager.default.contentsOfDirectory(atPath: tasks).count { task in
                    let name = try? String(contentsOfFile: "\(tasks)/\(task)/comm", encoding: .utf8)
                    return name?.hasPrefix("NIO-") == true
                }
            }
            let server = try await TestServer()
            let before = try loops()
            let containers = (0..<200).map { _ in server.container() }
            for container in containers {
                let database = container.publicCloudDatabase
                _ = try await database.records(for: [Record.ID(recordName: "none")])
            }
            let after = try loops()
            #expect(after > 0)
            // Other tests start some meanwhile.
            #expect(after < before + 100)
            for container in containers { await container.close() }
            try await server.stop()
        }
    #endif

    @Test(.timeLimit(.minutes(5))) func aListEndsWithItsContainer() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        let text = FieldValue.string(String(repeating: "x", count: 100_000))
        for number in 0..<8 {
            var record = Record(recordType: "Note", recordID: .init(recordName: "r\(number)"))
            record["text"] = text
            try await database.save(record)
        }
        var records = database.allRecords().makeAsyncIterator()
        #expect(try await records.next() != nil)
        await container.close()
        await #expect(throws: ServiceError.self) {
            while try await records.next() != nil {}
        }
        try await server.stop()
    }

    /// Request ids are made by the server's clock, as it told it; then that clock is set right.
    @Test(.timeLimit(.minutes(5))) func aServerWhoseClockIsSetIsWrittenTo() async throws {
        let server = try await TestServer(clockLead: 7_200_000)
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        for (name, lead) in [("before", 7_200_000), ("after", 0), ("again", -7_200_000)] {
            server.clockLead = Int64(lead)
            let id = Record.ID(recordName: name)
            _ = try await database.save(Record(recordType: "Note", recordID: id))
        }
        await container.close()
        try await server.stop()
    }

    /// Each connection has numbers for eleven calls: none is used twice, and no call fails.
    @Test(.timeLimit(.minutes(5))) func aConnectionWithoutNumbersIsReplaced() async throws {
        let server = try await TestServer()
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.accessToken = try await server.makeUser("ada")
        configuration.connections = 1
        configuration.firstStream = (1 << 31) - 21
        let container = Container(
            identifier: TestServer.container,
            configuration: configuration
        )
        let database = container.privateCloudDatabase
        for lane in 0..<5 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    let id = Record.ID(recordName: "\(lane)-\(number)")
                    group.addTask {
                        try await database.save(Record(recordType: "Note", recordID: id))
                        _ = try await database.record(for: id)
                    }
                }
                try await group.waitForAll()
            }
        }
        // Replaced connections end when their calls have.
        let node = server.nodeOperator()
        while try await node.status().connections > 2 {
            try await Task.sleep(for: .milliseconds(5))
        }
        await node.close()
        await container.close()
        try await server.stop()
    }

    /// A node whose process hangs, or whose cable was cut, closes nothing.
    @Test(.timeLimit(.minutes(5))) func aSilentNodeIsLeftForAnother() async throws {
        let silent = try await SilentServer()
        let server = try await TestServer()
        var configuration = Container.Configuration(endpoints: [silent.endpoint, server.endpoint])
        configuration.accessToken = try await server.makeUser("ada")
        configuration.timeout = .seconds(50)
        configuration.silenceMilliseconds = 200
        let container = Container(
            identifier: TestServer.container,
            configuration: configuration
        )
        var note = Record(recordType: "Note", recordID: .init(recordName: "r"))
        note["title"] = "one"
        let saved = try await container.privateCloudDatabase.save(note)
        #expect(saved["title"] == "one")
        await container.close()
        try await silent.stop()
        try await server.stop()
    }

    /// A stopped process, whose kernel still accepts connections: another node gets its share of
    /// the call's time.
    @Test(.timeLimit(.minutes(5))) func aNodeThatDoesNotGreetIsLeftForAnother() async throws {
        let mute = try await SilentServer(greets: false)
        let server = try await TestServer()
        var configuration = Container.Configuration(endpoints: [mute.endpoint, server.endpoint])
        configuration.timeout = .seconds(9)
        let container = Container(identifier: TestServer.container, configuration: configuration)
        let found = try await container.publicCloudDatabase.records(
            for: [Record.ID(recordName: "none")]
        )
        #expect(found.count == 1)
        await container.close()
        try await mute.stop()
        try await server.stop()
    }

    @Test(.timeLimit(.minutes(5))) func anErrorNamesTheNodesThatWereTried() async throws {
        let mute = try await SilentServer(greets: false)
        var configuration = Container.Configuration(endpoints: [mute.endpoint, "127.0.0.1:1"])
        // A third of it for the first one; a busy machine may need much of the rest.
        configuration.timeout = .seconds(15)
        let container = Container(identifier: TestServer.container, configuration: configuration)
        let error = await #expect(throws: ServiceError.self) {
            _ = try await container.publicCloudDatabase.allRecordZones()
        }
        #expect(error?.code == .networkFailure)
        let message = error?.message ?? ""
        #expect(message.contains("\(mute.endpoint): no HELLO within"), "\(message)")
        #expect(message.contains("127.0.0.1:1: "), "\(message)")
        await container.close()
        try await mute.stop()
    }
}

/// Greets its clients, or not even that, and then stays silent.
private final class SilentServer: Sendable {
    let endpoint: String
    private let listener: NIOFrameListener

    init(greets: Bool = true) async throws {
        listener = NIOFrameListener(host: "127.0.0.1", port: 0, loops: EventLoops(threads: 1))
        endpoint = try await listener.start { _, _ in SilentHandler(greets: greets) }
    }

    func stop() async throws { try await listener.stop() }
}

private final class SilentHandler: FrameHandler {
    private var output = Bytes()

    init(greets: Bool) {
        guard greets else { return }
        output = Frame.preface
        var hello = ServerHello()
        hello.limits = .standard
        hello.clock = Int64(Date().timeIntervalSince1970 * 1_000)
        FrameEncoder.append(Frame(.hello, payload: hello.encoded()), to: &output)
    }

    func turnEnded(now: Instant) -> Turn {
        defer { output = [] }
        return Turn(output: FrameOutput(output), wake: nil, closes: false)
    }

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {}
    func timePassed(now: Instant) {}
    func writing(_ pendingBytes: Int, now: Instant) {}
    func closed() {}
}
