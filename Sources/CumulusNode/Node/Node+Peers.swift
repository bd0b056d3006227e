// The nodes that this node dials: which are connected, and why others are not.
//
// Told by `PeerLinks` and by the connections to peers; asked by the status.

import CumulusModel
import CumulusWire
import Logging
import Synchronization

extension Node {
    /// A connection to a peer began.
    func note(_ endpoint: String, _ nodeID: Bytes) {
        let peer = NodeStatus.Peer(
            endpoint: endpoint,
            nodeID: nodeID,
            since: environment.wallClock()
        )
        peers.withLock { $0[endpoint] = peer }
    }

    /// A connection to a peer ended, or could not be made.
    func note(_ endpoint: String, _ ending: PeerConnection.Ending) {
        if ending.kind == .problem { catchUp.miss(endpoint, why: ending.reason) }
        let now = environment.wallClock()
        peers.withLock { peers in
            if ending.kind == .duplicate {
                peers[endpoint] = nil
                return
            }
            let known = peers[endpoint].flatMap { $0.nodeID.isEmpty ? $0.since : nil }
            peers[endpoint] = NodeStatus.Peer(
                endpoint: endpoint,
                since: known ?? now,
                problem: ending.reason
            )
        }
    }

    /// Notes why no other node can believe this one at its own address; nil means that they can.
    ///
    /// The status lists it like a peer that can't be reached; it is logged when it begins.
    package func noteOwnAddress(_ endpoint: String, problem: String?) {
        let now = environment.wallClock()
        let isNews = peers.withLock { peers in
            let known = peers[endpoint]?.problem
            peers[endpoint] = problem.map {
                NodeStatus.Peer(endpoint: endpoint, since: now, problem: $0)
            }
            return known != problem
        }
        guard isNews, let problem else { return }
        environment.logger.error(
            "no other node reads from this one: they can't believe its certificate",
            metadata: ["address": "\(endpoint)", "why": "\(problem)"]
        )
    }

    /// Peers that were told that this node is joining are told that it is ready.
    func meetPeersAgain() {
        forEachCaller { $0.meetAgain() }
    }

    /// Whether no other node can have data that this one lacks.
    var isAlone: Bool {
        get { alone.load(ordering: .relaxed) }
        set { alone.store(newValue, ordering: .relaxed) }
    }

    /// Notes that no connection to that address is kept any more.
    func forgetPeer(_ endpoint: String) {
        note(isTwin: false, by: endpoint)
        peers.withLock { _ = $0.removeValue(forKey: endpoint) }
    }

    /// Tells an operator of a node that can't be a peer until a setting is changed.
    func warn(
        of endpoint: String,
        _ origin: RefusedPeers.Origin,
        _ message: Logger.Message,
        why: String
    ) {
        let now = environment.now()
        let isNews = refusedPeers.withLock { $0.isNews(endpoint, origin, now: now) }
        guard isNews else { return }
        environment.logger.warning(
            message,
            metadata: [
                "peer": "\(endpoint.isEmpty ? "an unknown address" : endpoint)", "why": "\(why)",
            ]
        )
    }

    static let otherKey =
        "the nodes belong to two clusters: compare the files of --cluster-key, or cluster.key in "
        + "their data directories; all nodes of a cluster need the same key"

    /// Whether a connection to that node exists.
    func isLinked(to nodeID: Bytes) -> Bool {
        peers.withLock { $0.values.contains { $0.nodeID == nodeID } }
    }
}
