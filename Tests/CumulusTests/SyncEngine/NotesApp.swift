// An app as its disk is: notes, and how it does the duties that a sync engine leaves to its app.
//
// A note is a set of edits and a title. Two versions merge without losing an edit, and the later
// title wins. This value survives a crash, except for the parts that are marked as volatile.

import CumulusModel
import Foundation
import Testing

@testable import Cumulus

struct NotesApp {
    struct Note: Hashable {
        var edits: Set<Int> = []
        /// The later title wins, then the one of the higher device.
        var title = [0, 0]

        mutating func merge(_ other: Note) {
            edits.formUnion(other.edits)
            if title.lexicographicallyPrecedes(other.title) { title = other.title }
        }

        init() {}

        init(_ record: Record) {
            edits = Set((record["edits"]?.list ?? []).compactMap(\.int64).map(Int.init))
            title = (record["title"]?.list ?? []).compactMap(\.int64).map(Int.init)
        }

        func write(to record: inout Record) {
            record["edits"] = .list(edits.sorted().map { .int64(Int64($0)) })
            record["title"] = .list(title.map { .int64(Int64($0)) })
        }
    }

    /// A change that was handed to the engine.
    enum Change {
        case record(SyncEngine.PendingRecordZoneChange)
        case zone(SyncEngine.PendingDatabaseChange)
    }

    /// A duty that the app leaves undone: its copy must be found wrong then.
    enum Neglect {
        case conflicts
        case refetches
    }

    let device: Int
    var neglect: Neglect?
    var zones: Set<RecordZone.ID>
    var notes: [Record.ID: Note] = [:]
    /// The records as the server had them last.
    private(set) var records: [Record.ID: Record] = [:]
    /// The state that the engine told to keep.
    private(set) var kept: SyncEngine.State.Serialization?
    /// What the engine was handed since then.
    private(set) var journal: [Change] = []
    /// Records that had no room on the server: they are saved again when there is some.
    private(set) var refused: Set<Record.ID> = []
    /// Volatile: fetched notes of a zone that a fetch from the beginning has not told yet.
    private var unseen: [RecordZone.ID: Set<Record.ID>] = [:]

    init(device: Int, zones: Set<RecordZone.ID>) {
        self.device = device
        self.zones = zones
    }

    func note(_ id: Record.ID) -> Note? { notes[id] }

    func tag(_ id: Record.ID) -> String? { records[id]?.recordChangeTag }

    // MARK: The user

    mutating func edit(_ id: Record.ID, _ edit: Int, _ state: inout SyncState) {
        notes[id, default: Note()].edits.insert(edit)
        add(.record(.saveRecord(id)), &state)
    }

    mutating func rename(_ id: Record.ID, _ state: inout SyncState) {
        guard let title = notes[id]?.title else { return }
        notes[id]?.title = [title[0] + 1, device]
        add(.record(.saveRecord(id)), &state)
    }

    mutating func delete(_ id: Record.ID, _ state: inout SyncState) {
        drop(id)
        add(.record(.deleteRecord(id)), &state)
    }

    mutating func move(_ id: Record.ID, to other: Record.ID, _ state: inout SyncState) {
        guard let note = notes[id], id != other else { return }
        notes[other, default: Note()].merge(note)
        add(.record(.saveRecord(other)), &state)
        delete(id, &state)
    }

    mutating func make(_ zone: RecordZone.ID, _ state: inout SyncState) {
        zones.insert(zone)
        add(.zone(.saveZone(RecordZone(zoneID: zone))), &state)
    }

    mutating func delete(_ zone: RecordZone.ID, _ state: inout SyncState) {
        forget(zone, &state)
        add(.zone(.deleteZone(zone)), &state)
    }

    /// There is room on the server again.
    mutating func saveRefused(_ state: inout SyncState) {
        for id in sorted(refused) where notes[id] != nil {
            add(.record(.saveRecord(id)), &state)
        }
        refused = []
    }

    // MARK: The engine

    /// A new engine, as after a start of the app.
    mutating func start() -> SyncState {
        unseen = [:]
        var state = SyncState(kept, isAutomatic: true)
        for change in journal {
            switch change {
            case .record(let change): state.add([change])
            case .zone(let change): state.add([change])
            }
        }
        return state
    }

    /// Keeps a state that it was not told to keep, or another one than it was told.
    mutating func keep(_ serialization: SyncEngine.State.Serialization?) {
        kept = serialization
        journal = []
    }

    /// Writes the kept state as text and reads it again.
    mutating func reread(_ serialization: SyncEngine.State.Serialization) {
        do {
            let text = try JSONEncoder().encode(serialization)
            kept = try JSONDecoder().decode(SyncEngine.State.Serialization.self, from: text)
        } catch {
            Issue.record("the state can't be kept: \(error)")
        }
    }

    func batch(
        _ context: SyncEngine.SendChangesContext,
        atomically: Bool,
        _ state: inout SyncState
    ) -> SyncEngine.RecordZoneChangeBatch? {
        var batch = SyncEngine.RecordZoneChangeBatch(atomicByZone: atomically)
        for change in state.ledger.recordChanges.all {
            guard context.options.scope.contains(change), batch.count < context.limits.itemCount
            else { continue }
            switch change {
            case .deleteRecord(let id): batch.recordIDsToDelete.append(id)
            case .saveRecord(let id):
                guard let note = notes[id] else {
                    state.remove([change])
                    continue
                }
                var record = records[id] ?? Record(recordType: "Note", recordID: id)
                note.write(to: &record)
                batch.recordsToSave.append(record)
            }
        }
        return batch.count == 0 ? nil : batch
    }

    mutating func handle(_ event: SyncEngine.Event, _ state: inout SyncState) {
        switch event {
        case .stateUpdate(let update): keep(update.stateSerialization)
        case .accountChange(.signIn): addAll(&state)
        case .accountChange: Issue.record("nobody signed out")
        case .fetchedDatabaseChanges(let changes): fetched(changes, &state)
        case .fetchedRecordZoneChanges(let changes):
            for modification in changes.modifications {
                let id = modification.record.recordID
                // A saved note has the server's state; it may be another note by now.
                let isUnsaved = isPending(.saveRecord(id), state) || refused.contains(id)
                if !isUnsaved { notes[id] = nil }
                fetched(modification.record, state)
            }
            for deletion in changes.deletions { gone(deletion.recordID, state) }
        case .sentDatabaseChanges(let sent): handle(sent, &state)
        case .sentRecordZoneChanges(let sent): handle(sent, &state)
        case .willFetchRecordZoneChanges(let fetch):
            guard fetch.isRefetch, neglect != .refetches else { return }
            unseen[fetch.zoneID] = Set(records.keys.filter { $0.zoneID == fetch.zoneID })
        case .didFetchRecordZoneChanges(let fetch):
            let old = unseen.removeValue(forKey: fetch.zoneID) ?? []
            if fetch.error == nil { for id in sorted(old) { gone(id, state) } }
        case .willFetchChanges, .didFetchChanges, .willSendChanges, .didSendChanges: break
        }
    }

    private mutating func addAll(_ state: inout SyncState) {
        for zone in zones.sorted(by: { $0.zoneName < $1.zoneName }) {
            add(.zone(.saveZone(RecordZone(zoneID: zone))), &state)
        }
        for id in sorted(Set(notes.keys)) { add(.record(.saveRecord(id)), &state) }
    }

    private mutating func fetched(
        _ changes: SyncEngine.Event.FetchedDatabaseChanges,
        _ state: inout SyncState
    ) {
        for modification in changes.modifications { zones.insert(modification.zoneID) }
        for deletion in changes.deletions { forget(deletion.zoneID, &state) }
    }

    private mutating func fetched(_ record: Record, _ state: SyncState) {
        let id = record.recordID
        unseen[id.zoneID]?.remove(id)
        // A note that is deleted here stays so; the server hears of it.
        guard !isPending(.deleteRecord(id), state) else { return }
        records[id] = record
        notes[id, default: Note()].merge(Note(record))
    }

    /// A record is gone; what was not saved of its note makes it anew.
    private mutating func gone(_ id: Record.ID, _ state: SyncState) {
        records[id] = nil
        if !isPending(.saveRecord(id), state), !refused.contains(id) { notes[id] = nil }
    }

    private mutating func handle(
        _ sent: SyncEngine.Event.SentDatabaseChanges,
        _ state: inout SyncState
    ) {
        for zone in sent.savedZones { zones.insert(zone.zoneID) }
        for zone in sent.deletedZoneIDs {
            // Notes that were added since then belong to the next zone of that name.
            for id in notes.keys where id.zoneID == zone {
                records[id] = nil
                if !isPending(.saveRecord(id), state) { drop(id) }
            }
            let isWanted =
                state.ledger.zoneChanges.all.contains { $0.item == zone && !$0.isDeletion }
                || notes.keys.contains { $0.zoneID == zone }
            if !isWanted { zones.remove(zone) }
        }
        for failure in sent.failedZoneSaves {
            #expect(failure.error.isRetriedBySyncEngine)
        }
        for error in sent.failedZoneDeletes.values { #expect(error.isRetriedBySyncEngine) }
    }

    private mutating func handle(
        _ sent: SyncEngine.Event.SentRecordZoneChanges,
        _ state: inout SyncState
    ) {
        for record in sent.savedRecords where notes[record.recordID] != nil {
            records[record.recordID] = record
        }
        for failure in sent.failedRecordSaves { handle(failure, &state) }
        for (id, error) in sent.failedRecordDeletes where !error.isRetriedBySyncEngine {
            switch error.code {
            case .zoneNotFound: break
            case .batchRequestFailed, .limitExceeded, .quotaExceeded:
                if notes[id] == nil { add(.record(.deleteRecord(id)), &state) }
            default: Issue.record("the delete of \(id) failed: \(error)")
            }
        }
    }

    private mutating func handle(
        _ failure: SyncEngine.Event.SentRecordZoneChanges.FailedRecordSave,
        _ state: inout SyncState
    ) {
        let (id, error) = (failure.record.recordID, failure.error)
        guard !error.isRetriedBySyncEngine, notes[id] != nil else { return }
        switch error.code {
        case .serverRecordChanged:
            guard let record = error.serverRecord, neglect != .conflicts else { return }
            fetched(record, state)
        case .unknownItem: records[id] = nil
        case .batchRequestFailed, .limitExceeded: break
        case .zoneNotFound:
            records[id] = nil
            guard zones.contains(id.zoneID) else {
                drop(id)
                return
            }
            add(.zone(.saveZone(RecordZone(zoneID: id.zoneID))), &state)
        case .quotaExceeded:
            refused.insert(id)
            return
        default: Issue.record("the save of \(id) failed: \(error)")
        }
        add(.record(.saveRecord(id)), &state)
    }

    // MARK: Parts

    private mutating func add(_ change: Change, _ state: inout SyncState) {
        journal.append(change)
        switch change {
        case .record(let change): state.add([change])
        case .zone(let change): state.add([change])
        }
    }

    private func isPending(
        _ change: SyncEngine.PendingRecordZoneChange,
        _ state: SyncState
    ) -> Bool {
        state.ledger.recordChanges.all.contains(change)
    }

    private mutating func drop(_ id: Record.ID) {
        notes[id] = nil
        records[id] = nil
        refused.remove(id)
    }

    /// Drops a zone with all its notes, including unsaved ones.
    private mutating func forget(_ zone: RecordZone.ID, _ state: inout SyncState) {
        zones.remove(zone)
        for id in Set(notes.keys).union(records.keys) where id.zoneID == zone { drop(id) }
        state.remove(state.ledger.recordChanges.all.filter { $0.item.zoneID == zone })
    }

    private func sorted(_ ids: Set<Record.ID>) -> [Record.ID] {
        ids.sorted { $0.recordName < $1.recordName }
    }
}
