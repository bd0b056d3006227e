// A device that keeps a timeline with a sync engine: in the tests' own process, which is a client
// of the cluster like any other.
//
// It may be left and started again, as an app is: it goes on with the copy and the engine's state
// that it kept.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

/// The app: its copy of the timeline, and what the engine told it to keep.
final class TimelineApp: SyncEngineDelegate {
    fileprivate struct Store {
        var entries: [Record.ID: Record] = [:]
        /// The engine's state, as a file would hold it.
        var state: Data?
        var fetched: [String] = []
    }

    static let zone = RecordZone.ID(zoneName: "Timeline")

    private let store = Mutex(Store())

    static func id(_ name: String) -> Record.ID { Record.ID(recordName: name, zoneID: zone) }

    /// The texts of the entries, by names.
    var texts: [String: String] {
        store.withLock { store in
            var texts: [String: String] = [:]
            for (id, record) in store.entries { texts[id.recordName] = record["text"]?.string }
            return texts
        }
    }

    /// The changes that were fetched since the app was started: "saved NAME", "deleted NAME".
    var fetched: [String] { store.withLock { $0.fetched } }

    /// The state that the last engine told to keep; nil at the first start.
    func start() throws -> SyncEngine.State.Serialization? {
        let state = store.withLock { store in
            store.fetched = []
            return store.state
        }
        return try state.map {
            try JSONDecoder().decode(SyncEngine.State.Serialization.self, from: $0)
        }
    }

    func write(_ name: String, _ text: String) {
        let id = TimelineApp.id(name)
        store.withLock { store in
            var record = store.entries[id] ?? Record(recordType: "Entry", recordID: id)
            record["text"] = .string(text)
            store.entries[id] = record
        }
    }

    func remove(_ name: String) {
        store.withLock { $0.entries[TimelineApp.id(name)] = nil }
    }

    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
        let pending = Set(syncEngine.state.pendingRecordZoneChanges)
        store.withLock { $0.take(event, pending) }
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
            store.withLock { $0.entries[id] }
        }
    }
}

extension TimelineApp.Store {
    fileprivate mutating func take(
        _ event: SyncEngine.Event,
        _ pending: Set<SyncEngine.PendingRecordZoneChange>
    ) {
        switch event {
        case .stateUpdate(let update): state = try? JSONEncoder().encode(update.stateSerialization)
        case .fetchedRecordZoneChanges(let changes):
            for record in changes.modifications.map(\.record) {
                fetched.append("saved \(record.recordID.recordName)")
                // An unsent change is newer here.
                guard !pending.contains(.saveRecord(record.recordID)),
                    !pending.contains(.deleteRecord(record.recordID))
                else { continue }
                entries[record.recordID] = record
            }
            for deletion in changes.deletions {
                fetched.append("deleted \(deletion.recordID.recordName)")
                entries[deletion.recordID] = nil
            }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { entries[record.recordID] = record }
            for failure in sent.failedRecordSaves where !failure.error.isRetriedBySyncEngine {
                Issue.record("\(failure.record.recordID.recordName): \(failure.error)")
            }
        default: break
        }
    }
}

/// The app with its engine, while it runs.
final class TimelinePhone {
    let app = TimelineApp()
    private let configuration: Container.Configuration
    private var container: Container?
    private var engine: SyncEngine?

    /// A phone of the story's user ada, at the nodes of the device that watches.
    init(_ story: Story) throws {
        var configuration = Container.Configuration(endpoints: try story.watchedEndpoints)
        configuration.tls = .never
        configuration.accessToken = story.cluster.token
        configuration.deviceID = "phone"
        configuration.connections = 1
        self.configuration = configuration
    }

    func start() throws {
        let container = Container(
            identifier: NodeProcess.container,
            configuration: configuration
        )
        self.container = container
        engine = SyncEngine(
            SyncEngine.Configuration(
                database: container.privateCloudDatabase,
                stateSerialization: try app.start(),
                delegate: app
            )
        )
    }

    /// Makes the zone, which the first start does.
    func makeZone() {
        let zone = RecordZone(zoneID: TimelineApp.zone)
        engine?.state.add(pendingDatabaseChanges: [.saveZone(zone)])
    }

    func write(_ name: String, _ text: String) {
        app.write(name, text)
        engine?.state.add(pendingRecordZoneChanges: [.saveRecord(TimelineApp.id(name))])
    }

    func remove(_ name: String) {
        app.remove(name)
        engine?.state.add(pendingRecordZoneChanges: [.deleteRecord(TimelineApp.id(name))])
    }

    /// Waits until the server has all that was written here.
    func waitUntilSent() async throws {
        let isSent = try await eventually(seconds: 30) {
            engine?.state.pendingRecordZoneChanges.isEmpty ?? true
        }
        try #require(isSent)
    }

    /// Waits until the copy is this; an engine that had to ask would take 30 seconds.
    func expect(
        _ texts: [String: String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let isThere = try await eventually(seconds: 20) { app.texts == texts }
        try #require(
            isThere,
            "\(app.texts) instead of \(texts)",
            sourceLocation: sourceLocation
        )
    }

    /// Ends the app, up to date.
    func end() async throws {
        try await engine?.fetchChanges()
        engine = nil
        await container?.close()
        container = nil
    }
}
