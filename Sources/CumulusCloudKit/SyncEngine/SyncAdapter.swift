// The delegate of the client library's sync engine that asks and tells CloudKit's delegate.
//
// Owned by `CKSyncEngine`. The client library calls one method at a time.

internal import Cumulus
internal import CumulusModel
internal import Synchronization

final class SyncAdapter: SyncEngineDelegate, Sendable {
    /// An object of a batch, and what was sent of it.
    private struct Sent: Sendable {
        var object: CKRecord
        var record: Record
    }

    private struct Ties: Sendable {
        weak var engine: CKSyncEngine?
        weak var delegate: (any CKSyncEngineDelegate)?
        var isAttached = false
        /// A call that came before the engine was attached.
        var waiting: CheckedContinuation<Void, Never>?
        /// The records of the last batch.
        var sent: [Record.ID: Sent] = [:]
    }

    private let database: Database
    private let ties: Mutex<Ties>

    init(_ database: Database, _ delegate: any CKSyncEngineDelegate) {
        self.database = database
        ties = Mutex(Ties(delegate: delegate))
    }

    /// The engine is ready: calls that came before go on.
    func attach(_ engine: CKSyncEngine) {
        let waiting = ties.withLock { ties in
            ties.engine = engine
            ties.isAttached = true
            defer { ties.waiting = nil }
            return ties.waiting
        }
        waiting?.resume()
    }

    /// The engine and its delegate; nil if one of them is gone.
    private func ends() async -> (engine: CKSyncEngine, delegate: any CKSyncEngineDelegate)? {
        await withCheckedContinuation { call in
            let isAttached = ties.withLock { ties in
                if !ties.isAttached { ties.waiting = call }
                return ties.isAttached
            }
            if isAttached { call.resume() }
        }
        let (engine, delegate) = ties.withLock { ($0.engine, $0.delegate) }
        guard let engine, let delegate else { return nil }
        return (engine, delegate)
    }

    // MARK: - What the client library asks

    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
        guard let (engine, delegate) = await ends() else { return }
        await delegate.handleEvent(await self.event(event), syncEngine: engine)
    }

    func nextFetchChangesOptions(
        _ context: SyncEngine.FetchChangesContext,
        syncEngine: SyncEngine
    ) async -> SyncEngine.FetchChangesOptions {
        guard let (engine, delegate) = await ends() else { return context.options }
        let context = CKSyncEngine.FetchChangesContext(context)
        return await delegate.nextFetchChangesOptions(context, syncEngine: engine).model
    }

    func nextRecordZoneChangeBatch(
        _ context: SyncEngine.SendChangesContext,
        syncEngine: SyncEngine
    ) async -> SyncEngine.RecordZoneChangeBatch? {
        guard let (engine, delegate) = await ends() else { return nil }
        let asked = CKSyncEngine.SendChangesContext(context)
        guard let batch = await delegate.nextRecordZoneChangeBatch(asked, syncEngine: engine)
        else { return nil }
        return take(batch)
    }

    /// The batch for the client library; it notes which records' fields can't be saved.
    private func take(
        _ batch: CKSyncEngine.RecordZoneChangeBatch
    ) -> SyncEngine.RecordZoneChangeBatch {
        var taken = SyncEngine.RecordZoneChangeBatch(
            recordIDsToDelete: batch.recordIDsToDelete.map(\.model),
            atomicByZone: batch.atomicByZone
        )
        var sent: [Record.ID: Sent] = [:]
        for object in batch.recordsToSave {
            var record = object.read { $0 }
            do throws(ServiceError) {
                record = try object.prepared()
                taken.recordsToSave.append(record)
            } catch {
                taken.unsendable.append((record, error))
            }
            sent[record.recordID] = Sent(object: object, record: record)
        }
        ties.withLock { [sent] in $0.sent = sent }
        return taken
    }

    // MARK: - Events

    private func event(_ event: SyncEngine.Event) async -> CKSyncEngine.Event {
        switch event {
        case .stateUpdate(let update):
            .stateUpdate(.init(stateSerialization: .init(update.stateSerialization)))
        case .accountChange(let change): .accountChange(.init(changeType: .init(change)))
        case .fetchedDatabaseChanges(let changes):
            .fetchedDatabaseChanges(
                .init(
                    modifications: changes.modifications.map { .init($0) },
                    deletions: changes.deletions.map { .init($0) }
                )
            )
        case .fetchedRecordZoneChanges(let changes):
            .fetchedRecordZoneChanges(
                .init(
                    modifications: await objects(of: changes.modifications.map(\.record)),
                    deletions: changes.deletions.map { .init($0) }
                )
            )
        case .sentDatabaseChanges(let changes): .sentDatabaseChanges(.init(changes))
        case .sentRecordZoneChanges(let changes): .sentRecordZoneChanges(outcome(changes))
        case .willFetchChanges(let context):
            .willFetchChanges(.init(context: .init(context)))
        case .willFetchRecordZoneChanges(let fetch):
            .willFetchRecordZoneChanges(
                .init(zoneID: CKRecordZone.ID(fetch.zoneID), isRefetch: fetch.isRefetch)
            )
        case .didFetchRecordZoneChanges(let fetch):
            .didFetchRecordZoneChanges(
                .init(
                    zoneID: CKRecordZone.ID(fetch.zoneID),
                    error: fetch.error.map { CKError($0) }
                )
            )
        case .didFetchChanges(let context): .didFetchChanges(.init(context: .init(context)))
        case .willSendChanges(let context): .willSendChanges(.init(context: .init(context)))
        case .didSendChanges(let context): .didSendChanges(.init(context: .init(context)))
        }
    }

    /// The records with the files of their assets; without them where a download fails.
    private func objects(
        of records: [Record]
    ) async -> [CKDatabase.RecordZoneChange.Modification] {
        let results = await database.delivered(records.map { ($0.recordID, .success($0)) })
        return zip(records, results).map { record, result in
            .init(record: CKRecord.object(for: (try? result.1.get()) ?? record))
        }
    }

    /// Saved objects of the batch become what was saved.
    private func outcome(
        _ changes: SyncEngine.Event.SentRecordZoneChanges
    ) -> CKSyncEngine.Event.SentRecordZoneChanges {
        let sent = ties.withLock { $0.sent }
        let saved = changes.savedRecords.map { record -> CKRecord in
            guard let sent = sent[record.recordID] else { return .object(for: record) }
            sent.object.become(record, sent: sent.record)
            return sent.object
        }
        let failed = changes.failedRecordSaves.map { failure in
            let object = sent[failure.record.recordID]?.object ?? .object(for: failure.record)
            return CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave(
                record: object,
                error: CKError(failure.error, saving: object)
            )
        }
        return .init(
            savedRecords: saved,
            failedRecordSaves: failed,
            deletedRecordIDs: changes.deletedRecordIDs.map { CKRecord.ID($0) },
            failedRecordDeletes: changes.failedRecordDeletes.reduce(into: [:]) {
                $0[CKRecord.ID($1.key)] = CKError($1.value)
            }
        )
    }
}

extension CKSyncEngine.Event.AccountChange.ChangeType {
    fileprivate init(_ change: SyncEngine.Event.AccountChange) {
        switch change {
        case .signIn(let current): self = .signIn(currentUser: CKRecord.ID(current))
        case .signOut(let previous): self = .signOut(previousUser: CKRecord.ID(previous))
        case .switchAccounts(let previous, let current):
            self = .switchAccounts(
                previousUser: CKRecord.ID(previous),
                currentUser: CKRecord.ID(current)
            )
        }
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges {
    fileprivate init(_ changes: SyncEngine.Event.SentDatabaseChanges) {
        self.init(
            savedZones: changes.savedZones.map { CKRecordZone($0) },
            failedZoneSaves: changes.failedZoneSaves.map { failure in
                FailedZoneSave(zone: CKRecordZone(failure.zone), error: CKError(failure.error))
            },
            deletedZoneIDs: changes.deletedZoneIDs.map { CKRecordZone.ID($0) },
            failedZoneDeletes: changes.failedZoneDeletes.reduce(into: [:]) {
                $0[CKRecordZone.ID($1.key)] = CKError($1.value)
            }
        )
    }
}
