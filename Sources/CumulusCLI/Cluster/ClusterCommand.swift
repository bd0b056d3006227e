// `cumulus cluster`: what an operator does about the nodes of a cluster.
//
// Folder: what an operator does about nodes: members, certificates, backups, status. Read
// `ClusterCommand`, then `ClusterJoin` and `StatusCommand`.

import ArgumentParser
import Cumulus
import CumulusSystem
import CumulusTerminal

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Show the members of the cluster, compare them, take one off; as the operator.",
        discussion: help(
            "cumulus cluster init cluster.key",
            "cumulus cluster status --token-file operator.token",
            note: """
                The first node makes the cluster's key (DATA/cluster.key), or takes one that \
                'cumulus cluster init' made. Another one joins by being started with that key and \
                the address of any member:

                  cumulusd --data DIR --cluster-key FILE --peers HOST:PORT

                'cumulus cluster join' writes these settings into a file. The new node takes over \
                the state of that member and finds the others by itself. Beyond one machine nodes \
                need certificates; 'cumulus cluster certificate' makes them.
                """
        ),
        subcommands: [
            Initialise.self, Join.self, Status.self, VerifyCommand.self, Leave.self, Remove.self,
            RescueCommand.self, TruncateMarker.self, CertificateCommand.self,
        ]
    )
}

extension ClusterCommand {
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the members, and how far each has read.",
            discussion: help(
                "cumulus cluster status --token-file operator.token",
                "cumulus cluster status --zones --container iCloud.dev.cumulus",
                note: """
                    An address that the node is told of and can't reach has a line too, with the \
                    reason. A node is joining until it has taken the cluster's state. \
                    What a member lacks is counted when it reports, every ten seconds while there \
                    is news; LAG is the age of the oldest such commit. Logs are kept for members \
                    that lack something: LOG is what they take for one, and about when they drop \
                    it, at the pace so far: that member then takes a state. CLOCK is how far its \
                    clock is ahead of this node's. When it has read as much as this node, the \
                    records that both hold are compared: HOLDS tells what came of it. If they \
                    differ, one of the stores is damaged; 'cumulus cluster verify' finds what. Two \
                    processes have the id of one node when its data directory was copied: the one \
                    that came second is refused, until one of them is stopped. --json tells \
                    how many commits of each run a member has read. --zones shows instead \
                    what the node that is asked holds of each zone of the container: where nodes \
                    that have read as much show another digest, they differ. BYTES are those of \
                    the records' fields, ASSETS those of the assets that they name: both \
                    count for the quotas that 'cumulus status' shows. FORGETS is how many \
                    commits lie before the horizon of a zone, whose deletions are forgotten.
                    """
            )
        )

        @Flag(help: "What the node holds of each zone of the container.") var zones = false
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            // Each node has digests of its own.
            if zones { try connection.nodes.checkSingle() }
            guard zones || !scope.isNamed else {
                throw ValidationError(
                    "Members are those of all containers: --container and --environment go with "
                        + "--zones."
                )
            }
        }

        func run() async throws {
            if zones { return try await showZones() }
            let (members, status) = try await connection.withOperator { node in
                (try await node.members(), try await node.status())
            }
            try output.show(
                Listed.all(members, status),
                columns: [
                    "NODE", "ADDRESS", "STATE", "LACKS", "LAG", "LOG", "HOLDS", "CLOCK", "HEARD",
                ],
                json: \.json,
                row: \.row
            )
        }
    }

}

/// An entry of `cluster status`, with a line of its own.
private enum Listed {
    /// A member, with its problem; empty if it has none.
    case member(NodeOperator.Member, problem: String)
    /// An address that the node's settings name and at which it reaches no member.
    case address(NodeOperator.Peer)

    static func all(_ members: [NodeOperator.Member], _ status: NodeOperator.Status) -> [Listed] {
        let away = status.peers.filter(\.nodeID.isEmpty)
        let listed = members.map { member in
            let problem = away.first { $0.endpoint == member.endpoint && !member.isConnected }
            return Listed.member(
                member,
                problem: member.isThis ? status.notReady : problem?.problem ?? ""
            )
        }
        let others = away.filter { peer in !members.contains { $0.endpoint == peer.endpoint } }
        return listed + others.map(Listed.address)
    }

    private var state: String {
        switch self {
        case .member(let member, let problem) where member.isThis && !problem.isEmpty: "joining"
        case .member(let member, _): member.state
        case .address: "not reached"
        }
    }

    private var problem: String {
        switch self {
        case .member(_, let problem): problem
        case .address(let peer): peer.problem
        }
    }

    var row: [String] {
        let state = problem.isEmpty ? state : "\(state): \(problem)"
        return switch self {
        case .member(let member, _):
            [
                member.nodeID, member.addresses, state, member.missing, member.lag, member.log,
                member.held, member.clock, member.lastHeard,
            ]
        case .address(let peer): ["", peer.endpoint, state]
        }
    }

    var json: JSON {
        let problem = JSON.Member("problem", problem.isEmpty ? .null : .string(problem))
        return switch self {
        case .member(let member, _): .object(member.json(state: state) + [problem])
        case .address(let peer):
            .object([
                JSON.Member("node", .null), JSON.Member("endpoint", .string(peer.endpoint)),
                JSON.Member("state", .string(state)), problem,
            ])
        }
    }
}

extension ClusterCommand.Status {
    private func showZones() async throws {
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        let columns = [
            "DATABASE", "OWNER", "ZONE", "RECORDS", "BYTES", "ASSETS", "FORGETS", "DIGEST",
        ]
        var listing = Listing(columns, isJSON: output.json)
        try await connection.withOperator { node in
            try await node.zones(of: name, environment) { try listing.add($0.json, row: $0.row) }
        }
        try listing.end()
    }
}

extension NodeOperator.ZoneStatus {
    fileprivate var row: [String] {
        let forgets = horizon.values.reduce(0, +)
        return [
            database.name, owner, zone, "\(records)", ByteCount.text(bytes),
            ByteCount.text(assetBytes), "\(forgets)", digest,
        ]
    }

    fileprivate var json: JSON {
        .object([
            JSON.Member("database", .string(database.name)), JSON.Member("owner", .string(owner)),
            JSON.Member("zone", .string(zone)),
            JSON.Member("records", .integer(Int64(clamping: records))),
            JSON.Member("bytes", .integer(Int64(clamping: bytes))),
            JSON.Member("assetBytes", .integer(Int64(clamping: assetBytes))),
            JSON.Member("digest", .string(digest)), JSON.Member("horizon", .runs(horizon)),
        ])
    }
}

extension JSON {
    /// How many commits of each run.
    fileprivate static func runs(_ runs: [String: UInt64]) -> JSON {
        .object(
            runs.sorted { $0.key < $1.key }
                .map { JSON.Member($0.key, .integer(Int64(clamping: $0.value))) }
        )
    }
}

extension ClusterCommand {
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a node off the list, for good: its process ends, nobody waits for it.",
            discussion: help(
                "cumulus cluster remove 5d25f33e --token-file operator.token",
                note: """
                    What only that node had stays in its data directory, so one that the node \
                    that is asked is connected to is not removed: let it leave, or say --force. \
                    'cumulus cluster rescue' hands over what the directory holds. The node can \
                    come back with an empty one, as a new node.
                    """
            )
        )

        @Argument(help: "The node's id, or the first digits of it.") var node: String
        @Flag(help: "Also if the node is up: what only it has stays in its directory.")
        var force = false
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let nodeID = try await connection.withOperator { cluster in
                let found = try await cluster.member(node)
                guard force || !found.isConnected else {
                    throw InputProblem(
                        """
                        node \(found.nodeID) is up, and may have what no other has: ask it to \
                        leave by 'cumulus cluster leave', or say --force
                        """
                    )
                }
                _ = try await cluster.removeMember(found.nodeID)
                return found.nodeID
            }
            try output.show(["node": .string(nodeID), "removed": .bool(true)], rows: [[nodeID]])
        }
    }
}

extension NodeOperator {
    /// The member whose id begins like that.
    func member(_ start: String) async throws -> Member {
        let found = try await members().filter {
            $0.nodeID.hasPrefix(start.lowercased()) && !$0.isRemoved
        }
        guard let member = found.first else {
            throw InputProblem("no member's id begins with '\(start)'; see 'cluster status'")
        }
        guard found.count == 1 else {
            throw InputProblem("\(found.count) members' ids begin with '\(start)'; write more")
        }
        return member
    }
}

extension ClusterCommand {
    struct Initialise: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "init",
            abstract: "Make the key of a new cluster: every node of it is started with it.",
            discussion: help(
                "cumulus cluster init cluster.key",
                note: """
                    Who has the key can read and change everything: keep it where only the nodes \
                    can read it. Then start the nodes: cumulusd --data DIR --cluster-key \
                    cluster.key --peers HOST:PORT,HOST:PORT (any of them; none for the first).
                    """
            )
        )

        @Argument(help: "The file to make.") var file: String
        @OptionGroup var output: OutputOptions

        func run() async throws {
            guard !FileManager.default.fileExists(atPath: file) else {
                throw InputProblem("\(file) exists: nodes may be using it; name another file")
            }
            try KeyFile.write(Self.key(), to: file, isSecret: true)
            try output.show(["key": .string(file)], rows: [["made \(file)"]])
        }

        /// 32 random bytes, in hexadecimal digits.
        private static func key() -> String {
            let digits = "0123456789abcdef"
            return String((0..<64).compactMap { _ in digits.randomElement() })
        }
    }

    struct Leave: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let a node hand over what only it has, leave the cluster and end.",
            discussion: help(
                "cumulus cluster leave --endpoint 127.0.0.1:7421 --token-file op.token",
                note: """
                    Ask the node that is to go. It takes no more writes, waits until another \
                    member has everything, takes itself off the list, and ends. It tries for 60 \
                    seconds unless --timeout says otherwise. Several may leave at once, as long \
                    as one stays. It can come back with an empty data directory, as a new node.
                    """
            )
        )

        @OptionGroup var connection: NodeConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await connection.withOperator(timeout: 60) { try await $0.leave() }
            try output.show(["left": .bool(true)], rows: [["the node left the cluster"]])
        }
    }
}

extension ClusterCommand {
    struct TruncateMarker: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "truncate-marker",
            abstract: "After nodes went back to backups: let tokens of what nobody has expire.",
            discussion: help(
                "cumulus cluster truncate-marker --yes --token-file operator.token",
                "cumulus cluster truncate-marker --yes --end-sessions",
                note: """
                    Without --yes nothing is marked. \
                    A client that saw what the backup lacks waits for a node that has it. Run this \
                    once, on any node, when none will come: change tokens of what is lost then \
                    expire, and the clients fetch anew. A cluster of one node needs no marker. \
                    If all nodes went back, sessions and access tokens that were revoked since \
                    are good again: --end-sessions ends those of all users.
                    """
            )
        )

        @Flag(help: "Mark what the cluster has now as all that there is.") var yes = false
        @Flag(help: "End all sessions and access tokens of all users.") var endSessions = false
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard yes else {
                throw ValidationError(
                    "This makes clients forget what no node has any more; say so with --yes."
                )
            }
        }

        func run() async throws {
            let scopes = try await connection.withOperator {
                try await $0.truncate(endsSessions: endSessions)
            }
            try output.show(
                ["scopes": .integer(Int64(scopes)), "endedSessions": .bool(endSessions)],
                rows: [["marked \(counted(scopes, "scope"))"]]
                    + (endSessions ? [["ended all sessions and access tokens"]] : [])
            )
        }
    }
}

extension NodeOperator.Member {
    fileprivate var addresses: String {
        twin.isEmpty ? endpoint : "\(endpoint) and \(twin)"
    }

    fileprivate var state: String {
        if isThis { return "this node" }
        if isRemoved { return "removed" }
        if !twin.isEmpty { return "two processes" }
        return isConnected ? "connected" : "not connected"
    }

    private var lacks: UInt64 { reports.reduce(0) { $0 + $1.missing } }

    fileprivate var missing: String { isThis || isRemoved ? "" : counted(lacks, "commit") }

    /// Nothing while the member lacks something: what was compared last is not what it holds now.
    fileprivate var held: String {
        let compared = reports.compactMap(\.holdsTheSame)
        if compared.contains(false) { return "SOMETHING ELSE" }
        return compared.isEmpty || lacks > 0 ? "" : "the same"
    }

    /// Age of the oldest commit that it lacks, in seconds.
    fileprivate var lagSeconds: Double? {
        if isThis { return nil }
        let oldest = reports.compactMap { $0.oldestMissing?.millisecondsSince1970 }.min()
        guard let oldest else { return nil }
        return max(0, Date().timeIntervalSince1970 - Double(oldest) / 1_000)
    }

    fileprivate var lag: String {
        lagSeconds.map { "\(($0 * 10).rounded() / 10) s" } ?? ""
    }

    fileprivate var log: String {
        stateAfter.map { "\(ByteCount.text(logBytes)) until \($0.text)" } ?? ""
    }

    fileprivate var clock: String {
        heard == nil || isThis || isRemoved ? "" : "\(clockOffset) ms"
    }

    fileprivate var lastHeard: String {
        if isThis || isRemoved { return "" }
        return heard?.text ?? "never"
    }

    fileprivate func json(state: String) -> [JSON.Member] {
        [
            JSON.Member("node", .string(nodeID)), JSON.Member("endpoint", .string(endpoint)),
            JSON.Member("state", .string(state)),
            JSON.Member("twin", twin.isEmpty ? .null : .string(twin)),
            JSON.Member("heard", heard.map { .string($0.text) } ?? .null),
            JSON.Member("clockAheadMilliseconds", heard == nil ? .null : .integer(clockOffset)),
            JSON.Member("lagSeconds", lagSeconds.map { .decimal($0) } ?? .null),
            JSON.Member("logBytes", .integer(Int64(clamping: logBytes))),
            JSON.Member("stateAfter", stateAfter.map { .string($0.text) } ?? .null),
            JSON.Member("scopes", .array(reports.map(\.json))),
        ]
    }
}

extension NodeOperator.Report {
    fileprivate var json: JSON {
        .object([
            JSON.Member("container", .string(container)),
            JSON.Member("environment", .string(environment)),
            JSON.Member("missing", .integer(Int64(clamping: missing))),
            JSON.Member("vector", .runs(vector)),
            JSON.Member("reported", reported.map { .string($0.text) } ?? .null),
            JSON.Member("oldestMissing", oldestMissing.map { .string($0.text) } ?? .null),
            JSON.Member("holdsTheSame", holdsTheSame.map { .bool($0) } ?? .null),
        ])
    }
}
