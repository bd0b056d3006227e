// The connections of a node to its peers, by their ids.
//
// Each connection enters itself once its peer has proved who it is. Asked by what has something to
// say to all peers, or to one of them.

import CumulusModel
import CumulusStorage
import Synchronization

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

    /// A connection to a peer that was greeted is not over.
    package var hasLinkedPeers: Bool { !linkedPeers.isEmpty }

    /// Others send their own commits, or don't any more: what each peer is asked for changes.
    ///
    /// - Parameter scope: nil means in any scope.
    func directRunsChanged(in scope: ScopeID?) {
        for peer in linkedPeers { peer.directRunsChanged(in: scope) }
    }
}
