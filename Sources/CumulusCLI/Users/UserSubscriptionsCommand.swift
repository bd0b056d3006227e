// `cumulus user subscriptions`: what the subscriptions of a user cost, and their end, as the
// operator.

import ArgumentParser
import Cumulus
import CumulusTerminal

extension UserCommand {
    struct Subscriptions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the subscriptions of a user with their costs, or end them.",
            discussion: help(
                "cumulus user subscriptions alice --token-file operator.token",
                "cumulus user subscriptions alice --environment production --json",
                "cumulus user subscriptions alice --end large small",
                "cumulus user subscriptions alice --end-all",
                note: """
                    Each change of a record is compared with the subscriptions to its type, also \
                    with those of a disabled user. COST is the number of comparisons; it is 1 if \
                    a value leads to the subscription, and others' values don't. An id is ended \
                    in all databases of the container and environment.
                    """
            )
        )

        @Argument(help: "Name of the user.") var name: String
        @Option(
            parsing: .upToNextOption,
            help: "End the subscriptions with these ids."
        ) var end: [String] = []
        @Flag(help: "End all subscriptions of the user.") var endAll = false
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard !endAll || end.isEmpty else {
                throw ValidationError("Name the ids with --end, or give --end-all.")
            }
        }

        func run() async throws {
            if endAll || !end.isEmpty { return try await endThem() }
            let (container, environment) = (scope.containerName, try scope.environmentValue())
            let found = try await connection.withOperator {
                try await $0.subscriptions(of: name, in: container, environment)
            }
            try output.show(
                found,
                columns: ["DATABASE", "ID", "KIND", "TYPE", "COMPARISONS", "COST", "STATE"],
                json: { .object($0.members) },
                row: {
                    [
                        $0.database.name, $0.id, $0.kind, $0.recordType ?? "", "\($0.comparisons)",
                        "\($0.cost)", $0.hasFired ? "fired" : "",
                    ]
                }
            )
        }

        private func endThem() async throws {
            let (container, environment) = (scope.containerName, try scope.environmentValue())
            let ids = endAll ? nil : end
            let count = try await connection.withOperator {
                try await $0.endSubscriptions(ids, of: name, in: container, environment)
            }
            try output.show(
                ["user": .string(name), "ended": .integer(Int64(count))],
                rows: [["user", name], ["ended", "\(count)"]]
            )
        }
    }
}

extension NodeOperator.UserSubscription {
    fileprivate var members: [JSON.Member] {
        [
            .init("database", .string(database.name)), .init("subscriptionID", .string(id)),
            .init("subscriptionType", .string(kind)),
            .init("recordType", recordType.map { JSON.string($0) } ?? .null),
            .init("comparisons", .integer(Int64(comparisons))),
            .init("cost", .integer(Int64(cost))),
            .init("fired", .bool(hasFired)),
        ]
    }
}
