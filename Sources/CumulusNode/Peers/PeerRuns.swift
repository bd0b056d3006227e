// Tracks which run of each other node is connected, and ensures that it is the only one.
//
// If a data directory is copied and started twice, two processes have one node id. Their writes are
// not lost, since their runs differ, but they would count as one member: as one copy of data that
// several nodes should hold, as one reader for whom logs are kept. So the run that came first
// stays. The other run is refused and accepts no writes until an operator stops one of them. A
// process that restarts is not held up, because its earlier run gives no sign of life. After a
// network partition each of the two may have come first at some node; then both are refused.
//
// Asked by both ends of a connection between nodes once they know who is at the other one.

import CumulusModel
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

/// An end of a connection between two nodes.
protocol PeerLink: AnyObject, Sendable {
    /// Calls back, once, whether the other side gives a sign of life from now on; from any thread.
    func challenge(_ answer: @escaping @Sendable (Bool) -> Void)
}

/// Connections that wait for a sign of life from the other run.
struct Challengers {
    private var waiting: [@Sendable (Bool) -> Void] = []

    mutating func add(_ answer: @escaping @Sendable (Bool) -> Void) { waiting.append(answer) }

    /// Takes the challengers to notify, each once; notifying them may add others.
    mutating func take() -> [@Sendable (Bool) -> Void] {
        defer { waiting = [] }
        return waiting
    }
}

package final class PeerRuns: Sendable {
    private struct Entry {
        let run: Incarnation
        let link: any PeerLink
        /// The node's address; empty if it didn't say.
        let endpoint: String
    }

    private struct Twin {
        let run: Incarnation
        let endpoint: String
        let time: Instant
    }

    private struct State {
        /// Entries by node id; so are all of the following but the last.
        var entries: [Bytes: [Entry]] = [:]
        var twins: [Bytes: Twin] = [:]
        /// The last that was connected.
        var latest: [Bytes: Incarnation] = [:]
        /// Addresses of nodes that know another process with this node's id, and when they said
        /// so last.
        var refusals: [String: Instant] = [:]
        var isTwin = false
    }

    private let state = Mutex(State())
    /// A refused node asks again within five seconds; an older refusal is over.
    private static let memory: Int64 = 30_000

    package init() {}

    /// Enters a connection with a run of a node, unless another run of it is alive.
    ///
    /// Calls back whether it did, from any thread.
    func enter(
        _ run: Incarnation,
        of nodeID: Bytes,
        at endpoint: String,
        _ link: any PeerLink,
        then: @escaping @Sendable (Bool) -> Void
    ) {
        let other = state.withLock { state -> Entry? in
            let entries = state.entries[nodeID] ?? []
            if let other = entries.first(where: { $0.run != run }) { return other }
            state.entries[nodeID] =
                entries + [Entry(run: run, link: link, endpoint: endpoint)]
            state.latest[nodeID] = run
            return nil
        }
        guard let other else { return then(true) }
        other.link.challenge { [self] isAlive in
            if isAlive { return then(false) }
            leave(nodeID, other.link)
            enter(run, of: nodeID, at: endpoint, link, then: then)
        }
    }

    /// A connection is over.
    func leave(_ nodeID: Bytes, _ link: any PeerLink) {
        state.withLock { state in
            state.entries[nodeID]?.removeAll { $0.link === link }
            if state.entries[nodeID]?.isEmpty == true { state.entries[nodeID] = nil }
        }
    }

    /// The run of a node that is, or was, connected; nil means none was.
    func latestRun(of nodeID: Bytes) -> Incarnation? {
        state.withLock { $0.latest[nodeID] }
    }

    // MARK: Twins of other nodes

    /// Whether this node is connected with a node, by whichever dialled.
    func isConnected(_ nodeID: Bytes) -> Bool {
        state.withLock { $0.entries[nodeID] != nil }
    }

    /// Whether a node with an address is connected, by whichever dialled.
    func isConnected(at endpoint: String) -> Bool {
        state.withLock { state in
            state.entries.values.contains { $0.contains { $0.endpoint == endpoint } }
        }
    }

    /// The address of a connected node; nil if it isn't connected, or didn't say.
    func endpoint(of nodeID: Bytes) -> String? {
        state.withLock { $0.entries[nodeID]?.map(\.endpoint).first { !$0.isEmpty } }
    }

    /// Another process with the id of a connected node was refused; returns whether that is news.
    func noteTwin(_ run: Incarnation, of nodeID: Bytes, at endpoint: String, now: Instant) -> Bool {
        let twin = Twin(run: run, endpoint: endpoint, time: now)
        return state.withLock { $0.twins.updateValue(twin, forKey: nodeID)?.run != run }
    }

    /// The address of a process that was refused lately because it has the id of a connected node;
    /// empty if there is none.
    func twin(of nodeID: Bytes, now: Instant) -> String {
        guard let twin = state.withLock({ $0.twins[nodeID] }), now < twin.time + PeerRuns.memory
        else { return "" }
        return twin.endpoint.isEmpty ? "an unknown address" : twin.endpoint
    }

    // MARK: Twins of this node

    /// Whether another process is alive that has this node's id, as far as other nodes said lately.
    var isTwin: Bool { state.withLock { $0.isTwin } }

    /// The node at an address refuses this one for its twin, or doesn't.
    func note(isRefused: Bool, by endpoint: String, now: Instant) {
        state.withLock { $0.refusals[endpoint] = isRefused ? now : nil }
    }

    /// Forgets old entries; returns whether this node has a twin, if that has changed.
    func judge(now: Instant) -> Bool? {
        state.withLock { state in
            state.refusals = state.refusals.filter { now < $0.value + PeerRuns.memory }
            let isTwin = !state.refusals.isEmpty
            if isTwin == state.isTwin { return nil }
            state.isTwin = isTwin
            return isTwin
        }
    }
}

extension Node {
    /// Whether this process knows that no other one has its store.
    ///
    /// It says nothing to peers as long as it doesn't: a process that was cut off from its database
    /// gives no sign of life that would keep its successor out.
    var holdsStore: Bool { (try? gate.engine.checkTerm(.memory)) != nil }

    /// The error for the process that comes second.
    static let idInUse = ServiceError(
        .serviceUnavailable,
        .nodeIDInUse,
        """
        another process is alive that has this node's id, so its data directory was copied: stop \
        one of them; a copy becomes a node of its own by 'cumulusd --from-backup'
        """
    )

    /// Another process with the id of a connected node wanted to be connected.
    func refusedTwin(_ run: Incarnation, of nodeID: Bytes, at endpoint: String) {
        guard peerRuns.noteTwin(run, of: nodeID, at: endpoint, now: environment.now()) else {
            return
        }
        environment.logger.critical(
            "two processes have the id of one node, since its data directory was copied; stop one",
            metadata: ["node": "\(nodeID.hex)", "refused": "\(endpoint)"]
        )
    }

    /// A node refuses this one since it has a twin, or doesn't any more.
    func note(isTwin: Bool, by endpoint: String) {
        peerRuns.note(isRefused: isTwin, by: endpoint, now: environment.now())
        judgeTwin()
    }

    /// Tells an operator when this node is found to have a twin, and when it has none any more.
    func judgeTwin() {
        guard let isTwin = peerRuns.judge(now: environment.now()) else { return }
        environment.logger.log(
            level: isTwin ? .critical : .info,
            isTwin ? "\(Node.idInUse.message)" : "no other process has this node's id any more"
        )
    }
}
