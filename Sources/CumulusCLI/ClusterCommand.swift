// `cumulus cluster`: what an operator does about the nodes of a cluster.

import ArgumentParser
import Cumulus

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Show the members of the cluster and take one off its list, as the operator.",
        discussion: """
            A node joins by being started with the cluster's key and the address of any member:

              cumulusd --data DIR --cluster-key FILE --peers HOST:PORT

            It takes over the state of that member and finds the others by itself. Beyond one \
            machine nodes need certificates; 'cumulus cluster certificate' makes them.
            """,
        subcommands: [Status.self, Remove.self, CertificateCommand.self]
    )
}

extension ClusterCommand {
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the members, and how far each has read.",
            discussion: help(
                "cumulus cluster status --operator-token-file operator.token",
                note: """
                    What a member lacks is counted when it reports, every ten seconds while there \
                    is news. Logs are kept for members that lack something. When it has read as \
                    much as this node, what both hold is compared: if that differs, one of the \
                    stores is damaged; remove that node and let it come back as a new one.
                    """
            )
        )

        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let members = try await connection.withOperator { try await $0.members() }
            output.show(
                members,
                columns: ["NODE", "ADDRESS", "STATE", "LACKS", "HOLDS", "REPORTED"],
                json: \.json,
                row: { [$0.nodeID, $0.endpoint, $0.state, $0.missing, $0.held, $0.reported] }
            )
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a node off the list, for good: its process ends, nobody waits for it.",
            discussion: help(
                "cumulus cluster remove 5d25f33e --operator-token-file operator.token",
                note: """
                    What only that node had is lost. It can come back with an empty data \
                    directory, as a new node.
                    """
            )
        )

        @Argument(help: "The node's id, or the first digits of it.") var node: String
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let nodeID = try await connection.withOperator { node in
                let found = try await member(of: node)
                _ = try await node.removeMember(found.nodeID)
                return found.nodeID
            }
            output.show(["node": .string(nodeID), "removed": .bool(true)], rows: [[nodeID]])
        }

        private func member(of cluster: NodeOperator) async throws -> NodeOperator.Member {
            let found = try await cluster.members().filter {
                $0.nodeID.hasPrefix(node.lowercased()) && !$0.isRemoved
            }
            guard let member = found.first else {
                throw InputProblem("no member's id begins with '\(node)'; see 'cluster status'")
            }
            guard found.count == 1 else {
                throw InputProblem("\(found.count) members' ids begin with '\(node)'; write more")
            }
            return member
        }
    }
}

extension NodeOperator.Member {
    fileprivate var state: String {
        isThis ? "this node" : isRemoved ? "removed" : "member"
    }

    fileprivate var missing: String {
        isThis || isRemoved ? "" : "\(reports.reduce(0) { $0 + $1.missing }) commits"
    }

    fileprivate var held: String {
        let compared = reports.compactMap(\.holdsTheSame)
        return compared.isEmpty ? "" : compared.allSatisfy { $0 } ? "the same" : "SOMETHING ELSE"
    }

    fileprivate var reported: String {
        if isThis || isRemoved { return "" }
        let times = reports.compactMap { $0.reported?.millisecondsSince1970 }
        return times.max().map { Timestamp(millisecondsSince1970: $0).text } ?? "never"
    }

    fileprivate var json: JSON {
        .object([
            JSON.Member("node", .string(nodeID)), JSON.Member("endpoint", .string(endpoint)),
            JSON.Member("state", .string(state)),
            JSON.Member("scopes", .array(reports.map(\.json))),
        ])
    }
}

extension NodeOperator.Report {
    fileprivate var json: JSON {
        .object([
            JSON.Member("container", .string(container)),
            JSON.Member("environment", .string(environment)),
            JSON.Member("missing", .integer(Int64(clamping: missing))),
            JSON.Member("reported", reported.map { .string($0.text) } ?? .null),
            JSON.Member("holdsTheSame", holdsTheSame.map { .bool($0) } ?? .null),
        ])
    }
}
