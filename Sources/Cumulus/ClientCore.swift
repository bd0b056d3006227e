// The client behind a `Container`: what happens to a call until it has an outcome.
//
// Shared by all databases of a container. Connections are the pool's, and what is tried again, and
// when, is said by `Retries`; a change whose outcome stays unknown ends as 34. hot: once per call.

import CumulusModel
import CumulusTransport
import CumulusWire
import Synchronization

final class ClientCore: Sendable {
    let settings: ClientSettings
    var keyring: Keyring { settings.keyring }
    let environment: ClientEnvironment
    let assetCache: AssetCache
    private let pool: ConnectionPool
    private let seen: Seen

    /// Noted by connections, carried by calls.
    private final class Seen: Sendable {
        let tokens: Mutex<SeenTokens>

        init(_ session: [Bytes]) { tokens = Mutex(SeenTokens(session)) }
    }

    init(_ settings: ClientSettings, environment: ClientEnvironment) {
        self.settings = settings
        self.environment = environment
        assetCache = AssetCache(
            directory: settings.assetDirectory,
            byteLimit: settings.assetCacheBytes
        )
        let seen = Seen(settings.session)
        self.seen = seen
        pool = ConnectionPool(settings, environment) { run, token in
            seen.tokens.withLock { $0.note(token, of: run) }
        }
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
        let deadline = environment.now() + settings.callMilliseconds
        var header = prototype
        var retries = Retries(
            settings,
            isChange: isChange,
            isRepeatable: isRepeatable,
            hasOwnID: !prototype.requestID.isEmpty
        )
        while true {
            let lease = try await lease(until: deadline, retries)
            if isChange, header.requestID.isEmpty {
                header.requestID = requestID(clockOffset: lease.clockOffset)
            }
            let step: Retries.Step
            switch try await attempt(header, message, deadline, on: lease) {
            case .answer(let messages): return messages
            case .lost(let wasSent):
                step = retries.lost(wasSent: wasSent, backoff: backoff(retries.count))
            case .refused(let error):
                step = retries.refused(error, backoff: backoff(retries.count)) { pause in
                    environment.now() + pause < deadline && !Task.isCancelled
                }
            }
            switch step {
            case .fail(let error): throw error
            case .anew:
                header.requestID = []
                pool.retire(lease, "the server's clock was set")
            case .elsewhere(let pause, let why):
                pool.retire(lease, why)
                try await wait(pause, until: deadline, retries)
            case .again(let pause): try await wait(pause, until: deadline, retries)
            }
        }
    }

    private func lease(
        until deadline: Instant,
        _ retries: Retries
    ) async throws -> ConnectionPool.Lease {
        do {
            return try await pool.acquire(until: deadline)
        } catch let error as ServiceError {
            throw retries.outcome(error)
        }
    }

    /// Sends a call once.
    private func attempt(
        _ header: CallHeader,
        _ message: Bytes,
        _ deadline: Instant,
        on lease: ConnectionPool.Lease
    ) async throws -> ClientCall.Ending {
        defer { pool.release(lease) }
        try checkSize(message, lease.hello.limits)
        var header = header
        let run = lease.hello.incarnation
        header.causalTokens = seen.tokens.withLock { $0.tokens(for: run) }
        let ending = await self.run(header, message, deadline, on: lease)
        if case .answer = ending, !header.causalTokens.isEmpty {
            seen.tokens.withLock { [tokens = header.causalTokens] in
                $0.forget(tokens, coveredBy: run)
            }
        }
        return ending
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
        // What a node said tells more than that the time is up.
        throw retries.outcome(retries.refusal ?? pool.unreachable)
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

    private func run(
        _ header: CallHeader,
        _ message: Bytes,
        _ deadline: Instant,
        on lease: ConnectionPool.Lease
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
        let lease = try await pool.acquire(until: deadline)
        var header = prototype
        header.causalTokens = seen.tokens.withLock { $0.tokens(for: lease.hello.incarnation) }
        let call = ClientCall(
            header: header,
            message: message,
            deadline: environment.now() + Limits.standard.longestCallMilliseconds,
            onMessage: onMessage,
            onCredit: isOpen ? onCredit : nil
        ) { [self] ending in
            pool.release(lease)
            onEnd(ending)
        }
        lease.connection.link.loop.execute { lease.connection.start(call) }
        return (call, lease.connection)
    }

    /// What the server said about itself, connecting if need be.
    func hello() async throws -> ServerHello {
        if let hello = pool.hello { return hello }
        let lease = try await pool.acquire(until: environment.now() + settings.callMilliseconds)
        pool.release(lease)
        return lease.hello
    }

    /// What calls have seen so far, for another client to begin with.
    var session: [Bytes] { seen.tokens.withLock { $0.all } }

    func join(_ session: [Bytes]) {
        seen.tokens.withLock { $0.join(session) }
    }

    /// Ends all connections; calls in flight fail.
    ///
    /// When it returns, none is being made any more and no call waits for an answer.
    func close() async {
        await pool.close()
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
