// `cumulus container`: what the operator does about containers.
//
// Folder: what an operator does about containers, their schemas and their indexes. Read
// `ContainerCommand`, then `SchemaCommand`, `IndexCommand` and `PolicyCommand`.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container",
        abstract: "Create, list and delete containers, as the operator.",
        discussion: help(
            "cumulus container create iCloud.com.example --token-file operator.token",
            "cumulus container list --json"
        ),
        subcommands: [Create.self, List.self, Delete.self]
    )
}

extension ContainerCommand {
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a container; one that exists stays as it is.",
            discussion: help(
                "cumulus container create iCloud.com.example --token-file operator.token"
            )
        )

        @Argument(help: "Name of the container.") var name: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let existed = try await connection.withOperator { try await $0.createContainer(name) }
            try output.show(
                ["container": .string(name), "existed": .bool(existed)],
                rows: [["container", name], ["state", existed ? "existed already" : "created"]]
            )
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the containers.",
            discussion: help("cumulus container list --token-file operator.token")
        )

        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let names = try await connection.withOperator { try await $0.containers() }
            try output.show(
                names,
                columns: ["CONTAINER"],
                json: { ["container": .string($0)] },
                row: { [$0] }
            )
        }
    }
}
