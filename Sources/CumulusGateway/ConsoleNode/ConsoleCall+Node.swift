// The console's pages about the node, the cluster and its containers.

import CumulusModel
import CumulusWire

extension ConsoleCall {
    /// Zones that one answer lists; the sums count all.
    private static let mostZones = 2_000
    /// Conflicts that one answer lists.
    private static let mostConflicts = 200

    // MARK: This node

    func status() async throws -> ConsoleReply {
        let status = try await askOnce(.operatorStatus) { try NodeStatus(wire: $0) }
        return .json([
            .init("nodeID", .string(status.nodeID.hex)),
            .init("clusterID", .string(status.clusterID.hex)),
            .init("version", .string(status.softwareVersion)),
            .init("state", .string(status.state)), .init("notReady", .string(status.notReady)),
            .init("started", .integer(status.started)),
            .init("now", .integer(door.now)), .init("freeBytes", .count(status.freeBytes)),
            .init("assetBytes", .count(status.assetBytes)),
            .init("wantedAssets", .count(UInt64(status.wantedAssets))),
            .init("logBytes", .count(status.logBytes)),
            .init("logLimit", .count(status.logLimit)),
            .init("privateQuota", .count(status.privateQuota)),
            .init("publicQuota", .count(status.publicQuota)),
            .init("profile", .string(status.profile)),
            .init("scopes", .array(status.scopes.map(ConsoleCall.json))),
            .init(
                "peers",
                .array(
                    status.peers.map { peer in
                        [
                            "endpoint": .string(peer.endpoint),
                            "nodeID": .string(peer.nodeID.hex), "since": .integer(peer.since),
                            "problem": .string(peer.problem),
                        ]
                    }
                )
            ),
        ])
    }

    private static func json(_ scope: NodeStatus.Scope) -> JSON {
        [
            "container": .string(scope.container),
            "environment": .string(ConsoleCall.environment(scope.environment)),
            "commits": .count(scope.commits), "digest": .string(scope.digest.hex),
            "horizons": .count(UInt64(scope.horizons)),
        ]
    }

    private static func environment(_ number: UInt32) -> String {
        UInt8(exactly: number).flatMap(Environment.init(rawValue:))?.name ?? ""
    }

    func live() async throws -> ConsoleReply {
        try await checkOperator()
        return .json([.init("now", .integer(door.now))] + sources.numbers().members)
    }

    // MARK: The cluster

    func members() async throws -> ConsoleReply {
        let pages = try await ask(.operatorListMembers) {
            try ListMembersResponse(wire: $0).elements
        }
        let members = pages.flatMap { $0 }.map { member -> JSON in
            [
                "nodeID": .string(member.nodeID.hex), "endpoint": .string(member.endpoint),
                "isRemoved": .bool(member.isRemoved), "isThis": .bool(member.isThis),
                "isConnected": .bool(member.isConnected),
                "clockOffset": .integer(member.clockOffset), "heard": .integer(member.heard),
                "twin": .string(member.twin), "logBytes": .count(member.logBytes),
                "stateAfter": .integer(member.stateAfter),
                "reports": .array(member.reports.map(ConsoleCall.json)),
            ]
        }
        return .json([.init("members", .array(members))])
    }

    private static func json(_ report: WireMember.Report) -> JSON {
        let agreements = ["notCompared", "same", "different"]
        let agreement = Int(report.agreement)
        return [
            "container": .string(report.container),
            "environment": .string(environment(report.environment)),
            "missing": .count(report.missing), "reported": .integer(report.reported),
            "oldestMissing": .integer(report.oldestMissing),
            "agreement": .string(agreement < 3 ? agreements[agreement] : ""),
        ]
    }

    func conflicts() async throws -> ConsoleReply {
        let scope = try scope()
        let pages = try await ask(.recordsListConflicts, in: scope) {
            try ListConflictsResponse(wire: $0).elements
        }
        let all = pages.flatMap { $0 }
        let shown = all.prefix(ConsoleCall.mostConflicts).compactMap(ConsoleCall.json)
        return .json([
            .init("conflicts", .array(shown)), .init("count", .count(UInt64(all.count))),
        ])
    }

    /// nil for a conflict that names no record.
    private static func json(_ conflict: WireConflict) -> JSON? {
        guard let record = conflict.lostRecord else { return nil }
        let database = UInt8(exactly: conflict.database).flatMap(DatabaseScope.init(rawValue:))
        let id = record.recordID
        let lost = WebRecordWriter(WebFieldWriter(numbersAsStrings: true, user: "")).json(record)
        return [
            "id": .string(conflict.id.hex), "database": .string(database?.name ?? ""),
            "owner": .string(conflict.owner), "zone": .string(id.zoneID.zoneName),
            "recordName": .string(id.recordName), "field": .string(conflict.field),
            "lost": conflict.isWithheld ? .null : lost["fields"] ?? .null,
            "isWithheld": .bool(conflict.isWithheld), "winner": json(conflict.winner),
            "loser": json(conflict.loser),
        ]
    }

    private static func json(_ change: WireConflict.Change) -> JSON {
        let commit = Dot(Incarnation(change.incarnation), change.seq)
        return ["time": .integer(change.time), "commit": .string(commit.description)]
    }

    // MARK: Containers

    func containers() async throws -> ConsoleReply {
        let pages = try await ask(.operatorListContainers) {
            try ListContainersResponse(wire: $0).texts
        }
        let names = pages.flatMap { $0 }.map { JSON.string($0) }
        return .json([.init("containers", .array(names))])
    }

    func createContainer() async throws -> ConsoleReply {
        let message = BytesRequest(try bytes("container")).encoded()
        let existed = try await askOnce(.operatorCreateContainer, message) {
            try CreateContainerResponse(wire: $0).flag
        }
        return .json([.init("existed", .bool(existed))])
    }

    /// The zones of all databases of an environment; with `owner`, one user's zones.
    func zones() async throws -> ConsoleReply {
        let scope = try scope()
        let owner = try values.string("owner")
        let pages = try await ask(.operatorZoneStatus, in: scope) {
            try ZoneStatusResponse(wire: $0).elements
        }
        let zones = pages.joined().filter { owner == nil || $0.owner == owner }
        let (records, bytes, assetBytes) = zones.reduce(into: (UInt64(0), UInt64(0), UInt64(0))) {
            $0 = ($0.0 + $1.records, $0.1 + $1.bytes, $0.2 + $1.assetBytes)
        }
        return .json([
            .init("zones", .array(zones.prefix(ConsoleCall.mostZones).map(ConsoleCall.json))),
            .init("count", .count(UInt64(zones.count))), .init("records", .count(records)),
            .init("bytes", .count(bytes)), .init("assetBytes", .count(assetBytes)),
        ])
    }

    private static func json(_ zone: WireZoneStatus) -> JSON {
        let database = UInt8(exactly: zone.database).flatMap(DatabaseScope.init(rawValue:))
        return [
            "database": .string(database?.name ?? ""), "owner": .string(zone.owner),
            "zone": .string(zone.zone), "records": .count(zone.records),
            "bytes": .count(zone.bytes), "assetBytes": .count(zone.assetBytes),
            "digest": .string(zone.digest.hex), "hasHorizon": .bool(!zone.horizon.isEmpty),
        ]
    }
}

extension JSON {
    /// A number of things, cut to what 64 bits with a sign hold.
    static func count(_ number: UInt64) -> JSON { .integer(Int64(clamping: number)) }
}
