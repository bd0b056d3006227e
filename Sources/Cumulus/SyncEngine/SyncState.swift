// The sync engine as a synchronous state machine: one step at a time, each answered before the
// next.
//
// `SyncEngine` drives it; tests drive it without I/O. `next` says what to do, and `receive` takes
// the answers of calls and of the delegate. An event counts as handled when `next` is called again.
// Events come before the state update that contains their effects, and state updates come before
// the next call. So the app never keeps a state with effects that it was not told of.

import CumulusModel
import CumulusWire

struct SyncState: Sendable {
    /// A call to the server.
    enum Call: Sendable {
        /// Find out who is signed in, and the server's limits.
        case identify
        case databaseChanges(since: ServerChangeToken?)
        case zoneChanges(RecordZone.ID, since: ServerChangeToken?)
        case modifyZones(saves: [RecordZone], deletes: [RecordZone.ID])
        case modifyRecords(SyncEngine.RecordZoneChangeBatch)
    }

    enum Step: Sendable {
        case deliver(SyncEngine.Event)
        case chooseOptions(SyncEngine.FetchChangesContext)
        case chooseBatch(SyncEngine.SendChangesContext)
        case call(Call)
        /// The request with this number has ended.
        case finish(Int, ServiceError?)
        /// Nothing to do until that time, or until a change, news or a request.
        case wait(until: Instant?)
    }

    /// The answer to a step.
    enum Answer: Sendable {
        /// Answers `identify`: the user record name, or nil if nobody is signed in.
        case identity(user: String?, SyncEngine.BatchLimits)
        case zones(DatabasePage)
        case records(ZonePage)
        case sentZones(ZoneOutcome)
        case sentRecords(RecordOutcome)
        /// Answers any call.
        case failed(ServiceError)
        case options(SyncEngine.FetchChangesOptions)
        case batch(SyncEngine.RecordZoneChangeBatch?)
    }

    struct DatabasePage: Sendable {
        var modifications: [Database.DatabaseChange.Modification]
        var deletions: [Database.DatabaseChange.Deletion]
        var token: ServerChangeToken
        var moreComing: Bool
    }

    struct ZonePage: Sendable {
        var modifications: [Database.RecordZoneChange.Modification]
        var deletions: [Database.RecordZoneChange.Deletion]
        var token: ServerChangeToken
        var moreComing: Bool
    }

    /// The results of `modifyZones`, in its order.
    struct ZoneOutcome: Sendable {
        var saves: [Result<RecordZone, ServiceError>]
        var deletes: [ServiceError?]
    }

    /// The results of `modifyRecords`, in its order.
    struct RecordOutcome: Sendable {
        var saves: [Result<Record, ServiceError>]
        var deletes: [ServiceError?]
    }

    struct Request: Sendable {
        enum Work: Sendable {
            case fetch(SyncEngine.FetchChangesOptions)
            case send(SyncEngine.SendChangesOptions)
        }

        /// nil if the engine itself decided to sync.
        var number: Int?
        var work: Work

        var reason: SyncEngine.SyncReason { number == nil ? .scheduled : .manual }
    }

    private enum Activity: Sendable {
        case none
        case identifying(Request)
        case fetching(SyncFetch, Request)
        case sending(SyncSend, Request)
        case ending(Request, ServiceError?)
    }

    private(set) var ledger: SyncLedger
    /// After this many sends in a row without any success the engine waits before the next one.
    ///
    /// The app may add again what can't succeed, or other devices may always be faster.
    static let mostFruitlessSends = 8

    private let isAutomatic: Bool
    private var activity = Activity.none
    /// Events to deliver before anything else is done.
    private var events: [SyncEngine.Event] = []
    private var requests: [Request] = []
    private var finished: [(number: Int, error: ServiceError?)] = []
    private var wantsFetch = true
    private var wantsSend: Bool
    /// Fetches and sends take turns while both are wanted.
    private var hasFetchedLast = false
    private var isSignedOut = false
    /// The number of fetches and sends that have begun; it identifies the current one.
    private(set) var run = 0
    private(set) var isCancelled = false
    private var backoff = SyncBackoff()
    /// Sends in a row in which all changes were refused.
    private var fruitlessSends = 0
    private var limits = SyncEngine.BatchLimits.standard

    /// - Parameter isAutomatic: Whether it fetches and sends without requests.
    init(_ serialization: SyncEngine.State.Serialization?, isAutomatic: Bool) {
        ledger = serialization?.ledger ?? SyncLedger()
        self.isAutomatic = isAutomatic
        wantsSend = ledger.hasPendingChanges
    }

    // MARK: What the app and the server want

    mutating func add(_ changes: [SyncEngine.PendingRecordZoneChange]) {
        for change in changes { ledger.add(change) }
        wantsSend = true
    }

    mutating func add(_ changes: [SyncEngine.PendingDatabaseChange]) {
        for change in changes { ledger.add(change) }
        wantsSend = true
    }

    mutating func remove(_ changes: [SyncEngine.PendingRecordZoneChange]) {
        for change in changes { ledger.remove(change) }
    }

    mutating func remove(_ changes: [SyncEngine.PendingDatabaseChange]) {
        for change in changes { ledger.remove(change) }
    }

    mutating func setUntrackedChanges(_ areThere: Bool) {
        ledger.setUntrackedChanges(areThere)
        if areThere { wantsSend = true }
    }

    /// Takes news: something may have changed on the server, or it can be reached again.
    mutating func hear() {
        wantsFetch = true
        backoff.reconnect()
    }

    /// Asks for a fetch or a send, without waiting for a backoff; `finish` tells its end.
    mutating func request(_ number: Int, _ work: Request.Work) {
        requests.append(Request(number: number, work: work))
    }

    /// Cancels the run that is under way, and all requests that have not begun.
    ///
    /// Returns the number of the run; nil if the engine is idle.
    mutating func cancelAll() -> Int? {
        for number in requests.compactMap(\.number) { _ = cancel(number) }
        if case .none = activity { return nil }
        isCancelled = true
        return run
    }

    /// Cancels one request.
    ///
    /// Returns the number of its run; nil if the request had not begun, or has ended.
    mutating func cancel(_ number: Int) -> Int? {
        if requests.contains(where: { $0.number == number }) {
            requests.removeAll { $0.number == number }
            finished.append((number, SyncState.cancelled))
        } else if currentRequest?.number == number {
            isCancelled = true
            return run
        }
        return nil
    }

    private var currentRequest: Request? {
        switch activity {
        case .none: nil
        case .identifying(let request), .fetching(_, let request), .sending(_, let request),
            .ending(let request, _):
            request
        }
    }

    static let cancelled = ServiceError(.operationCancelled, "the sync was cancelled")

    // MARK: Steps

    /// What to do next.
    mutating func next(now: Instant, dice: () -> UInt64) -> Step {
        while true {
            if !events.isEmpty { return .deliver(events.removeFirst()) }
            if ledger.isChanged {
                return .deliver(.stateUpdate(.init(stateSerialization: ledger.told())))
            }
            if !finished.isEmpty {
                let end = finished.removeFirst()
                return .finish(end.number, end.error)
            }
            if let step = advance(now, dice) { return step }
        }
    }

    /// Goes on with what is under way; nil if there are events to deliver, or more to do.
    private mutating func advance(_ now: Instant, _ dice: () -> UInt64) -> Step? {
        if isCancelled {
            receive(.failed(SyncState.cancelled))
            if !events.isEmpty { return nil }
        }
        switch activity {
        case .none:
            guard let request = nextRequest(now) else { return .wait(until: wakeTime) }
            activity = .identifying(request)
            return nil
        case .identifying: return .call(.identify)
        case .fetching(var fetch, let request):
            return take(fetch.next(&ledger, &events), .fetching(fetch, request), request)
        case .sending(var send, let request):
            let turn = send.next(&ledger, &events)
            if send.isFruitful { fruitlessSends = 0 }
            return take(turn, .sending(send, request), request)
        case .ending(let request, let error):
            end(request, error, now, dice)
            return nil
        }
    }

    private mutating func take(_ turn: SyncTurn, _ now: Activity, _ request: Request) -> Step? {
        activity = now
        switch turn {
        case .step(let step): return step
        case .again: return nil
        case .done(let error):
            activity = .ending(request, error)
            return nil
        }
    }

    /// Takes the answer to the last step.
    mutating func receive(_ answer: Answer) {
        switch activity {
        case .none, .ending: isCancelled = false
        case .identifying(let request): identified(answer, request)
        case .fetching(var fetch, let request):
            fetch.receive(answer, &ledger, &events)
            activity = .fetching(fetch, request)
        case .sending(var send, let request):
            send.receive(answer, &ledger, &events)
            activity = .sending(send, request)
        }
    }

    private mutating func identified(_ answer: Answer, _ request: Request) {
        guard case .identity(let user, let limits) = answer else {
            if case .failed(let error) = answer { activity = .ending(request, error) }
            return
        }
        self.limits = limits
        if let change = ledger.signIn(user) { events.append(.accountChange(change)) }
        isSignedOut = user == nil
        guard !isSignedOut else {
            activity = .ending(request, SyncState.signedOut)
            return
        }
        switch request.work {
        case .fetch(let options):
            let context = SyncEngine.FetchChangesContext(reason: request.reason, options: options)
            activity = .fetching(SyncFetch(context), request)
        case .send(let options):
            let context = SyncEngine.SendChangesContext(
                reason: request.reason,
                options: options,
                limits: limits
            )
            activity = .sending(SyncSend(context), request)
        }
    }

    private static let signedOut = ServiceError(
        .notAuthenticated,
        "nobody is signed in; set an access token in the container's configuration"
    )

    // MARK: When to sync

    private mutating func nextRequest(_ now: Instant) -> Request? {
        isCancelled = false
        wantsSend = wantsSend && ledger.hasPendingChanges
        if !requests.isEmpty { return begin(requests.removeFirst()) }
        guard isAutomatic, now >= backoff.until else { return nil }
        if wantsFetch, !(wantsSend && hasFetchedLast) {
            return begin(Request(work: .fetch(.init())))
        }
        return wantsSend ? begin(Request(work: .send(.init()))) : nil
    }

    /// Begins a run; changes and news from now on make the engine sync again.
    private mutating func begin(_ request: Request) -> Request {
        run += 1
        switch request.work {
        case .fetch(let options):
            hasFetchedLast = true
            if case .all = options.scope { wantsFetch = false }
        case .send(let options):
            hasFetchedLast = false
            if case .all = options.scope { wantsSend = false }
        }
        return request
    }

    private var wakeTime: Instant? {
        isAutomatic && (wantsFetch || wantsSend) ? backoff.until : nil
    }

    private mutating func end(
        _ request: Request,
        _ error: ServiceError?,
        _ now: Instant,
        _ dice: () -> UInt64
    ) {
        activity = .none
        isCancelled = false
        if let number = request.number { finished.append((number, error)) }
        guard let error else {
            backoff = SyncBackoff()
            if case .send = request.work { fruitlessSends = 0 }
            return
        }
        if case .send = request.work, error.code == .partialFailure {
            return goOn(after: error, now, dice)
        }
        // Only a new container, with another token, can help.
        guard !isSignedOut, error.isRetriedBySyncEngine else { return }
        switch request.work {
        case .fetch: wantsFetch = true
        case .send: wantsSend = true
        }
        backoff.fail(error, now, dice())
    }

    /// Sends the rest, and what the app added again, in another send.
    private mutating func goOn(after refusal: ServiceError, _ now: Instant, _ dice: () -> UInt64) {
        wantsSend = true
        fruitlessSends += 1
        if fruitlessSends < SyncState.mostFruitlessSends {
            backoff = SyncBackoff()
        } else {
            backoff.fail(refusal, now, dice())
        }
    }
}

/// The next step of a fetch or a send.
enum SyncTurn: Sendable {
    case step(SyncState.Step)
    /// There are events to deliver, or there is more to do.
    case again
    case done(ServiceError?)
}

/// How long an engine waits after errors that pass by themselves.
struct SyncBackoff: Sendable {
    static let firstMilliseconds: Int64 = 1_000
    static let longestMilliseconds: Int64 = 300_000

    private(set) var until = Instant(milliseconds: 0)
    private var failures: Int64 = 0
    private var isOffline = false

    /// Waits as long as the server asks for; if it does not say, longer after each failure.
    mutating func fail(_ error: ServiceError, _ now: Instant, _ dice: UInt64) {
        let doubled = SyncBackoff.firstMilliseconds << min(failures, 16)
        let longest = min(doubled, SyncBackoff.longestMilliseconds)
        let jitter = Int64(dice % UInt64(longest / 2 + 1))
        failures += 1
        until = now + (error.retryAfterMilliseconds.map(Int64.init) ?? longest - jitter)
        switch error.code {
        case .networkFailure, .networkUnavailable, .serverResponseLost: isOffline = true
        default: isOffline = false
        }
    }

    /// Ends the wait for a server that could not be reached.
    mutating func reconnect() {
        if isOffline { until = Instant(milliseconds: 0) }
    }
}
