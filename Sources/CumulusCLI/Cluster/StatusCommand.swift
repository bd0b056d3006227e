// `cumulus status`: how a node is, as its operator sees it.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTransfer

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how a node is, as its operator.",
        discussion: help(
            "cumulus status --token-file cumulus-data/operator.token",
            "cumulus status --endpoint a:7420,b:7420,c:7420 --token-file carol.token",
            note: """
                Of several nodes, which needs the token of an operator of the cluster (see \
                'cumulus operator'), it shows one after the other. \
                Each scope has a line. Nodes that show the same digits behind their commits have \
                applied the same commits; nodes that show the same digest hold the same records. \
                Schemas, settings and empty zones are told by the commits alone. Sizes are in \
                units of a thousand; --json has them in bytes.
                """
        )
    )

    @OptionGroup var access: OperatorAccess
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let asked = access.nodes.endpoints
        // Without the flag it asks the first that answers, as all commands of operators do.
        if asked.count == 1 || access.nodes.endpoint.isEmpty {
            let status = try await access.withOperator { try await $0.status() }
            return try output.show(.object(status.json), rows: status.lines)
        }
        var failure: (any Error)?
        var (objects, rows): ([JSON], [[String]]) = ([], [])
        for endpoint in asked {
            let name = JSON.Member("endpoint", .string(endpoint))
            do {
                let status = try await status(of: endpoint)
                objects.append(.object([name] + status.json))
                rows += [["endpoint", endpoint]] + status.lines
            } catch {
                failure = error
                let problem =
                    (error as? ServiceError)?.message ?? Failure(error)?.message ?? "\(error)"
                objects.append(.object([name, JSON.Member("problem", .string(problem))]))
                rows += [["endpoint", endpoint], ["problem", problem]]
            }
        }
        try output.show(.array(objects), rows: rows)
        if let failure { throw failure }
    }

    private func status(of endpoint: String) async throws -> NodeOperator.Status {
        try await access.withOperator(at: endpoint) { try await $0.status() }
    }

    private static let sizes: Set = [
        "rowBytes", "freeBytes", "assetBytes", "logBytes", "logLimit", "privateQuota",
        "publicQuota",
    ]

    /// The value as people read it.
    fileprivate static func text(_ member: JSON.Member) -> String {
        guard case .integer(let number) = member.value, sizes.contains(member.key) else {
            return member.value.plain
        }
        let isUnlimited = number == 0 && member.key.hasSuffix("Quota")
        return isUnlimited ? "no limit" : ByteCount.text(number)
    }
}

extension NodeOperator.Status {
    fileprivate var json: [JSON.Member] {
        members + [
            JSON.Member("scopes", .array(scopes.map(\.json))),
            JSON.Member("peers", .array(peers.map(\.json))),
        ]
    }

    fileprivate var lines: [[String]] {
        members.filter { $0.value != .null }.map { [$0.key, StatusCommand.text($0)] }
            + scopes.map { ["scope", $0.text] } + peers.map { ["peer", $0.text] }
    }

    fileprivate var members: [JSON.Member] {
        func count(_ number: some BinaryInteger) -> JSON { .integer(Int64(clamping: number)) }
        return [
            JSON.Member("state", .string(state)),
            JSON.Member("notReady", notReady.isEmpty ? .null : .string(notReady)),
            JSON.Member("version", .string(version)),
            JSON.Member("node", .string(nodeID)),
            JSON.Member("incarnation", .string(incarnation)),
            JSON.Member("cluster", .string(clusterID)),
            JSON.Member("started", .string(started.text)),
            JSON.Member("profile", .string(profile)),
            JSON.Member("connections", count(connections)),
            JSON.Member("calls", count(calls)),
            JSON.Member("callsInProgress", count(callsInProgress)),
            JSON.Member("commits", count(commits)),
            JSON.Member("flushes", count(flushes)),
            JSON.Member("rows", count(rows)),
            JSON.Member("rowBytes", count(rowBytes)),
            JSON.Member("freeBytes", count(freeBytes)),
            JSON.Member("assetBytes", count(assetBytes)),
            JSON.Member("assetsNotWhole", count(wantedAssets)),
            JSON.Member("logBytes", count(logBytes)),
            JSON.Member("logLimit", count(logLimit)),
            JSON.Member("privateQuota", count(privateQuota)),
            JSON.Member("publicQuota", count(publicQuota)),
        ]
    }
}

extension NodeOperator.Scope {
    fileprivate var json: JSON {
        .object([
            JSON.Member("container", .string(container)),
            JSON.Member("environment", .string(environment)),
            JSON.Member("commits", .integer(Int64(clamping: commits))),
            JSON.Member("applied", applied.isEmpty ? .null : .string(applied)),
            JSON.Member("digest", .string(digest)),
            JSON.Member("runs", .integer(Int64(liveRuns))),
            JSON.Member("retiredRuns", .integer(Int64(retiredRuns))),
            JSON.Member("zonesWithHorizon", .integer(Int64(horizons))),
        ])
    }

    fileprivate var text: String {
        let name = container.isEmpty ? "the cluster's own" : "\(container) \(environment)"
        let which = applied.isEmpty ? "" : " (\(applied))"
        return "\(name): \(counted(commits, "commit"))\(which), digest \(digest), "
            + counted(liveRuns, "run")
    }
}

extension NodeOperator.Peer {
    fileprivate var json: JSON {
        .object([
            JSON.Member("endpoint", .string(endpoint)),
            JSON.Member("node", nodeID.isEmpty ? .null : .string(nodeID)),
            JSON.Member("since", .string(since.text)),
            JSON.Member("problem", problem.isEmpty ? .null : .string(problem)),
        ])
    }

    fileprivate var text: String {
        let why = problem.isEmpty ? "" : ": \(problem)"
        return nodeID.isEmpty
            ? "\(endpoint): not connected since \(since.text)\(why)"
            : "\(endpoint): node \(nodeID), connected since \(since.text)"
    }
}
