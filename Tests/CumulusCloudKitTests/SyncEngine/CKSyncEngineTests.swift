// CloudKit's sync engine with a real node over a socket: what one device sends another one fetches.

import CumulusCloudKit
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct CKSyncEngineTests {
    private static let zone = CKRecordZone(zoneName: "Notes")

    /// An app that keeps a record for each note.
    private final class Device: CKSyncEngineDelegate {
        struct Store {
            var records: [CKRecord.ID: CKRecord] = [:]
            var failures: [CKError.Code] = []
            var events: [String] = []
            var state: Data?
        }

        let store = Mutex(Store())

        func edit(_ name: String, _ text: String, _ engine: CKSyncEngine) {
            let id = CKRecord.ID(recordName: name, zoneID: CKSyncEngineTests.zone.zoneID)
            store.withLock { store in
                let record = store.records[id] ?? CKRecord(recordType: "Note", recordID: id)
                record["text"] = text
                store.records[id] = record
            }
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
        }

        var texts: [String: String] {
            store.withLock { store in
                store.records.reduce(into: [:]) { $0[$1.key.recordName] = $1.value["text"] }
            }
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            store.withLock { store in
                switch event {
                case .stateUpdate(let update):
                    store.state = try? JSONEncoder().encode(update.stateSerialization)
                case .accountChange(let change):
                    if case .signIn = change.changeType { store.events.append("signIn") }
                case .fetchedRecordZoneChanges(let changes):
                    for change in changes.modifications {
                        store.records[change.record.recordID] = change.record
                    }
                    for change in changes.deletions { store.records[change.recordID] = nil }
                case .sentRecordZoneChanges(let changes):
                    for failure in changes.failedRecordSaves {
                        store.failures.append(failure.error.code)
                        guard let server = failure.error.serverRecord else { continue }
                        server["text"] = failure.record["text"] as? String
                        store.records[server.recordID] = server
                        syncEngine.state.add(
                            pendingRecordZoneChanges: [.saveRecord(server.recordID)]
                        )
                    }
                    for record in changes.savedRecords where record.recordChangeTag != nil {
                        store.events.append("saved \(record.recordID.recordName)")
                    }
                case .didFetchChanges(let fetch):
                    store.events.append("fetched \(fetch.context.reason)")
                default: break
                }
            }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext,
            syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            let pending = syncEngine.state.pendingRecordZoneChanges.filter {
                context.options.scope.contains($0)
            }
            return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { id in
                store.withLock { $0.records[id] }
            }
        }
    }

    private func engine(
        _ device: Device,
        _ container: CKContainer,
        _ state: CKSyncEngine.State.Serialization? = nil
    ) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: state,
            delegate: device
        )
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    @Test func twoDevicesMeet() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let (phone, tablet) = (Device(), Device())
                let first = engine(phone, container)
                first.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
                phone.edit("a", "one", first)
                #expect(first.state.pendingRecordZoneChanges.count == 1)
                try await first.sendChanges()
                #expect(first.state.pendingRecordZoneChanges.isEmpty)
                #expect(phone.store.withLock { $0.events }.contains("saved a"))

                let second = engine(tablet, container)
                try await second.fetchChanges()
                #expect(tablet.texts == ["a": "one"])
                #expect(tablet.store.withLock { $0.events } == ["signIn", "fetched manual"])

                // Both edit: the second to send meets a conflict, merges, and sends again.
                phone.edit("a", "phone", first)
                tablet.edit("a", "tablet", second)
                try await first.sendChanges()
                let refusal = await failure { try await second.sendChanges() }
                #expect(refusal?.code == .partialFailure)
                #expect(tablet.store.withLock { $0.failures } == [.serverRecordChanged])
                #expect(second.state.pendingRecordZoneChanges.count == 1)
                try await second.sendChanges()
                #expect(second.state.pendingRecordZoneChanges.isEmpty)
                try await first.fetchChanges()
                #expect(phone.texts == ["a": "tablet"])

                // A later engine goes on from the state that the first one told to keep.
                let data = try #require(phone.store.withLock { $0.state })
                let state = try JSONDecoder().decode(
                    CKSyncEngine.State.Serialization.self,
                    from: data
                )
                let id = CKRecord.ID(recordName: "a", zoneID: Self.zone.zoneID)
                let later = engine(phone, container, state)
                later.state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
                try await later.sendChanges()
                try await second.fetchChanges()
                #expect(tablet.texts.isEmpty)
            }
        }
    }

    @Test func aRecordThatCantBeSavedIsTold() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let device = Device()
                let engine = engine(device, container)
                engine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
                device.edit("good", "text", engine)
                device.edit("bad", "text", engine)
                let id = CKRecord.ID(recordName: "bad", zoneID: Self.zone.zoneID)
                device.store.withLock { $0.records[id]?["number"] = Double.nan }
                let refusal = await failure { try await engine.sendChanges() }
                #expect(refusal?.code == .partialFailure)
                #expect(device.store.withLock { $0.failures } == [.invalidArguments])
                #expect(device.store.withLock { $0.events }.contains("saved good"))
                #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }
}
