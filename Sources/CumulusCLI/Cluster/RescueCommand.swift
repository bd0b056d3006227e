// `cumulus cluster rescue`: hands the cluster what the directory of a removed node holds and no
// other node has.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct RescueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rescue",
        abstract: "Hand the cluster what only the directory of a removed node holds.",
        discussion: help(
            "cumulus cluster rescue /var/lib/cumulus-old --token-file operator.token",
            "cumulus cluster rescue /var/lib/cumulus-old --dry-run --json",
            note: """
                For a node that was taken off the list while it was away. No process may use its \
                data directory. The node that is asked, any of the cluster, gets the commits that \
                it lacks, as they are: they count from when they were made, and merge with what \
                others did meanwhile. It passes them on to the others. Files of assets go along. \
                FOUND is how many commits the directory holds, THERE how many of them the node \
                had. A run that was interrupted is repeated: each commit counts once. What is to \
                be handed over is read from the directory's log; commits that the log has dropped \
                are shown by 'cumulusd --read-only'. An increment that is older than a day and \
                that its caller repeated on another node counts twice: --dry-run says how many \
                commits have such increments.
                """
        )
    )

    @Argument(help: "The data directory of the removed node.") var directory: String
    @Flag(help: "Only say what would be handed over.") var dryRun = false
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let removed = try RemovedDirectory(directory)
        let outcomes = try await connection.withOperator(timeout: 60) { node in
            try await check(removed, node)
            return try await handOver(removed, node)
        }
        try show(outcomes, of: removed)
        let problems = outcomes.compactMap(\.problemLine)
        for problem in problems { complain(problem) }
        if !problems.isEmpty { throw ExitCode.refused }
    }

    /// Refuses the directory of another cluster, and of a member.
    private func check(_ removed: RemovedDirectory, _ node: NodeOperator) async throws {
        let cluster = removed.clusterID
        let status = try await node.status()
        guard status.clusterID == cluster else {
            throw InputProblem(
                "\(directory) belongs to cluster \(cluster), and the node that is asked to "
                    + "\(status.clusterID); name a node of the same cluster with --endpoint"
            )
        }
        let nodeID = removed.nodeID
        let isMember = try await node.members().contains { $0.nodeID == nodeID && !$0.isRemoved }
        guard !isMember else {
            throw InputProblem(
                """
                \(directory) is the directory of node \(nodeID), which is a member: start it, and \
                the others take what it has; if it can't be started, say 'cumulus cluster remove \
                \(nodeID.prefix(8))' first
                """
            )
        }
    }

    private func handOver(
        _ removed: RemovedDirectory,
        _ node: NodeOperator
    ) async throws -> [Rescue.Outcome] {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let rescue = Rescue(directory: removed, node: node, isDry: dryRun, now: now)
        var progress = ProgressBar(total: nil)
        let result = await Result { try await rescue.run { progress.draw($0.progressLine) } }
        progress.clear()
        return try result.get()
    }

    private func show(_ outcomes: [Rescue.Outcome], of removed: RemovedDirectory) throws {
        let columns = [
            "CONTAINER", "ENVIRONMENT", "FOUND", "THERE", dryRun ? "TO HAND OVER" : "HANDED OVER",
            "ASSETS", "NOT WHOLE",
        ]
        let json = JSON.object([
            JSON.Member("node", .string(removed.nodeID)),
            JSON.Member("dryRun", .bool(dryRun)),
            JSON.Member("scopes", .array(outcomes.map(\.json))),
        ])
        try output.show(json, rows: [columns] + outcomes.map { $0.row(isDry: dryRun) })
        let twice = outcomes.reduce(0) { $0 + $1.mayCountTwice }
        if twice > 0 { complain(Self.warning(twice)) }
    }

    private static func warning(_ count: Int) -> String {
        "\(counted(count, "commit")) \(count == 1 ? "has" : "have") increments of more than a day "
            + "ago: one that its caller repeated on another node counts twice"
    }
}

extension Rescue.Outcome {
    private var name: String {
        scope == .cluster ? "the cluster's own" : "\(scope.container) \(scope.environment.name)"
    }

    fileprivate var progressLine: String {
        "\(name): \(handedOver) of \(counted(lacks, "commit")) handed over, "
            + counted(assets, "asset")
    }

    fileprivate var problemLine: String? { problem.map { "\(name): \($0)" } }

    fileprivate func row(isDry: Bool) -> [String] {
        [
            scope == .cluster ? "the cluster's own" : scope.container,
            scope == .cluster ? "" : scope.environment.name,
            "\(found)", "\(there)", "\(isDry ? lacks : handedOver)", "\(assets)",
            "\(assetsNotWhole)",
        ]
    }

    fileprivate var json: JSON {
        func count(_ number: some BinaryInteger) -> JSON { .integer(Int64(clamping: number)) }
        return .object([
            JSON.Member("container", .string(scope.container)),
            JSON.Member("environment", .string(scope.environment.name)),
            JSON.Member("found", count(found)), JSON.Member("there", count(there)),
            JSON.Member("lacks", count(lacks)), JSON.Member("handedOver", count(handedOver)),
            JSON.Member("assets", count(assets)),
            JSON.Member("assetsNotWhole", count(assetsNotWhole)),
            JSON.Member("oldIncrements", count(mayCountTwice)),
            JSON.Member("problem", problem.map { .string($0) } ?? .null),
        ])
    }
}
