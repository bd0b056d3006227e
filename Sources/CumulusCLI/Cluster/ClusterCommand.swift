// `cumulus cluster`: what an operator does about the nodes of a cluster.
//
// Folder: what an operator does about nodes: members, certificates, backups, status. Read
// `ClusterCommand`, then `ClusterStatus`, `ClusterJoin` and `StatusCommand`.

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
