// Lets this node find the rows of its store that are damaged, and take records in their place from
// another node.
//
// It is the first part of a comparison: after it, mended records are compared like all others.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire

extension Node {
    /// Rows that a reader thread reads before others have their turn.
    private static let surveyedAtOnce = 20_000
    /// Beyond that many damaged places a store is not worth mending.
    private static let mostDamages = 100_000

    /// Finds what is damaged, and mends it if `repairs`; returns what stays.
    func mendDamage(
        from peer: (id: Bytes, connection: PeerConnection),
        _ repairs: Bool,
        _ report: VerificationReport,
        unless refusal: @escaping Refusal
    ) async throws -> [StoreDamage] {
        let snapshot = try await gate.reading { $0 }
        let damages = try await survey(snapshot, report, unless: refusal)
        let located = try await gate.reading { _ in try RecordDamage.all(damages, in: snapshot) }
        guard repairs else {
            for damage in damages where damage.family != .records {
                report.add([WireVerdict.DamagedRow(damage, .notAsked)])
            }
            for damage in located { report.add(WireVerdict.DamagedRow.all(damage, .notAsked)) }
            return damages
        }
        var stays: [StoreDamage] = []
        let mending = try await fetch(located, from: peer, unless: refusal)
        for (index, damage) in located.enumerated() {
            let outcome = try await mend(mending.outcome(of: index), unless: refusal)
            report.add(WireVerdict.DamagedRow.all(damage, outcome))
            if outcome != .mended { stays.append(damage.damage) }
        }
        // Derived rows follow from records that can be read.
        for damage in damages where damage.family != .records {
            let isMended = try await mendOther(damage, unless: refusal)
            report.add([WireVerdict.DamagedRow(damage, isMended ? .mended : .notMendable)])
            if !isMended { stays.append(damage) }
        }
        return stays
    }

    private func mendOther(
        _ damage: StoreDamage,
        unless refusal: @escaping Refusal
    ) async throws -> Bool {
        guard damage.family == .index else { return false }
        return try await patiently(refusal) {
            try await gate.change(.derived) { transaction throws(EngineError) in
                try damage.mendDerivedRows(&transaction)
            }
        }
    }

    private func survey(
        _ snapshot: ReadTransaction,
        _ report: VerificationReport,
        unless refusal: @escaping Refusal
    ) async throws -> [StoreDamage] {
        var survey = StoreSurvey(snapshot)
        var damages: [StoreDamage] = []
        while !survey.isFinished {
            let step = try await patiently(refusal) { [survey] in
                try await gate.reading { _ in
                    var survey = survey
                    let found = try survey.step(limit: Node.surveyedAtOnce)
                    return (survey: survey, found: found)
                }
            }
            survey = step.survey
            for damage in step.found { reportDamage(damage.reason) }
            damages += step.found
            report.count { $0.rows = survey.rows }
            guard damages.count <= Node.mostDamages else { throw Node.ruined }
            if let refusal = refusal() { throw refusal }
        }
        return damages
    }

    private static let ruined = ServiceError(
        .internalError,
        .corrupt,
        "more than \(mostDamages) places of the store are damaged: \(EngineError.remedy)"
    )

    /// Reads what the peer has in the place of what is damaged.
    private func fetch(
        _ damages: [RecordDamage],
        from peer: (id: Bytes, connection: PeerConnection),
        unless refusal: @escaping Refusal
    ) async throws -> RecordMending {
        var mending = RecordMending(damages)
        for scope in mending.scopes {
            var rest = mending.stretches(of: scope)[...]
            while !rest.isEmpty, !mending.isFull {
                let some = Array(rest.prefix(Node.stretchesAtOnce))
                rest = rest.dropFirst(some.count)
                let reading = Reading(
                    scope: scope,
                    peerID: peer.id,
                    peer: peer.connection,
                    stretches: some,
                    refusal: refusal
                )
                mending = try await fetch(mending, reading)
            }
        }
        return mending
    }

    private func fetch(
        _ mending: RecordMending,
        _ reading: Reading
    ) async throws -> RecordMending {
        try await read(reading) { offer in
            let intake = try intake(of: offer, reading.peerID)
            var mending = mending
            mending.begin(offer, of: reading.scope)
            return (intake: intake, mending: mending, zones: offer.zones.map(\.commitZone))
        } take: { state, response in
            if !response.records.isEmpty {
                let page = try Node.readable { try state.intake.read(StatePage(response)) }
                if state.mending.isFull { return }
                state.mending.take(page, of: state.zones[page.zone], in: reading.scope)
            }
            if response.isComplete { try Node.readable { try state.intake.checkEnd() } }
        }.mending
    }

    private func mend(
        _ outcome: RecordMending.Outcome,
        unless refusal: @escaping Refusal
    ) async throws -> WireVerdict.DamagedRow.Outcome {
        switch outcome {
        case .notOnlyRecords, .tooLarge: return .notMendable
        case .unsettled: return .notSettled
        case .mended(let mending):
            let isMended = try await patiently(refusal) {
                try await gate.change(.commits) { transaction throws(EngineError) in
                    try mending.run(&transaction)
                }
            }
            return isMended ? .mended : .notSettled
        }
    }
}

extension WireVerdict.DamagedRow {
    /// One for each record that is known to be damaged, or one for all of it.
    fileprivate static func all(_ damage: RecordDamage, _ outcome: Outcome) -> [Self] {
        let rows = damage.names.map { part, name in
            var row = Self(damage.damage, outcome)
            row.container = part.scope.container
            row.environment =
                part.scope == .cluster ? 0 : UInt32(part.scope.environment.rawValue)
            row.database = part.place.zone.database
            row.zone = part.place.zone.name
            row.recordName = name
            row.kind = .record
            return row
        }
        return rows.isEmpty ? [Self(damage.damage, outcome)] : rows
    }

    fileprivate init(_ damage: StoreDamage, _ outcome: Outcome) {
        self.init(Kind(damage.subspaces), key: damage.range.start, outcome: outcome)
    }
}

extension WireVerdict.DamagedRow.Kind {
    /// The first kind of rows that a stretch holds.
    fileprivate init(_ subspaces: [Subspace]) {
        switch subspaces.first {
        case .record, .sibling: self = .record
        case .commit: self = .commit
        case .change, .backReference, .indexRow, .assetUse: self = .derived
        case .asset, .chunkList, .chunk, .pack, .chunkUse, .packed, .assetLoss, .wantedAsset,
            .lease:
            self = .asset
        default: self = .other
        }
    }
}
