// A sync state, a model server and what was told, as short lines: for tests of single rules.

import CumulusModel
import CumulusWire

@testable import Cumulus

struct SyncProbe {
    static let zone = RecordZone.ID(zoneName: "Z")

    var state: SyncState
    var server = ModelServer()
    var now = Instant(milliseconds: 1_000)
    /// Events, and calls in brackets.
    private(set) var log: [String] = []
    /// The newest state that was told to keep.
    private(set) var kept: SyncEngine.State.Serialization?
    /// What the app does when it handles an event.
    var onEvent: (SyncEngine.Event, inout SyncState) -> Void = { _, _ in }
    /// What happens while a call is on its way: the answer in place of the server's.
    var onCall: (SyncState.Call, inout SyncState) -> SyncState.Answer? = { _, _ in nil }
    /// The record to save; nil leaves it out.
    var record: (Record.ID) -> Record? = { Record(recordType: "Note", recordID: $0) }
    var options: (SyncEngine.FetchChangesContext) -> SyncEngine.FetchChangesOptions = { $0.options }
    var isAtomic = false
    /// Records that the app can't write as they are to be sent.
    var unsendable: Set<Record.ID> = []
    /// Fetches and sends that ended, with the code of their error.
    private(set) var ends: [Int: ServiceError.Code?] = [:]

    init(_ kept: SyncEngine.State.Serialization? = nil, isAutomatic: Bool = false) {
        state = SyncState(kept, isAutomatic: isAutomatic)
    }

    static func id(_ name: String) -> Record.ID { Record.ID(recordName: name, zoneID: zone) }

    /// Takes steps until there is nothing to do; returns how long it would wait, in milliseconds.
    @discardableResult
    mutating func run() -> Int64? {
        while true {
            switch state.next(now: now, dice: { 0 }) {
            case .wait(let time): return time.map { $0 - now }
            case .finish(let number, let error):
                ends.updateValue(error?.code, forKey: number)
            case .deliver(let event):
                if case .stateUpdate(let update) = event { kept = update.stateSerialization }
                log.append(SyncProbe.line(event))
                onEvent(event, &state)
            case .chooseOptions(let context): state.receive(.options(options(context)))
            case .chooseBatch(let context):
                log.append("[batch]")
                state.receive(.batch(batch(context)))
            case .call(let call):
                log.append(SyncProbe.line(call))
                state.receive(onCall(call, &state) ?? server.answer(call))
            }
        }
    }

    /// Fetches, and returns what was told and called.
    mutating func fetch(_ options: SyncEngine.FetchChangesOptions = .init()) -> [String] {
        state.request(1, .fetch(options))
        return take()
    }

    /// Sends, and returns what was told and called.
    mutating func send(_ options: SyncEngine.SendChangesOptions = .init()) -> [String] {
        state.request(2, .send(options))
        return take()
    }

    /// Runs, and returns what was told and called.
    mutating func take() -> [String] {
        log = []
        run()
        return log
    }

    /// Adds the zone and saves these records in it as another device would.
    mutating func elsewhere(saves names: [String] = [], deletes: [String] = []) {
        _ = server.answer(.modifyZones(saves: [RecordZone(zoneID: SyncProbe.zone)], deletes: []))
        let records = names.map { name in
            let current = server.zones[SyncProbe.zone]?.records[name]
            return current ?? Record(recordType: "Note", recordID: SyncProbe.id(name))
        }
        let ids = deletes.map(SyncProbe.id)
        _ = server.answer(.modifyRecords(.init(recordsToSave: records, recordIDsToDelete: ids)))
    }

    /// Signs in and makes the zone, and forgets that it was told.
    mutating func begin() {
        state.add([.saveZone(RecordZone(zoneID: SyncProbe.zone))])
        _ = send()
        _ = fetch()
    }

    private mutating func batch(
        _ context: SyncEngine.SendChangesContext
    ) -> SyncEngine.RecordZoneChangeBatch? {
        var batch = SyncEngine.RecordZoneChangeBatch(atomicByZone: isAtomic)
        for change in state.ledger.recordChanges.all where context.options.scope.contains(change) {
            switch change {
            case .saveRecord(let id):
                guard let record = record(id) else { continue }
                if unsendable.contains(id) {
                    batch.unsendable.append((record, ServiceError(.invalidArguments, "no")))
                } else {
                    batch.recordsToSave.append(record)
                }
            case .deleteRecord(let id): batch.recordIDsToDelete.append(id)
            }
        }
        return batch.count == 0 && batch.unsendable.isEmpty ? nil : batch
    }

    // MARK: Lines

    private static func line(_ call: SyncState.Call) -> String {
        switch call {
        case .identify: "[identify]"
        case .databaseChanges(let token): token == nil ? "[zones from begin]" : "[zones]"
        case .zoneChanges(let zone, let token):
            token == nil ? "[\(zone.zoneName) from begin]" : "[\(zone.zoneName)]"
        case .modifyZones: "[send zones]"
        case .modifyRecords(let batch): "[send \(batch.count)]"
        }
    }

    private static func line(_ event: SyncEngine.Event) -> String {
        switch event {
        case .stateUpdate: "state"
        case .accountChange(.signIn(let user)): "signIn \(user.recordName)"
        case .accountChange(.signOut(let user)): "signOut \(user.recordName)"
        case .accountChange(.switchAccounts(let previous, let current)):
            "switch \(previous.recordName) \(current.recordName)"
        case .fetchedDatabaseChanges(let changes):
            line(
                "zones",
                changes.modifications.map { "+\($0.zoneID.zoneName)" },
                changes.deletions.map { "-\($0.zoneID.zoneName)" }
            )
        case .fetchedRecordZoneChanges(let changes):
            line(
                "records",
                changes.modifications.map { "+\($0.record.recordID.recordName)" },
                changes.deletions.map { "-\($0.recordID.recordName)" }
            )
        case .sentDatabaseChanges(let sent):
            line(
                "sentZones",
                sent.savedZones.map { "+\($0.zoneID.zoneName)" },
                sent.failedZoneSaves.map { "!\($0.zone.zoneID.zoneName) \($0.error.code)" },
                sent.deletedZoneIDs.map { "-\($0.zoneName)" },
                sent.failedZoneDeletes.map { "!\($0.zoneName) \($1.code)" }
            )
        case .sentRecordZoneChanges(let sent):
            line(
                "sentRecords",
                sent.savedRecords.map { "+\($0.recordID.recordName)" },
                sent.failedRecordSaves.map { "!\($0.record.recordID.recordName) \($0.error.code)" },
                sent.deletedRecordIDs.map { "-\($0.recordName)" },
                sent.failedRecordDeletes.map { "!\($0.recordName) \($1.code)" }.sorted()
            )
        case .willFetchChanges: "willFetch"
        case .didFetchChanges: "didFetch"
        case .willFetchRecordZoneChanges(let fetch):
            "will \(fetch.zoneID.zoneName)\(fetch.isRefetch ? " anew" : "")"
        case .didFetchRecordZoneChanges(let fetch):
            "did \(fetch.zoneID.zoneName)\(fetch.error.map { " !\($0.code)" } ?? "")"
        case .willSendChanges: "willSend"
        case .didSendChanges: "didSend"
        }
    }

    private static func line(_ name: String, _ parts: [String]...) -> String {
        ([name] + parts.flatMap { $0 }).joined(separator: " ")
    }
}
