// Decides which runs a peer need not send, because the node that made them is connected and sends
// them itself, and watches that they really arrive.
//
// Part of `PeerConnection`: a pull names these runs, and is begun anew when they change.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging

extension PeerConnection {
    // MARK: What others send

    /// Runs that this peer need not send.
    func elsewhere(_ scope: ScopeID) -> Set<Incarnation> {
        if let until = wholeUntil[scope], node.environment.now() < until { return [] }
        return node.directRuns.elsewhere(than: peerID, scope)
    }

    /// Pulls anew where others began or ceased to send their own commits, in a while: there may be
    /// more of it; from any thread.
    ///
    /// - Parameter scope: nil means in any scope.
    func directRunsChanged(in scope: ScopeID?) {
        onLoop { connection in
            let streams =
                scope.map { [connection.pulled[$0]].compactMap(\.self) }
                ?? connection.pulls.keys.sorted()
            let changed = streams.filter { stream in
                guard let pull = connection.pulls[stream] else { return false }
                return pull.elsewhere != connection.elsewhere(pull.scope)
            }
            for stream in changed { connection.stopPulling(stream) }
            if !changed.isEmpty { connection.lookSoon() }
        }
    }

    func lookSoon() {
        guard isOpen else { return }
        let soon = node.environment.now() + PeerConnection.soonMilliseconds
        lookTime = min(lookTime ?? soon, soon)
    }

    /// The peer has so much of what others send: it is to be here soon.
    func note(_ vector: VersionVector, _ stream: UInt32) {
        guard let pull = pulls[stream] else { return }
        for dot in vector.dots where pull.elsewhere.contains(dot.incarnation) {
            pulls[stream]?.news.cover(dot)
        }
        setGoal(stream)
    }

    /// Sets the time by which the peer's last news has to be here, unless another wait is running.
    func setGoal(_ stream: UInt32) {
        guard let pull = pulls[stream], pull.goal == nil, !pull.news.isEmpty else { return }
        let due = node.environment.now() + PeerConnection.goalMilliseconds
        setTimes(of: stream) { $0.goal = (pull.news, due) }
        pulls[stream]?.news = VersionVector()
    }

    /// Looks whether what the peer had came from elsewhere.
    ///
    /// It may be here and wait for this node's own disk: that is looked at twice.
    func checkGoal(of stream: UInt32) {
        guard let pull = pulls[stream], let goal = pull.goal else { return }
        let now = node.environment.now()
        setTimes(of: stream) { $0.goal?.due = now + PeerConnection.goalMilliseconds }
        onReader { [node] in
            let reader = node.gate.latest(reach: .disk)
            return try reader.scope(pull.scope).map { try reader.vector(of: $0) }
        } then: { connection, vector in
            guard let pull = connection.pulls[stream], let vector else { return }
            if vector.covers(goal.vector) {
                connection.setTimes(of: stream) { $0.goal = nil }
                connection.pulls[stream]?.misses = 0
                connection.setGoal(stream)
            } else if pull.misses > 0 {
                connection.takeAll(stream)
            } else {
                connection.pulls[stream]?.misses = 1
            }
        }
    }

    /// Asks the peer for what others should have sent, too.
    func takeAll(_ stream: UInt32) {
        guard let scope = pulls[stream]?.scope else { return }
        log("another peer doesn't send its commits; asking this one for them", [:])
        wholeUntil[scope] = node.environment.now() + PeerConnection.wholeMilliseconds
        stopPulling(stream)
        lookSoon()
    }

    /// Keeps commits that depend on what others send until something has come.
    func putBack(_ commits: [Bytes], _ size: Int, _ stream: UInt32, _ rings: UInt64) {
        guard pulls[stream] != nil else { return }
        let patience = PeerConnection.goalMilliseconds
        let end = node.environment.now() + patience
        setTimes(of: stream) { $0.heldUntil = $0.heldUntil ?? end }
        pulls[stream]?.commits.insert(contentsOf: commits, at: 0)
        pulls[stream]?.size += size
        unwrittenBytes += size
        let wait = BellWait(node.gate.bell)
        pulls[stream]?.wait = wait
        wait.begin(after: rings, of: nil) { [weak self] in
            self?.onLoop { $0.submit(stream) }
        }
    }
}
