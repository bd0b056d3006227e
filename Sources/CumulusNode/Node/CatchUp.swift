// Whether this node has read what others held when they met. Until then it is not ready: a caller
// may miss data that other nodes have had for long.
//
// The connections to peers and the code that dials them report to it; the status asks it, and so
// does a node that joins its cluster. Once ready, a node stays ready: later it is behind only by
// commits on their way, which causal tokens and the lag describe. A node that had a state when it
// started serves clients meanwhile; a joining node refuses them, see `Node+Joining`.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Synchronization

final class CatchUp: Sendable {
    /// How a peer was when it was met.
    enum Standing {
        case ready
        /// It joins the cluster too.
        ///
        /// `lacksNodes`: it knew of others, and had not reached them all.
        case joining(lacksNodes: Bool)
    }

    fileprivate struct Peer {
        let endpoint: String
        let standing: Standing
        /// What the peer held; nil until it has said so.
        var held: [ScopeID: VersionVector?] = [:]
    }

    /// The state of an address that the settings name.
    fileprivate enum Address {
        case unreached(why: String)
        case reached(Bytes)
        /// It is this node's.
        case own
    }

    fileprivate struct State {
        var peers: [Bytes: Peer] = [:]
        /// The addresses that the settings name; nil until they are known.
        var addresses: [String: Address]?
        /// Nodes that answered; one that went since is dialled again.
        var reached: Set<Bytes> = []
        /// This node knows of others, and has not reached them all.
        var lacksNodes = true
        var isOver = false
        /// Counts what peers and addresses told.
        var news: UInt64 = 0
    }

    private let state = Mutex(State())
    private let joining: Atomic<Bool>

    init(joins: Bool) {
        joining = Atomic(joins)
    }

    /// Whether this node was begun to join a cluster, and has not taken a state yet.
    var isJoining: Bool { joining.load(ordering: .relaxed) }

    /// It has, and that is written down.
    func endJoining() { joining.store(false, ordering: .relaxed) }

    // MARK: Addresses

    /// Notes the addresses that the settings name.
    func expect(_ endpoints: [String]) {
        let addresses = endpoints.map { ($0, Address.unreached(why: "not tried yet")) }
        state.withLock { $0.addresses = Dictionary(addresses) { first, _ in first } }
    }

    /// Whether the settings may name another node than this one; true until they are known.
    var expectsOthers: Bool {
        state.withLock { state in
            guard let addresses = state.addresses else { return true }
            return addresses.values.contains { address in
                if case .own = address { false } else { true }
            }
        }
    }

    /// A node answers there; it may be connected by another address.
    func reach(_ endpoint: String, _ peer: Bytes, isOwn: Bool) {
        state.withLock { state in
            state.news += 1
            if !isOwn { state.reached.insert(peer) }
            guard state.addresses?[endpoint] != nil else { return }
            state.addresses?[endpoint] = isOwn ? .own : .reached(peer)
        }
    }

    /// No node answers there.
    func miss(_ endpoint: String, why: String) {
        state.withLock { state in
            guard let known = state.addresses?[endpoint] else { return }
            if case .reached(let peer) = known { state.reached.remove(peer) }
            state.addresses?[endpoint] = .unreached(why: why)
        }
    }

    // MARK: Peers

    /// A connection to a peer is open.
    func meet(_ peer: Bytes, at endpoint: String, _ standing: Standing) {
        let entry = Peer(endpoint: endpoint, standing: standing)
        state.withLock { state in
            state.news += 1
            if !state.isOver { state.peers[peer] = entry }
        }
    }

    func leave(_ peer: Bytes) {
        state.withLock { state in
            state.news += 1
            state.peers[peer] = nil
        }
    }

    /// Notes that a peer is asked what it holds of a scope.
    func ask(_ peer: Bytes, _ scope: ScopeID) {
        state.withLock { state in
            guard state.peers[peer] != nil, state.peers[peer]?.held[scope] == nil else { return }
            state.news += 1
            state.peers[peer]?.held[scope] = .some(nil)
        }
    }

    /// Notes what a peer holds of a scope; its first answer counts.
    func note(_ vector: VersionVector, of peer: Bytes, _ scope: ScopeID) {
        state.withLock { state in
            guard case .some(.none) = state.peers[peer]?.held[scope] else { return }
            state.news += 1
            state.peers[peer]?.held[scope] = vector
        }
    }

    // MARK: Answers

    /// How much peers and addresses have told, and whether a peer is connected.
    var heard: (news: UInt64, hasPeers: Bool) {
        state.withLock { ($0.news, !$0.peers.isEmpty) }
    }

    /// Whether this node still lacks a part of what a peer held.
    ///
    /// It is enough to have what one peer held. A node that joins needs a peer that is ready; or,
    /// where a cluster begins, all nodes that it and they know of, which join too.
    ///
    /// - Parameter nodeID: This node's.
    func isBehind(_ reader: ReadTransaction, of nodeID: Bytes) throws(EngineError) -> Bool {
        let state = state.withLock(\.self)
        if state.isOver || !isJoining && state.peers.isEmpty { return false }
        let scopes = try ScopeDirectory.all(in: reader)
        var covered: [Peer] = []
        for peer in state.peers.values where try CatchUp.isCovered(peer.held, scopes, reader) {
            covered.append(peer)
        }
        let lacksNodes = isJoining ? try state.lacksNodes(nodeID, reader) : false
        let isWhole =
            !lacksNodes && state.reached.allSatisfy { state.peers[$0] != nil }
            && covered.count == state.peers.count && covered.allSatisfy(\.lacksNoNodes)
        let isOver = isJoining ? covered.contains(where: \.isReady) || isWhole : !covered.isEmpty
        self.state.withLock { state in
            state.lacksNodes = lacksNodes
            guard isOver else { return }
            state.isOver = true
            state.peers = [:]
        }
        return !isOver
    }

    /// Whether this node has what another one held when they met; a node that joins, what it needs.
    func hasCaughtUp(_ reader: ReadTransaction, of nodeID: Bytes) throws(EngineError) -> Bool {
        _ = try isBehind(reader, of: nodeID)
        return state.withLock(\.isOver)
    }

    private static func isCovered(
        _ held: [ScopeID: VersionVector?],
        _ scopes: [(scope: ScopeID, number: ScopeNumber)],
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        // The cluster's own scope tells which containers exist.
        guard case .some(.some) = held[.cluster] else { return false }
        for (scope, number) in scopes {
            guard let told = held[scope], let vector = told,
                try reader.vector(of: number).covers(vector)
            else { return false }
        }
        return true
    }

    /// Whether this node, which joins, knows of others and has not reached them all.
    var lacksNodes: Bool { isJoining && state.withLock { $0.lacksNodes } }

    /// Peers to meet again: they join too, and their reports about others may be old.
    var undecided: [Bytes] {
        state.withLock { state in
            if state.peers.values.contains(where: \.isReady) { return [] }
            return state.peers.filter { !$0.value.lacksNoNodes }.keys.sorted(by: precedes)
        }
    }

    /// What a joining node waits for, in words.
    var wait: String {
        state.withLock { state in
            let ready = state.peers.values.filter(\.isReady).map(\.endpoint).sorted()
            if !ready.isEmpty {
                return "it is taking over what \(ready.joined(separator: ", ")) has"
            }
            let missing = (state.addresses ?? [:]).sorted { $0.key < $1.key }
                .compactMap { endpoint, address in
                    if case .unreached(let why) = address { "\(endpoint) (\(why))" } else { nil }
                }
            let found =
                state.peers.isEmpty ? "it reaches no other node" : "all that it reaches join too"
            return missing.isEmpty
                ? found : "\(found); not reached: \(missing.joined(separator: ", "))"
        }
    }
}

extension CatchUp.Peer {
    /// It has taken a state, or began the cluster.
    fileprivate var isReady: Bool {
        if case .ready = standing { true } else { false }
    }

    fileprivate var lacksNoNodes: Bool {
        if case .joining(lacksNodes: true) = standing { false } else { true }
    }
}

extension CatchUp.State {
    /// Whether there are nodes that this one knows of and has not reached.
    fileprivate func lacksNodes(
        _ nodeID: Bytes,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        guard let addresses else { return true }
        let isReached = addresses.values.allSatisfy { address in
            if case .unreached = address { false } else { true }
        }
        let members = try Members.others(than: nodeID, in: reader)
        return !isReached || members.contains { !reached.contains($0.nodeID) }
    }
}
