// The client behind a `Container`: what happens to a call until it has an outcome.
//
// All databases of a container share it. Connections belong to the pool, and `Retries` decides what
// is tried again and when. A change whose outcome stays unknown ends with code 34. hot: once per
// call.
//
// Folder: what happens to a call until it has an outcome. Read `ClientCore`, then `ConnectionPool`,
// `ClientConnection` and `Retries`.

import CumulusModel
import CumulusTransport
import CumulusWire
import Synchronization

final class ClientCore: Sendable {
    let settings: ClientSettings
    var keyring: Keyring { settings.keyring }
    let environment: ClientEnvironment
    let assetCache: AssetCache
    let account: AccountWatch
    private let pool: ConnectionPool
    private let seen: CommonTokens
    /// A call looks for a node that has what this client has seen: the last one lacked some of it.
    private let isBehind = Mutex(false)

    init(_ settings: ClientSettings, environment: ClientEnvironment) {
        self.settings = settings
        self.environment = environment
        assetCache = AssetCache(
            directory: settings.assetDirectory,
            byteLimit: settings.assetCacheBytes
        )
        account = AccountWatch(isAnonymous: settings.isAnonymous)
        seen = CommonTokens(settings.session)
        pool = ConnectionPool(settings, environment, seen)
    }

    /// Why no node can be reached that takes calls; nil while a connection to one is open.
    var connectionProblem: ServiceError? {
        let isBehind = isBehind.withLock { $0 }
        if isBehind {
            return ServiceError(
                .networkFailure,
                "could not reach a node that has what was seen; those that answer lack some of it"
            )
        }
        return pool.hello == nil ? pool.unreachable : nil
    }

    // MARK: Calls

    /// A call that may be repeated as it is.
    ///
    /// Returns the messages of the answer.
    func read(_ method: Method, _ message: Bytes, header: CallHeader? = nil) async throws -> [Bytes]
    {
        try await perform(header ?? CallHeader(method), message)
    }

    /// A call that is sent once: done twice, it would do more than once.
    func once(_ message: Bytes, header: CallHeader) async throws -> [Bytes] {
        try await perform(header, message, isRepeatable: false)
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
        isChange: Bool = false,
        isRepeatable: Bool = true
    ) async throws -> [Bytes] {
        let retries = Retries(
            settings,
            isChange: isChange,
            isRepeatable: isRepeatable,
            hasOwnID: !prototype.requestID.isEmpty
        )
        var header = prototype
        return try await judging(prototype.method) {
            try await repeating(retries) { loan, deadline, isAnew throws(CallFailure) in
                if isChange, isAnew, prototype.requestID.isEmpty {
                    header.requestID = requestID(clockOffset: loan.clockOffset)
                }
                defer { pool.release(loan) }
                try await settle(deadline, on: loan)
                return try await send(header, message, deadline, on: loan)
            }
        }
    }

    /// Notes whether the caller was let in.
    ///
    /// - Parameter method: Its number; nil: of a stream.
    private func judging<Answer>(
        _ method: UInt32? = nil,
        _ ask: () async throws -> Answer
    ) async throws -> Answer {
        guard method.map(Method.judgesCaller) ?? true else { return try await ask() }
        do {
            let answer = try await ask()
            account.note(.available)
            return answer
        } catch let error as ServiceError {
            account.note(refusal: error)
            throw error
        }
    }

    /// Makes attempts at a call until it has an outcome, or its time is up.
    ///
    /// - Parameters:
    ///   - isFollowed: The call is a stream that goes on without an end.
    ///   - attempt: Gives the loan back. True: what was tried before doesn't count.
    private func repeating<Answer>(
        _ initial: Retries,
        isFollowed: Bool = false,
        _ attempt: (ConnectionPool.Loan, Instant, Bool) async throws(CallFailure) -> Answer
    ) async throws -> Answer {
        let deadline = environment.now() + settings.callMilliseconds
        var retries = initial
        defer { if retries.refusal != nil { isBehind.withLock { $0 = false } } }
        var isAnew = true
        while true {
            let loan = try await loan(until: deadline, isFollowed: isFollowed, retries)
            let step: Retries.Step
            do throws(CallFailure) {
                return try await attempt(loan, deadline, isAnew)
            } catch {
                step = retries.step(after: error, backoff: backoff(retries.count)) { pause in
                    environment.now() + pause < deadline && !Task.isCancelled
                }
            }
            isAnew = false
            switch step {
            case .fail(let error): throw error
            case .anew:
                isAnew = true
                pool.retire(loan, "the server's clock was set")
            case .elsewhere(let pause, let why):
                pool.retire(loan, why)
                if retries.refusal?.reason == .nodeBehind { isBehind.withLock { $0 = true } }
                try await wait(pause, until: deadline, retries)
            case .again(let pause): try await wait(pause, until: deadline, retries)
            }
        }
    }

    private func loan(
        until deadline: Instant,
        isFollowed: Bool,
        _ retries: Retries
    ) async throws -> ConnectionPool.Loan {
        do {
            return try await pool.acquire(until: deadline, isFollowed: isFollowed)
        } catch let error as ServiceError {
            throw retries.outcome(error)
        }
    }

    /// Sends a call once, with what it has to carry.
    private func send(
        _ prototype: CallHeader,
        _ message: Bytes,
        _ deadline: Instant,
        on loan: ConnectionPool.Loan
    ) async throws(CallFailure) -> [Bytes] {
        try checkSize(message, loan.hello.limits)
        let run = loan.hello.incarnation
        let tokens = tokens(for: run)
        var header = prototype.traced()
        header.causalTokens = tokens
        let answer = try await self.run(header, message, deadline, on: loan).get()
        if !tokens.isEmpty { seen.tokens.withLock { $0.forget(tokens, coveredBy: run) } }
        return answer
    }

    /// The tokens for a call to that run of a node, as many as are allowed.
    private func tokens(for run: UInt64) -> [Bytes] {
        Array(seen.tokens.withLock { $0.tokens(for: run) }.prefix(ClientCore.tokensPerCall))
    }

    private static let tokensPerCall = 64

    /// Sends more tokens than one call may carry ahead, with calls that ask for nothing.
    private func settle(
        _ deadline: Instant,
        on loan: ConnectionPool.Loan
    ) async throws(CallFailure) {
        let run = loan.hello.incarnation
        let count = seen.tokens.withLock { $0.tokens(for: run).count }
        for _ in 0..<(count - 1) / ClientCore.tokensPerCall {
            do throws(CallFailure) {
                _ = try await send(CallHeader(.accountsWhoAmI), [], deadline, on: loan)
            } catch .lost {
                // The call that it goes ahead of was not sent.
                throw .lost(wasSent: false)
            }
        }
    }

    /// Waits before another attempt; throws if there is no time for one.
    private func wait(
        _ pause: Int64,
        until deadline: Instant,
        _ retries: Retries
    ) async throws(ServiceError) {
        try ClientCore.checkCancellation()
        try? await environment.sleep(pause)
        guard environment.now() >= deadline else { return }
        // A node's refusal explains more than a timeout.
        throw retries.outcome(retries.refusal ?? pool.unreachable)
    }

    /// A frame that is too large ends the connection, for whatever else is under way on it too.
    private func checkSize(_ message: Bytes, _ limits: Limits) throws(CallFailure) {
        // Room for the header.
        let limit = limits.frameBytes - (16 << 10)
        guard message.count > limit else { return }
        throw .refused(
            ServiceError(
                .limitExceeded,
                .tooLarge,
                """
                the request has \(message.count) bytes, and the server takes \
                \(limits.requestBytes); send fewer items at once
                """
            )
        )
    }

    private func run(
        _ header: CallHeader,
        _ message: Bytes,
        _ deadline: Instant,
        on loan: ConnectionPool.Loan
    ) async -> ClientCall.Ending {
        let cancel = Mutex<(@Sendable () -> Void)?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let call = ClientCall(header: header, message: message, deadline: deadline) {
                    continuation.resume(returning: $0)
                }
                let connection = loan.connection
                let loop = connection.link.loop
                cancel.withLock { $0 = { loop.execute { connection.cancel(call) } } }
                loop.execute { connection.start(call) }
                if Task.isCancelled { loop.execute { connection.cancel(call) } }
            }
        } onCancel: {
            cancel.withLock { $0 }?()
        }
    }

    // MARK: Streams

    /// Starts a call whose caller sends a stream.
    func upload(
        _ header: CallHeader,
        _ message: Bytes,
        onCredit: @escaping @Sendable (Int) -> Void,
        onEnd: @escaping @Sendable (ClientCall.Ending) -> Void
    ) async throws -> StreamedCall {
        let loan = try await pool.acquire(until: environment.now() + settings.callMilliseconds)
        return start(
            header,
            message,
            on: loan,
            onMessage: { _ in },
            onCredit: onCredit,
            onEnd: onEnd
        )
    }

    /// Opens a call whose answer is a stream: at another node, if one doesn't begin to answer.
    ///
    /// - Parameters:
    ///   - isFollowed: It goes on without an end.
    ///   - begin: Starts it, and returns when the answer has begun.
    func open<Stream>(
        isFollowed: Bool,
        _ begin: (ConnectionPool.Loan) async throws(CallFailure) -> Stream
    ) async throws -> Stream {
        let retries = Retries(settings, isChange: false, isRepeatable: true, hasOwnID: false)
        return try await judging {
            try await repeating(retries, isFollowed: isFollowed) {
                loan,
                deadline,
                _ throws(CallFailure) in
                do throws(CallFailure) {
                    try await settle(deadline, on: loan)
                } catch {
                    pool.release(loan)
                    throw error
                }
                return try await begin(loan)
            }
        }
    }

    /// Starts a call on a connection, which it gives back at its end.
    ///
    /// - Parameter patience: How long the server may say nothing, in milliseconds; nil: the whole
    ///   answer has the longest time of a call.
    func start(
        _ prototype: CallHeader,
        _ message: Bytes,
        on loan: ConnectionPool.Loan,
        patience: Int64? = nil,
        onMessage: @escaping @Sendable (Bytes) -> Void,
        onCredit: (@Sendable (Int) -> Void)? = nil,
        onEnd: @escaping @Sendable (ClientCall.Ending) -> Void
    ) -> StreamedCall {
        var header = prototype.traced()
        header.causalTokens = tokens(for: loan.hello.incarnation)
        let call = ClientCall(
            header: header,
            message: message,
            deadline: environment.now() + (patience ?? Limits.standard.longestCallMilliseconds),
            patience: patience,
            onMessage: onMessage,
            onCredit: onCredit
        ) { [pool, account] ending in
            pool.release(loan)
            if case .refused(let error) = ending { account.note(refusal: error) }
            onEnd(ending)
        }
        loan.connection.link.loop.execute { loan.connection.start(call) }
        return StreamedCall(call: call, connection: loan.connection)
    }

    /// The server's description of itself; connects if needed.
    func hello() async throws -> ServerHello {
        if let hello = pool.hello { return hello }
        let loan = try await pool.acquire(until: environment.now() + settings.callMilliseconds)
        pool.release(loan)
        return loan.hello
    }

    /// The tokens of all calls so far, for another client to begin with.
    var session: [Bytes] { seen.tokens.withLock { $0.all } }

    func join(_ session: [Bytes]) {
        seen.tokens.withLock { $0.join(session) }
    }

    /// Ends all connections; calls in flight fail.
    ///
    /// When it returns, none is being made any more and no call waits for an answer.
    func close() async {
        await pool.close()
        account.close()
    }

    private func requestID(clockOffset: Int64) -> Bytes {
        let time = UInt64(bitPattern: environment.wallClock() &+ clockOffset)
        let words = [time << 16 | environment.random() >> 48, environment.random()]
        return words.flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
    }

    private func backoff(_ attempt: Int) -> Int64 {
        settings.backoff(attempt, environment.random)
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
}
