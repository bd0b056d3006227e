// What a session does for another node of the cluster: it sends the commits that the peer lacks,
// and goes on as they come; it sends rows where its log doesn't reach; it keeps the peer's reports.
//
// Each batch is read on a reader thread when the peer has room for it. Where the log is at its end,
// the stream waits for the bell.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire

extension ClientSession {
    /// Whether a HELLO proves that its sender belongs to this cluster.
    func isPeer(_ hello: Hello) -> Bool {
        guard let proof = node.peerProof, hello.clusterID == proof.clusterID,
            hello.nodeID.count == node.nodeID.count
        else { return false }
        return proof.isRight(
            hello.proof,
            .dialler,
            serverNonce: nonce,
            diallerNonce: hello.nonce,
            nodeID: hello.nodeID,
            certificate: link.certificate
        )
    }

    /// This node's own proof, for a peer that gave one.
    func proof(for hello: Hello) -> Bytes {
        node.peerProof?.make(
            .listener,
            serverNonce: nonce,
            diallerNonce: hello.nonce,
            nodeID: node.nodeID,
            certificate: link.certificate
        ) ?? []
    }

    /// The scope that a peer means; the cluster's own has no container.
    func peerScope(_ header: CallHeader) throws -> ScopeID {
        header.container.isEmpty ? .cluster : try scope(header.container, header.environment)
    }

    /// A call of a peer.
    func servePeer(_ method: Method, _ stream: UInt32, _ header: CallHeader, _ message: Bytes)
        throws
    {
        let scope = try peerScope(header)
        switch method {
        case .peersPull: try pull(stream, scope, try PullRequest(wire: message))
        case .peersState: try handOver(stream, scope, try StateRequest(wire: message))
        case .peersReport: try note(stream, scope, try ReportRequest(wire: message))
        default: throw ServiceError(.internalError, "this is not a peer's call")
        }
    }

    // MARK: Commits

    private func pull(_ stream: UInt32, _ scope: ScopeID, _ request: PullRequest) throws {
        makeEndless(stream)
        readLater(stream) { [self] in
            guard let number = try node.gate.latest(reach: .disk).scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            let run = request.run == 0 ? nil : Incarnation(request.run)
            let feed = OutboundFeed(
                scope: number,
                position: request.vector,
                run: run,
                elsewhere: request.elsewhere.map { Incarnation($0) }
            )
            return try page(of: feed, scope, number)
        }
    }

    /// The next commits of a feed; how to go on is part of the page.
    ///
    /// - Parameter asked: How often the peer was asked to report; nil: it was sent nothing yet.
    private func page(
        of feed: OutboundFeed,
        _ scope: ScopeID,
        _ number: ScopeNumber,
        asked: UInt64? = nil
    ) throws -> Page {
        var feed = feed
        let rings = node.gate.bell.count(of: number)
        let (wantsReport, asks) = (node.replicas.isWanted(scope), node.replicas.asks(scope))
        let (snapshot, vector) = try node.gate.latestVector(of: number)
        guard let batch = try feed.next(snapshot, vector, byteLimit: limits.pageBytes) else {
            throw ServiceError(
                .changeTokenExpired,
                .logTruncated,
                "the log of this node begins later than that; take its state instead"
            )
        }
        let response = PullResponse(
            commits: batch.commits,
            vector: asked == nil ? batch.vector : batch.news,
            wantsReport: wantsReport
        )
        let rest = feed
        return Page(
            message: MessagePieces(response.encoded()),
            next: { [self] in try page(of: rest, scope, number, asked: asks) },
            idle: batch.isAtEnd ? (number, rings) : nil,
            isSilent: batch.commits.isEmpty && batch.news.isEmpty && asked == asks
        )
    }

    // MARK: State

    /// A snapshot that is handed over; a node has few of them open at a time.
    private final class Lease: Sendable {
        private let meter: NodeMeter
        static let limit = 2

        init?(_ meter: NodeMeter) {
            self.meter = meter
            meter.statesHandedOver.add(1)
            if meter.statesHandedOver.value > Lease.limit { return nil }
        }

        deinit {
            meter.statesHandedOver.add(-1)
        }
    }

    private func handOver(_ stream: UInt32, _ scope: ScopeID, _ request: StateRequest) throws {
        guard request.format == OpenStore.formatVersion else {
            throw ServiceError(
                .incompatibleVersion,
                """
                this node keeps rows in format \(OpenStore.formatVersion), not in \
                \(request.format); run the same release on both
                """
            )
        }
        let stretches = try stretches(of: request)
        makeEndless(stream, patience: limits.stalledStateMilliseconds)
        readLater(stream) { [self] in
            guard let lease = Lease(node.meter) else {
                throw overloaded("this node hands its state to \(Lease.limit) others already")
            }
            let snapshot = node.gate.latest(reach: .disk)
            guard let number = try snapshot.scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            let source = StateSource(snapshot, scope: number)
            let feed =
                request.compares
                ? try StateFeed(source, comparing: stretches.isEmpty ? nil : stretches)
                : try StateFeed(source, to: request.vector)
            return try page(of: feed, lease)
        }
    }

    private func stretches(of request: StateRequest) throws -> [Stretch] {
        guard request.stretches.isEmpty || request.compares,
            request.stretches.count <= ClientSession.mostStretches
        else {
            throw ServiceError(
                .invalidArguments,
                .protocolError,
                "at most \(ClientSession.mostStretches) stretches, and only to compare them"
            )
        }
        do throws(MalformedBytes) {
            let stretches = try request.stretches.map { (stretch) throws(MalformedBytes) in
                try Stretch(stretch)
            }
            guard Stretch.areInOrder(stretches) else {
                throw MalformedBytes("the stretches overlap, or don't ascend")
            }
            return stretches
        } catch {
            throw ServiceError(.invalidArguments, .protocolError, error.reason)
        }
    }

    private static let mostStretches = 256

    private func page(of feed: StateFeed, _ lease: Lease) throws -> Page {
        var feed = feed
        let response = try feed.next(byteLimit: limits.pageBytes)
        let message = response.encoded()
        guard message.count < limits.frameBytes - 64 else {
            // Only the last row of a page may be large.
            let what = response.records.last.map { "a life of record \($0.name.hex)" }
            throw ServiceError(
                .limitExceeded,
                .tooLarge,
                "\(what ?? "a part of this node's state") doesn't fit into a frame"
            )
        }
        if response.isComplete { return Page(message: message) }
        let rest = feed
        return Page(message: message) { [self] in try page(of: rest, lease) }
    }

    // MARK: Reports

    private func note(_ stream: UInt32, _ scope: ScopeID, _ report: ReportRequest) throws {
        guard let peer = identity.peer else { return }
        let now = node.clock
        let vector = report.vector
        node.clocks.note(report.time, of: peer, ours: now, now: node.environment.now())
        node.judgeClock()
        node.replicas.note(vector, of: peer, scope)
        if report.isAnswer { return finish(stream, [[]]) }
        // Where there is no time for it, the next report is as good.
        _ = node.gate.read(.bulk) { [node] in try? node.compare(report, of: peer, scope) }
        let note = StoreGate.Job(.housekeeping) { transaction throws(EngineError) in
            guard let number = try transaction.scope(scope) else { return false }
            Collection.note(vector, of: peer, in: number, at: now, &transaction)
            return true
        } then: { [self] outcome in
            run { session in
                switch outcome {
                case .success(true): session.finish(stream, [[]])
                case .success(false): session.fail(stream, Containers.unknown(scope.container))
                case .failure(let error): session.fail(stream, error)
                }
            }
        }
        let isQueued = node.gate.submit(
            StoreGate.QueuedWrite(.job(note), byteCount: 100, loop: link.loop)
        )
        if !isQueued { fail(stream, overloaded("too many writes are waiting")) }
    }
}
