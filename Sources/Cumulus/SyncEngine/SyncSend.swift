// One send of a sync engine: zones first, then batches of records until the delegate has no more.
//
// Run by `SyncState`. A change leaves the ledger when it was made, or refused for good. The event
// that says so comes before the next state update; after a crash in between, the change is sent
// again.
//
// A send tries each item until it is refused once. If the app then adds it again, it waits for the
// next send. The send goes on with the other changes, and ends with an error.

import CumulusModel

struct SyncSend: Sendable {
    private enum Phase: Sendable {
        /// Decides what to send next.
        case changes
        case zones([RecordZone], deletes: [RecordZone.ID], SyncLedger.Revisions)
        case choosing(SyncLedger.Revisions)
        /// The first of these batches is on its way.
        case records([SyncEngine.RecordZoneChangeBatch], SyncLedger.Revisions)
        case done
    }

    private let context: SyncEngine.SendChangesContext
    private var phase = Phase.changes
    private var error: ServiceError?
    /// Whether the delegate was told that the send begins.
    private var isTold = false
    /// Whether a change of this send was made.
    private(set) var isFruitful = false
    private var refusals = Refusals()

    /// The items that were refused for good in this send.
    private struct Refusals {
        var zones: Set<RecordZone.ID> = []
        var records: Set<Record.ID> = []
        /// The first error.
        private(set) var first: ServiceError?

        mutating func note(_ error: ServiceError) { first = first ?? error }

        /// The error of the send; nil if nothing was refused.
        var error: ServiceError? {
            guard let first else { return nil }
            let count = zones.count + records.count
            let changes = count == 1 ? "a change was" : "\(count) changes were"
            return ServiceError(
                .partialFailure,
                "\(changes) refused, and the delegate was told of each; the first: \(first.message)"
            )
        }
    }

    init(_ context: SyncEngine.SendChangesContext) {
        self.context = context
    }

    mutating func next(_ ledger: inout SyncLedger, _ events: inout [SyncEngine.Event]) -> SyncTurn {
        switch phase {
        case .changes:
            choose(ledger, &events)
            return .again
        case .zones(let saves, let deletes, _):
            return .step(.call(.modifyZones(saves: saves, deletes: deletes)))
        case .choosing: return .step(.chooseBatch(context))
        case .records(let batches, _): return .step(.call(.modifyRecords(batches[0])))
        case .done: return .done(error)
        }
    }

    /// Decides what is sent next.
    private mutating func choose(_ ledger: SyncLedger, _ events: inout [SyncEngine.Event]) {
        guard isTold else {
            events.append(.willSendChanges(context))
            isTold = true
            return
        }
        let scope = context.options.scope
        let zones = ledger.zoneChanges.all.filter { change in
            scope.contains(change) && !refusals.zones.contains(change.item)
        }
        if !zones.isEmpty {
            var (saves, deletes) = ([RecordZone](), [RecordZone.ID]())
            for change in zones {
                switch change {
                case .saveZone(let zone): saves.append(zone)
                case .deleteZone(let id): deletes.append(id)
                }
            }
            phase = .zones(saves, deletes: deletes, ledger.revisions)
        } else if ledger.hasUntrackedChanges || hasOpenChanges(ledger) {
            // A change that is added from now on may be missing in the batch.
            phase = .choosing(ledger.revisions)
        } else {
            end(refusals.error, &events)
        }
    }

    /// Whether a record is pending that this send has not tried.
    private func hasOpenChanges(_ ledger: SyncLedger) -> Bool {
        ledger.recordChanges.all.contains { change in
            context.options.scope.contains(change) && !refusals.records.contains(change.item)
        }
    }

    mutating func receive(
        _ answer: SyncState.Answer,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        switch (phase, answer) {
        case (.zones(let saves, let deletes, let revisions), .sentZones(let outcome)):
            sent(saves, deletes, outcome, revisions, &ledger, &events)
        case (.zones(let saves, let deletes, let revisions), .failed(let error)):
            let outcome = SyncState.ZoneOutcome(
                saves: saves.map { _ in .failure(error) },
                deletes: deletes.map { _ in error }
            )
            sent(saves, deletes, outcome, revisions, &ledger, &events)
        case (.choosing(let revisions), .batch(let batch)): take(batch, revisions, &ledger, &events)
        case (.records(let batches, let revisions), .sentRecords(let outcome)):
            sent(batches, outcome, revisions, &ledger, &events)
        case (.records(let batches, let revisions), .failed(let error)):
            failed(error, batches, revisions, &ledger, &events)
        case (.changes, .failed(let error)), (.choosing, .failed(let error)): end(error, &events)
        default: break
        }
    }

    private mutating func end(_ error: ServiceError?, _ events: inout [SyncEngine.Event]) {
        if isTold { events.append(.didSendChanges(context)) }
        self.error = error
        phase = .done
    }

    // MARK: Refusals

    /// Notes the error of a zone; returns whether the server refused its change for good.
    private mutating func isRefused(_ zone: RecordZone.ID, _ error: ServiceError) -> Bool {
        guard !error.isRetriedBySyncEngine else { return false }
        refusals.zones.insert(zone)
        refusals.note(error)
        return true
    }

    /// Notes the error of a record; returns whether its change was refused for good.
    private mutating func isRefused(_ record: Record.ID, _ error: ServiceError) -> Bool {
        guard !error.isRetriedBySyncEngine else { return false }
        refusals.records.insert(record)
        refusals.note(error)
        return true
    }

    /// Goes on after a request, unless one of its errors is waited for.
    private mutating func goOn(
        _ errors: [ServiceError],
        _ successes: Int,
        _ events: inout [SyncEngine.Event]
    ) {
        isFruitful = isFruitful || successes > 0
        if let error = errors.first(where: \.isRetriedBySyncEngine) { end(error, &events) }
    }

    // MARK: Zones

    private mutating func sent(
        _ saves: [RecordZone],
        _ deletes: [RecordZone.ID],
        _ outcome: SyncState.ZoneOutcome,
        _ revisions: SyncLedger.Revisions,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        var told = SyncEngine.Event.SentDatabaseChanges()
        var errors: [ServiceError] = []
        for (zone, result) in zip(saves, outcome.saves) {
            switch result {
            case .success(let saved):
                ledger.settle(.saveZone(zone), revisions)
                ledger.know(zone.zoneID)
                told.savedZones.append(saved)
            case .failure(let error):
                if isRefused(zone.zoneID, error) { ledger.settle(.saveZone(zone), revisions) }
                errors.append(error)
                told.failedZoneSaves.append(.init(zone: zone, error: error))
            }
        }
        for (id, error) in zip(deletes, outcome.deletes) {
            // If the zone does not exist, it is deleted already; perhaps an answer was lost.
            if let error, error.code != .zoneNotFound {
                if isRefused(id, error) { ledger.settle(.deleteZone(id), revisions) }
                errors.append(error)
                told.failedZoneDeletes[id] = error
            } else {
                ledger.settleDeletion(of: id, revisions)
                told.deletedZoneIDs.append(id)
            }
        }
        events.append(.sentDatabaseChanges(told))
        phase = .changes
        goOn(errors, told.savedZones.count + told.deletedZoneIDs.count, &events)
    }

    // MARK: Records

    /// Takes the delegate's batch; nil, and one with nothing that can be sent, end the send.
    private mutating func take(
        _ batch: SyncEngine.RecordZoneChangeBatch?,
        _ revisions: SyncLedger.Revisions,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        guard var batch else { return end(refusals.error, &events) }
        batch.unsendable.removeAll { refusals.records.contains($0.record.recordID) }
        let isRefusing = !batch.unsendable.isEmpty
        if isRefusing { refuse(batch.unsendable, revisions, &ledger, &events) }
        let open = batch.without(refusals.records)
        if open.count > 0 {
            phase = .records([open], revisions)
        } else if isRefusing {
            phase = .changes
        } else {
            end(refusals.error, &events)
        }
    }

    /// Tells of records that can't be sent as they are; they are no longer pending.
    private mutating func refuse(
        _ failures: [(record: Record, error: ServiceError)],
        _ revisions: SyncLedger.Revisions,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        for failure in failures where isRefused(failure.record.recordID, failure.error) {
            ledger.settle(.saveRecord(failure.record.recordID), revisions)
        }
        var told = SyncEngine.Event.SentRecordZoneChanges()
        told.failedRecordSaves = failures.map { .init(record: $0.record, error: $0.error) }
        events.append(.sentRecordZoneChanges(told))
    }

    private mutating func sent(
        _ batches: [SyncEngine.RecordZoneChangeBatch],
        _ outcome: SyncState.RecordOutcome,
        _ revisions: SyncLedger.Revisions,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        var told = SyncEngine.Event.SentRecordZoneChanges()
        var errors: [ServiceError] = []
        for (record, result) in zip(batches[0].recordsToSave, outcome.saves) {
            switch result {
            case .success(let saved):
                ledger.settle(.saveRecord(record.recordID), revisions)
                ledger.holdRecords(in: record.recordID.zoneID)
                told.savedRecords.append(saved)
            case .failure(let error):
                if isRefused(record.recordID, error) {
                    ledger.settle(.saveRecord(record.recordID), revisions)
                }
                errors.append(error)
                told.failedRecordSaves.append(.init(record: record, error: error))
            }
        }
        for (id, error) in zip(batches[0].recordIDsToDelete, outcome.deletes) {
            if let error {
                if isRefused(id, error) { ledger.settle(.deleteRecord(id), revisions) }
                errors.append(error)
                told.failedRecordDeletes[id] = error
            } else {
                ledger.settle(.deleteRecord(id), revisions)
                told.deletedRecordIDs.append(id)
            }
        }
        events.append(.sentRecordZoneChanges(told))
        let rest = Array(batches.dropFirst())
        phase = rest.isEmpty ? .changes : .records(rest, revisions)
        goOn(errors, told.savedRecords.count + told.deletedRecordIDs.count, &events)
    }

    /// Takes the failure of a whole request; a request that is too large is sent again in halves.
    private mutating func failed(
        _ error: ServiceError,
        _ batches: [SyncEngine.RecordZoneChangeBatch],
        _ revisions: SyncLedger.Revisions,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        if error.code == .limitExceeded, let (first, second) = batches[0].halves {
            phase = .records([first, second] + batches.dropFirst(), revisions)
            return
        }
        let outcome = SyncState.RecordOutcome(
            saves: batches[0].recordsToSave.map { _ in .failure(error) },
            deletes: batches[0].recordIDsToDelete.map { _ in error }
        )
        sent(batches, outcome, revisions, &ledger, &events)
    }
}
