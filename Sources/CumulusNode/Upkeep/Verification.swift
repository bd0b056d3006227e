// Lets this node compare all that it holds with what a peer holds, and repair itself.
//
// An operator asks for it. First the node reads every row of its own store for damage. Then both
// nodes read all their records, and the peer sends digests of them. For stretches whose digests
// differ the peer then sends the records. Nothing is kept but what a repair needs.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Synchronization

extension Node {
    /// Stretches whose records are asked for in one call.
    static let stretchesAtOnce = 64
    /// Milliseconds before a busy peer or writer is asked again.
    private static let busyPause: Int64 = 500
    /// How long the peer may say nothing, in milliseconds.
    private static let patience: Int64 = 60_000

    /// Returns the error if the call was cancelled or its deadline has passed; nil: go on.
    typealias Refusal = @Sendable () -> ServiceError?

    /// - Parameters:
    ///   - repairs: Whether different or damaged records are replaced by the peer's.
    ///   - tell: Told how far it is, every second.
    ///   - refusal: Asked while it goes on, which may be for hours.
    func verify(
        with peerID: Bytes,
        repairs: Bool,
        tell: @escaping @Sendable (Bytes) -> Void,
        unless refusal: @escaping Refusal
    ) async throws -> WireVerdict {
        guard let peer = connections.withLock({ $0[peerID]?.connection }) else {
            throw ServiceError(
                .invalidArguments,
                "this node is not connected to node \(peerID.hex); see 'cumulus cluster status'"
            )
        }
        let report = VerificationReport()
        return try await report.telling(tell, sleep: environment.sleep) {
            let damages = try await mendDamage(
                from: (peerID, peer),
                repairs,
                report,
                unless: refusal
            )
            let scopes = try await gate.reading { try ScopeDirectory.all(in: $0).map(\.scope) }
            for scope in scopes {
                let reading = Reading(
                    scope: scope,
                    peerID: peerID,
                    peer: peer,
                    damages: damages,
                    refusal: refusal
                )
                try await verify(reading, repairs, report)
            }
            try await checkAssets(report, unless: refusal)
        }
    }

    private func verify(
        _ whole: Reading,
        _ repairs: Bool,
        _ report: VerificationReport
    ) async throws {
        var reading = whole
        // The snapshot of the digests is let go of before records are compared.
        let suspects = try await compareDigests(reading, report)
        var rest = suspects[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(Node.stretchesAtOnce))
            rest = rest.dropFirst(some.count)
            reading.stretches = some
            try await compareRecords(of: some, reading, repairs, report)
        }
    }

    /// A request to read from a peer.
    struct Reading {
        var scope: ScopeID
        var peerID: Bytes
        var peer: PeerConnection
        /// The rows that can't be read here.
        var damages: [StoreDamage] = []
        /// The stretches whose records are wanted; nil means digests of everything.
        var stretches: [Stretch]?
        var refusal: Refusal
    }

    private func compareDigests(
        _ reading: Reading,
        _ report: VerificationReport
    ) async throws -> [Stretch] {
        let audit = try await read(reading) { offer in
            _ = try intake(of: offer, reading.peerID)
            return try await snapshot(of: reading.scope) { DigestAudit(offer, $0, $1) }
        } take: { audit, response in
            guard response.records.isEmpty else {
                throw ServiceError(
                    .incompatibleVersion,
                    "that node can't tell digests; run the same release on both"
                )
            }
            let before = audit.compared
            audit = try await patiently(reading.refusal) { [audit] in
                try await gate.reading { _ in
                    var audit = audit
                    try Node.readable {
                        for digest in response.digests { try audit.compare(StretchDigest(digest)) }
                        if response.isComplete { try audit.finish() }
                    }
                    return audit
                }
            }
            // Fewer where stretches become one.
            let after = audit.compared
            report.count { $0.records = $0.records &+ after &- before }
        }
        return audit.suspects
    }

    private func compareRecords(
        of stretches: [Stretch],
        _ reading: Reading,
        _ repairs: Bool,
        _ report: VerificationReport
    ) async throws {
        let (_, audit) = try await read(reading) { offer in
            let intake = try intake(of: offer, reading.peerID)
            let audit = try await snapshot(of: reading.scope) { number, reader in
                try StateAudit(offer, of: stretches, number, reader, beside: reading.damages)
            }
            return (intake, audit)
        } take: { audits, response in
            var page = StateIntake.Page(zone: 0)
            if !response.records.isEmpty {
                page = try Node.readable { try audits.0.read(StatePage(response)) }
            }
            if response.isComplete { try Node.readable { try audits.0.checkEnd() } }
            while !page.records.isEmpty || response.isComplete && !audits.1.isFinished {
                let step = try await patiently(reading.refusal) { [page, audit = audits.1] in
                    try await compareSome(page, audit)
                }
                (page, audits.1) = (step.page, step.audit)
                try await note(step.found, reading, repairs, report)
                if let refusal = reading.refusal() { throw refusal }
            }
        }
        report.count {
            $0.records += audit.compared
            $0.unsettled += audit.unsettled
        }
    }

    private func compareSome(
        _ page: StateIntake.Page,
        _ audit: StateAudit
    ) async throws -> (
        page: StateIntake.Page, audit: StateAudit, found: [StateAudit.Difference]
    ) {
        try await gate.reading { _ in
            var (page, audit) = (page, audit)
            let found = try Node.readable { try audit.step(&page) }
            return (page, audit, found)
        }
    }

    func intake(of offer: StateOffer, _ peerID: Bytes) throws -> StateIntake {
        let clock = intakeClock(of: peerID)
        return try Node.readable { try StateIntake(offer, above: VersionVector(), clock: clock) }
    }

    private func snapshot<Value: Sendable>(
        of scope: ScopeID,
        _ body: @escaping @Sendable (ScopeNumber, ReadTransaction) throws -> Value
    ) async throws -> Value {
        try await gate.reading { reader in
            guard let number = try reader.scope(scope) else {
                throw ServiceError(.internalError, "a scope is gone")
            }
            return try body(number, reader)
        }
    }

    /// Reads the peer's answer as long as the operator waits for it: `begin` gets its offer, `take`
    /// each later message.
    func read<Audit>(
        _ reading: Reading,
        begin: (StateOffer) async throws -> Audit,
        take: (inout Audit, StateResponse) async throws -> Void
    ) async throws -> Audit {
        var offer = StateOffer()
        var audit: Audit?
        var isComplete = false
        try await messages(reading) { payload in
            let response = try Node.readable { try StateResponse(wire: payload) }
            guard !isComplete else {
                throw ServiceError(.internalError, "the peer goes on behind the end of its state")
            }
            isComplete = response.isComplete
            if var begun = audit.take() {
                try await take(&begun, response)
                audit = begun
            } else {
                guard response.records.isEmpty, response.digests.isEmpty, !isComplete else {
                    throw ServiceError(.internalError, "the peer's state begins without its offer")
                }
                try Node.readable { try offer.add(response) }
                try offer.checkSize(configuration.limits)
                if response.isOffered { audit = try await begin(offer) }
            }
        }
        guard isComplete, let audit else {
            throw ServiceError(.internalError, "the peer's state broke off")
        }
        return audit
    }

    /// Tries again while this node is busy, as long as the operator waits.
    func patiently<Value>(
        _ refusal: Refusal,
        _ work: () async throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await work()
            } catch let error as ServiceError where error.reason == .overloaded {
                if let refusal = refusal() { throw refusal }
                try await environment.sleep(Node.busyPause)
            }
        }
    }

    /// Hands over the peer's messages; asks again if the peer is too busy to begin.
    private func messages(
        _ reading: Reading,
        _ take: (Bytes) async throws -> Void
    ) async throws {
        let refusal = reading.refusal
        var hasBegun = false
        while true {
            do {
                let answer = reading.peer.readState(of: reading.scope, comparing: reading.stretches)
                return try await answer.forEach {
                    refusal() == nil ? Node.patience : 0
                } sleep: { [environment] in
                    try await environment.sleep($0)
                } _: { payload in
                    if let refusal = refusal() { throw refusal }
                    hasBegun = true
                    try await take(payload)
                }
            } catch {
                if let refusal = refusal() { throw refusal }
                let reason = (error as? ServiceError)?.reason
                if reason == .corrupt { throw Node.peerIsDamaged(reading.peerID) }
                guard !hasBegun, reason == .overloaded else { throw error }
                try await environment.sleep(Node.busyPause)
            }
        }
    }

    private static func peerIsDamaged(_ peerID: Bytes) -> ServiceError {
        ServiceError(
            .internalError,
            """
            node \(peerID.hex) can't read all of its own rows, so the comparison went no further: \
            run 'cumulus cluster verify --repair' on it, with this node as the other one
            """
        )
    }

    private func note(
        _ found: [StateAudit.Difference],
        _ reading: Reading,
        _ repairs: Bool,
        _ report: VerificationReport
    ) async throws {
        let scope = reading.scope
        guard !found.isEmpty else { return }
        report.add(found.map { WireVerdict.Difference($0, of: scope) })
        guard repairs else { return }
        let repaired = try await patiently(reading.refusal) {
            try await gate.change(.commits) { transaction throws(EngineError) in
                guard let number = try transaction.scope(scope) else { return 0 }
                return try StateAudit.repair(found, in: number, &transaction)
            }
        }
        report.count { $0.repaired += UInt64(repaired) }
    }

    /// Reads what the peer sent; throws an error for the operator if that is not valid.
    static func readable<Value>(_ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch let error as MalformedMessage {
            throw ServiceError(.internalError, "the peer sent what can't be read: \(error.message)")
        } catch let error as MalformedBytes {
            throw ServiceError(.internalError, "the peer sent what can't be: \(error.reason)")
        }
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
