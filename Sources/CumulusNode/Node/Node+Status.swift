// How a node is, for operators and their tools; and its backups.
//
// Asked by `OperatorCalls`, by `cumulusd` and by tests.

package import CumulusModel
import CumulusOperations
import CumulusReplication
package import CumulusStorage
package import CumulusWire
import Synchronization

extension Node {
    /// The highest rank of `Truncation` that callers have shown who miss something here.
    package var highestTruncation: HybridTime { gate.visible.highestTruncation }

    /// "ready", or why not, where that can be told without the store.
    package var state: String {
        if isDraining { return "draining" }
        if gate.stops.isReadOnly { return "read-only" }
        if gate.stops.hasBegun { return "leaving" }
        if catchUp.isJoining { return "joining" }
        if peerRuns.isTwin { return "id in use" }
        if !holdsStore { return "database away" }
        if PeerClocks.isWrong(clockLead) { return "clock wrong" }
        switch gate.stops.disk {
        case .all: break
        case .deletes: return "disk full"
        case .nothing: return "disk exhausted"
        }
        return meter.damagedRows.value > 0 ? "damaged" : "ready"
    }

    /// Whether commits are dated well ahead of this node's clock: after all clocks of a cluster
    /// were ahead, stamps count on from there until clocks have caught up.
    private func stampsAreAhead(_ reader: ReadTransaction) throws(EngineError) -> Bool {
        let lead = try reader.lastCommitTime().milliseconds - clock
        return lead > Int64(Node.farOffMilliseconds)
    }

    /// Tells the node where browsers find its console, as a URL without its path; empty: nowhere.
    package func announce(console url: String) { console.withLock { $0 = url } }

    /// At most this many incomplete assets are counted.
    private static let wantedAtMost = 1_000

    /// How the node is, and what the reader sees of its store.
    package func status(_ reader: ReadTransaction) throws(EngineError) -> NodeStatus {
        var status = NodeStatus()
        status.scopes = try ScopeDigest.all(in: reader).map {
            NodeStatus.Scope(
                container: $0.scope.container,
                environment: $0.scope == .cluster ? 0 : UInt32($0.scope.environment.rawValue),
                commits: $0.commits,
                digest: $0.digest,
                liveRuns: UInt32(clamping: $0.liveRuns),
                retiredRuns: UInt32(clamping: $0.retiredRuns),
                horizons: UInt32(clamping: $0.horizons),
                applied: $0.applied
            )
        }
        status.peers = peers.withLock { $0.values.sorted { $0.endpoint < $1.endpoint } }
        status.nodeID = nodeID
        status.incarnation = incarnation.value
        status.clusterID = clusterID
        status.softwareVersion = configuration.version
        status.state = state
        if status.state == "ready", try stampsAreAhead(reader) { status.state = "stamps ahead" }
        if status.state == "ready", try catchUp.isBehind(reader, of: nodeID) {
            status.state = "catching up"
        }
        status.notReady = notReady
        status.console = console.withLock { $0 }
        status.started = started
        status.connections = UInt32(clamping: meter.connections.value)
        status.calls = UInt64(clamping: meter.calls.value)
        status.commits = UInt64(clamping: meter.commits.value)
        status.flushes = UInt64(clamping: meter.flushes.value)
        status.rows = UInt64(clamping: meter.rows.value)
        status.rowBytes = UInt64(clamping: meter.rowBytes.value)
        status.freeBytes = gate.engine.freeBytes() ?? 0
        status.profile = configuration.profile
        status.callsInProgress = UInt32(clamping: meter.callsInProgress.value)
        status.assetBytes = UInt64(clamping: assets.storedBytes.value)
        (status.logBytes, status.logLimit) = logBudget.withLock { ($0.bytes, $0.limit) }
        let limits = configuration.limits
        status.privateQuota = UInt64(limits.privateDatabaseBytes)
        status.publicQuota = UInt64(limits.publicDatabaseBytes)
        let wanted = try reader.rows(.log, .all(.wantedAsset), limit: Node.wantedAtMost)
        status.wantedAssets = UInt32(clamping: wanted.count)
        return status
    }
}

// MARK: - Backups

extension Node {
    /// Makes a directory that a node can be started from; one at a time.
    func backUp(to path: String) throws(ServiceError) -> (bytes: UInt64, files: UInt32) {
        guard let backUp = configuration.backUp else {
            throw ServiceError(.invalidArguments, "this node keeps nothing on a disk")
        }
        guard !isBackingUp.exchange(true, ordering: .acquiringAndReleasing) else {
            throw ServiceError(
                .requestRateLimited,
                .overloaded,
                "another backup is being made; try again when it is there"
            )
        }
        defer { isBackingUp.store(false, ordering: .releasing) }
        return try assets.keepingPacks { (packs) throws(ServiceError) in
            try backUp(gate.engine, packs, path)
        }
    }
}
