// Reading for a call: at once with what is in memory, or later on a reader thread, page by page.
//
// Called by `CallContext` and `OpenCalls`. A page for which the node has no room is dropped and
// read again after a pause, or the call refused, so that many callers that ask for much and take
// nothing can't fill the memory. Peers have room of their own: what is read for them is sent. What
// was found in memory counts only if no other process has the store by now, see
// `StorageEngine.checkTerm`. hot: once per call.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

/// One state of the store, and for whom it is read.
struct ReadContext: Sendable {
    let node: Node
    let caller: Caller
    let scope: ScopeID
    let number: ScopeNumber
    /// Why a database is closed to the caller by now, see `AccessLease`.
    let mayUse: @Sendable (DatabaseScope) -> ServiceError?
    var view: StoreView

    var reader: ReadTransaction { view.reader }
    var limits: Limits { node.configuration.limits }

    /// The newest state, by which a later page of an answer asks anew for its caller's rights.
    ///
    /// Throws if the database is closed to the caller by now.
    func newest(for database: DatabaseScope) throws(ServiceError) -> ReadContext {
        if let refusal = mayUse(database) { throw refusal }
        var context = self
        context.view = node.gate.latestView(reach: .disk)
        return context
    }
}

/// Reads the first page of an answer.
typealias Read = @Sendable (ReadContext) throws -> Page

/// Thrown where part of an asset has not reached this node: the page is read again after a while.
struct NotHereYet: Error {}

extension OpenCalls {
    /// Answers from memory at once, or later from the disk.
    func read<Content>(
        _ stream: UInt32,
        _ scope: ScopeID,
        _ first: @escaping @Sendable (ReadContext) throws -> Part<Content>,
        _ outlet: Outlet<Content>
    ) throws {
        node.meter.engineCalls.add(1)
        do {
            let context = try readContext(of: scope, identity, reach: .memory)
            let page = try first(context).page(outlet, node)
            try node.gate.engine.checkTerm(.memory)
            if room.hasRoom(for: page.byteCount) { return finish(stream, page) }
        } catch EngineError.notInMemory {
        } catch ReadFailure.engine(.notInMemory) {
        } catch {
            throw node.serviceError(error)
        }
        readFromDisk(stream, scope) { try first($0).page(outlet, $0.node) }
    }

    /// Answers from the disk: the first page is read in the newest state, and each page says how to
    /// read the one after it.
    func readFromDisk(_ stream: UInt32, _ scope: ScopeID, _ work: @escaping Read) {
        let identity = identity
        readLater(stream) { [self] in
            try work(try readContext(of: scope, identity, reach: .disk))
        }
    }

    private func readContext(
        of scope: ScopeID,
        _ identity: Identity,
        reach: Reach
    ) throws -> ReadContext {
        let number = try scopeNumber(scope, reach: reach)
        return ReadContext(
            node: node,
            caller: identity.caller,
            scope: scope,
            number: number,
            mayUse: node.mayUse(by: identity),
            view: node.gate.latestView(reach: reach)
        )
    }

    private func scopeNumber(_ scope: ScopeID, reach: Reach) throws -> ScopeNumber {
        if scope == identity.scope, let number = identity.scopeNumber { return number }
        let reader = node.gate.latest(reach: reach)
        if scope == .cluster, let number = try reader.scope(scope) { return number }
        return try Containers.number(of: scope, in: reader)
    }

    // MARK: Pages

    /// Reads the next page of an answer, unless it is being read or has to wait.
    func readOn(_ stream: UInt32) {
        guard let call = self[stream], let next = call.takePage() else { return }
        let fromMemory = call.fromMemory
        call.fromMemory = nil
        // Credit is a promise; what the socket has not taken is in memory.
        if call.isFollowed, frames.unsentBytes > limits.answerBytes {
            return postpone(stream, next)
        }
        if let fromMemory, readAtOnce(stream, fromMemory) { return }
        readLater(stream, next)
    }

    /// Reads a page on the loop, and goes on with it or the error.
    ///
    /// Returns false if a reader thread has to read it: it is not in memory, or has no room.
    private func readAtOnce(_ stream: UInt32, _ read: NextPage) -> Bool {
        // Streams of a peer that wait for room come first.
        if identity.isPeer, !streamsWithoutRoom.isEmpty || !peerHasRoom { return false }
        node.meter.engineCalls.add(1)
        do {
            let page = try read()
            try node.gate.engine.checkTerm(.memory)
            guard identity.isPeer || room.hasRoom(for: page.byteCount) else { return false }
            finish(stream, page)
        } catch EngineError.notInMemory {
            return false
        } catch ReadFailure.engine(.notInMemory) {
            return false
        } catch {
            fail(stream, node.serviceError(error))
        }
        return true
    }

    /// Reads a page on a reader thread, and comes back with it or the error.
    func readLater(_ stream: UInt32, _ read: @escaping NextPage) {
        guard let call = self[stream] else { return }
        if identity.isPeer { return readInTurn(stream, read) }
        readNow(call, stream, read)
    }

    private func readNow(_ call: OpenCall, _ stream: UInt32, _ read: @escaping NextPage) {
        let (token, isEndless, isPeer) = (call.token, call.isEndless, identity.isPeer)
        // Counted a second time meanwhile: pages that follow are read for the same request.
        let queued = QueuedBytes(call.requestBytes, in: room)
        let work: @Sendable () -> Void = { [self] in
            defer { queued.release() }
            let now = node.environment.now()
            if let refusal = isEndless ? token.cancellation : token.refusal(now: now) {
                return comeBack { $0.fail(stream, refusal) }
            }
            guard isPeer || room.hasRoom(for: 0) else {
                return comeBack { $0.waitForRoom(stream, read) }
            }
            node.meter.engineCalls.add(1)
            do {
                let page = try read()
                try node.gate.engine.checkTerm(.disk)
                guard isPeer || room.hasRoom(for: page.byteCount) else {
                    return comeBack { $0.waitForRoom(stream, read) }
                }
                send(page, on: stream)
            } catch is NotHereYet {
                comeBack { $0.postpone(stream, read) }
            } catch {
                let error = node.serviceError(error)
                comeBack { $0.fail(stream, error) }
            }
        }
        let isQueued =
            call.readsAssets
            ? node.assets.perform { _ in work() }
            : node.gate.read(isPeer ? .prompt : .bulk(identity.readCaller), work)
        if isQueued { return }
        if isPeer { pagesBeingRead -= 1 }
        // One change may wake very many streams; some of them wait a little longer.
        if call.isFollowed, call.hasAnswered { return postpone(stream, read) }
        fail(stream, .tooManyReads)
    }

    /// Brings a page from a reader thread, which does not wait for this loop.
    private func send(_ page: Page, on stream: UInt32) {
        let byteCount = page.byteCount
        room.addArriving(byteCount)
        link.loop.execute { [self] in
            room.addArriving(-byteCount)
            pageCame { $0.finish(stream, page) }
        }
    }

    /// Tells the loop why a page is not sent; from a reader thread.
    private func comeBack(_ work: @escaping @Sendable (OpenCalls) -> Void) {
        link.loop.execute { [self] in pageCame(work) }
    }

    private func pageCame(_ work: (OpenCalls) -> Void) {
        if identity.isPeer { pagesBeingRead -= 1 }
        run(work)
    }

    private static let firstPause: Int64 = 50
    private static let longestPause: Int64 = 1_000

    /// Reads a page again later, since the node has no room for it.
    ///
    /// A call of which nothing was answered yet doesn't wait for long: its caller may try another
    /// node.
    private func waitForRoom(_ stream: UInt32, _ read: @escaping NextPage) {
        guard let call = self[stream] else { return }
        if !call.hasAnswered, call.pause == OpenCalls.longestPause {
            return fail(stream, .nodeFull(limits))
        }
        postpone(stream, read)
    }

    private func postpone(_ stream: UInt32, _ read: @escaping NextPage) {
        guard let call = self[stream] else { return }
        let longer = call.pause.map { min(2 * $0, OpenCalls.longestPause) }
        let pause = longer ?? OpenCalls.firstPause
        call.pause = pause
        call.step = .retry(read, at: node.environment.now() + pause)
    }

    // MARK: Room for a peer's pages

    /// What pages take that are read for one peer at a time: nobody knows before how large a page
    /// is, so each counts as the largest frame.
    private var pageRoom: Int { 2 * limits.frameBytes }

    /// Whether a page may be read for a peer: it has taken enough of what was read for it before.
    ///
    /// However many scopes it pulls, and however little it reads, the node holds at most `pageRoom`
    /// for it.
    private var peerHasRoom: Bool {
        let held = waitingBytes + frames.unsentBytes
        return held < limits.peerBytes
            && held + (pagesBeingRead + 1) * limits.frameBytes <= pageRoom
    }

    /// Reads a page for a peer when its stream's turn comes: first come, first served, as room
    /// allows.
    private func readInTurn(_ stream: UInt32, _ read: @escaping NextPage) {
        guard let call = self[stream] else { return }
        call.step = .turn(read)
        streamsWithoutRoom.append(stream)
        readForPeer()
    }

    /// Reads the pages that a peer has room for.
    func readForPeer() {
        while !streamsWithoutRoom.isEmpty, peerHasRoom {
            let stream = streamsWithoutRoom.removeFirst()
            guard let call = self[stream], case .turn(let read) = call.step else { continue }
            call.step = .working
            pagesBeingRead += 1
            readNow(call, stream, read)
        }
    }
}
