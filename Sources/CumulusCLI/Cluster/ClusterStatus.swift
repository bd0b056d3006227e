// `cumulus cluster status`: the members of a cluster as the node that is asked sees them, a short
// table of how they are and one of how far each has read; and the zones that a node holds.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension ClusterCommand {
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the members, and how far each has read.",
            discussion: help(
                "cumulus cluster status --token-file operator.token",
                "cumulus cluster status --endpoint a:7420,b:7420,c:7420 --token-file carol.token",
                "cumulus cluster status --zones --container iCloud.dev.cumulus",
                note: """
                    The first table has a line a node. VERSION, READY and with how many other \
                    members a node HOLDS THE SAME are what it says itself, so name the other \
                    nodes with --endpoint too, and the token of an operator of the cluster; of \
                    the rest it shows whether they are connected with the node that answers, and \
                    whether they hold the same as that one. Removed nodes are left out without \
                    --all; --json has them all. The second table is what the node that answers \
                    knows of the others. An address that the node is told of and can't reach has \
                    a line too, with the reason. A node is joining until it has taken the \
                    cluster's state. What a member lacks is counted when it reports, every ten \
                    seconds while there is news, and 'not reported yet' before it has done so \
                    once; LAG is the age of the oldest such commit. Logs are kept for members \
                    that lack something: LOG is what they take for one, and about when they drop \
                    it, at the pace so far: that member then takes a state. CLOCK is how far its \
                    clock is ahead of this node's. When it has read as much as this node, the \
                    records that both hold are compared: HOLDS tells what came of it. If they \
                    differ, one of the stores is damaged; 'cumulus cluster verify' finds what. \
                    Two processes have the id of one node when its data directory was copied: the \
                    one that came second is refused, until one of them is stopped. --json tells \
                    how many commits of each run a member has read. --zones shows instead what \
                    the node that is asked holds of each zone of the container: where nodes that \
                    have read as much show another digest, they differ. BYTES are those of the \
                    records' fields, ASSETS those of the assets that they name: both count for \
                    the quotas that 'cumulus status' shows. FORGETS is how many commits lie \
                    before the horizon of a zone, whose deletions are forgotten.
                    """
            )
        )

        @Flag(help: "What the node holds of each zone of the container.") var zones = false
        @Flag(help: "Also the nodes that were removed.") var all = false
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            // Each node has digests of its own.
            if zones { try connection.nodes.checkSingle() }
            guard !zones || !all else {
                throw ValidationError("--all shows removed nodes, and --zones shows none.")
            }
            guard zones || !scope.isNamed else {
                throw ValidationError(
                    "Members are those of all containers: --container and --environment go with "
                        + "--zones."
                )
            }
        }

        func run() async throws {
            if zones { return try await showZones() }
            let (endpoint, view) = try await connection.withOperator { node in
                (node.endpoint, try await ClusterView(of: node))
            }
            let others = await views(besides: endpoint)
            let listed = Listed.all(view.members, view.status)
            let overview = ClusterOverview(view, others)
            let shown = listed.filter { all || !$0.isRemoved }
            let tables = [
                [ClusterOverview.columns] + shown.map(overview.row),
                [Listed.columns] + shown.map(\.row),
            ]
            try StandardOutput.write(
                line: output.json
                    ? Table.array(
                        listed.map { JSON.object($0.members + overview.members(of: $0)).text }
                    )
                    : tables.map(Table.aligned).joined(separator: "\n\n")
            )
        }

        /// What the other nodes that are named say themselves; those that don't answer are left
        /// out.
        private func views(besides endpoint: String) async -> [ClusterView] {
            var views: [ClusterView] = []
            for other in connection.nodes.endpoints where other != endpoint {
                let view = try? await connection.access.withOperator(at: other, timeout: 3) {
                    try await ClusterView(of: $0)
                }
                if let view { views.append(view) }
            }
            return views
        }
    }
}

/// What a node says of itself and of the others.
struct ClusterView {
    var status: NodeOperator.Status
    var members: [NodeOperator.Member]

    init(_ status: NodeOperator.Status, _ members: [NodeOperator.Member]) {
        (self.status, self.members) = (status, members)
    }

    init(of node: NodeOperator) async throws {
        self.init(try await node.status(), try await node.members())
    }

    /// The members that are not removed, without the node itself.
    var others: [NodeOperator.Member] { members.filter { !$0.isThis && !$0.isRemoved } }

    /// Ids of the members that hold the same as this node.
    var equals: [String] { others.filter(\.holdsTheSame).map(\.nodeID) }
}

/// The first table of `cluster status`: how each node is.
struct ClusterOverview {
    private let asked: ClusterView
    /// What nodes said themselves, by their ids.
    private let views: [String: ClusterView]

    static let columns = ["NODE", "ADDRESS", "VERSION", "READY", "HOLDS THE SAME AS"]

    init(_ asked: ClusterView, _ others: [ClusterView] = []) {
        self.asked = asked
        views = Dictionary((others + [asked]).map { ($0.status.nodeID, $0) }) { $1 }
    }

    func row(of listed: Listed) -> [String] {
        switch listed {
        case .address(let peer): return ["", peer.endpoint, "", "not reached", ""]
        case .member(let member, let problem, _):
            let view = member.isRemoved ? nil : views[member.nodeID]
            let ready = view.map { $0.isReady ? "yes" : "no: \($0.status.state)" }
            return [
                member.nodeID, member.addresses, view?.status.version ?? "",
                (ready ?? member.state) + (problem.isEmpty ? "" : ", see below"),
                view?.comparison ?? (isLikeAsked(member) ? "the node that answers" : ""),
            ]
        }
    }

    /// What the JSON of a node has of it; null is what nobody said.
    func members(of listed: Listed) -> [JSON.Member] {
        guard case .member(let member, _, _) = listed else { return [] }
        let view = member.isRemoved ? nil : views[member.nodeID]
        let equals = view?.equals ?? (isLikeAsked(member) ? [asked.status.nodeID] : [])
        return [
            JSON.Member("version", view.map { .string($0.status.version) } ?? .null),
            JSON.Member("ready", view.map { .bool($0.isReady) } ?? .null),
            JSON.Member("holdsTheSameAs", .array(equals.map(JSON.string))),
        ]
    }

    private func isLikeAsked(_ member: NodeOperator.Member) -> Bool {
        asked.equals.contains(member.nodeID)
    }
}

extension ClusterView {
    fileprivate var isReady: Bool { status.state == "ready" }

    /// Empty for a node without others.
    fileprivate var comparison: String {
        others.isEmpty ? "" : "\(equals.count) of \(counted(others.count, "other member"))"
    }
}

/// An entry of `cluster status`, with a line of its own.
enum Listed {
    /// A member, with its problem; empty if it has none.
    case member(NodeOperator.Member, problem: String, isJoining: Bool = false)
    /// An address that the node's settings name and at which it reaches no member.
    case address(NodeOperator.Peer)

    static func all(_ members: [NodeOperator.Member], _ status: NodeOperator.Status) -> [Listed] {
        let away = status.peers.filter(\.nodeID.isEmpty)
        let listed = members.map { member in
            // A member that calls this node is connected, though it can't be called itself.
            let isCalled = status.peers.contains { $0.nodeID == member.nodeID }
            let problem = isCalled ? nil : away.first { $0.endpoint == member.endpoint }
            let notReady = member.isThis ? status.notReady : ""
            return Listed.member(
                member,
                problem: notReady.isEmpty ? problem?.problem ?? "" : notReady,
                isJoining: !notReady.isEmpty
            )
        }
        let others = away.filter { peer in !members.contains { $0.endpoint == peer.endpoint } }
        return listed + others.map(Listed.address)
    }

    static let columns = [
        "NODE", "ADDRESS", "STATE", "LACKS", "LAG", "LOG", "HOLDS", "CLOCK", "HEARD",
    ]

    var isRemoved: Bool {
        if case .member(let member, _, _) = self { member.isRemoved } else { false }
    }

    private var state: String {
        switch self {
        case .member(_, _, isJoining: true): "joining"
        case .member(let member, _, _): member.state
        case .address: "not reached"
        }
    }

    private var problem: String {
        switch self {
        case .member(_, let problem, _): problem
        case .address(let peer): peer.problem
        }
    }

    var row: [String] {
        let state = problem.isEmpty ? state : "\(state): \(problem)"
        return switch self {
        case .member(let member, _, _):
            [
                member.nodeID, member.addresses, state, member.missing, member.lag, member.log,
                // What it said last is not what it holds now.
                problem.isEmpty ? member.held : "", member.clock, member.lastHeard,
            ]
        case .address(let peer): ["", peer.endpoint, state]
        }
    }

    var members: [JSON.Member] {
        let problem = JSON.Member("problem", problem.isEmpty ? .null : .string(problem))
        return switch self {
        case .member(let member, _, _): member.json(state: state) + [problem]
        case .address(let peer):
            [
                JSON.Member("node", .null), JSON.Member("endpoint", .string(peer.endpoint)),
                JSON.Member("state", .string(state)), problem,
            ]
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

    /// Before the first report, what it lacks is a guess: all that there is.
    private var hasReported: Bool { reports.contains { $0.reported != nil } }

    fileprivate var missing: String {
        if isThis || isRemoved { return "" }
        return hasReported ? counted(lacks, "commit") : "not reported yet"
    }

    /// Nothing while the member lacks something: what was compared last is not what it holds now.
    fileprivate var held: String {
        let compared = reports.compactMap(\.holdsTheSame)
        if compared.contains(false) { return "SOMETHING ELSE" }
        return compared.isEmpty || lacks > 0 ? "" : "the same"
    }

    fileprivate var holdsTheSame: Bool { held == "the same" }

    /// Age of the oldest commit that it lacks, in seconds.
    fileprivate var lagSeconds: Double? {
        if isThis { return nil }
        let oldest = reports.compactMap { $0.oldestMissing?.millisecondsSince1970 }.min()
        guard let oldest else { return nil }
        return max(0, Date().timeIntervalSince1970 - Double(oldest) / 1_000)
    }

    fileprivate var lag: String {
        guard hasReported else { return "" }
        return lagSeconds.map { "\(($0 * 10).rounded() / 10) s" } ?? ""
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
