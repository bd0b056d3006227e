// Keeps a connection to every other node of the cluster: dials, waits for the end, dials again
// after a growing pause, or once the other node has dialled. Missing assets are fetched over these
// connections.
//
// `cumulusd` runs it beside the listener until it is cancelled. The nodes are the ones that the
// settings name, and all other listed members: one address is enough to join.
//
// Folder: the links between the nodes of a cluster, and what travels over them. Read `PeerLinks`,
// then `PeerConnection` and `PeerConnection+Pulls`; `ReplicaWatch` knows what other nodes hold.

import CumulusOperations
package import CumulusWire
import Logging
import Synchronization

package struct PeerLinks: Sendable {
    private let node: Node
    private let dialer: any FrameDialer
    private static let firstPause: Int64 = 100
    private static let longestPause: Int64 = 5_000
    /// A connection that held as long is made anew at once when it breaks.
    private static let held: Int64 = 1_000
    /// Milliseconds between two looks whether a node that is away has dialled.
    private static let watchPause: Int64 = 200
    /// Milliseconds between two looks at the list of members.
    private static let lookPause: Int64 = 1_000

    package init(_ node: Node, dialer: any FrameDialer) {
        self.node = node
        self.dialer = dialer
    }

    /// Returns when the task is cancelled.
    ///
    /// - Parameter whenReady: Called once, when this node has taken a state.
    package func run(
        _ endpoints: [String],
        whenReady: @escaping @Sendable () -> Void = {}
    ) async {
        let kept = Kept()
        node.catchUp.expect(endpoints)
        await withDiscardingTaskGroup { group in
            group.addTask { if await node.finishJoining() { whenReady() } }
            group.addTask { await node.finishRestore() }
            group.addTask { await AssetFetcher(node).run() }
            for endpoint in endpoints where kept.add(endpoint) {
                group.addTask { await keep(endpoint) }
            }
            while !Task.isCancelled {
                let all = await others()
                node.judgeClock()
                node.judgeTwin()
                node.dropOldStates()
                await node.stay()
                node.askNewcomersAgain()
                node.isAlone = !node.catchUp.expectsOthers && all?.isEmpty == true
                node.renewAccessLease()
                for member in PeerLinks.reachable(all) where kept.add(member.endpoint) {
                    group.addTask {
                        await keep(member.endpoint, of: member)
                        kept.remove(member.endpoint)
                        node.forgetPeer(member.endpoint)
                    }
                }
                try? await node.environment.sleep(PeerLinks.lookPause)
            }
        }
    }

    /// The other members; nil if they can't be read now.
    private func others() async -> [Members.Member]? {
        let read = try? await node.gate.reading(.prompt) { try Members.all(in: $0) }
        guard let all = read else { return nil }
        node.replicas.remove(all.filter(\.isRemoved).map(\.nodeID))
        return all.filter { !$0.isRemoved && $0.nodeID != node.nodeID }
    }

    /// The members whose addresses are known.
    private static func reachable(_ members: [Members.Member]?) -> [Members.Member] {
        members?.filter { !$0.endpoint.isEmpty } ?? []
    }

    /// Whether a member still announces the address that was read.
    private func isAnnounced(_ member: Members.Member) async -> Bool {
        PeerLinks.reachable(await others()).contains(member)
    }

    /// Keeps a connection to an address.
    ///
    /// - Parameter member: The member that announced the address. The connection is kept while the
    ///   member announces it, and not made while the member is connected by another address. nil
    ///   means that the settings name the address.
    private func keep(_ endpoint: String, of member: Members.Member? = nil) async {
        var pause = PeerLinks.firstPause
        var lastReason: String?
        var dice = NodeDice(node.environment)
        while !Task.isCancelled {
            let began = node.environment.now()
            if let member {
                if await !isAnnounced(member) { return }
                if node.isLinked(to: member.nodeID) {
                    try? await node.environment.sleep(PeerLinks.lookPause)
                    continue
                }
            }
            if Task.isCancelled { return }
            let (ending, wasConnected) = await connect(endpoint)
            // A member that was removed is not one that is away.
            if let member, await !isAnnounced(member) { return }
            node.note(endpoint, ending)
            if Task.isCancelled { return }
            if ending.reason != lastReason { tell(ending, of: endpoint) }
            lastReason = ending.reason
            let enough = wasConnected ? PeerLinks.held : PeerLinks.longestPause
            if began + enough <= node.environment.now() {
                pause = PeerLinks.firstPause
                // An operator is told once of a peer that is away, however long each try takes.
                if ending.kind != .problem { lastReason = nil }
            }
            await rest(Int64.random(in: pause / 2...pause, using: &dice), from: endpoint)
            pause = min(pause * 2, PeerLinks.longestPause)
        }
    }

    /// Waits before the next call, or until the node at the address calls: then it is back.
    ///
    /// One that calls, and can't be called, ends no second wait as long as it is connected.
    private func rest(_ milliseconds: Int64, from endpoint: String) async {
        let end = node.environment.now() + milliseconds
        var wasConnected = node.peerRuns.isConnected(at: endpoint)
        while !Task.isCancelled {
            let left = end - node.environment.now()
            guard left > 0 else { return }
            try? await node.environment.sleep(min(left, PeerLinks.watchPause))
            let isConnected = node.peerRuns.isConnected(at: endpoint)
            if isConnected, !wasConnected { return }
            wasConnected = isConnected
        }
    }

    private func tell(_ ending: PeerConnection.Ending, of endpoint: String) {
        let isProblem = ending.kind == .problem
        node.environment.logger.log(
            level: isProblem ? .warning : .info,
            isProblem ? "a peer can't be reached" : "a peer is not connected",
            metadata: ["peer": "\(endpoint)", "why": "\(ending.reason)"]
        )
    }

    /// Connects and waits for the end of the connection; returns why it ended, and whether it was
    /// made.
    private func connect(
        _ endpoint: String
    ) async -> (ending: PeerConnection.Ending, wasConnected: Bool) {
        guard let proof = node.peerProof else {
            return (.init(kind: .problem, reason: "this node has no cluster key"), false)
        }
        let (endings, source) = AsyncStream<PeerConnection.Ending>.makeStream()
        let made = Mutex<PeerConnection?>(nil)
        do {
            try await dialer.connect(to: endpoint) { [node] link, now in
                let connection = PeerConnection(
                    node,
                    proof,
                    link: link,
                    endpoint: endpoint,
                    now: now
                ) { ending in
                    source.yield(ending)
                    source.finish()
                }
                made.withLock { $0 = connection }
                return connection
            }
        } catch {
            return (.init(kind: .problem, reason: "\(error)"), false)
        }
        return await withTaskCancellationHandler {
            var ending = PeerConnection.Ending(kind: .over, reason: "the connection was lost")
            for await last in endings { ending = last }
            return (ending, true)
        } onCancel: {
            made.withLock { $0 }?.stop()
        }
    }
}

/// Addresses to which a connection is kept.
private final class Kept: Sendable {
    private let endpoints = Mutex<Set<String>>([])

    /// Returns false if it was there.
    func add(_ endpoint: String) -> Bool {
        endpoints.withLock { $0.insert(endpoint).inserted }
    }

    func remove(_ endpoint: String) {
        endpoints.withLock { _ = $0.remove(endpoint) }
    }
}
