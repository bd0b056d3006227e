// A sync engine on the shared database, over a socket: a participant's device holds what its user
// may read, sends what its user writes, and lets go of what its user may read no more.

import Cumulus
import CumulusTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct SharedSyncTests {
    /// An app that keeps the texts of notes, zone by zone.
    private final class Device: SyncEngineDelegate {
        struct Store {
            var zones: Set<RecordZone.ID> = []
            var texts: [Record.ID: String] = [:]
            var drafts: [Record.ID: Record] = [:]
            var refusals: [ServiceError.Code] = []
        }

        let store = Mutex(Store())

        var names: [String] {
            store.withLock { $0.texts.keys.map(\.recordName).sorted() }
        }

        var zones: Set<RecordZone.ID> { store.withLock { $0.zones } }

        /// Keeps a record that the next send takes along.
        func write(_ record: Record, _ engine: SyncEngine) {
            store.withLock { $0.drafts[record.recordID] = record }
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            store.withLock { store in
                switch event {
                case .fetchedDatabaseChanges(let changes):
                    for zone in changes.modifications { store.zones.insert(zone.zoneID) }
                    for deletion in changes.deletions {
                        store.zones.remove(deletion.zoneID)
                        store.texts = store.texts.filter { $0.key.zoneID != deletion.zoneID }
                    }
                case .fetchedRecordZoneChanges(let changes):
                    for record in changes.modifications.map(\.record) {
                        store.texts[record.recordID] = record["text"]?.string ?? ""
                    }
                    for deletion in changes.deletions {
                        store.texts[deletion.recordID] = nil
                    }
                case .sentRecordZoneChanges(let sent):
                    for record in sent.savedRecords {
                        store.texts[record.recordID] = record["text"]?.string ?? ""
                    }
                    store.refusals += sent.failedRecordSaves.map(\.error.code)
                default: break
                }
            }
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
                store.withLock { $0.drafts[id] }
            }
        }
    }

    private static let mine = RecordZone.ID(zoneName: "Trips")

    private func note(_ name: String, in zone: RecordZone.ID, below parent: String?) -> Record {
        let id = Record.ID(recordName: name, zoneID: zone)
        var record = Record(recordType: "Note", recordID: id)
        record["text"] = .string("about \(name)")
        if let parent { record.parent = Record.Reference(recordName: parent) }
        return record
    }

    private func makeEngine(
        _ device: Device,
        _ container: Container,
        isAutomatic: Bool
    ) -> SyncEngine {
        var configuration = SyncEngine.Configuration(
            database: container.sharedCloudDatabase,
            stateSerialization: nil,
            delegate: device
        )
        configuration.automaticallySync = isAutomatic
        return SyncEngine(configuration)
    }

    /// A node, and two users; one of them has a zone with a record and one below it.
    private func withUsers(
        _ body: (_ ada: Container, _ bob: Container) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        let ada = try await server.container(user: "ada")
        let bob = try await server.container(user: "bob")
        let result: Result<Void, any Error>
        do {
            let database = ada.privateCloudDatabase
            try await database.save(RecordZone(zoneID: Self.mine))
            try await database.save(note("oslo", in: Self.mine, below: nil))
            try await database.save(note("museum", in: Self.mine, below: "oslo"))
            try await database.save(note("diary", in: Self.mine, below: nil))
            result = .success(try await body(ada, bob))
        } catch {
            result = .failure(error)
        }
        for container in [ada, bob] { await container.close() }
        try await server.stop()
        try result.get()
    }

    @Test func aDeviceHoldsATreeAndSendsToIt() async throws {
        try await withUsers { ada, bob in
            let database = ada.privateCloudDatabase
            let device = Device()
            let engine = makeEngine(device, bob, isAutomatic: false)
            try await engine.fetchChanges()
            #expect(device.zones == [] && device.names == [])

            let id = Record.ID(recordName: "oslo", zoneID: Self.mine)
            let root = try await database.record(for: id)
            let shareID = Record.ID(recordName: "the-share", zoneID: Self.mine)
            var share = Share(rootRecord: root, shareID: shareID)
            share.publicPermission = .readWrite
            share = try await database.save(share, rootRecord: root).share
            try await bob.accept(try #require(share.url))
            try await engine.fetchChanges()
            let theirs = try #require(device.zones.first)
            #expect(device.zones.count == 1 && theirs.zoneName == "Trips")
            #expect(device.names == ["museum", "oslo", "the-share"])

            device.write(note("opera", in: theirs, below: "museum"), engine)
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            let opera = Record.ID(recordName: "opera", zoneID: Self.mine)
            #expect(try await database.record(for: opera)["text"] == "about opera")
            try await engine.fetchChanges()
            #expect(device.names == ["museum", "opera", "oslo", "the-share"])
            // What moves in comes, and what moves out goes, with all below it.
            try await database.save(note("bergen", in: Self.mine, below: "oslo"))
            let museum = Record.ID(recordName: "museum", zoneID: Self.mine)
            var moved = try await database.record(for: museum)
            moved.parent = Record.Reference(recordName: "diary")
            try await database.save(moved)
            try await engine.fetchChanges()
            #expect(device.names == ["bergen", "oslo", "the-share"])
            device.write(note("late", in: theirs, below: "museum"), engine)
            await #expect(throws: ServiceError.self) { try await engine.sendChanges() }
            #expect(device.store.withLock { $0.refusals } == [.permissionFailure])

            try await database.deleteRecord(withID: share.recordID)
            try await engine.fetchChanges()
            #expect(device.zones == [] && device.names == [])
        }
    }

    /// No fetch is needed: the feed tells of the zone, of its changes, and of its end.
    @Test func aDeviceHearsOfAZoneByItself() async throws {
        try await withUsers { ada, bob in
            let database = ada.privateCloudDatabase
            let device = Device()
            let engine = makeEngine(device, bob, isAutomatic: true)
            var share = Share(recordZoneID: Self.mine)
            share.publicPermission = .readOnly
            share = try await database.save(share)
            try await bob.accept(try #require(share.url))
            let all = ["cloudkit.zoneshare", "diary", "museum", "oslo"]
            #expect(await eventually { device.names == all }, "\(device.names)")
            try await database.save(note("bergen", in: Self.mine, below: nil))
            #expect(await eventually { device.names.contains("bergen") }, "\(device.names)")
            share = try #require(try await database.share(ofZoneWith: Self.mine))
            share.publicPermission = .none
            try await database.save(share)
            #expect(await eventually { device.zones.isEmpty }, "\(device.zones)")
            #expect(device.names == [])
            await engine.cancelOperations()
        }
    }

    /// Waits for half a minute: other tests may keep the processors busy.
    private func eventually(_ condition: () -> Bool) async -> Bool {
        for _ in 0..<3_000 {
            if condition() { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return condition()
    }
}
