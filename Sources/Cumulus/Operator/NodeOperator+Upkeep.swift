// Upkeep of a node's data by an operator: backup, comparison with a peer, giving up lost data.

import CumulusModel
import CumulusWire

extension NodeOperator {
    /// The findings of a comparison of two nodes.
    package struct Verdict: Sendable {
        package struct Difference: Sendable {
            package var container: String
            package var environment: String
            package var database: String
            package var owner: String
            package var zone: String
            package var recordName: String
            package var what: String
        }

        /// A row of the asked node's store that can't be read, or doesn't decode.
        package struct DamagedRow: Sendable {
            /// The container of the record; empty if it is not known.
            package var container: String
            package var environment: String
            package var database: String
            package var owner: String
            package var zone: String
            package var recordName: String
            /// "record", "commit", "derived", "asset" or "other".
            package var kind: String
            /// "not asked", "mended", "not settled" or "not mendable".
            package var outcome: String
            /// Key of the row in the store, in hexadecimal digits.
            package var key: String
        }

        /// Records that were compared.
        package var records: UInt64
        /// Records that were not compared, since one node had read more about them.
        package var unsettled: UInt64
        package var different: UInt64
        package var repaired: UInt64
        /// The first records that differ.
        package var differences: [Difference]
        /// Chunks of the asked node's assets that were read and checked.
        package var chunks: UInt64
        /// Damaged or missing chunks, which are fetched anew.
        package var damagedChunks: UInt64
        /// Assets that records name and that lack chunks.
        package var incompleteAssets: UInt64
        /// Rows of the asked node's store: read, damaged and mended ones.
        package var rows: UInt64
        package var damaged: UInt64
        package var mended: UInt64
        /// The first damaged rows.
        package var damagedRows: [DamagedRow]
    }

    /// Lets the node make a directory, on its machine, that a node can be started from.
    package func backUp(to path: String) async throws -> (bytes: UInt64, files: UInt32) {
        try await call(.operatorBackUp, name: Bytes(path.utf8)) {
            let made = try BackUpResponse(wire: $0)
            return (made.bytes, made.files)
        }
    }

    /// Lets the node read all its rows, and compare all that it holds with what a peer holds.
    ///
    /// It may take as long as it likes: the timeout of this connection is for how long the node
    /// says nothing, and it says how far it is every second.
    ///
    /// - Parameters:
    ///   - repairs: Whether the peer's records replace differing or damaged ones.
    ///   - progress: Told what was found so far.
    package func verify(
        with peer: String,
        repairs: Bool,
        progress: (Verdict) -> Void = { _ in }
    ) async throws -> Verdict {
        let request = VerifyRequest(nodeID: Bytes(hex: peer) ?? [], repairs: repairs)
        let stream = try await PageStream.open(
            core,
            CallHeader(.operatorVerify),
            request.encoded(),
            patience: core.settings.callMilliseconds
        )
        var verdict = WireVerdict()
        while let message = try await stream.next() {
            try decoding { try verdict.add(WireVerdict(wire: message)) }
            progress(Verdict(verdict))
        }
        return Verdict(verdict)
    }

    /// Marks as lost what callers saw beyond the state to which the cluster went back.
    ///
    /// Returns how many scopes were marked.
    ///
    /// - Parameter endsSessions: Ends all sessions and access tokens of all users: a backup brings
    ///   those back that were revoked after it.
    package func truncate(endsSessions: Bool = false) async throws -> Int {
        let request = TruncateRequest(endsSessions).encoded()
        return try await call(.operatorTruncate, message: request) {
            Int(try TruncateResponse(wire: $0).scopes)
        }
    }
}

extension NodeOperator.Verdict {
    fileprivate init(_ wire: WireVerdict) {
        records = wire.records
        unsettled = wire.unsettled
        different = wire.different
        repaired = wire.repaired
        chunks = wire.chunks
        damagedChunks = wire.damagedChunks
        incompleteAssets = wire.incompleteAssets
        rows = wire.rows
        damaged = wire.damaged
        mended = wire.mended
        differences = wire.differences.map(Difference.init)
        damagedRows = wire.damagedRows.map(DamagedRow.init)
    }
}

extension NodeOperator.Verdict.Difference {
    fileprivate init(_ wire: WireVerdict.Difference) {
        container = wire.container
        environment = Environment(rawValue: UInt8(clamping: wire.environment))?.name ?? ""
        database = wire.database.kind.name
        owner = wire.database.owner
        zone = wire.zone
        recordName = wire.recordName
        what =
            switch wire.kind {
            case .otherContent: "not the same"
            case .missingHere: "missing here"
            case .missingThere: "missing there"
            }
    }
}

extension NodeOperator.Verdict.DamagedRow {
    fileprivate init(_ wire: WireVerdict.DamagedRow) {
        container = wire.container
        environment = Environment(rawValue: UInt8(clamping: wire.environment))?.name ?? ""
        database = wire.database?.kind.name ?? ""
        owner = wire.database?.owner ?? ""
        zone = wire.zone
        recordName = wire.recordName
        key = wire.key.hex
        kind = "\(wire.kind)"
        outcome =
            switch wire.outcome {
            case .notAsked: "not asked"
            case .mended: "mended"
            case .notSettled: "not settled"
            case .notMendable: "not mendable"
            }
    }
}
