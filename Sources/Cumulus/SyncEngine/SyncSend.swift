// One send of a sync engine: zones first, then batches of records until the delegate has no more.
//
// Run by `SyncState`. A change leaves the ledger when it was made, or refused for good. The event
// that says so comes before the next state update; after a crash in between, the change is sent
// again.

import CumulusModel

struct SyncSend: Sendable {
    private enum Phase: Sendable {
        /// Decides what to send next.
        case changes
        case zones([RecordZone], deletes: [RecordZone.ID], SyncLedger.Mark)
        case choosing(SyncLedger.Mark)
        /// The first of these batches is on its way.
        case records([SyncEngine.RecordZoneChangeBatch], SyncLedger.Mark)
        case done
    }

    /// The most requests in a row without any success; then the send ends.
    ///
    /// The app may add again what can't succeed, or other devices may always be faster.
    static let fruitlessRequests = 8

    private let context: SyncEngine.SendChangesContext
    private var phase = Phase.changes
    private var error: ServiceError?
    /// Whether the delegate was told that the send begins.
    private var isTold = false
    /// Requests in a row without any success.
    private var fruitless = 0

    /// The failed changes of one request.
    private struct Failures {
        private(set) var first: ServiceError?
        /// The first error that the engine waits for; its change stays pending.
        private(set) var retry: ServiceError?

        /// Notes an error; returns whether the server refused the change for good.
        mutating func isFinal(_ error: ServiceError) -> Bool {
            first = first ?? error
            guard error.isRetriedBySyncEngine else { return true }
            retry = retry ?? error
            return false
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
        let zones = ledger.zoneChanges.all.filter { scope.contains($0) }
        if !zones.isEmpty {
            var (saves, deletes) = ([RecordZone](), [RecordZone.ID]())
            for change in zones {
                switch change {
                case .saveZone(let zone): saves.append(zone)
                case .deleteZone(let id): deletes.append(id)
                }
            }
            phase = .zones(saves, deletes: deletes, ledger.mark)
        } else if ledger.hasUntrackedChanges
            || ledger.recordChanges.all.contains(where: { scope.contains($0) })
        {
            // A change that is added from now on may be missing in the batch.
            phase = .choosing(ledger.mark)
        } else {
            end(nil, &events)
        }
    }

    mutating func receive(
        _ answer: SyncState.Answer,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        switch (phase, answer) {
        case (.zones(let saves, let deletes, let mark), .sentZones(let outcome)):
            sent(saves, deletes, outcome, mark, &ledger, &events)
        case (.zones(let saves, let deletes, let mark), .failed(let error)):
            let outcome = SyncState.ZoneOutcome(
                saves: saves.map { _ in .failure(error) },
                deletes: deletes.map { _ in error }
            )
            sent(saves, deletes, outcome, mark, &ledger, &events)
        case (.choosing(let mark), .batch(let batch)):
            if let batch, batch.count > 0 {
                phase = .records([batch], mark)
            } else {
                end(nil, &events)
            }
        case (.records(let batches, let mark), .sentRecords(let outcome)):
            sent(batches, outcome, mark, &ledger, &events)
        case (.records(let batches, let mark), .failed(let error)):
            failed(error, batches, mark, &ledger, &events)
        case (.changes, .failed(let error)), (.choosing, .failed(let error)): end(error, &events)
        default: break
        }
    }

    private mutating func end(_ error: ServiceError?, _ events: inout [SyncEngine.Event]) {
        if isTold { events.append(.didSendChanges(context)) }
        self.error = error
        phase = .done
    }

    /// Goes on after a request, unless there is a reason to wait.
    private mutating func goOn(
        _ failures: Failures,
        isFruitful: Bool,
        _ events: inout [SyncEngine.Event]
    ) {
        fruitless = isFruitful ? 0 : fruitless + 1
        if let retry = failures.retry {
            end(retry, &events)
        } else if fruitless == SyncSend.fruitlessRequests, let failure = failures.first {
            let message = "\(fruitless) requests in a row had no success: \(failure.message)"
            end(ServiceError(.requestRateLimited, message), &events)
        }
    }

    // MARK: Zones

    private mutating func sent(
        _ saves: [RecordZone],
        _ deletes: [RecordZone.ID],
        _ outcome: SyncState.ZoneOutcome,
        _ mark: SyncLedger.Mark,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        var told = SyncEngine.Event.SentDatabaseChanges()
        var failures = Failures()
        for (zone, result) in zip(saves, outcome.saves) {
            switch result {
            case .success(let saved):
                ledger.settle(.saveZone(zone), mark)
                ledger.know(zone.zoneID)
                told.savedZones.append(saved)
            case .failure(let error):
                if failures.isFinal(error) { ledger.settle(.saveZone(zone), mark) }
                told.failedZoneSaves.append(.init(zone: zone, error: error))
            }
        }
        for (id, error) in zip(deletes, outcome.deletes) {
            // If the zone does not exist, it is deleted already; perhaps an answer was lost.
            if let error, error.code != .zoneNotFound {
                if failures.isFinal(error) { ledger.settle(.deleteZone(id), mark) }
                told.failedZoneDeletes[id] = error
            } else {
                ledger.settleDeletion(of: id, mark)
                told.deletedZoneIDs.append(id)
            }
        }
        events.append(.sentDatabaseChanges(told))
        phase = .changes
        let successes = told.savedZones.count + told.deletedZoneIDs.count
        goOn(failures, isFruitful: successes > 0, &events)
    }

    // MARK: Records

    private mutating func sent(
        _ batches: [SyncEngine.RecordZoneChangeBatch],
        _ outcome: SyncState.RecordOutcome,
        _ mark: SyncLedger.Mark,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        var told = SyncEngine.Event.SentRecordZoneChanges()
        var failures = Failures()
        for (record, result) in zip(batches[0].recordsToSave, outcome.saves) {
            switch result {
            case .success(let saved):
                ledger.settle(.saveRecord(record.recordID), mark)
                ledger.holdRecords(in: record.recordID.zoneID)
                told.savedRecords.append(saved)
            case .failure(let error):
                if failures.isFinal(error) { ledger.settle(.saveRecord(record.recordID), mark) }
                told.failedRecordSaves.append(.init(record: record, error: error))
            }
        }
        for (id, error) in zip(batches[0].recordIDsToDelete, outcome.deletes) {
            if let error {
                if failures.isFinal(error) { ledger.settle(.deleteRecord(id), mark) }
                told.failedRecordDeletes[id] = error
            } else {
                ledger.settle(.deleteRecord(id), mark)
                told.deletedRecordIDs.append(id)
            }
        }
        events.append(.sentRecordZoneChanges(told))
        let rest = Array(batches.dropFirst())
        phase = rest.isEmpty ? .changes : .records(rest, mark)
        let successes = told.savedRecords.count + told.deletedRecordIDs.count
        goOn(failures, isFruitful: successes > 0, &events)
    }

    /// Takes the failure of a whole request; a request that is too large is sent again in halves.
    private mutating func failed(
        _ error: ServiceError,
        _ batches: [SyncEngine.RecordZoneChangeBatch],
        _ mark: SyncLedger.Mark,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        if error.code == .limitExceeded, let (first, second) = batches[0].halves {
            phase = .records([first, second] + batches.dropFirst(), mark)
            return
        }
        let outcome = SyncState.RecordOutcome(
            saves: batches[0].recordsToSave.map { _ in .failure(error) },
            deletes: batches[0].recordIDsToDelete.map { _ in error }
        )
        sent(batches, outcome, mark, &ledger, &events)
    }
}
