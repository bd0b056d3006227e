// Sync engines with a real node over a socket: two devices of one user, and the shell's own duties.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct SyncEngineTests {
    private static let zone = RecordZone.ID(zoneName: "Notes")

    /// An app that keeps texts, and of two versions of one both.
    fileprivate final class Device: SyncEngineDelegate {
        struct Store {
            var texts: [Record.ID: String] = [:]
            /// What the server said of each record, and the engine's state: as text.
            var fields: [Record.ID: Data] = [:]
            var kept: Data?
            var events: [String] = []
            var handling = 0
            var overlaps = 0
        }

        let store = Mutex(Store())

        func edit(_ name: String, _ text: String, _ engine: SyncEngine) {
            let id = Record.ID(recordName: name, zoneID: SyncEngineTests.zone)
            store.withLock { store in
                store.texts[id] = text
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            }
        }

        var state: SyncEngine.State.Serialization? {
            store.withLock { store in
                store.kept.flatMap {
                    try? JSONDecoder().decode(SyncEngine.State.Serialization.self, from: $0)
                }
            }
        }

        var texts: [String: String] {
            store.withLock { store in
                var texts: [String: String] = [:]
                for (id, text) in store.texts { texts[id.recordName] = text }
                return texts
            }
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            store.withLock { store in
                store.handling += 1
                if store.handling > 1 { store.overlaps += 1 }
            }
            await Task.yield()
            let again = store.withLock { store in
                store.take(event, unsent: Set(syncEngine.state.pendingRecordZoneChanges))
            }
            syncEngine.state.add(pendingRecordZoneChanges: again.map { .saveRecord($0) })
            store.withLock { $0.handling -= 1 }
        }

        func nextRecordZoneChangeBatch(
            _ context: SyncEngine.SendChangesContext,
            syncEngine: SyncEngine
        ) async -> SyncEngine.RecordZoneChangeBatch? {
            let changes = syncEngine.state.pendingRecordZoneChanges.filter { change in
                context.options.scope.contains(change)
            }
            return await SyncEngine.RecordZoneChangeBatch(
                pendingChanges: changes,
                limits: context.limits
            ) { id in
                store.withLock { store -> Record? in
                    guard let text = store.texts[id] else { return nil }
                    var record = store.record(id)
                    record["text"] = .string(text)
                    return record
                }
            }
        }
    }

    private func withServer(_ body: (TestServer, String) async throws -> Void) async throws {
        let server = try await TestServer()
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(server, try await server.makeUser("ada")))
        } catch {
            result = .failure(error)
        }
        try await server.stop()
        try result.get()
    }

    private func makeEngine(
        _ device: Device,
        _ container: Container,
        isAutomatic: Bool = false,
        newsMilliseconds: Int64 = 20
    ) -> SyncEngine {
        var configuration = SyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: device.state,
            delegate: device
        )
        configuration.automaticallySync = isAutomatic
        configuration.newsMilliseconds = newsMilliseconds
        return SyncEngine(configuration)
    }

    @Test func twoDevicesOverASocket() async throws {
        try await withServer { server, token in
            let containers = [server.container(token: token), server.container(token: token)]
            let devices = [Device(), Device()]
            var engines = zip(devices, containers).map { makeEngine($0, $1) }
            engines[0].state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: Self.zone))])
            for number in 0..<1_000 { devices[0].edit("n\(number)", "a\(number)", engines[0]) }
            try await engines[0].sendChanges()
            #expect(engines[0].state.pendingRecordZoneChanges.isEmpty)
            try await engines[1].fetchChanges()
            #expect(devices[1].texts == devices[0].texts)
            // Both change a record that neither has fetched: a conflict for the later one.
            devices[0].edit("n7", "left", engines[0])
            devices[1].edit("n7", "right", engines[1])
            try await engines[0].sendChanges()
            let refusal = await #expect(throws: ServiceError.self) {
                try await engines[1].sendChanges()
            }
            #expect(refusal?.code == .partialFailure)
            #expect(engines[1].state.pendingRecordZoneChanges.count == 1)
            try await engines[1].sendChanges()
            try await engines[0].fetchChanges()
            #expect(devices[0].texts["n7"] == "left right")
            #expect(devices[1].texts["n7"] == "left right")
            // A new engine goes on where the last one was.
            engines[1] = makeEngine(devices[1], containers[1])
            devices[1].store.withLock { $0.events = [] }
            try await engines[1].fetchChanges()
            #expect(devices[1].store.withLock { $0.events } == ["records 1"])
            #expect(devices.allSatisfy { $0.store.withLock { $0.overlaps } == 0 })
            engines = []
            for container in containers { await container.close() }
        }
    }

    /// Nobody asks: changes and news are enough.
    @Test func devicesSyncByThemselves() async throws {
        try await withServer { server, token in
            let containers = [server.container(token: token), server.container(token: token)]
            let devices = [Device(), Device()]
            var engines = zip(devices, containers).map { makeEngine($0, $1, isAutomatic: true) }
            engines[0].state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: Self.zone))])
            devices[0].edit("a", "hello", engines[0])
            while devices[1].texts["a"] != "hello" { try await Task.sleep(for: .milliseconds(5)) }
            devices[1].edit("a", "world", engines[1])
            while devices[0].texts["a"] != "world" { try await Task.sleep(for: .milliseconds(5)) }
            #expect(devices.allSatisfy { $0.store.withLock { $0.overlaps } == 0 })
            engines = []
            for container in containers { await container.close() }
        }
    }

    /// News come by the feed: the server would be asked ten minutes later.
    @Test func devicesHearOfEachOther() async throws {
        try await withServer { server, token in
            let containers = ["a", "b"].map { server.container(token: token, deviceID: $0) }
            let devices = [Device(), Device()]
            var engines = zip(devices, containers).map { device, container in
                makeEngine(device, container, isAutomatic: true, newsMilliseconds: 600_000)
            }
            engines[0].state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: Self.zone))])
            for number in 0..<10 {
                let (writer, reader) = (number % 2, 1 - number % 2)
                devices[writer].edit("a", "\(number)", engines[writer])
                while devices[reader].texts["a"] != "\(number)" {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            // One for both devices.
            let database = containers[0].privateCloudDatabase
            #expect(try await database.allSubscriptions().map(\.id) == ["cumulus-sync-engine"])
            engines = []
            for container in containers { await container.close() }
        }
    }

    /// News end when the server refuses the database; a fetch that succeeds begins them again.
    @Test func aFetchThatSucceedsBeginsTheNewsAgain() async throws {
        try await withServer { server, token in
            let container = server.container(token: token)
            let (device, news) = (Device(), EndingNews())
            var configuration = SyncEngine.Configuration(
                database: container.privateCloudDatabase,
                stateSerialization: nil,
                delegate: device
            )
            configuration.news = news
            let engine = SyncEngine(configuration)
            for _ in 0..<1_000 where news.count < 3 {
                try await engine.fetchChanges()
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(news.count >= 3)
            await container.close()
        }
    }

    private final class EndingNews: SyncNews {
        private let number = Atomic(0)

        var count: Int { number.load(ordering: .relaxed) }

        func follow(_ hear: @escaping @Sendable () -> Void) async {
            number.add(1, ordering: .relaxed)
        }
    }

    /// A device goes on without its server; waiting changes are sent when the server is back.
    @Test func offlineAndBack() async throws {
        let store = MemoryEngine()
        let port = TestPort.free()
        // The client keeps a token of the first process, which the second one must open.
        let key = Bytes(repeating: 7, count: 32)
        let first = try await TestServer(engine: store, port: port, clusterKey: key)
        let token = try await first.makeUser("ada")
        let container = first.container(token: token, timeout: .seconds(1))
        let device = Device()
        let engine = makeEngine(device, container, isAutomatic: true)
        engine.state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: Self.zone))])
        device.edit("a", "1", engine)
        try await waitUntilSent(engine)
        try await first.stop()
        device.edit("a", "2", engine)
        try await Task.sleep(for: .milliseconds(100))
        #expect(!engine.state.pendingRecordZoneChanges.isEmpty)
        let second = try await TestServer(
            engine: MemoryEngine(reopening: store),
            port: port,
            clusterKey: key
        )
        try await waitUntilSent(engine)
        let id = Record.ID(recordName: "a", zoneID: Self.zone)
        let patient = second.container(token: token)
        let record = try await patient.privateCloudDatabase.record(for: id)
        #expect(record["text"]?.string == "2")
        for container in [container, patient] { await container.close() }
        try await second.stop()
    }

    private func waitUntilSent(_ engine: SyncEngine) async throws {
        while !engine.state.pendingRecordZoneChanges.isEmpty {
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    @Test func anEngineThatCannotReachItsServerSaysSo() async throws {
        var configuration = Container.Configuration(endpoints: ["127.0.0.1:1"])
        configuration.timeout = .milliseconds(50)
        let container = Container(identifier: "iCloud.test", configuration: configuration)
        let device = Device()
        let engine = makeEngine(device, container)
        let error = await #expect(throws: ServiceError.self) { try await engine.fetchChanges() }
        #expect(error?.code == .networkFailure)
        await container.close()
    }

    /// A call that gets no answer ends when it is cancelled, by the app or with the caller's task.
    @Test func operationsAreCancelled() async throws {
        let silent = try await ScriptedServer([.calls([.ignore])], user: "ada")
        var configuration = Container.Configuration(endpoints: [silent.endpoint])
        configuration.timeout = .seconds(200)
        let container = Container(identifier: "iCloud.test", configuration: configuration)
        let device = Device()
        let engine = makeEngine(device, container)
        for isCancelledByApp in [true, false] {
            let calls = silent.calls
            let task = Task { try await engine.fetchChanges() }
            while silent.calls == calls { try await Task.sleep(for: .milliseconds(1)) }
            if isCancelledByApp { await engine.cancelOperations() } else { task.cancel() }
            let error = await #expect(throws: ServiceError.self) { try await task.value }
            #expect(error?.code == .operationCancelled)
        }
        await container.close()
        try await silent.stop()
    }

    /// The engine's task does not keep it: it ends with its owner's reference.
    @Test func anEngineIsReleased() async throws {
        let container = Container(identifier: "iCloud.test")
        let device = Device()
        weak var released: SyncEngine?
        do {
            let engine = makeEngine(device, container)
            released = engine
            _ = engine.state
        }
        while released != nil { try await Task.sleep(for: .milliseconds(1)) }
        await container.close()
    }
}

extension SyncEngineTests.Device.Store {
    /// Applies an event; returns the records to save again.
    ///
    /// A text that was edited and not sent yet stays: its send merges the two.
    fileprivate mutating func take(
        _ event: SyncEngine.Event,
        unsent: Set<SyncEngine.PendingRecordZoneChange>
    ) -> [Record.ID] {
        switch event {
        case .stateUpdate(let update): kept = try? JSONEncoder().encode(update.stateSerialization)
        case .accountChange: events.append("signIn")
        case .fetchedRecordZoneChanges(let changes):
            events.append("records \(changes.modifications.count)")
            for modification in changes.modifications {
                let record = modification.record
                guard !unsent.contains(.saveRecord(record.recordID)) else { continue }
                keep(record)
                texts[record.recordID] = record["text"]?.string
            }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { keep(record) }
            return sent.failedRecordSaves.compactMap { merge($0) }
        default: break
        }
        return []
    }

    private mutating func keep(_ record: Record) {
        fields[record.recordID] = try? JSONEncoder().encode(record.systemFields)
    }

    /// The record as the server had it last; a new one if it never had it.
    fileprivate func record(_ id: Record.ID) -> Record {
        let kept = fields[id].flatMap {
            try? JSONDecoder().decode(Record.SystemFields.self, from: $0)
        }
        return kept.map(Record.init) ?? Record(recordType: "Note", recordID: id)
    }

    private mutating func merge(
        _ failure: SyncEngine.Event.SentRecordZoneChanges.FailedRecordSave
    ) -> Record.ID? {
        let id = failure.record.recordID
        guard let server = failure.error.serverRecord else { return nil }
        keep(server)
        texts[id] = "\(server["text"]?.string ?? "") \(texts[id] ?? "")"
        return id
    }
}
