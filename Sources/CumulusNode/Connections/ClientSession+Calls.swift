// What each call does: which request is read from it, where it runs, and what is answered.
//
// Reads are tried on the event loop with what is in memory, and go to a reader thread where that
// doesn't decide; writes are queued for the writer. hot: once per call.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

extension ClientSession {
    /// Begins a call that was entered into `calls`.
    func dispatch(_ call: Call) {
        do {
            guard call.message.count <= limits.requestBytes else {
                throw ServiceError(
                    .limitExceeded,
                    .tooLarge,
                    """
                    the request has \(call.message.count) bytes; the limit is \
                    \(limits.requestBytes), send it in parts
                    """
                )
            }
            guard let method = Method(rawValue: call.header.method) else {
                throw ServiceError(
                    .invalidArguments,
                    .protocolError,
                    "method \(call.header.method) is not known to this server"
                )
            }
            // What a caller saw now could be gone with this node.
            if showsNothing { throw Node.isLeaving }
            // Chunks are nothing that somebody saw elsewhere, and are sent behind the call at once.
            guard try method == .assetsUpload || isCausal(call) else { return }
            try begin(method, call)
        } catch let error as ServiceError {
            fail(call.stream, error)
        } catch let error as MalformedMessage {
            fail(call.stream, ServiceError(.invalidArguments, .protocolError, error.message))
        } catch {
            fail(call.stream, ServiceError(.internalError, "\(error)"))
        }
    }

    private func begin(_ method: Method, _ call: Call) throws {
        let parser = RequestParser(caller: identity.caller, limits: limits)
        guard identity.isPeer == method.isPeers else {
            throw ServiceError(
                .permissionFailure,
                "this call is for \(identity.isPeer ? "clients" : "nodes of the cluster") only"
            )
        }
        switch method {
        case .recordsFetch:
            let request = try parser.fetchRecords(call.message)
            try read(call) { session, scope, caller, view in
                try session.page(of: request, from: 0, scope, caller, view)
            }
        case .recordsModify:
            let request = try parser.modifyRecords(call.message)
            try write(call, .modifyRecords(request)) { session, answer in
                guard case .modified(var outcome) = answer else { return [] }
                let shown = outcome.limitServerRecords(to: .max)
                if shown > 0, !session.room.hasRoom(for: shown) {
                    outcome.limitServerRecords(to: 0)
                }
                return Answers.modified(outcome, request, limit: session.limits.answerBytes)
            }
        case .recordsList:
            let request = try parser.listRecords(call.message)
            try list(call) { session, scope, caller, view in
                let zone = try request.open(scope, by: caller, in: view.reader)
                return try session.page(of: request, zone, from: nil, view.reader)
            }
        case .recordsListConflicts:
            try list(call) { session, scope, caller, view in
                try session.conflicts(of: scope, caller, before: nil, view.reader)
            }
        case .recordsQuery: try query(call)
        case .zonesList:
            let request = try parser.listZones(call.message)
            try read(call) { _, scope, caller, view in
                Page(message: Answers.zones(try request.run(scope, by: caller, in: view.reader)))
            }
        case .zonesFetch:
            let request = try parser.fetchZones(call.message)
            try read(call) { _, scope, caller, view in
                Page(message: Answers.fetched(try request.run(scope, by: caller, in: view.reader)))
            }
        case .zonesModify:
            let request = try parser.modifyZones(call.message)
            try write(call, .modifyZones(request)) { _, answer in
                guard case .modified(let outcome) = answer else { return [] }
                return [Answers.modified(outcome, request)]
            }
        case .changesDatabase: try fetchDatabaseChanges(call)
        case .changesZone: try fetchZoneChanges(call)
        case .peersAsset: try servePeerAsset(call)
        case .peersWanted: try serveWantedAssets(call)
        case .peersPull, .peersState, .peersReport:
            try servePeer(method, call.stream, call.header, call.message)
        case .schemaRead, .schemaImport, .schemaDeploy, .schemaReset:
            try serveSchema(method, call)
        case .indexesList, .indexesRebuild, .indexesVerify: try serveIndexes(method, call)
        case .assetsPrepare: try prepareAssets(call)
        case .assetsUpload: try beginUpload(call)
        case .assetsDownload: try downloadAsset(call)
        case .accountsWhoAmI:
            let role = identity.caller.role == .operator ? WireRole.operator : .client
            let caller = WireCaller(role: role.rawValue, user: identity.caller.user)
            finish(call.stream, [caller.encoded()])
        case .operatorStatus, .operatorListContainers, .operatorCreateContainer,
            .operatorListUsers, .operatorAddUser, .operatorAddToken, .operatorListMembers,
            .operatorRemoveMember, .operatorBackUp, .operatorTruncate, .operatorVerify,
            .operatorLeave, .operatorListMergePolicies, .operatorSetMergePolicy,
            .operatorZoneStatus:
            try checkOperator()
            try administer(method, call)
        }
    }

    func checkOperator() throws(ServiceError) {
        guard identity.caller.role == .operator else {
            throw ServiceError(
                .permissionFailure,
                "only an operator may do that; connect with the node's operator token"
            )
        }
    }

    // MARK: Reads

    typealias Read =
        @Sendable (
            ClientSession, ScopeNumber, Caller, StoreView
        ) throws -> Page

    /// Answers from memory at once, or later from the disk.
    private func read(_ call: Call, _ work: @escaping Read) throws {
        let stream = call.stream
        let scope = try callScope(call.header)
        node.meter.engineCalls.add(1)
        do {
            let number = try scopeNumber(scope, reach: .memory)
            let view = node.gate.latestView(reach: .memory)
            let page = try work(self, number, identity.caller, view)
            guard room.hasRoom(for: page.message.count) else {
                return readFromDisk(stream, scope, work)
            }
            finish(stream, page)
        } catch EngineError.notInMemory {
            readFromDisk(stream, scope, work)
        } catch ReadFailure.engine(.notInMemory) {
            readFromDisk(stream, scope, work)
        } catch {
            throw serviceError(error)
        }
    }

    func readFromDisk(_ stream: UInt32, _ scope: ScopeID, _ work: @escaping Read) {
        let caller = identity.caller
        readLater(stream) { [self] in
            let number = try scopeNumber(scope, reach: .disk)
            return try work(self, number, caller, node.gate.latestView(reach: .disk))
        }
    }

    /// Reads the next page of an answer, unless it is being read or there is none.
    func readOn(_ stream: UInt32) {
        guard let call = calls[stream], !call.waitsForRoom, let next = call.next else { return }
        call.next = nil
        call.retry = nil
        readLater(stream, next)
    }

    /// Reads a page on a reader thread, and comes back with it or the error.
    ///
    /// A page for which the node has no room is let go of, and read again after a pause: so many
    /// callers that ask for much, and take nothing, can't fill the memory. Peers are no strangers:
    /// each has room of its own, and what is read for it is sent.
    func readLater(_ stream: UInt32, _ read: @escaping NextPage) {
        guard let call = calls[stream] else { return }
        if identity.isPeer { return readInTurn(stream, read) }
        readNow(call, stream, read)
    }

    func readNow(_ call: CallState, _ stream: UInt32, _ read: @escaping NextPage) {
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
                return comeBack { $0.postpone(stream, read) }
            }
            node.meter.engineCalls.add(1)
            do {
                let page = try read()
                guard isPeer || room.hasRoom(for: page.message.count) else {
                    return comeBack { $0.postpone(stream, read) }
                }
                send(page, on: stream)
            } catch is NotHereYet {
                comeBack { $0.postpone(stream, read) }
            } catch {
                let error = serviceError(error)
                comeBack { $0.fail(stream, error) }
            }
        }
        let isQueued =
            call.readsAssets
            ? node.assets.perform { _ in work() }
            : node.gate.read(isPeer ? .prompt : .bulk, work)
        if isQueued { return }
        if isPeer { pagesBeingRead -= 1 }
        fail(stream, overloaded("too many reads are waiting"))
    }

    /// Tells the loop what became of a page that isn't sent; from a reader thread.
    private func comeBack(_ work: @escaping @Sendable (ClientSession) -> Void) {
        link.loop.execute { [self] in pageCame(work) }
    }

    private static let firstPause: Int64 = 50
    private static let longestPause: Int64 = 1_000

    private func postpone(_ stream: UInt32, _ read: @escaping NextPage) {
        guard let call = calls[stream] else { return }
        let longer = call.pause.map { min(2 * $0, ClientSession.longestPause) }
        let pause = longer ?? ClientSession.firstPause
        call.next = read
        call.pause = pause
        call.retry = node.environment.now() + pause
    }

    /// The records from the `start`-th on, until the message is large enough.
    private func page(
        of request: FetchRecords,
        from start: Int,
        _ scope: ScopeNumber,
        _ caller: Caller,
        _ view: StoreView
    ) throws -> Page {
        let results = try request.run(
            scope,
            by: caller,
            in: view.reader,
            zones: view.zones,
            from: start,
            byteLimit: limits.answerBytes,
            damage: reportDamage
        )
        let end = start + results.count
        let message = Answers.fetched(results, for: request.ids[start..<end])
        guard end < request.ids.count else { return Page(message: message) }
        let rest = StoreView(
            reader: view.reader.reaching(.disk),
            zones: view.zones,
            schemas: view.schemas
        )
        return Page(message: message) { [self] in
            try page(of: request, from: end, scope, caller, rest)
        }
    }

    /// The scope of the connection, or the one that an operator's call names.
    func callScope(_ header: CallHeader) throws(ServiceError) -> ScopeID {
        if let scope = identity.scope { return scope }
        return try scope(header.container, header.environment)
    }

    private func scopeNumber(_ scope: ScopeID, reach: Reach) throws -> ScopeNumber {
        if scope == identity.scope, let number = identity.scopeNumber { return number }
        guard let number = try node.gate.latest(reach: reach).scope(scope) else {
            throw Containers.unknown(scope.container)
        }
        return number
    }

    /// What the caller is told about a failed read; damage goes to the log as well.
    func serviceError(_ error: any Error) -> ServiceError {
        switch error {
        case let error as ServiceError: return error
        case ReadFailure.service(let error): return error
        case ReadFailure.engine(let error): return serviceError(error)
        case EngineError.corrupt(let what):
            reportDamage(what)
            return .damagedRow
        default:
            node.environment.logger.error("a read failed", metadata: ["error": "\(error)"])
            return ServiceError(.internalError, "the node could not read its store")
        }
    }

    private func reportDamage(_ what: String) {
        node.meter.damagedRows.add(1)
        node.environment.logger.error("a damaged row was found", metadata: ["row": "\(what)"])
    }

    // MARK: Lists

    /// Begins a stream of pages, from one snapshot.
    private func list(_ call: Call, _ first: @escaping Read) throws {
        let stream = call.stream
        let scope = try callScope(call.header)
        let caller = identity.caller
        readLater(stream) { [self] in
            let number = try scopeNumber(scope, reach: .disk)
            return try first(self, number, caller, node.gate.latestView(reach: .disk))
        }
    }

    private func page(
        of request: ListRecords,
        _ zone: FoundZone,
        from start: Bytes?,
        _ snapshot: ReadTransaction
    ) throws -> Page {
        let read = try request.page(
            of: zone,
            from: start,
            byteLimit: limits.pageBytes,
            in: snapshot
        )
        let message = Answers.listed(read.records, of: request.zone)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) { [self] in
            try page(of: request, zone, from: next, snapshot)
        }
    }

    private func conflicts(
        of scope: ScopeNumber,
        _ caller: Caller,
        before end: Bytes?,
        _ snapshot: ReadTransaction
    ) throws -> Page {
        let read = try ListConflicts().page(
            of: scope,
            by: caller,
            before: end,
            byteLimit: limits.pageBytes,
            in: snapshot
        )
        let message = Answers.conflicts(read.items)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) { [self] in
            try conflicts(of: scope, caller, before: next, snapshot)
        }
    }

    // MARK: Writes

    typealias Encode = @Sendable (ClientSession, WriteRequest.Answer) -> [Bytes]

    /// A caller's change: retried safely by its request id.
    private func write(
        _ call: Call,
        _ operation: WriteRequest.Operation,
        _ encode: @escaping Encode
    ) throws {
        guard let requestID = RequestID(call.header.requestID) else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "this call needs a request id of 16 bytes, so that it can be repeated safely"
            )
        }
        let request = WriteRequest(
            operation,
            scope: try callScope(call.header),
            caller: identity.caller,
            requestID: requestID,
            digest: WriteRequest.digest(of: call.message, method: call.header.method)
        )
        submit(call, request, try replicaWait(call, request.scope), encode)
    }

    private func submit(
        _ call: Call,
        _ request: WriteRequest,
        _ wait: ReplicaWait? = nil,
        _ encode: @escaping Encode
    ) {
        let stream = call.stream
        guard let state = calls[stream] else { return }
        let queued = queue(state)
        let work = StoreGate.Work.request(request, state.token) { [self] answer in
            queued.release()
            run { session in
                switch answer {
                case .success(let answer):
                    let messages = encode(session, answer)
                    if let wait, case .modified(let outcome) = answer {
                        session.finish(stream, messages, of: outcome, wait)
                    } else {
                        session.finish(stream, messages)
                    }
                case .failure(let error): session.fail(stream, error)
                }
            }
        }
        let write = StoreGate.QueuedWrite(work, byteCount: call.message.count, loop: link.loop)
        node.environment.logger.trace(
            "a write is queued",
            metadata: ["request": "\(call.header.requestID.hex)"]
        )
        if !node.gate.submit(write) { fail(stream, overloaded("too many writes are waiting")) }
    }

    // MARK: Operators

    private func administer(_ method: Method, _ call: Call) throws {
        switch method {
        case .operatorStatus:
            readCluster(call) { [node] in Page(message: try node.status($0).encoded()) }
        case .operatorListContainers:
            readCluster(call) {
                Page(try Containers.all(in: $0)[...], encode: OperatorMessages.containers)
            }
        case .operatorListUsers:
            let container = try containerOfUsers(call.header)
            readCluster(call) { reader in
                let users = try Users.all(in: reader).map { WireUser($0, in: container) }
                return Page(users[...], encode: OperatorMessages.users)
            }
        case .operatorCreateContainer:
            let raw = try OperatorMessages.containerName(wire: call.message)
            let name = try Names.checkIdentifier(raw[...], "container")
            change(call, .createContainer(name)) { _, answer in
                guard case .container(let existed) = answer else { return [] }
                return [OperatorMessages.container(existed: existed)]
            }
        case .operatorAddUser:
            let raw = try OperatorMessages.newUserName(wire: call.message)
            let name = try Names.checkIdentifier(raw[...], "user name")
            let container = try containerOfUsers(call.header)
            var dice = NodeDice(node.environment)
            change(call, .addUser(name: name, id: dice.bytes(16))) { _, answer in
                guard case .user(let user, let existed) = answer else { return [] }
                return [OperatorMessages.user(WireUser(user, in: container), existed: existed)]
            }
        case .operatorAddToken:
            let raw = try OperatorMessages.tokenUserName(wire: call.message)
            let name = try Names.checkIdentifier(raw[...], "user name")
            var dice = NodeDice(node.environment)
            let token = Bytes("cumulus_".utf8) + Bytes(dice.bytes(32).hex.utf8)
            change(call, .addToken(token, user: name)) { _, _ in [OperatorMessages.token(token)] }
        case .operatorListMembers:
            // One member may say something of thousands of containers.
            readCluster(call) { [node] in
                Page(try node.members($0)[...], perMessage: 1, encode: OperatorMessages.members)
            }
        case .operatorRemoveMember:
            let nodeID = try OperatorMessages.removedMember(wire: call.message)
            guard nodeID != node.nodeID else {
                throw ServiceError(
                    .invalidArguments,
                    "a node does not take itself off the list; ask another node to do it"
                )
            }
            change(call, .removeMember(nodeID)) { _, answer in
                guard case .member(let existed) = answer else { return [] }
                return [OperatorMessages.member(existed: existed)]
            }
        case .operatorBackUp:
            let raw = try OperatorMessages.backUpPath(wire: call.message)
            let path = try Names.checkText(raw[...], "path")
            readCluster(call) { [node] _ in
                let made = try node.backUp(to: path)
                let message = OperatorMessages.backUp(bytes: made.bytes, files: made.files)
                return Page(message: message)
            }
        case .operatorTruncate:
            change(call, .truncate) { _, answer in
                guard case .truncated(let scopes) = answer else { return [] }
                return [OperatorMessages.truncated(scopes: scopes)]
            }
        case .operatorVerify:
            let request = try VerifyRequest(wire: call.message)
            answer(call) { node, time in
                try await node.verify(with: request.nodeID, repairs: request.repairs) {
                    time.refusal
                }.encoded()
            }
        case .operatorLeave:
            answer(call) { node, time in
                try await node.leave(by: time.end) { time.token.cancellation }
                return []
            }
        case .operatorListMergePolicies: try listMergePolicies(call)
        case .operatorSetMergePolicy: try setMergePolicy(call)
        case .operatorZoneStatus:
            try list(call) { session, scope, _, view in
                let place = try ZoneDigest.Place(scope, in: view.reader)
                return try session.zoneStatus(from: place, view.reader)
            }
        default: throw ServiceError(.internalError, "this is not an operator's call")
        }
    }

    /// How long a task of the node may work for a call; some of the call's time is left to say so.
    struct TaskTime: Sendable {
        fileprivate let node: Node
        let token: CallToken
        let end: Instant

        /// Why it is to end: its time is up, or nobody waits any more; nil: it may go on.
        var refusal: ServiceError? { token.refusal(now: node.environment.now(), by: end) }
    }

    /// Answers when a task of the node is done.
    func answer(
        _ call: Call,
        _ work: @escaping @Sendable (Node, TaskTime) async throws -> Bytes
    ) {
        guard let state = calls[call.stream] else { return }
        let now = node.environment.now()
        let milliseconds = (state.token.deadline.milliseconds - now.milliseconds) * 9 / 10
        let time = TaskTime(node: node, token: state.token, end: now + milliseconds)
        Task { [node, weak self] in
            let outcome: Result<Bytes, any Error>
            do {
                outcome = .success(try await work(node, time))
            } catch {
                outcome = .failure(error)
            }
            self?.resume { session in
                switch outcome {
                case .success(let message): session.finish(call.stream, [message])
                case .failure(let error): session.fail(call.stream, session.serviceError(error))
                }
            }
        }
    }

    /// Zones in one message: it fits into a frame, whatever their names are.
    private static let zonesPerPage = 500

    private func zoneStatus(
        from place: ZoneDigest.Place,
        _ snapshot: ReadTransaction
    ) throws -> Page {
        let limit = ClientSession.zonesPerPage
        let read = try ZoneDigest.page(from: place, limit: limit, in: snapshot)
        let message = Answers.zoneStatus(read.zones)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) { [self] in
            try zoneStatus(from: next, snapshot)
        }
    }

    private func listMergePolicies(_ call: Call) throws {
        let scope = try callScope(call.header)
        readFromDisk(call.stream, scope) { _, number, _, view in
            let policies = try MergePolicies.all(in: number, view.reader)
            return Page(message: WireMergePolicy.answer(policies.map(WireMergePolicy.init)))
        }
    }

    private func setMergePolicy(_ call: Call) throws {
        let entry = try MergePolicies.Entry(checking: WireMergePolicy(wire: call.message))
        let scope = try callScope(call.header)
        change(call, .setMergePolicy(entry), in: scope) { _, answer in
            guard case .mergePolicy(let existed) = answer else { return [] }
            return [WireMergePolicy.answer(existed: existed)]
        }
    }

    /// A change that is not remembered by a request id: doing it again is harmless.
    func change(
        _ call: Call,
        _ operation: WriteRequest.Operation,
        in scope: ScopeID = .cluster,
        _ encode: @escaping Encode
    ) {
        let request = WriteRequest(operation, scope: scope, caller: identity.caller)
        submit(call, request, nil, encode)
    }

    private func readCluster(
        _ call: Call,
        _ work: @escaping @Sendable (ReadTransaction) throws -> Page
    ) {
        readFromDisk(call.stream, .cluster) { _, _, _, view in try work(view.reader) }
    }

    /// The container in which users' record names are wanted; none: without them.
    private func containerOfUsers(_ header: CallHeader) throws(ServiceError) -> String? {
        if header.container.isEmpty { return nil }
        return try Names.checkIdentifier(header.container[...], "container")
    }
}

extension WireUser {
    fileprivate init(_ user: Users.User, in container: String?) {
        self.init(
            name: user.name,
            id: user.id,
            created: user.created,
            recordName: container.map { user.recordName(in: $0) } ?? ""
        )
    }
}
