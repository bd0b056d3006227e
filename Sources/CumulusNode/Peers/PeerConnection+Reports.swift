// Reports to a peer how far this node has durably read, what its clock says, and that it is alive.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

extension PeerConnection {
    /// A report is repeated then though nothing changed: its time counts too.
    static let oldReportMilliseconds: Int64 = 600_000

    func reportSoon() {
        reportTime = node.environment.now() + node.configuration.reportMilliseconds
    }

    /// Reports to the peer what is durable here, since a caller there waits for it.
    ///
    /// It doesn't write that down: the next report of all scopes tells it again.
    func report(_ vector: VersionVector, _ scope: ScopeID) {
        // A node that is about to leave may not hand over what it accepts now, see `leave`.
        let vector = node.gate.stops.hasBegun ? VersionVector() : vector
        let request = ReportRequest(
            vector: vector,
            isAnswer: true,
            time: node.toldClock
        )
        reports[call(.peersReport, scope, request.encoded())] = scope
    }

    /// Reports to the peer how far this node has read, if the last report is old; later if the peer
    /// hasn't taken the last one.
    func report() {
        checkMembership()
        guard unsentBytes < node.configuration.limits.initialCredit else { return reportSoon() }
        let now = node.environment.now()
        let again = node.reportAgainMilliseconds
        let known = reported.filter { now < $0.value.time + again }.mapValues(\.vector)
        onReader { [node] in
            try node.state(unless: known)
        } then: { connection, found in
            if connection.node.gate.stops.hasBegun { return }
            let clock = connection.node.toldClock
            for (scope, vector, digest) in found {
                let stream = connection.call(
                    .peersReport,
                    scope,
                    ReportRequest(vector: vector, digest: digest, time: clock).encoded()
                )
                connection.reports[stream] = scope
                connection.reported[scope] = (vector, now)
            }
        }
        beat()
        reportSoon()
    }

    /// Tells the peer that this node is there, and what its clock says.
    func beat() {
        report(VersionVector(), .cluster)
    }

    /// Reports to the peer at once if this node's clock has jumped.
    func lookAtClock(now: Instant) {
        let wallClock = node.environment.wallClock()
        let slept = node.environment.sleptMilliseconds()
        if ownClock.look(wallClock: wallClock, now: now, slept: slept) { beat() }
    }

    /// Nothing is taken from a node that was taken off the list, and one that was ends.
    func checkMembership() {
        onReader { [node, peerID] in
            let reader = node.gate.latest(reach: .disk)
            return (
                own: try Members.isRemoved(node.nodeID, in: reader),
                peer: try Members.isRemoved(peerID, in: reader)
            )
        } then: { connection, isRemoved in
            if isRemoved.own { connection.node.endRemoved() }
            if isRemoved.peer { connection.close("an operator took that node off the list") }
        }
    }
}

extension PeerConnection: PeerLink {
    func challenge(_ answer: @escaping @Sendable (Bool) -> Void) {
        onLoop { connection in
            if connection.isClosed { return answer(false) }
            var dice = NodeDice(connection.node.environment)
            connection.challengers.add(answer)
            connection.connection.challenge(dice.bytes(8), now: connection.node.environment.now())
        }
    }
}
