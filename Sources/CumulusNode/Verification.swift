// Lets this node compare all that it holds with what a peer holds, and repair itself.
//
// Asked for by an operator. The peer hands over its whole state as for a new node; nothing of it is
// kept but what a repair needs.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Synchronization

extension Node {
    /// Differences that are told one by one.
    private static let mostTold = 1_000
    private static let assetsAtOnce = 1_000
    /// How long the peer may say nothing, in milliseconds.
    private static let patience: Int64 = 60_000

    /// Why nobody waits for the comparison any more; nil: somebody does.
    typealias Refusal = @Sendable () -> ServiceError?

    /// - Parameters:
    ///   - repairs: What differs is replaced by what the peer holds.
    ///   - refusal: Asked while it goes on, which may be for hours.
    func verify(
        with peerID: Bytes,
        repairs: Bool,
        unless refusal: @escaping Refusal
    ) async throws -> WireVerdict {
        guard let peer = connections.withLock({ $0[peerID]?.connection }) else {
            throw ServiceError(
                .invalidArguments,
                "this node is not connected to node \(peerID.hex); see 'cumulus cluster status'"
            )
        }
        let scopes = try await gate.reading { try ScopeDirectory.all(in: $0).map(\.scope) }
        var verdict = WireVerdict()
        for scope in scopes {
            try await verify(scope, with: peer, repairs, &verdict, unless: refusal)
        }
        try await checkAssets(&verdict, unless: refusal)
        return verdict
    }

    /// Reads all chunks of this node; what is damaged counts as missing from then on.
    private func checkAssets(
        _ verdict: inout WireVerdict,
        unless refusal: Refusal
    ) async throws {
        let databases = try await gate.reading { reader in
            try ScopeDirectory.all(in: reader).flatMap { try reader.databases(of: $0.number) }
        }
        for (_, database) in databases {
            var last: Bytes? = []
            while let after = last {
                let rows = try await gate.reading { reader in
                    let range = KeyRange.assets(of: database, after: after)
                    return try reader.rows(.records, range, limit: Node.assetsAtOnce)
                }
                for (key, _) in rows {
                    if let refusal = refusal() { throw refusal }
                    try await check(Bytes(key.suffix(32)), in: database, &verdict)
                }
                last =
                    rows.count < Node.assetsAtOnce
                    ? nil : rows.last.map { Bytes($0.key.suffix(32)) }
            }
        }
    }

    private func check(
        _ asset: Bytes,
        in database: DatabaseNumber,
        _ verdict: inout WireVerdict
    ) async throws {
        let (list, lacks) = try await gate.reading { reader in
            let isWhole = try reader.asset(asset, in: database)?.isComplete ?? false
            let isNamed = try reader.isNamed(asset, inDatabase: database)
            return (try reader.chunkList(of: asset, in: database), isNamed && !isWhole)
        }
        guard let list else { return }
        let (checked, damaged) = try await assets.performing { [self] _ in
            loseDamaged(of: list, in: database)
        }
        verdict.chunks += UInt64(checked)
        verdict.damagedChunks += UInt64(damaged)
        if lacks { verdict.incompleteAssets += 1 }
    }

    private func verify(
        _ scope: ScopeID,
        with peer: PeerConnection,
        _ repairs: Bool,
        _ verdict: inout WireVerdict,
        unless refusal: @escaping Refusal
    ) async throws {
        var offer = StateOffer()
        var reading: (intake: StateIntake, audit: StateAudit)?
        var isComplete = false
        try await read(scope, of: peer, unless: refusal) { payload in
            let response = try Node.readable { try StateResponse(wire: payload) }
            isComplete = response.isComplete
            if let (intake, audit) = reading {
                let step = try await compare(response, intake, audit)
                reading = (step.intake, step.audit)
                try await note(step.found, scope, repairs, &verdict)
            } else {
                try Node.readable { try offer.addZones(response) }
                try offer.checkSize(configuration.limits)
                if response.isOffered { reading = try await begin(offer, scope) }
            }
        }
        guard isComplete, let audit = reading?.audit else {
            throw ServiceError(.internalError, "the peer's state broke off")
        }
        verdict.records += audit.compared
        verdict.unsettled += audit.unsettled
    }

    /// Hands over the peer's state, message by message, as long as somebody waits for it.
    private func read(
        _ scope: ScopeID,
        of peer: PeerConnection,
        unless refusal: @escaping Refusal,
        _ take: (Bytes) async throws -> Void
    ) async throws {
        do {
            try await peer.readState(of: scope).forEach {
                refusal() == nil ? Node.patience : 0
            } sleep: { [environment] in
                try await environment.sleep($0)
            } _: { payload in
                if let refusal = refusal() { throw refusal }
                try await take(payload)
            }
        } catch {
            if let refusal = refusal() { throw refusal }
            throw error
        }
    }

    private func begin(
        _ offer: StateOffer,
        _ scope: ScopeID
    ) async throws -> (StateIntake, StateAudit) {
        let now = clock
        let intake = try Node.readable {
            try StateIntake(offer, above: VersionVector(), now: now)
        }
        return try await gate.reading { reader in
            guard let number = try reader.scope(scope) else {
                throw ServiceError(.internalError, "a scope is gone")
            }
            return (intake, try StateAudit(offer, number, reader))
        }
    }

    private func compare(
        _ response: StateResponse,
        _ intake: StateIntake,
        _ audit: StateAudit
    ) async throws -> (intake: StateIntake, audit: StateAudit, found: [StateAudit.Difference]) {
        try await gate.reading { _ in
            var (intake, audit) = (intake, audit)
            var found: [StateAudit.Difference] = []
            if !response.records.isEmpty {
                let page = try Node.readable { try intake.read(StatePage(response)) }
                found = try audit.compare(page)
            }
            if response.isComplete {
                try Node.readable { try intake.checkEnd() }
                found += try audit.finish()
            }
            return (intake, audit, found)
        }
    }

    private func note(
        _ found: [StateAudit.Difference],
        _ scope: ScopeID,
        _ repairs: Bool,
        _ verdict: inout WireVerdict
    ) async throws {
        guard !found.isEmpty else { return }
        verdict.different += UInt64(found.count)
        let room = Node.mostTold - verdict.differences.count
        verdict.differences += found.prefix(room).map { WireVerdict.Difference($0, of: scope) }
        guard repairs else { return }
        let repaired = try await gate.change(.commits) { transaction throws(EngineError) in
            guard let number = try transaction.scope(scope) else { return 0 }
            return try StateAudit.repair(found, in: number, &transaction)
        }
        verdict.repaired += UInt64(repaired)
    }

    /// What the peer sent, or an error that says that it can't be.
    private static func readable<Value>(_ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch let error as MalformedMessage {
            throw ServiceError(.internalError, "the peer sent what can't be read: \(error.message)")
        } catch let error as MalformedBytes {
            throw ServiceError(.internalError, "the peer sent what can't be: \(error.reason)")
        }
    }
}

/// A connection to a peer, as long as it lasts.
struct WeakPeer: Sendable {
    weak var connection: PeerConnection?
}

extension Node {
    /// Connections to peers, in the order of their ids: what is done to all of them happens alike
    /// each time.
    var linkedPeers: [PeerConnection] {
        connections.withLock { connections in
            connections.sorted { precedes($0.key, $1.key) }.compactMap(\.value.connection)
        }
    }

    /// Others send their own commits, or don't any more: what each peer is asked for changes.
    ///
    /// - Parameter scope: nil: in any scope.
    func directRunsChanged(in scope: ScopeID?) {
        for peer in linkedPeers { peer.directRunsChanged(in: scope) }
    }
}

extension WireVerdict.Difference {
    fileprivate init(_ difference: StateAudit.Difference, of scope: ScopeID) {
        let kind: Kind =
            switch difference.kind {
            case .otherContent: .otherContent
            case .missingHere: .missingHere
            case .missingThere: .missingThere
            }
        self.init(
            container: scope.container,
            environment: scope == .cluster ? 0 : UInt32(scope.environment.rawValue),
            database: difference.zone.database,
            zone: difference.zone.name,
            recordName: difference.name,
            kind: kind
        )
    }
}
