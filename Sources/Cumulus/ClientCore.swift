// The client behind a `Container`: its connections, and what happens to a call when one of them
// fails.
//
// Shared by all databases of a container. A call takes a connection that is open, or waits for one;
// at most `waitingLimit` calls wait. What is safe to repeat is repeated until the call's time is
// up: reads, and changes by their request id. A change whose outcome stays unknown ends as 34. hot:
// once per call.

import CumulusModel
import CumulusTransport
import CumulusWire
import Synchronization

final class ClientCore: Sendable {
    struct Settings: Sendable {
        var endpoints: [String]
        /// What the first calls must see already.
        var session: [Bytes] = []
        var connections: Int
        /// Other nodes that are to hold a change; nil: as the node is set up.
        var replicas: UInt32?
        var hello: Hello
        var assetDirectory = ""
        var assetCacheBytes: UInt64 = 1 << 30
        /// What seals and opens encrypted fields.
        var keyring = Keyring([], container: "")
        /// Milliseconds that a call may take, retries included.
        var callMilliseconds: Int64
        var waitingLimit = 1_000
        /// How long a server that owes an answer may say nothing, twice, before it is given up.
        var silenceMilliseconds: Int64 = 10_000
        /// Later only in a test: see `ClientConnection.lastStream`.
        var firstStream: UInt32 = 1
        /// Between two attempts to connect: doubled with each, up to the longest, with jitter.
        var firstBackoffMilliseconds: Int64 = 50
        var longestBackoffMilliseconds: Int64 = 2_000
    }

    /// A connection that a call may use.
    struct Lease: Sendable {
        let slot: Int
        let connection: ClientConnection
        let hello: ServerHello
        /// What to add to our wall clock to get the server's.
        let clockOffset: Int64
    }

    private enum SlotState {
        case idle
        case connecting
        case open(Lease)
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
        let resume: @Sendable (Result<Lease, ServiceError>) -> Void
        /// Ends the waiting when its time is up.
        var timer: Task<Void, Never>?
    }

    private struct State {
        var slots: [Slot]
        var waiters: [Waiter] = []
        var nextWaiter: UInt64 = 0
        var nextSlot = 0
        var lastProblem = "no answer came in time"
        /// Leases that were not given back yet, also those of connections that are lost.
        var leases = 0
        /// All that were greeted and have not ended, those of a draining server too.
        var connections: [ObjectIdentifier: ClientConnection] = [:]
        var isClosed = false
        /// What came of the endpoints that were tried since a node last took this client: how it
        /// was refused, or nil: nobody answered.
        var verdicts: [String: ServiceError?] = [:]
        /// Waits for the last lease of a container that is closed.
        var onLastRelease: [@Sendable () -> Void] = []
        /// Connections that are being made.
        var attempts: [UInt64: Task<Void, Never>] = [:]
        var nextAttempt: UInt64 = 0
        var seen: SeenTokens
    }

    let settings: Settings
    var keyring: Keyring { settings.keyring }
    let environment: ClientEnvironment
    let assetCache: AssetCache
    private let state: Mutex<State>

    init(_ settings: Settings, environment: ClientEnvironment) {
        self.settings = settings
        self.environment = environment
        assetCache = AssetCache(
            directory: settings.assetDirectory,
            byteLimit: settings.assetCacheBytes
        )
        let slots = Array(repeating: Slot(), count: max(1, settings.connections))
        state = Mutex(State(slots: slots, seen: SeenTokens(settings.session)))
    }

    // MARK: Calls

    /// A call that may be repeated as it is.
    ///
    /// Returns the messages of the answer.
    func read(_ method: Method, _ message: Bytes, header: CallHeader? = nil) async throws -> [Bytes]
    {
        try await perform(header ?? CallHeader(method), message, isChange: false)
    }

    /// A call that is sent once: done twice, it would do more than once.
    func once(_ message: Bytes, header: CallHeader) async throws -> [Bytes] {
        try await perform(header, message, isChange: false, repeats: false)
    }

    /// A change, repeated under one request id.
    func change(_ method: Method, _ message: Bytes) async throws -> [Bytes] {
        var header = CallHeader(method)
        header.replicas = settings.replicas
        return try await perform(header, message, isChange: true)
    }

    private func perform(
        _ prototype: CallHeader,
        _ message: Bytes,
        isChange: Bool,
        repeats: Bool = true
    ) async throws -> [Bytes] {
        let deadline = environment.now() + settings.callMilliseconds
        var header = prototype
        var wasSent = false
        var renewals = 0
        var attempt = 0
        var refusal: ServiceError?
        while true {
            let lease: Lease
            do {
                lease = try await acquire(until: deadline, wasSent: wasSent)
            } catch let error as ServiceError where wasSent && leavesOpen(error) {
                throw timeout(wasSent: true)
            }
            if isChange && header.requestID.isEmpty {
                header.requestID = requestID(clockOffset: lease.clockOffset)
            }
            do {
                try checkSize(message, lease.hello.limits)
            } catch {
                release(lease)
                throw error
            }
            let tokens = state.withLock { $0.seen.tokens(for: lease.hello.incarnation) }
            header.causalTokens = tokens
            let ending = await run(header, message, deadline, on: lease)
            release(lease)
            let pause: Int64
            switch ending {
            case .answer(let messages):
                if !tokens.isEmpty {
                    let run = lease.hello.incarnation
                    state.withLock { $0.seen.forget(tokens, coveredBy: run) }
                }
                return messages
            case .lost(true) where !repeats: throw timeout(wasSent: true)
            case .lost(let sent):
                wasSent = wasSent || (sent && isChange)
                pause = backoff(attempt)
            case .refused(let error):
                let goesElsewhere = isBetterElsewhere(error, attempt)
                // What a node asks for, it asks for itself.
                let asked = goesElsewhere ? 0 : Int64(error.retryAfterMilliseconds ?? 0)
                pause = max(backoff(attempt), asked)
                let hasTime = environment.now() + pause < deadline
                if isStale(error), !wasSent, renewals < max(1, settings.connections),
                    prototype.requestID.isEmpty
                {
                    // The server's clock was set after it told us: a new connection tells it anew.
                    renewals += 1
                    header.requestID = []
                    retire(lease, "the server's clock was set")
                    continue
                }
                let isWorthIt = goesElsewhere || isRetryable(error)
                guard isWorthIt, hasTime, !Task.isCancelled else {
                    throw wasSent && leavesOpen(error) ? timeout(wasSent: true) : error
                }
                if goesElsewhere { retire(lease, error.message) }
                refusal = error
            }
            if Task.isCancelled { throw ClientCore.cancelled }
            try? await environment.sleep(pause)
            attempt += 1
            if environment.now() >= deadline {
                // What a node said tells more than that the time is up.
                throw wasSent ? timeout(wasSent: true) : refusal ?? timeout(wasSent: false)
            }
        }
    }

    /// A frame that is too large ends the connection, for whatever else is under way on it too.
    private func checkSize(_ message: Bytes, _ limits: Limits) throws(ServiceError) {
        // Room for the header.
        let limit = limits.frameBytes - (16 << 10)
        guard message.count > limit else { return }
        throw ServiceError(
            .limitExceeded,
            .tooLarge,
            """
            the request has \(message.count) bytes, and the server takes \(limits.requestBytes); \
            send fewer items at once
            """
        )
    }

    /// One attempt.
    private func run(
        _ header: CallHeader,
        _ message: Bytes,
        _ deadline: Instant,
        on lease: Lease
    ) async -> ClientCall.Ending {
        let cancel = Mutex<(@Sendable () -> Void)?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let call = ClientCall(header: header, message: message, deadline: deadline) {
                    continuation.resume(returning: $0)
                }
                let connection = lease.connection
                let loop = connection.link.loop
                cancel.withLock { $0 = { loop.execute { connection.cancel(call) } } }
                loop.execute { connection.start(call) }
                if Task.isCancelled { loop.execute { connection.cancel(call) } }
            }
        } onCancel: {
            cancel.withLock { $0 }?()
        }
    }

    /// Starts a call whose answer is a stream, or whose caller sends one.
    ///
    /// The lease is given back by `onEnd`'s owner.
    func stream(
        _ prototype: CallHeader,
        _ message: Bytes,
        isOpen: Bool = false,
        onMessage: @escaping @Sendable (Bytes) -> Void,
        onCredit: @escaping @Sendable (Int) -> Void = { _ in },
        onEnd: @escaping @Sendable (ClientCall.Ending) -> Void
    ) async throws -> (call: ClientCall, connection: ClientConnection) {
        let deadline = environment.now() + settings.callMilliseconds
        let lease = try await acquire(until: deadline, wasSent: false)
        var header = prototype
        header.causalTokens = state.withLock { $0.seen.tokens(for: lease.hello.incarnation) }
        let call = ClientCall(
            header: header,
            message: message,
            deadline: environment.now() + Limits.standard.longestCallMilliseconds,
            onMessage: onMessage,
            onCredit: isOpen ? onCredit : nil
        ) { [self] ending in
            release(lease)
            onEnd(ending)
        }
        lease.connection.link.loop.execute { lease.connection.start(call) }
        return (call, lease.connection)
    }

    /// What the server said about itself, connecting if need be.
    func hello() async throws -> ServerHello {
        let deadline = environment.now() + settings.callMilliseconds
        let lease = try await acquire(until: deadline, wasSent: false)
        release(lease)
        return lease.hello
    }

    /// What calls have seen so far, for another client to begin with.
    var session: [Bytes] { state.withLock { $0.seen.all } }

    func join(_ session: [Bytes]) {
        state.withLock { $0.seen.join(session) }
    }

    /// Gives up a connection: calls that are under way end as they may.
    private func retire(_ lease: Lease, _ why: String) {
        let attempt = state.withLock { isCurrent(lease, $0) ? $0.slots[lease.slot].attempt : nil }
        guard let attempt else { return }
        lose(lease.slot, attempt, why)
        lease.connection.link.loop.execute { lease.connection.retire() }
    }

    /// Whether a new request's id was too old, or too new, for the server.
    private func isStale(_ error: ServiceError) -> Bool {
        error.reason == .requestIDExpired
    }

    func isRetryable(_ error: ServiceError) -> Bool {
        switch error.reason {
        case .overloaded, .draining, .nodeBehind, .clockWrong, .nodeIDInUse: true
        default: error.code == .zoneBusy
        }
    }

    /// Whether another node may do what this one can't, and there is another one.
    private func isBetterElsewhere(_ error: ServiceError, _ attempt: Int) -> Bool {
        guard settings.endpoints.count > 1 else { return false }
        switch error.reason {
        case .clockWrong, .draining, .nodeBehind, .nodeIDInUse: return true
        // Each is asked once: a disk may stay full.
        case .diskFull: return attempt < settings.endpoints.count
        default: return error.code == .zoneBusy
        }
    }

    /// Whether a refusal says nothing about an earlier attempt at the same change.
    ///
    /// Only what is wrong with the request itself was wrong then too.
    private func leavesOpen(_ error: ServiceError) -> Bool {
        switch error.code {
        case .invalidArguments, .limitExceeded: error.reason == .requestIDExpired
        case .operationCancelled, .serverResponseLost: false
        default: true
        }
    }

    private func requestID(clockOffset: Int64) -> Bytes {
        let time = UInt64(bitPattern: environment.wallClock() &+ clockOffset)
        let words = [time << 16 | environment.random() >> 48, environment.random()]
        return words.flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
    }

    func backoff(_ attempt: Int) -> Int64 {
        let doubled = settings.firstBackoffMilliseconds << Int64(min(attempt, 16))
        let longest = min(doubled, settings.longestBackoffMilliseconds)
        var dice = ClientDice(random: environment.random)
        return Int64.random(in: longest / 2...longest, using: &dice)
    }

    /// Waits before another try.
    func pause(_ attempt: Int) async throws(ServiceError) {
        try? await environment.sleep(backoff(attempt))
        try ClientCore.checkCancellation()
    }

    static func checkCancellation() throws(ServiceError) {
        if Task.isCancelled { throw cancelled }
    }

    static let cancelled = ServiceError(.operationCancelled, "the call was cancelled")

    /// What a call that ran out of time ends with.
    private func timeout(wasSent: Bool) -> ServiceError {
        if wasSent {
            return ServiceError(
                .serverResponseLost,
                """
                the connection was lost after the change was sent; fetch the records to see \
                whether it was made
                """
            )
        }
        let problem = state.withLock { $0.lastProblem }
        return ServiceError(
            .networkFailure,
            "could not reach \(settings.endpoints.joined(separator: ", ")): \(problem)"
        )
    }

    // MARK: Leases

    private func acquire(until deadline: Instant, wasSent: Bool) async throws -> Lease {
        if let lease = try state.withLock({ try take(&$0) }) { return lease }
        let waiterID = Mutex<UInt64>(0)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let added = state.withLock { state in
                    add(&state) { continuation.resume(with: $0) }
                }
                let id: UInt64
                switch added {
                case .success(let added): id = added
                case .failure(let error): return continuation.resume(throwing: error)
                }
                waiterID.withLock { $0 = id }
                connect()
                // A lease may have become free just before this call began to wait.
                serveWaiters()
                expire(id, at: deadline, wasSent: wasSent)
                if Task.isCancelled { fail(id, ClientCore.cancelled) }
            }
        } onCancel: {
            fail(waiterID.withLock { $0 }, ClientCore.cancelled)
        }
    }

    private func add(
        _ state: inout State,
        _ resume: @escaping @Sendable (Result<Lease, ServiceError>) -> Void
    ) -> Result<UInt64, ServiceError> {
        // Those who waited then have been told.
        if state.isClosed { return .failure(ClientCore.isClosed) }
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
        state.waiters.append(Waiter(id: state.nextWaiter, resume: resume))
        return .success(state.nextWaiter)
    }

    private static let isClosed = ServiceError(.operationCancelled, "the container was closed")

    /// An open connection with room for a call; nil if there is none at the moment.
    private func take(_ state: inout State) throws -> Lease? {
        if state.isClosed { throw ClientCore.isClosed }
        var best: (slot: Int, lease: Lease)?
        for offset in state.slots.indices {
            let index = (state.nextSlot + offset) % state.slots.count
            guard case .open(let lease) = state.slots[index].state,
                state.slots[index].inFlight < lease.hello.limits.streamsPerConnection
            else { continue }
            let isBetter = best.map { state.slots[index].inFlight < state.slots[$0.slot].inFlight }
            if isBetter ?? true { best = (index, lease) }
        }
        guard let best else { return nil }
        state.nextSlot = (best.slot + 1) % state.slots.count
        state.slots[best.slot].inFlight += 1
        state.leases += 1
        return best.lease
    }

    private func release(_ lease: Lease) {
        let toResume = state.withLock { state -> [@Sendable () -> Void] in
            state.leases -= 1
            if isCurrent(lease, state) { state.slots[lease.slot].inFlight -= 1 }
            guard state.leases == 0 else { return [] }
            defer { state.onLastRelease = [] }
            return state.onLastRelease
        }
        for resume in toResume { resume() }
        serveWaiters()
    }

    /// Waits until no call uses a connection any more.
    ///
    /// Only for a closed container: calls of an open one go on and on.
    private func lastRelease() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.leases > 0 { state.onLastRelease.append { continuation.resume() } }
                return state.leases == 0
            }
            if isOver { continuation.resume() }
        }
    }

    private func isCurrent(_ lease: Lease, _ state: State) -> Bool {
        guard case .open(let current) = state.slots[lease.slot].state else { return false }
        return current.connection === lease.connection
    }

    private func serveWaiters() {
        while true {
            let served = state.withLock { state -> (Waiter, Lease)? in
                guard !state.waiters.isEmpty, let lease = try? take(&state) else { return nil }
                return (state.waiters.removeFirst(), lease)
            }
            guard let (waiter, lease) = served else { return }
            waiter.timer?.cancel()
            waiter.resume(.success(lease))
        }
    }

    private func expire(_ id: UInt64, at deadline: Instant, wasSent: Bool) {
        let rest = deadline.milliseconds - environment.now().milliseconds
        let timer = Task(executorPreference: environment.executor) { [self] in
            guard (try? await environment.sleep(max(0, rest))) != nil else { return }
            fail(id, timeout(wasSent: wasSent))
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
        let (failures, turn) = state.withLock { ($0.slots[slot].failures, $0.slots[slot].turn) }
        if failures > 0 { try? await environment.sleep(backoff(failures - 1)) }
        if Task.isCancelled { return }
        let endpoint = settings.endpoints[(slot + turn) % settings.endpoints.count]
        let settings = settings
        let clock = environment.now
        do {
            let notify: @Sendable (ClientConnection, ClientConnection.Event) -> Void = {
                [weak self] in self?.handle($1, of: $0, at: endpoint, in: slot, attempt)
            }
            try await environment.dialer.connect(to: endpoint) { link, _ in
                ClientConnection(settings, link: link, clock: clock, notify: notify)
            }
        } catch {
            if case NIOFrameDialer.Failure.untrusted(let reason) = error {
                note(ServiceError(.networkFailure, reason), of: endpoint)
            } else {
                note(nil, of: endpoint)
            }
            lose(slot, attempt, "\(error)")
        }
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
            let lease = Lease(
                slot: slot,
                connection: connection,
                hello: hello,
                clockOffset: hello.clock &- environment.wallClock()
            )
            let isWanted = state.withLock { state in
                guard !state.isClosed, state.slots[slot].attempt == attempt else { return false }
                let turn = state.slots[slot].turn
                state.slots[slot] = Slot(state: .open(lease), turn: turn, attempt: attempt)
                state.verdicts = [:]
                state.connections[ObjectIdentifier(connection)] = connection
                return true
            }
            guard isWanted else { return connection.close() }
            serveWaiters()
        case .reached(let run, let token): state.withLock { $0.seen.note(token, of: run) }
        // One that is busy may take it at the next try.
        case .refused(let error): if !isRetryable(error) { note(error, of: endpoint) }
        case .draining: lose(slot, attempt, "the server is shutting down")
        case .closed(let reason):
            state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
            lose(slot, attempt, reason)
        }
    }

    /// A connection is of no use any more, or never was.
    ///
    /// Connects again if somebody waits.
    private func lose(_ slot: Int, _ attempt: UInt64, _ problem: String) {
        let isNeeded = state.withLock { state -> Bool in
            guard state.slots[slot].attempt == attempt else { return false }
            let (failures, turn) = (state.slots[slot].failures, state.slots[slot].turn)
            state.slots[slot] = Slot(failures: failures + 1, turn: turn + 1)
            state.lastProblem = problem
            return !state.waiters.isEmpty
        }
        if isNeeded { connect() }
    }

    /// A node doesn't want this client; or, with nil, can't be reached.
    ///
    /// Once all were tried and one of them refused, waiting longer won't help anybody.
    private func note(_ verdict: ServiceError?, of endpoint: String) {
        let refusal = state.withLock { state -> ServiceError? in
            if let verdict {
                state.verdicts.updateValue(verdict, forKey: endpoint)
            } else if state.verdicts[endpoint] == nil {
                state.verdicts.updateValue(nil, forKey: endpoint)
            }
            guard settings.endpoints.allSatisfy({ state.verdicts[$0] != nil }),
                let refusal = state.verdicts.values.lazy.compactMap(\.self).first
            else { return nil }
            state.verdicts = [:]
            return refusal
        }
        if let refusal { failWaiters(refusal) }
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
        failWaiters(ClientCore.isClosed)
        for attempt in attempts { attempt.cancel() }
        for attempt in attempts { await attempt.value }
        for connection in connections {
            connection.link.loop.execute { connection.close() }
        }
        await lastRelease()
    }
}
