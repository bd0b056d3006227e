// What an operator lets a node do with its data: back it up, compare it with a peer, give up what
// was lost.

import CumulusModel
import CumulusWire

extension NodeOperator {
    /// What a comparison of two nodes found.
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
    }

    /// Lets the node make a directory, on its machine, that a node can be started from.
    package func backUp(to path: String) async throws -> (bytes: UInt64, files: UInt32) {
        try await call(.operatorBackUp, name: Bytes(path.utf8)) {
            try OperatorMessages.backUp(wire: $0)
        }
    }

    /// Lets the node compare all that it holds with what a peer holds.
    ///
    /// - Parameter repairs: The peer's records replace those that differ.
    package func verify(with peer: String, repairs: Bool) async throws -> Verdict {
        let request = VerifyRequest(nodeID: Bytes(hex: peer) ?? [], repairs: repairs)
        return Verdict(
            try await call(.operatorVerify, message: request.encoded()) {
                try WireVerdict(wire: $0)
            }
        )
    }

    /// Marks as lost what callers saw beyond the state to which the cluster went back.
    ///
    /// Returns how many scopes were marked.
    package func truncate() async throws -> Int {
        try await call(.operatorTruncate) { try OperatorMessages.truncated(wire: $0) }
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
        differences = wire.differences.map { difference in
            let environment = Environment(rawValue: UInt8(clamping: difference.environment))
            let what =
                switch difference.kind {
                case .otherContent: "not the same"
                case .missingHere: "missing here"
                case .missingThere: "missing there"
                }
            return Difference(
                container: difference.container,
                environment: environment?.name ?? "",
                database: difference.database.kind.name,
                owner: difference.database.owner,
                zone: difference.zone,
                recordName: difference.recordName,
                what: what
            )
        }
    }
}
