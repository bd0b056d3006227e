// A node's description of itself: its state, the content of each scope and zone, and its peers.

import Crypto
package import CumulusModel
import CumulusWire

extension NodeOperator {
    package struct Status: Sendable {
        package var nodeID: String
        package var incarnation: String
        package var clusterID: String
        package var version: String
        /// "ready", or why it isn't; "damaged": a row was found that can't be read; "catching up":
        /// what its peers had when it was started is not all here yet; "stamps ahead": commits are
        /// dated ahead of its clock, since clocks were ahead before; "joining": it is new, and lets
        /// no clients in until it has taken its cluster's state.
        package var state: String
        /// What a joining node waits for; empty in every other state.
        package var notReady: String
        package var started: Timestamp
        package var connections: Int
        package var calls: UInt64
        package var callsInProgress: Int
        package var commits: UInt64
        package var flushes: UInt64
        /// The rows that the node handed to its engine, and bytes of their keys and values.
        package var (rows, rowBytes): (UInt64, UInt64)
        package var freeBytes: UInt64
        package var assetBytes: UInt64
        /// Assets that records name and whose bytes are not all there; 1,000 means that many or
        /// more.
        package var wantedAssets: Int
        /// The disk space that the logs of commits take, and the space that they may take.
        package var (logBytes, logLimit): (UInt64, UInt64)
        /// Bytes that a user's private database and a container's public one may take; 0: no limit.
        package var (privateQuota, publicQuota): (UInt64, UInt64)
        package var profile: String
        package var scopes: [Scope]
        package var peers: [Peer]
    }

    /// The content of one scope on a node.
    ///
    /// Nodes that tell equal commits and digests hold the same.
    package struct Scope: Sendable {
        /// The scope's container; empty for the cluster's own scope.
        package var container: String
        package var environment: String
        package var commits: UInt64
        /// Hexadecimal digits that are equal on nodes that have applied the same commits.
        ///
        /// Empty if the node is of an earlier release and does not tell them.
        package var applied: String
        /// Digest of all records, in hexadecimal digits.
        package var digest: String
        /// Entries of the scope's vector: runs that tokens name, and retired ones.
        package var (liveRuns, retiredRuns): (UInt32, UInt32)
        /// Zones with forgotten deletions.
        package var horizons: UInt32
    }

    /// A node that the node pulls from.
    package struct Peer: Sendable {
        package var endpoint: String
        /// Its node id; empty while it is not connected.
        package var nodeID: String
        /// When the connection began or ended.
        package var since: Timestamp
        /// Why it is not connected; empty: it is, or nothing is known yet.
        package var problem: String
    }

    /// The content of a zone on a node.
    package struct ZoneStatus: Sendable {
        package var database: DatabaseScope
        package var owner: String
        package var zone: String
        package var records: UInt64
        package var bytes: UInt64
        /// Bytes of the assets that the records name.
        package var assetBytes: UInt64
        /// The digest in hexadecimal digits; equal on nodes that have applied the same commits.
        package var digest: String
        /// The commits of each run up to which deletions are forgotten.
        package var horizon: [String: UInt64]
    }

    package func status() async throws -> Status {
        let wire = try await call(.operatorStatus) { try NodeStatus(wire: $0) }
        return Status(
            nodeID: wire.nodeID.hex,
            incarnation: Incarnation(wire.incarnation).digits,
            clusterID: wire.clusterID.hex,
            version: wire.softwareVersion,
            state: wire.state,
            notReady: wire.notReady,
            started: Timestamp(millisecondsSince1970: wire.started),
            connections: Int(wire.connections),
            calls: wire.calls,
            callsInProgress: Int(wire.callsInProgress),
            commits: wire.commits,
            flushes: wire.flushes,
            rows: wire.rows,
            rowBytes: wire.rowBytes,
            freeBytes: wire.freeBytes,
            assetBytes: wire.assetBytes,
            wantedAssets: Int(wire.wantedAssets),
            logBytes: wire.logBytes,
            logLimit: wire.logLimit,
            privateQuota: wire.privateQuota,
            publicQuota: wire.publicQuota,
            profile: wire.profile,
            scopes: wire.scopes.map { scope in
                let environment = Environment(rawValue: UInt8(clamping: scope.environment))
                return Scope(
                    container: scope.container,
                    environment: environment?.name ?? "",
                    commits: scope.commits,
                    applied: scope.applied.hex,
                    digest: scope.digest.hex,
                    liveRuns: scope.liveRuns,
                    retiredRuns: scope.retiredRuns,
                    horizons: scope.horizons
                )
            },
            peers: wire.peers.map { peer in
                let since = Timestamp(millisecondsSince1970: peer.since)
                return Peer(
                    endpoint: peer.endpoint,
                    nodeID: peer.nodeID.hex,
                    since: since,
                    problem: peer.problem
                )
            }
        )
    }

    /// The node's metrics in the text form that Prometheus reads.
    package func metrics() async throws -> String {
        try await call(.operatorMetrics) { try MetricsResponse(wire: $0).text }
    }

    /// The content of each zone of a container on the node.
    package func zones(
        of container: String,
        _ environment: Environment,
        _ visit: (ZoneStatus) throws -> Void
    ) async throws {
        var header = CallHeader(.operatorZoneStatus)
        header.container = Bytes(container.utf8)
        header.environment = UInt32(environment.rawValue)
        let stream = try await PageStream.open(core, header, [])
        while let message = try await stream.next() {
            let page = try decoding { try ZoneStatusResponse(wire: message).elements }
            for zone in page.compactMap(ZoneStatus.init) { try visit(zone) }
        }
    }
}

extension NodeOperator.ZoneStatus {
    fileprivate init?(_ wire: WireZoneStatus) {
        guard let kind = UInt8(exactly: wire.database).flatMap(DatabaseScope.init(rawValue:))
        else { return nil }
        database = kind
        owner = wire.owner
        zone = wire.zone
        records = wire.records
        bytes = wire.bytes
        assetBytes = wire.assetBytes
        digest = wire.digest.hex
        horizon = wire.horizon.byRun
    }
}

extension NodeOperator {
    /// The URL of the console, with a link that is good once and for a minute; nil: the node serves
    /// no HTTP.
    ///
    /// - Parameter host: The host where the node names none, since it listens on all addresses.
    package func consoleURL(host: String) async throws -> String? {
        let status = try await call(.operatorStatus) { try NodeStatus(wire: $0) }
        guard !status.console.isEmpty else { return nil }
        // The connection is new: the clock of its greeting is the node's.
        let time = try await core.hello().clock
        var dice = ClientDice(random: core.environment.random)
        let nonce = Bytes(dice.nonce().prefix(ConsoleLink.nonceBytes))
        let code = HMAC<SHA256>.authenticationCode(
            for: ConsoleLink.message(of: status.incarnation, time: time, nonce: nonce),
            using: SymmetricKey(data: core.settings.hello.token)
        )
        let link = ConsoleLink(time: time, nonce: nonce, code: Bytes(code))
        let site = status.console.replacing("://:", with: "://\(host):")
        return "\(site)/console#link=\(link.text)"
    }
}
