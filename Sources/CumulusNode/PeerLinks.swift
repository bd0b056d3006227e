// Keeps a connection to every peer that this node was told of: dials, waits for the end, dials
// again after a growing pause.
//
// Run by `cumulusd` beside the listener, until it is cancelled.

package import CumulusWire
import Logging
import Synchronization

package struct PeerLinks: Sendable {
    private let node: Node
    private let dialer: any FrameDialer
    private static let firstPause: Int64 = 100
    private static let longestPause: Int64 = 5_000

    package init(_ node: Node, dialer: any FrameDialer) {
        self.node = node
        self.dialer = dialer
    }

    /// Returns when the task is cancelled.
    package func run(_ endpoints: [String]) async {
        await withDiscardingTaskGroup { group in
            for endpoint in endpoints { group.addTask { await keep(endpoint) } }
        }
    }

    private func keep(_ endpoint: String) async {
        var pause = PeerLinks.firstPause
        var dice = NodeDice(node.environment)
        while !Task.isCancelled {
            let began = node.environment.now()
            let reason = await connect(endpoint)
            node.note(endpoint, [])
            if Task.isCancelled { return }
            node.environment.logger.info(
                "a peer is not connected",
                metadata: ["peer": "\(endpoint)", "why": "\(reason)"]
            )
            // What held for a while is tried again at once.
            if began + PeerLinks.longestPause <= node.environment.now() {
                pause = PeerLinks.firstPause
            }
            let wait = Int64.random(in: pause / 2...pause, using: &dice)
            try? await node.environment.sleep(wait)
            pause = min(pause * 2, PeerLinks.longestPause)
        }
    }

    /// Connects and waits for the end of the connection; returns why it ended.
    private func connect(_ endpoint: String) async -> String {
        guard let proof = node.peerProof else { return "this node has no cluster key" }
        let (endings, source) = AsyncStream<String>.makeStream()
        let made = Mutex<PeerConnection?>(nil)
        do {
            try await dialer.connect(to: endpoint) { [node] link, now in
                let connection = PeerConnection(
                    node,
                    proof,
                    link: link,
                    endpoint: endpoint,
                    now: now
                ) { reason in
                    source.yield(reason)
                    source.finish()
                }
                made.withLock { $0 = connection }
                return connection
            }
        } catch {
            return "\(error)"
        }
        return await withTaskCancellationHandler {
            var reason = "the connection was lost"
            for await ending in endings { reason = ending }
            return reason
        } onCancel: {
            made.withLock { $0 }?.stop()
        }
    }
}
