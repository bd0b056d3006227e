// One fetch of a sync engine: which zones changed, then what changed in each of them.
//
// Run by `SyncState`. A token enters the ledger together with the events that tell what it covers.
// A listing from the beginning, of the database or of a zone whose token expired, counts only when
// it is complete: what the app knows and the listing does not name is gone.

import CumulusModel

struct SyncFetch: Sendable {
    private enum Phase: Sendable {
        case choosing
        case database(since: ServerChangeToken?)
        case zones
        case zone(RecordZone.ID, since: ServerChangeToken?, isRefetch: Bool)
        case done
    }

    private var context: SyncEngine.FetchChangesContext
    private var phase = Phase.choosing
    private var error: ServiceError?
    /// The zones that a listing from the beginning named; nil if the fetch goes on from a token.
    private var listed: Set<RecordZone.ID>?
    /// Zones whose fetch began.
    private var begun: Set<RecordZone.ID> = []
    /// Zones that began again because their token expired; each does so at most once in a fetch.
    private var restarted: Set<RecordZone.ID> = []
    private var hasRestartedListing = false
    /// Whether the delegate was told that the fetch begins.
    private var isTold = false

    init(_ context: SyncEngine.FetchChangesContext) {
        self.context = context
    }

    mutating func next(_ ledger: inout SyncLedger, _ events: inout [SyncEngine.Event]) -> SyncTurn {
        switch phase {
        case .choosing: return .step(.chooseOptions(context))
        case .database(let token): return .step(.call(.databaseChanges(since: token)))
        case .zone(let zone, let token, _):
            return .step(.call(.zoneChanges(zone, since: token)))
        case .zones:
            beginZone(&ledger, &events)
            return .again
        case .done: return .done(error)
        }
    }

    mutating func receive(
        _ answer: SyncState.Answer,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        switch (phase, answer) {
        case (.choosing, .options(let options)): begin(options, ledger, &events)
        case (.database, .zones(let page)): took(page, &ledger, &events)
        case (.zone(let zone, _, let isRefetch), .records(let page)):
            took(page, of: zone, isRefetch, &ledger, &events)
        case (.database(let token), .failed(let error)):
            failed(error, since: token, &ledger, &events)
        case (.zone(let zone, let token, _), .failed(let error)):
            failed(error, in: zone, since: token, &ledger, &events)
        case (.choosing, .failed(let error)), (.zones, .failed(let error)): end(error, &events)
        default: break
        }
    }

    private mutating func begin(
        _ options: SyncEngine.FetchChangesOptions,
        _ ledger: SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        context.options = options
        events.append(.willFetchChanges(context))
        isTold = true
        if ledger.databaseToken == nil { listed = [] }
        phase = .database(since: ledger.databaseToken)
    }

    private mutating func end(_ error: ServiceError?, _ events: inout [SyncEngine.Event]) {
        if isTold { events.append(.didFetchChanges(context)) }
        self.error = error ?? self.error
        phase = .done
    }

    // MARK: The database

    private mutating func took(
        _ page: SyncState.DatabasePage,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        var deletions = page.deletions
        for deletion in deletions { ledger.forget(deletion.zoneID) }
        for modification in page.modifications { ledger.noteChange(of: modification.zoneID) }
        listed?.formUnion(page.modifications.map(\.zoneID))
        if !page.moreComing, let listed {
            for zone in ledger.zones(besides: listed) {
                deletions.append(.init(zoneID: zone, reason: .deleted))
                ledger.forget(zone)
            }
        }
        if !page.modifications.isEmpty || !deletions.isEmpty {
            events.append(
                .fetchedDatabaseChanges(
                    .init(modifications: page.modifications, deletions: deletions)
                )
            )
        }
        if listed == nil || !page.moreComing { ledger.setDatabaseToken(page.token) }
        phase = page.moreComing ? .database(since: page.token) : .zones
    }

    private mutating func failed(
        _ error: ServiceError,
        since token: ServerChangeToken?,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        guard error.code == .changeTokenExpired, token != nil, !hasRestartedListing else {
            end(error, &events)
            return
        }
        hasRestartedListing = true
        listed = []
        ledger.setDatabaseToken(nil)
        phase = .database(since: nil)
    }

    // MARK: Zones

    private mutating func beginZone(
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        guard let zone = nextZone(ledger) else {
            end(nil, &events)
            return
        }
        begun.insert(zone)
        let known = ledger.zones[zone] ?? SyncLedger.Zone()
        let isRefetch = known.isRefetched
        events.append(.willFetchRecordZoneChanges(.init(zoneID: zone, isRefetch: isRefetch)))
        phase = .zone(zone, since: known.token, isRefetch: isRefetch)
        // The app must keep this before the first page: a crash may leave the page without a token.
        ledger.holdRecords(in: zone)
    }

    private func nextZone(_ ledger: SyncLedger) -> RecordZone.ID? {
        let wanted = ledger.unfetched.filter { zone in
            context.options.scope.contains(zone) && !begun.contains(zone)
        }
        return context.options.prioritizedZoneIDs.first(where: wanted.contains) ?? wanted.first
    }

    private mutating func took(
        _ page: SyncState.ZonePage,
        of zone: RecordZone.ID,
        _ isRefetch: Bool,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        if !page.modifications.isEmpty || !page.deletions.isEmpty {
            events.append(
                .fetchedRecordZoneChanges(
                    .init(modifications: page.modifications, deletions: page.deletions)
                )
            )
        }
        guard !page.moreComing else {
            if !isRefetch { ledger.setToken(page.token, of: zone) }
            phase = .zone(zone, since: page.token, isRefetch: isRefetch)
            return
        }
        ledger.finish(zone, token: page.token)
        events.append(.didFetchRecordZoneChanges(.init(zoneID: zone)))
        phase = .zones
    }

    private mutating func failed(
        _ error: ServiceError,
        in zone: RecordZone.ID,
        since token: ServerChangeToken?,
        _ ledger: inout SyncLedger,
        _ events: inout [SyncEngine.Event]
    ) {
        events.append(.didFetchRecordZoneChanges(.init(zoneID: zone, error: error)))
        phase = .zones
        switch error.code {
        case .changeTokenExpired where token != nil && restarted.insert(zone).inserted:
            ledger.restart(zone)
            begun.remove(zone)
        case .zoneNotFound, .userDeletedZone: ledger.skip(zone)
        default:
            if error.isRetriedBySyncEngine {
                end(error, &events)
            } else {
                self.error = self.error ?? error
            }
        }
    }
}
