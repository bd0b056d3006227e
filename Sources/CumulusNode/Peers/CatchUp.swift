// Whether this node, since it was started, has read what one of its peers held when they met. Until
// then it is not ready: a caller may miss what other nodes have had for long.
//
// Told by the connections to peers, asked by the status. Once it was ready it stays so: later a
// node is behind by what is on its way, which causal tokens and the lag tell of. Without a peer
// there is nothing to wait for.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Synchronization

final class CatchUp: Sendable {
    private struct State {
        /// By peer, what it held; nil means it has not said so yet.
        var peers: [Bytes: [ScopeID: VersionVector?]] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// A connection to a peer is open.
    func meet(_ peer: Bytes) {
        state.withLock { if !$0.isOver { $0.peers[peer] = [:] } }
    }

    func leave(_ peer: Bytes) {
        state.withLock { $0.peers[peer] = nil }
    }

    /// What it holds is asked for.
    func ask(_ peer: Bytes, _ scope: ScopeID) {
        state.withLock { state in
            guard state.peers[peer] != nil, state.peers[peer]?[scope] == nil else { return }
            state.peers[peer]?[scope] = .some(nil)
        }
    }

    /// What it holds; the first word counts.
    func note(_ vector: VersionVector, of peer: Bytes, _ scope: ScopeID) {
        state.withLock { state in
            guard case .some(.none) = state.peers[peer]?[scope] else { return }
            state.peers[peer]?[scope] = vector
        }
    }

    /// Whether no peer's holdings are all here yet.
    func isBehind(_ reader: ReadTransaction) throws(EngineError) -> Bool {
        let peers = state.withLock { $0.isOver ? [:] : $0.peers }
        if peers.isEmpty { return false }
        let scopes = try ScopeDirectory.all(in: reader)
        for held in peers.values where try CatchUp.isCovered(held, scopes, reader) {
            state.withLock { state in
                state.isOver = true
                state.peers = [:]
            }
            return false
        }
        return true
    }

    private static func isCovered(
        _ held: [ScopeID: VersionVector?],
        _ scopes: [(scope: ScopeID, number: ScopeNumber)],
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        // What containers there are is known with the cluster's own scope.
        guard case .some(.some) = held[.cluster] else { return false }
        for (scope, number) in scopes {
            guard let told = held[scope], let vector = told,
                try reader.vector(of: number).covers(vector)
            else { return false }
        }
        return true
    }
}
