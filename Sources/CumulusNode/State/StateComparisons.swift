// Whether other nodes hold what this one does: compared whenever one reports that it has read just
// as much.
//
// Nodes that have applied the same commits hold the same records, or one of the stores is damaged.
// Told by the reports of peers, read for the list of members. In memory only.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

final class StateComparisons: Sendable {
    private struct Key: Hashable {
        var nodeID: Bytes
        var scope: ScopeID
    }

    private let agreements = Mutex<[Key: Bool]>([:])

    /// Whether both held the same when they were compared last; nil means they never were.
    func isSame(_ nodeID: Bytes, _ scope: ScopeID) -> Bool? {
        agreements.withLock { $0[Key(nodeID: nodeID, scope: scope)] }
    }

    /// Whether a member was found to hold something else.
    func differ(in scope: ScopeID) -> Bool {
        agreements.withLock { agreements in
            agreements.contains { $0.key.scope == scope && !$0.value }
        }
    }

    /// Returns whether that is news.
    fileprivate func note(_ isSame: Bool, _ nodeID: Bytes, _ scope: ScopeID) -> Bool {
        agreements.withLock { agreements in
            agreements.updateValue(isSame, forKey: Key(nodeID: nodeID, scope: scope)) != isSame
        }
    }
}

extension Node {
    /// How far this node is in each scope, and what it holds there, from one state.
    ///
    /// - Parameter known: Scopes that are left out, as long as they are just so far.
    func state(
        unless known: [ScopeID: VersionVector]
    ) throws(EngineError) -> [(scope: ScopeID, vector: VersionVector, digest: Bytes)] {
        let reader = gate.latest(reach: .disk)
        var found: [(ScopeID, VersionVector, Bytes)] = []
        for (scope, number) in try ScopeDirectory.all(in: reader) {
            let vector = try reader.vector(of: number)
            if known[scope] == vector { continue }
            found.append((scope, vector, try ScopeDigest(scope, number, in: reader).digest))
        }
        return found
    }

    /// Compares what a peer holds, where both have read just as much.
    ///
    /// On a reader thread.
    func compare(_ report: ReportRequest, of nodeID: Bytes, _ scope: ScopeID) throws(EngineError) {
        guard !report.digest.isEmpty else { return }
        let reader = gate.latest(reach: .disk)
        guard let number = try reader.scope(scope),
            try reader.vector(of: number) == report.vector
        else { return }
        let isSame = try ScopeDigest(scope, number, in: reader).digest == report.digest
        guard comparisons.note(isSame, nodeID, scope), !isSame else { return }
        environment.logger.critical(
            "another node holds something else after the same commits: one store is damaged",
            metadata: ["node": "\(nodeID.hex)", "container": "\(scope.container)"]
        )
    }
}
