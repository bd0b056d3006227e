// `cumulus operator`: who may administer every node of a cluster, each by a token of its own.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct OperatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator",
        abstract: "Add operators of the cluster, whose tokens every node takes.",
        discussion: help(
            "cumulus operator add carol --token-file operator.token > carol.token",
            "cumulus operator list --token-file carol.token",
            "cumulus operator remove carol --token-file operator.token",
            note: """
                The token in a node's data directory opens that node alone. What an operator of \
                the cluster does is in the audit log of the node that it asked, by its name.
                """
        ),
        subcommands: [Add.self, List.self, Remove.self]
    )
}

extension OperatorCommand {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an operator's token and print it; it is not shown again.",
            discussion: help(
                "cumulus operator add carol --token-file operator.token > carol.token"
            )
        )

        @Argument(help: "Name of the operator, for lists and the audit log.") var name: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let token = try await connection.withOperator { try await $0.addOperator(name) }
            try output.show(
                ["operator": .string(name), "token": .string(token)],
                rows: [[token]]
            )
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the operators of the cluster.",
            discussion: help("cumulus operator list --token-file operator.token")
        )

        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let operators = try await connection.withOperator { try await $0.operators() }
            try output.show(
                operators,
                columns: ["OPERATOR", "ADDED"],
                json: { ["operator": .string($0.name), "added": .string($0.created.text)] },
                row: { [$0.name, $0.created.text] }
            )
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End an operator's tokens, on every node as soon as it has heard of it.",
            discussion: help("cumulus operator remove carol --token-file operator.token")
        )

        @Argument(help: "Name of the operator.") var name: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await connection.withOperator { try await $0.removeOperator(name) }
            try output.show(
                ["operator": .string(name), "state": .string("removed")],
                rows: [["operator", name], ["state", "removed"]]
            )
        }
    }
}
