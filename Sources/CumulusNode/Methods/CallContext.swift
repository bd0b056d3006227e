// What the handler of a method may see and do: its call, who calls, and the few ways to an answer.
//
// Made by `OpenCalls+Opening` for each call, passed to the handler that `MethodTable` names. A
// handler touches nothing else of the connection. The forms of methods answer by `answer`, `write`
// and `change`; handlers that work in a way of their own by `readFromDisk`, `pages`, `task` and
// `finish`. hot: once per call.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

struct CallContext: Sendable {
    let call: Call
    /// Says whether somebody still waits for the answer.
    let token: CallToken
    let identity: Identity
    let node: Node
    let calls: OpenCalls

    init(_ call: Call, _ token: CallToken, _ identity: Identity, of calls: OpenCalls) {
        self.call = call
        self.token = token
        self.identity = identity
        self.calls = calls
        node = calls.node
    }

    var message: Bytes { call.message }
    var header: CallHeader { call.header }
    var caller: Caller { identity.caller }
    var limits: Limits { node.configuration.limits }
    var parser: RequestParser {
        var parser = RequestParser(caller: caller, limits: limits)
        if node.accessLease != nil { parser.refusal = mayUse }
        if let container = identity.scope?.container {
            parser.knowsWebhook = { [node] in node.configuration.knowsWebhook($0, container) }
        }
        return parser
    }

    /// Why a database is closed to the caller now, see `AccessLease`.
    var mayUse: @Sendable (DatabaseScope) -> ServiceError? { node.mayUse(by: identity) }

    /// The scope of the connection, or the one that an operator's call names.
    func scope() throws(ServiceError) -> ScopeID {
        if let scope = identity.scope { return scope }
        return try ScopeID(named: header.container, header.environment)
    }

    // MARK: Requests

    /// Messages above this are parsed by a reader thread: many small parts take milliseconds, and
    /// others' frames wait for this loop.
    private static let largeMessage = 32 << 10

    /// Parses the call's message, and goes on with the request; on the loop.
    func parsing<Request: Sendable>(
        _ parse: @escaping Parse<Request>,
        then run: @escaping @Sendable (Request) throws -> Void
    ) throws {
        if message.count <= CallContext.largeMessage { return try run(try parse(parser)(message)) }
        let isQueued = node.gate.read(.bulk(identity.readCaller)) { [self] in
            let parsed = Result { try parse(parser)(message) }
            calls.onLoop { calls in
                guard calls[call.stream] != nil else { return }
                calls.failing(call.stream) { try run(try parsed.get()) }
            }
        }
        if !isQueued { throw ServiceError.tooManyReads }
    }

    /// Refuses a message that only a reader thread may parse, where none does.
    func refuseLargeMessage() throws {
        guard message.count > CallContext.largeMessage else { return }
        throw ServiceError.requestTooLarge(message.count, limit: CallContext.largeMessage)
    }

    // MARK: Reads

    /// Answers with what is read: at once with what is in memory, or later from the disk.
    func answer<Content>(_ reading: Reading<Content>, _ outlet: Outlet<Content>) throws {
        let scope = try reading.scope ?? self.scope()
        if reading.triesMemory {
            try calls.read(call.stream, scope, reading.first, outlet)
        } else {
            calls.readFromDisk(call.stream, scope) { try reading.first($0).page(outlet, $0.node) }
        }
    }

    /// Answers from the disk with messages.
    func readFromDisk(_ work: @escaping Read) throws {
        calls.readFromDisk(call.stream, try scope(), work)
    }

    /// Answers with pages from a reader thread, where the handler looks for the scope itself.
    func pages(_ read: @escaping NextPage) {
        calls.readLater(call.stream, read)
    }

    /// Answers with pages that are read by the asset store's threads.
    func assetPages(_ read: @escaping NextPage) {
        calls[call.stream]?.readsAssets = true
        calls.readLater(call.stream, read)
    }

    /// Takes the deadline off the call: it goes on until its caller cancels it.
    ///
    /// - Parameter patience: How long its answer may wait for credit, in milliseconds; nil: for
    ///   ever.
    func makeEndless(patience: Int64? = nil) {
        calls.makeEndless(call.stream, patience: patience)
    }

    // MARK: Causality

    /// Whether this node has read that far; if not, the call begins again once it has.
    func reaches(_ needed: VersionVector?) -> Bool { calls.reaches(needed, call) }

    /// Whether what a caller saw was lost with the restore of a backup; to be asked before
    /// `reaches`.
    func isLost(_ vector: VersionVector, since truncation: HybridTime) -> Bool {
        calls.isLost(vector, since: truncation, call)
    }

    // MARK: Writes

    /// Makes a caller's change, which can be repeated safely by its request id.
    func write<Asked: RememberedChange>(
        _ change: Asked,
        _ encode: @escaping Encode<ModifyOutcome>
    ) throws where Asked.Outcome == ModifyOutcome {
        let asker = try rememberedAsker()
        let wait = try calls.replicaWait(header, asker.scope)
        calls.submit(call, WriteRequest(change, for: asker), wait, encode)
    }

    /// Makes a caller's change of records, which can be repeated safely by its request id.
    func write(_ change: ModifyRecords, _ encode: @escaping Encode<ModifyOutcome>) throws {
        let asker = try rememberedAsker()
        let wait = try calls.replicaWait(header, asker.scope)
        calls.submit(call, WriteRequest(change, for: asker), wait, encode)
    }

    private func rememberedAsker() throws(ServiceError) -> Asker {
        guard let requestID = RequestID(header.requestID) else {
            throw ServiceError.requestIDNeeded
        }
        return Asker(
            scope: try scope(),
            caller: caller,
            credential: identity.credential,
            requestID: requestID,
            digest: Asker.digest(of: message, method: header.method)
        )
    }

    /// Makes a change that no request id remembers: doing it again is harmless.
    func change<Asked: ContainerChange>(
        _ change: Asked,
        _ encode: @escaping Encode<Asked.Outcome>
    ) throws {
        calls.submit(call, WriteRequest(change, for: asker(in: try scope())), encode)
    }

    /// Makes a change of the cluster: doing it again is harmless.
    func change<Asked: ClusterChange>(
        _ change: Asked,
        _ encode: @escaping Encode<Asked.Outcome>
    ) {
        calls.submit(call, WriteRequest(change, for: asker(in: .cluster)), encode)
    }

    private func asker(in scope: ScopeID) -> Asker {
        Asker(scope: scope, caller: caller, credential: identity.credential)
    }

    /// Queues a change beside the call's own.
    ///
    /// Returns false if too many writes are waiting.
    func queue<Asked: ContainerChange>(
        _ change: Asked,
        in scope: ScopeID,
        _ token: CallToken,
        byteCount: Int,
        then completion: @escaping @Sendable (Result<Asked.Outcome, ServiceError>) -> Void
    ) -> Bool {
        let request = WriteRequest(change, for: asker(in: scope))
        return queue(StoreGate.Request(request, token, then: completion), byteCount: byteCount)
    }

    /// Queues work for the writer beside the call's own request.
    ///
    /// Returns false if too many writes are waiting.
    func queue(_ work: any WriterWork, byteCount: Int) -> Bool {
        let loop = calls.link.loop
        return node.gate.submit(StoreGate.QueuedWrite(work, byteCount: byteCount, loop: loop))
    }

    // MARK: Answers

    /// Gives the whole answer; on the loop.
    func finish(_ messages: [Bytes]) { calls.finish(call.stream, messages) }

    /// Ends the call with an error; on the loop.
    func fail(_ error: ServiceError) { calls.fail(call.stream, error) }

    /// Whether the call has not ended yet; on the loop.
    var isInProgress: Bool { calls[call.stream] != nil }

    /// Runs work on the connection's loop, unless the connection has ended; from any thread.
    func onLoop(_ work: @escaping @Sendable () -> Void) {
        calls.onLoop { _ in work() }
    }

    /// Answers when a task of the node is done.
    func task(_ work: @escaping @Sendable (Node, TaskTime) async throws -> Bytes) {
        taskInParts { [try await work($0, $1)] }
    }

    /// Answers with several messages when a task of the node is done.
    func taskInParts(_ work: @escaping @Sendable (Node, TaskTime) async throws -> [Bytes]) {
        calls.answer(call.stream, work)
    }

    /// Answers with what a task of the node tells while it works, and with its last message; a call
    /// that names no time has no deadline.
    func task(telling work: @escaping TellingTask) {
        calls.answer(call, telling: work)
    }

    // MARK: What the caller sends

    /// Passes the caller's further messages to `input`.
    func take(_ input: any CallInput) {
        calls[call.stream]?.input = input
    }

    /// Allows the caller to send so many more bytes.
    func sendCredit(_ byteCount: Int) {
        calls.sendCredit(byteCount, on: call.stream)
    }

    /// Counts bytes of this connection that wait for a thread of the store.
    func queued(_ byteCount: Int) -> QueuedBytes { QueuedBytes(byteCount, in: calls.room) }
}
