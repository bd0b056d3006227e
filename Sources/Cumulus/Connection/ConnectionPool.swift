// The connections of a client: made when they are first needed, made again when they are lost, and
// lent to calls.
//
// Owned by `ClientCore`. A call takes one that is open, or waits for one; at most `waitingLimit`
// calls wait. No more calls are in flight than a node takes of one caller, so that it need not
// refuse them. hot: twice per call.

import CumulusModel
import CumulusTransport
import CumulusWire
import Synchronization

final class ConnectionPool: Sendable {
    /// A connection that a call may use.
    struct Loan: Sendable {
        let slot: Int
        let endpoint: String
        let connection: ClientConnection
        let hello: ServerHello
        /// The difference between the server's clock and our wall clock.
        let clockOffset: Int64
        /// It is for a stream that is followed, which is no call at once.
        var isFollowed = false
    }

    private enum SlotState {
        case idle
        case connecting
        case open(Loan)
    }

    private struct Slot {
        var state = SlotState.idle
        var inFlight = 0
        /// Failed attempts since the last success.
        var failures = 0
        /// Endpoints that were given up: which one is next.
        var turn = 0
        /// The attempt whose connection this is; what older ones report means nothing any more.
        var attempt: UInt64 = 0
    }

    private struct Waiter {
        let id: UInt64
        let isFollowed: Bool
        let resume: @Sendable (Result<Loan, ServiceError>) -> Void
        /// Ends the waiting when its time is up.
        var timer: Task<Void, Never>?
    }

    private struct State {
        var slots: [Slot]
        var waiters: [Waiter] = []
        var nextWaiter: UInt64 = 0
        var nextSlot = 0
        var refusals: EndpointRefusals
        /// Loans that were not given back yet, including loans of lost connections.
        var loans = 0
        /// The part of the loans that is for followed streams.
        var followed = 0
        /// All connections that were greeted and have not ended, also to a draining server.
        var connections: [ObjectIdentifier: ClientConnection] = [:]
        var isClosed = false
        /// The results of the endpoints that were tried since a node last accepted this client.
        var verdicts: Verdicts
        /// Waits for the last loan of a container that is closed.
        var onLastRelease: [@Sendable () -> Void] = []
        /// Connections that are being made.
        var attempts: [UInt64: Task<Void, Never>] = [:]
        var nextAttempt: UInt64 = 0
    }

    private let settings: ClientSettings
    private let environment: ClientEnvironment
    private let seen: CommonTokens
    private let state: Mutex<State>

    init(
        _ settings: ClientSettings,
        _ environment: ClientEnvironment,
        _ seen: CommonTokens
    ) {
        self.settings = settings
        self.environment = environment
        self.seen = seen
        let slots = Array(repeating: Slot(), count: max(1, settings.connections))
        let refusals = EndpointRefusals(longestPause: settings.longestBackoffMilliseconds)
        let verdicts = Verdicts(failsFast: settings.failsFast)
        state = Mutex(State(slots: slots, refusals: refusals, verdicts: verdicts))
    }

    /// The server's greeting on a connection that is open now; nil if there is none.
    var hello: ServerHello? {
        state.withLock { state in
            for slot in state.slots {
                if case .open(let loan) = slot.state { return loan.hello }
            }
            return nil
        }
    }

    /// The error of a call that couldn't be sent in time: it names the nodes that were tried, and
    /// why each failed.
    var unreachable: ServiceError {
        state.withLock { $0.refusals }.unreachable(settings.endpoints)
    }

    // MARK: Loans

    /// An open connection with room for a call; given back with `release`.
    ///
    /// - Parameter isFollowed: The call is a stream that goes on without an end.
    func acquire(until deadline: Instant, isFollowed: Bool = false) async throws -> Loan {
        if let loan = try state.withLock({ try take(&$0, isFollowed) }) { return loan }
        let waiterID = Mutex<UInt64>(0)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let added = state.withLock { state in
                    add(&state, isFollowed) { continuation.resume(with: $0) }
                }
                let id: UInt64
                switch added {
                case .success(let added): id = added
                case .failure(let error): return continuation.resume(throwing: error)
                }
                waiterID.withLock { $0 = id }
                connect()
                // A loan may have become free just before this call began to wait.
                serveWaiters()
                expire(id, at: deadline)
                if Task.isCancelled { fail(id, ClientCore.cancelled) }
            }
        } onCancel: {
            fail(waiterID.withLock { $0 }, ClientCore.cancelled)
        }
    }

    private func add(
        _ state: inout State,
        _ isFollowed: Bool,
        _ resume: @escaping @Sendable (Result<Loan, ServiceError>) -> Void
    ) -> Result<UInt64, ServiceError> {
        // Earlier waiters have been notified.
        if state.isClosed { return .failure(ConnectionPool.isClosed) }
        guard state.waiters.count < settings.waitingLimit else {
            return .failure(
                ServiceError(
                    .requestRateLimited,
                    .overloaded,
                    "\(settings.waitingLimit) calls are waiting for a connection already"
                )
            )
        }
        state.nextWaiter += 1
        state.waiters.append(
            Waiter(id: state.nextWaiter, isFollowed: isFollowed, resume: resume)
        )
        return .success(state.nextWaiter)
    }

    private static let isClosed = ServiceError(.operationCancelled, "the container was closed")

    /// An open connection with room for a call; nil if there is none at the moment.
    private func take(_ state: inout State, _ isFollowed: Bool) throws -> Loan? {
        if state.isClosed { throw ConnectionPool.isClosed }
        var best: (slot: Int, loan: Loan)?
        for offset in state.slots.indices {
            let index = (state.nextSlot + offset) % state.slots.count
            guard case .open(let loan) = state.slots[index].state,
                state.slots[index].inFlight < loan.hello.limits.streamsPerConnection,
                isFollowed || hasRoom(for: loan.hello.limits.perCaller, state)
            else { continue }
            let isBetter = best.map { state.slots[index].inFlight < state.slots[$0.slot].inFlight }
            if isBetter ?? true { best = (index, loan) }
        }
        guard var best else { return nil }
        state.nextSlot = (best.slot + 1) % state.slots.count
        state.slots[best.slot].inFlight += 1
        state.loans += 1
        if isFollowed { state.followed += 1 }
        best.loan.isFollowed = isFollowed
        return best.loan
    }

    /// Whether a node with these limits takes one more of this client's calls, as far as is known
    /// here.
    private func hasRoom(for limits: CallerLimits, _ state: State) -> Bool {
        limits.callsAtOnce == 0 || state.loans - state.followed < limits.callsAtOnce
    }

    func release(_ loan: Loan) {
        let toResume = state.withLock { state -> [@Sendable () -> Void] in
            state.loans -= 1
            if loan.isFollowed { state.followed -= 1 }
            if isCurrent(loan, state) { state.slots[loan.slot].inFlight -= 1 }
            guard state.loans == 0 else { return [] }
            defer { state.onLastRelease = [] }
            return state.onLastRelease
        }
        for resume in toResume { resume() }
        serveWaiters()
    }

    /// Gives up a connection: calls that are under way end as they may.
    func retire(_ loan: Loan, _ why: String) {
        let attempt = state.withLock { isCurrent(loan, $0) ? $0.slots[loan.slot].attempt : nil }
        guard let attempt else { return }
        lose(loan.slot, attempt, loan.endpoint, why)
        loan.connection.link.loop.execute { loan.connection.retire() }
    }

    /// Waits until no call uses a connection any more.
    ///
    /// It ends only for a closed container: calls of an open one go on and on.
    private func lastRelease() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.loans > 0 { state.onLastRelease.append { continuation.resume() } }
                return state.loans == 0
            }
            if isOver { continuation.resume() }
        }
    }

    private func isCurrent(_ loan: Loan, _ state: State) -> Bool {
        guard case .open(let current) = state.slots[loan.slot].state else { return false }
        return current.connection === loan.connection
    }

    private func serveWaiters() {
        while true {
            let served = state.withLock { state in
                serve(&state, isFollowed: false) ?? serve(&state, isFollowed: true)
            }
            guard let (waiter, loan) = served else { return }
            waiter.timer?.cancel()
            waiter.resume(.success(loan))
        }
    }

    /// The first waiting call or stream and a loan for it.
    ///
    /// Returns nil if nothing waits or no connection has room.
    private func serve(_ state: inout State, isFollowed: Bool) -> (Waiter, Loan)? {
        guard let index = state.waiters.firstIndex(where: { $0.isFollowed == isFollowed }),
            let loan = try? take(&state, isFollowed)
        else { return nil }
        return (state.waiters.remove(at: index), loan)
    }

    private func expire(_ id: UInt64, at deadline: Instant) {
        let rest = deadline.milliseconds - environment.now().milliseconds
        let timer = Task(executorPreference: environment.executor) { [self] in
            guard (try? await environment.sleep(max(0, rest))) != nil else { return }
            fail(id, unreachable)
        }
        let isWaiting = state.withLock { state in
            guard let index = state.waiters.lastIndex(where: { $0.id == id }) else { return false }
            state.waiters[index].timer = timer
            return true
        }
        if !isWaiting { timer.cancel() }
    }

    private func fail(_ id: UInt64, _ error: ServiceError) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index)
        }
        waiter?.timer?.cancel()
        waiter?.resume(.failure(error))
    }

    // MARK: Connections

    /// Begins to connect every slot that is idle.
    private func connect() {
        if settings.endpoints.isEmpty {
            return failWaiters(
                ServiceError(.invalidArguments, "the container's configuration names no endpoint")
            )
        }
        state.withLock { state in
            guard !state.isClosed else { return }
            for slot in state.slots.indices {
                guard case .idle = state.slots[slot].state else { continue }
                state.nextAttempt += 1
                let attempt = state.nextAttempt
                state.slots[slot].state = .connecting
                state.slots[slot].attempt = attempt
                state.attempts[attempt] = Task(executorPreference: environment.executor) {
                    await self.connect(slot, attempt)
                    self.state.withLock { $0.attempts[attempt] = nil }
                }
            }
        }
    }

    private func connect(_ slot: Int, _ attempt: UInt64) async {
        let (failures, asked) = state.withLock { state in
            (state.slots[slot].failures, chooseEndpoint(for: slot, state).pause)
        }
        let backoff = failures > 0 ? settings.backoff(failures - 1, environment.random) : 0
        if max(backoff, asked) > 0 { try? await environment.sleep(max(backoff, asked)) }
        if Task.isCancelled { return }
        // The endpoint is chosen after the pause, since other attempts may have learned more by
        // then.
        let endpoint = state.withLock { state -> String in
            let choice = chooseEndpoint(for: slot, state)
            state.slots[slot].turn += choice.offset
            return choice.endpoint
        }
        let settings = settings
        let clock = environment.now
        var dice = ClientDice(random: environment.random)
        let nonce = settings.signer == nil ? [] : dice.nonce()
        do {
            let notify: @Sendable (ClientConnection, ClientConnection.Event) -> Void = {
                [weak self] in self?.handle($1, of: $0, at: endpoint, in: slot, attempt)
            }
            try await environment.dialer.connect(to: endpoint) { link, _ in
                ClientConnection(
                    settings,
                    link: link,
                    clock: clock,
                    nonce: nonce,
                    notify: notify
                )
            }
        } catch {
            note(Verdicts.Verdict(failure: error), of: endpoint)
            lose(slot, attempt, endpoint, "\(error)")
        }
    }

    private func chooseEndpoint(for slot: Int, _ state: State) -> EndpointRefusals.Choice {
        let turn = slot + state.slots[slot].turn
        return state.refusals.choose(of: settings.endpoints, from: turn, now: environment.now())
    }

    private func handle(
        _ event: ClientConnection.Event,
        of connection: ClientConnection,
        at endpoint: String,
        in slot: Int,
        _ attempt: UInt64
    ) {
        switch event {
        case .opened(let hello):
            let loan = Loan(
                slot: slot,
                endpoint: endpoint,
                connection: connection,
                hello: hello,
                clockOffset: hello.clock &- environment.wallClock()
            )
            let isWanted = state.withLock { state in
                guard !state.isClosed, state.slots[slot].attempt == attempt else { return false }
                let turn = state.slots[slot].turn
                state.slots[slot] = Slot(state: .open(loan), turn: turn, attempt: attempt)
                state.verdicts.admit()
                state.refusals.admit(endpoint)
                state.connections[ObjectIdentifier(connection)] = connection
                return true
            }
            guard isWanted else { return connection.close() }
            serveWaiters()
        case .reached(let run, let token):
            seen.tokens.withLock { $0.note(token, of: run, over: attempt) }
        // One that is busy, or new, may take it at another try.
        case .refused(let error) where error.isPassing:
            let now = environment.now()
            state.withLock { $0.refusals.refuse(endpoint, error, attempt: attempt, now: now) }
        case .refused(let error): note(.refusal(error), of: endpoint)
        case .foreign(let reason): note(.foreign(reason), of: endpoint)
        case .draining: lose(slot, attempt, endpoint, "the server is shutting down")
        case .closed(let reason):
            let next = state.withLock { state in
                state.connections[ObjectIdentifier(connection)] = nil
                return state.nextAttempt + 1
            }
            seen.tokens.withLock { $0.end(attempt, before: next) }
            lose(slot, attempt, endpoint, reason)
        }
    }

    /// A connection is of no use any more, or never was.
    ///
    /// Connects again if a call waits.
    private func lose(_ slot: Int, _ attempt: UInt64, _ endpoint: String, _ problem: String) {
        let isNeeded = state.withLock { state -> Bool in
            guard state.slots[slot].attempt == attempt else { return false }
            let (failures, turn) = (state.slots[slot].failures, state.slots[slot].turn)
            state.slots[slot] = Slot(failures: failures + 1, turn: turn + 1)
            state.refusals.giveUp(endpoint, problem, attempt: attempt)
            return !state.waiters.isEmpty
        }
        if isNeeded { connect() }
    }

    /// Ends the waiting, if an attempt that failed shows that it won't help.
    private func note(_ verdict: Verdicts.Verdict, of endpoint: String) {
        let error = state.withLock { $0.verdicts.note(verdict, of: endpoint, settings.endpoints) }
        if let error { failWaiters(error) }
    }

    private func failWaiters(_ error: ServiceError) {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters {
            waiter.timer?.cancel()
            waiter.resume(.failure(error))
        }
    }

    /// Ends all connections; calls in flight fail.
    ///
    /// When it returns, none is being made any more and no call waits for an answer.
    func close() async {
        let (connections, attempts) = state.withLock { state in
            state.isClosed = true
            return (Array(state.connections.values), Array(state.attempts.values))
        }
        failWaiters(ConnectionPool.isClosed)
        for attempt in attempts { attempt.cancel() }
        for attempt in attempts { await attempt.value }
        for connection in connections {
            connection.link.loop.execute { connection.close() }
        }
        await lastRelease()
    }
}
