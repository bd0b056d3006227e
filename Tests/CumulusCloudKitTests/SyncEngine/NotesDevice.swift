// An app on `CKSyncEngine` as a device runs it: notes, and all that an engine leaves to its app.
//
// A note is a set of edits and a title. Two versions merge without losing an edit, and the later
// title wins. Used by the tests of engines that work beside each other.

import CumulusCloudKit
import Foundation
import Synchronization

final class NotesDevice: CKSyncEngineDelegate {
    struct Note: Hashable {
        var edits: Set<Int> = []
        /// The greater text wins.
        var title = ""

        init() {}

        init(_ record: CKRecord) {
            let text = record["edits"] as? String ?? ""
            edits = Set(text.split(separator: ",").compactMap { Int($0) })
            title = record["title"] as? String ?? ""
        }

        mutating func merge(_ other: Note) {
            edits.formUnion(other.edits)
            title = max(title, other.title)
        }

        func write(to record: CKRecord) {
            record["edits"] = edits.sorted().map(String.init).joined(separator: ",")
            record["title"] = title
        }
    }

    struct Store {
        var notes: [CKRecord.ID: Note] = [:]
        /// As the server had them last.
        var records: [CKRecord.ID: CKRecord] = [:]
        var zones: Set<CKRecordZone.ID> = []
        /// Records of a zone that a fetch from the beginning has not told yet.
        var unseen: [CKRecordZone.ID: Set<CKRecord.ID>] = [:]
        /// What the engine told, but for its states.
        var events: [String] = []
        var state: CKSyncEngine.State.Serialization?
        /// How many records were in each batch whose outcome was told.
        var batches: [Int] = []
        var problems: [String] = []
    }

    let name: String
    private let store = Mutex(Store())

    init(_ name: String) { self.name = name }

    func read<Value>(_ body: (Store) -> Value) -> Value { store.withLock { body($0) } }

    func engine(_ database: CKDatabase) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: database,
            stateSerialization: read(\.state),
            delegate: self
        )
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    // MARK: - The user

    func edit(_ id: CKRecord.ID, _ edit: Int, _ engine: CKSyncEngine) {
        store.withLock { _ = $0.notes[id, default: Note()].edits.insert(edit) }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    func rename(_ id: CKRecord.ID, _ title: String, _ engine: CKSyncEngine) {
        let isThere = store.withLock { store in
            store.notes[id]?.title = title
            return store.notes[id] != nil
        }
        if isThere { engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)]) }
    }

    func move(_ id: CKRecord.ID, to other: CKRecord.ID, _ engine: CKSyncEngine) {
        guard id != other, let note = read({ $0.notes[id] }) else { return }
        store.withLock { $0.notes[other, default: Note()].merge(note) }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(other)])
        delete(id, engine)
    }

    func delete(_ id: CKRecord.ID, _ engine: CKSyncEngine) {
        store.withLock { $0.drop(id) }
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
    }

    func make(_ zone: CKRecordZone.ID, _ engine: CKSyncEngine) {
        store.withLock { _ = $0.zones.insert(zone) }
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
    }

    func delete(_ zone: CKRecordZone.ID, _ engine: CKSyncEngine) {
        store.withLock { $0.forget(zone, engine) }
        engine.state.add(pendingDatabaseChanges: [.deleteZone(zone)])
    }

    // MARK: - The engine

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let pending = syncEngine.state.pendingRecordZoneChanges.filter {
            context.options.scope.contains($0)
        }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { id in
            let record: CKRecord? = store.withLock { store in
                guard let note = store.notes[id] else { return nil }
                let record = store.records[id] ?? CKRecord(recordType: "Note", recordID: id)
                note.write(to: record)
                return record
            }
            if record == nil {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
            }
            return record
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        store.withLock { store in
            if let name = event.name { store.events.append(name) }
            store.handle(event, syncEngine)
        }
    }
}

extension CKSyncEngine.Event {
    /// nil for a new state of the engine.
    fileprivate var name: String? {
        switch self {
        case .stateUpdate: nil
        case .accountChange: "accountChange"
        case .fetchedDatabaseChanges: "fetchedDatabaseChanges"
        case .fetchedRecordZoneChanges: "fetchedRecordZoneChanges"
        case .sentDatabaseChanges: "sentDatabaseChanges"
        case .sentRecordZoneChanges: "sentRecordZoneChanges"
        case .willFetchChanges: "willFetchChanges"
        case .willFetchRecordZoneChanges: "willFetchRecordZoneChanges"
        case .didFetchRecordZoneChanges: "didFetchRecordZoneChanges"
        case .didFetchChanges: "didFetchChanges"
        case .willSendChanges: "willSendChanges"
        case .didSendChanges: "didSendChanges"
        }
    }
}

extension NotesDevice.Store {
    fileprivate mutating func handle(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) {
        switch event {
        case .stateUpdate(let update): state = update.stateSerialization
        case .fetchedDatabaseChanges(let changes):
            for modification in changes.modifications { zones.insert(modification.zoneID) }
            for deletion in changes.deletions { forget(deletion.zoneID, engine) }
        case .fetchedRecordZoneChanges(let changes):
            for modification in changes.modifications {
                let id = modification.record.recordID
                // A saved note has the server's state; it may be another note by now.
                if !engine.isPending(.saveRecord(id)) { notes[id] = nil }
                fetched(modification.record, engine)
            }
            for deletion in changes.deletions { gone(deletion.recordID, engine) }
        case .willFetchRecordZoneChanges(let fetch):
            guard fetch.isRefetch else { return }
            unseen[fetch.zoneID] = Set(records.keys.filter { $0.zoneID == fetch.zoneID })
        case .didFetchRecordZoneChanges(let fetch):
            let old = unseen.removeValue(forKey: fetch.zoneID) ?? []
            if fetch.error == nil { for id in old { gone(id, engine) } }
        case .sentDatabaseChanges(let sent): handle(sent, engine)
        case .sentRecordZoneChanges(let sent): handle(sent, engine)
        case .accountChange, .willFetchChanges, .didFetchChanges, .willSendChanges,
            .didSendChanges:
            break
        }
    }

    private mutating func handle(
        _ sent: CKSyncEngine.Event.SentDatabaseChanges,
        _ engine: CKSyncEngine
    ) {
        for zone in sent.savedZones { zones.insert(zone.zoneID) }
        for zone in sent.deletedZoneIDs {
            // Notes that were added since then belong to the next zone of that name.
            for id in notes.keys where id.zoneID == zone {
                records[id] = nil
                if !engine.isPending(.saveRecord(id)) { drop(id) }
            }
            let isWanted =
                engine.state.pendingDatabaseChanges.contains { change in
                    if case .saveZone(let new) = change { new.zoneID == zone } else { false }
                } || notes.keys.contains { $0.zoneID == zone }
            if !isWanted { zones.remove(zone) }
        }
        problems += sent.failedZoneSaves.map { "zone: \($0.error)" }
        problems += sent.failedZoneDeletes.values.map { "zone: \($0)" }
    }

    private mutating func handle(
        _ sent: CKSyncEngine.Event.SentRecordZoneChanges,
        _ engine: CKSyncEngine
    ) {
        batches.append(
            sent.savedRecords.count + sent.failedRecordSaves.count + sent.deletedRecordIDs.count
                + sent.failedRecordDeletes.count
        )
        for record in sent.savedRecords where notes[record.recordID] != nil {
            records[record.recordID] = record
        }
        for failure in sent.failedRecordSaves where notes[failure.record.recordID] != nil {
            let id = failure.record.recordID
            switch failure.error.code {
            case .serverRecordChanged:
                guard let record = failure.error.serverRecord else {
                    problems.append("a conflict without the server's record")
                    continue
                }
                fetched(record, engine)
            case .unknownItem: records[id] = nil
            case .zoneNotFound:
                records[id] = nil
                guard zones.contains(id.zoneID) else {
                    drop(id)
                    continue
                }
                let zone = CKRecordZone(zoneID: id.zoneID)
                engine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
            default:
                problems.append("save: \(failure.error)")
                continue
            }
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
        }
        for error in sent.failedRecordDeletes.values where error.code != .zoneNotFound {
            problems.append("delete: \(error)")
        }
    }

    private mutating func fetched(_ record: CKRecord, _ engine: CKSyncEngine) {
        let id = record.recordID
        unseen[id.zoneID]?.remove(id)
        // A note that is deleted here stays so; the server hears of it.
        guard !engine.isPending(.deleteRecord(id)) else { return }
        records[id] = record
        notes[id, default: NotesDevice.Note()].merge(NotesDevice.Note(record))
    }

    /// A record is gone; what was not saved of its note makes it anew.
    private mutating func gone(_ id: CKRecord.ID, _ engine: CKSyncEngine) {
        records[id] = nil
        if !engine.isPending(.saveRecord(id)) { notes[id] = nil }
    }

    fileprivate mutating func drop(_ id: CKRecord.ID) {
        notes[id] = nil
        records[id] = nil
    }

    /// Drops a zone with all its notes, including unsaved ones.
    fileprivate mutating func forget(_ zone: CKRecordZone.ID, _ engine: CKSyncEngine) {
        zones.remove(zone)
        for id in Set(notes.keys).union(records.keys) where id.zoneID == zone { drop(id) }
        let changes = engine.state.pendingRecordZoneChanges.filter { change in
            switch change {
            case .saveRecord(let id), .deleteRecord(let id): id.zoneID == zone
            }
        }
        engine.state.remove(pendingRecordZoneChanges: changes)
    }
}

extension CKSyncEngine {
    fileprivate func isPending(_ change: PendingRecordZoneChange) -> Bool {
        state.pendingRecordZoneChanges.contains(change)
    }
}
