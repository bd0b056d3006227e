// Which runs this node takes the commits of from their own nodes, so that nobody else sends them.
//
// In a full mesh each commit would come from its origin, and from every other peer again. So a pull
// names the runs that it need not bring, and the peer tells instead how far it has those. If that
// isn't here a moment later, the link to the origin is slow, or broken without anybody having
// noticed, and the peer is asked for everything. Kept by the node's connections to its peers.

import CumulusModel
import CumulusStorage
import Synchronization

final class DirectRuns: Sendable {
    /// By scope and node id.
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

    /// What a peer need not send of a scope.
    func elsewhere(than peer: Bytes, _ scope: ScopeID) -> Set<Incarnation> {
        runs.withLock { Set(($0[scope] ?? [:]).filter { $0.key != peer }.values) }
    }
}
