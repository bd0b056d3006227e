// Enters this node into the list of its cluster's members, and shows the list to operators.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

extension Node {
    /// Enters this node in the list of its cluster's members.
    ///
    /// - Parameter endpoint: Where others reach it; empty: they can't know.
    package func join(endpoint: String) {
        self.endpoint.withLock { $0 = endpoint }
        enter(nodeID, endpoint)
    }

    /// Enters a node in the list; one that was taken off stays off.
    ///
    /// The first node that a new one connects to enters it, too: no other node reads its log before
    /// it is known.
    func enter(_ nodeID: Bytes, _ endpoint: String) {
        let entry = StoreGate.Job(.commits) { [self] transaction throws(EngineError) in
            let isListed = try Members.enter(nodeID, endpoint: endpoint, in: &transaction)
            // Every other node announces its own features.
            if isListed, nodeID == self.nodeID { try Feature.announce(nodeID, in: &transaction) }
            return isListed
        } then: { [self] outcome in
            switch outcome {
            case .success(let isListed):
                if !isListed, nodeID == self.nodeID { endRemoved() }
            case .failure(let error):
                environment.logger.error(
                    "a node could not be entered in the list of members",
                    metadata: ["node": "\(nodeID.hex)", "error": "\(error.message)"]
                )
            }
        }
        _ = gate.submit(.init(entry, byteCount: 100, loop: InPlaceLoop.shared))
    }

    /// Ends the process of a node that is off the list, unless it is about to end by itself.
    func endRemoved() {
        if !leaving.load(ordering: .sequentiallyConsistent) { environment.fail(Node.wasRemoved) }
    }

    private static let wasRemoved =
        "an operator took this node off the cluster's list, or it left; it can come back as a new "
        + "node, with an empty data directory"

    /// All present and former members, each with the part of this node's commits that it lacks.
    func members(_ reader: ReadTransaction) throws(EngineError) -> [WireMember] {
        let scopes = try ScopeDirectory.all(in: reader)
        var members: [WireMember] = []
        for member in try Members.all(in: reader) {
            let isThis = member.nodeID == nodeID
            let said = clocks.heard(
                member.nodeID,
                wallClock: environment.wallClock(),
                now: environment.steadyNow
            )
            let twin = peerRuns.twin(of: member.nodeID, now: environment.now())
            var reports: [WireMember.Report] = []
            var backlog = LogBacklog()
            for (scope, number) in scopes where !member.isRemoved {
                let lacks =
                    isThis
                    ? LogBacklog() : try self.backlog(of: member.nodeID, in: number, reader)
                backlog.add(lacks)
                reports.append(try report(of: member.nodeID, scope, number, lacks, reader))
            }
            members.append(
                WireMember(
                    nodeID: member.nodeID,
                    endpoint: twin.isEmpty
                        ? member.endpoint : peerRuns.endpoint(of: member.nodeID) ?? member.endpoint,
                    isRemoved: member.isRemoved,
                    isThis: isThis,
                    reports: reports,
                    clockOffset: said?.offset ?? 0,
                    // A node that was started since may have heard of it before.
                    heard: isThis ? 0 : said?.time ?? reports.map(\.reported).max() ?? 0,
                    isConnected: !isThis && peerRuns.isConnected(member.nodeID),
                    twin: twin,
                    logBytes: backlog.bytes,
                    stateAfter: logBudget.withLock { $0.end(of: backlog, now: clock) } ?? 0
                )
            )
        }
        return members
    }

    private func report(
        of nodeID: Bytes,
        _ scope: ScopeID,
        _ number: ScopeNumber,
        _ backlog: LogBacklog,
        _ reader: ReadTransaction
    ) throws(EngineError) -> WireMember.Report {
        let row: ReportRow? = try reader.row(.report(number, nodeID))
        let runs = try reader.runs(of: number)
        // This node reports nothing to itself.
        let read = nodeID == self.nodeID ? runs.vector : row?.vector ?? VersionVector()
        return WireMember.Report(
            container: scope.container,
            environment: scope == .cluster ? 0 : UInt32(scope.environment.rawValue),
            missing: backlog.commits,
            reported: row?.time ?? 0,
            agreement: comparisons.isSame(nodeID, scope).map { $0 ? 1 : 2 } ?? 0,
            oldestMissing: backlog.oldest ?? 0,
            vector: runs.short(read)
        )
    }
}
