// Tracks the runs whose commits come directly from their own nodes, so that no other peer sends
// them.
//
// In a full mesh each commit would come from its origin, and again from every other peer. So a pull
// names the runs that it does not need, and the peer tells instead how far it has them. If those
// commits don't arrive a moment later, the link to the origin is slow or silently broken, and the
// peer is asked for everything. The node's connections to its peers keep it.

import CumulusModel
import CumulusStorage
import Synchronization

final class DirectRuns: Sendable {
    /// Runs by scope and node id.
    private let runs = Mutex<[ScopeID: [Bytes: Incarnation]]>([:])

    /// A node sends its own commits of a scope, from the first one that is missing here.
    ///
    /// Returns false if that was known.
    func enter(_ run: Incarnation, of peer: Bytes, _ scope: ScopeID) -> Bool {
        runs.withLock { $0[scope, default: [:]].updateValue(run, forKey: peer) } != run
    }

    /// Forgets that `peer` sends its own commits of `scope`; nil means all scopes.
    ///
    /// Returns false if that was known.
    func leave(_ peer: Bytes, _ scope: ScopeID? = nil) -> Bool {
        runs.withLock { runs in
            let scopes = scope.map { [$0] } ?? Array(runs.keys)
            let gone = scopes.map { runs[$0]?.removeValue(forKey: peer) != nil }
            return gone.contains(true)
        }
    }

    /// The runs of a scope that a peer need not send.
    func elsewhere(than peer: Bytes, _ scope: ScopeID) -> Set<Incarnation> {
        runs.withLock { Set(($0[scope] ?? [:]).filter { $0.key != peer }.values) }
    }
}
