// What a node does for another node of the cluster: it sends the commits that the peer lacks, and
// goes on as they come; it sends rows where its log doesn't reach; it keeps the peer's reports.
//
// `MethodTable` lists them. Each batch is read on a reader thread when the peer has room for it.
// Where the log is at its end, the stream waits for the bell.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire

extension CallContext {
    /// The scope that a peer means, or an operator who brings commits; the cluster's own has no
    /// container.
    func peerScope() throws(ServiceError) -> ScopeID {
        header.container.isEmpty ? .cluster : try scope()
    }
}

enum PeerCalls {
    static let methods: [MethodEntry] = [
        .init(
            .peersPull,
            .endlessParts,
            [.peer, .credit],
            parse: decoded(PullRequest.init(wire:)),
            begin: pull
        ),
        .init(
            .peersState,
            .parts,
            [.peer, .credit],
            parse: decoded(StateRequest.init(wire:)),
            begin: state
        ),
        .init(
            .peersReport,
            .message,
            .peer,
            parse: decoded(ReportRequest.init(wire:)),
            begin: report
        ),
        .init(.peersWanted, .parts, [.peer, .credit], begin: wantedAssets),
    ]

    // MARK: Commits

    private static func pull(_ request: PullRequest, _ context: CallContext) throws {
        let (node, scope) = (context.node, try context.peerScope())
        context.makeEndless()
        context.pages {
            guard let number = try node.gate.latest(reach: .disk).scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            let run = request.run == 0 ? nil : Incarnation(request.run)
            let outbound = OutboundCommits(
                scope: number,
                position: request.vector,
                run: run,
                elsewhere: request.elsewhere.map { Incarnation($0) }
            )
            return try CommitPages(node: node, scope: scope, number: number).page(of: outbound)
        }
    }

    // MARK: State

    private static func state(_ request: StateRequest, _ context: CallContext) throws {
        let (node, scope) = (context.node, try context.peerScope())
        guard request.format == OpenStore.stateVersion else {
            throw ServiceError(
                .incompatibleVersion,
                """
                this node hands over rows in format \(OpenStore.stateVersion), not in \
                \(request.format); run the same release on both
                """
            )
        }
        let (stretches, position) = (try stretches(of: request), try position(of: request))
        let peer = context.identity.peer ?? []
        context.makeEndless(patience: context.limits.stalledStateMilliseconds)
        context.pages {
            let states = node.handedStates
            let now = node.environment.now()
            let (outbound, stream): (OutboundState, StateStream)
            if request.compares {
                let slot = try states.slot(for: nil)
                let all = stretches.isEmpty ? nil : stretches
                outbound = try OutboundState(try source(of: scope, in: node), comparing: all)
                stream = StateStream(slot)
            } else if request.snapshot.isEmpty {
                let slot = try states.slot(for: peer)
                outbound = try OutboundState(try source(of: scope, in: node), to: request.vector)
                var dice = NodeDice(node.environment)
                let name = dice.bytes(HandedStates.nameBytes)
                stream = states.keep(outbound, slot, named: name, for: peer, scope, now: now)
            } else {
                (outbound, stream) = try states.goOn(
                    with: request.snapshot,
                    for: peer,
                    scope,
                    from: position,
                    now: now
                )
            }
            return try StateMessages(node: node, stream: stream).first(of: outbound)
        }
    }

    private static func source(of scope: ScopeID, in node: Node) throws -> StateSource {
        let snapshot = node.gate.latest(reach: .disk)
        guard let number = try snapshot.scope(scope) else {
            throw Containers.unknown(scope.container)
        }
        return StateSource(snapshot, scope: number)
    }

    private static func position(of request: StateRequest) throws(ServiceError) -> StatePosition {
        do throws(MalformedBytes) {
            return try StatePosition(request.position)
        } catch {
            throw ServiceError(.invalidArguments, .protocolError, error.reason)
        }
    }

    private static let mostStretches = 256

    private static func stretches(of request: StateRequest) throws(ServiceError) -> [Stretch] {
        guard request.stretches.isEmpty || request.compares,
            request.stretches.count <= mostStretches
        else {
            throw ServiceError(
                .invalidArguments,
                .protocolError,
                "at most \(mostStretches) stretches, and only to compare them"
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

    // MARK: Reports

    private static func report(_ report: ReportRequest, _ context: CallContext) throws {
        let (node, scope) = (context.node, try context.peerScope())
        guard let peer = context.identity.peer else { return }
        let (now, vector) = (node.clock, report.vector)
        node.clocks.note(
            report.time,
            of: peer,
            ours: node.environment.wallClock(),
            now: node.environment.steadyNow
        )
        node.judgeClock()
        node.replicas.note(vector, of: peer, scope)
        node.noteForAccessLease(report, of: peer, scope)
        if report.isAnswer { return context.finish([[]]) }
        // If too many reads are waiting, the next report is compared.
        _ = node.gate.read(.bulk(.node)) { try? node.compare(report, of: peer, scope) }
        let note = StoreGate.Job(.housekeeping) { transaction throws(EngineError) in
            guard let number = try transaction.scope(scope) else { return false }
            Collection.note(vector, of: peer, in: number, at: now, &transaction)
            return true
        } then: { outcome in
            context.onLoop {
                switch outcome {
                case .success(true): context.finish([[]])
                case .success(false): context.fail(Containers.unknown(scope.container))
                case .failure(let error): context.fail(error)
                }
            }
        }
        if !context.queue(note, byteCount: 100) { context.fail(.tooManyWrites) }
    }

    // MARK: Assets

    private static func wantedAssets(_ context: CallContext) throws {
        let (node, scope) = (context.node, try context.peerScope())
        context.makeEndless(patience: context.limits.stalledStateMilliseconds)
        context.pages {
            let reader = node.gate.latest(reach: .disk)
            let databases = try reader.scope(scope).map { try reader.databases(of: $0) }
            return try WantedAssets(node: node, databases: databases ?? []).page()
        }
    }
}

/// A node's state, message by message.
private struct StateMessages: Sendable {
    let node: Node
    let stream: StateStream

    /// The first one says which snapshot it is of.
    func first(of outbound: OutboundState) throws -> Page {
        try page(of: outbound, naming: stream.snapshot)
    }

    private func page(of outbound: OutboundState, naming snapshot: Bytes = []) throws -> Page {
        let limits = node.configuration.limits
        var outbound = outbound
        var response = try outbound.next(byteLimit: limits.pageBytes)
        response.snapshot = snapshot
        node.handedStates.use(stream.snapshot, now: node.environment.now())
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
        let rest = outbound
        return Page(message: message) { try page(of: rest) }
    }
}
