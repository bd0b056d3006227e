// `cumulus user`: what the operator does about users and their access tokens.

import ArgumentParser
import Cumulus

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Add users, make access tokens, list users, as the operator.",
        subcommands: [Add.self, Token.self, List.self]
    )
}

extension UserCommand {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a user; one that exists stays as it is.",
            discussion: help(
                "cumulus user add alice --operator-token-file operator.token",
                "cumulus user add alice --container iCloud.com.example.notes",
                note: "With a container it prints the user's record name there."
            )
        )

        @Argument(help: "Name of the user.") var name: String
        @OptionGroup var container: ContainerOption
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (user, existed) = try await connection.withOperator { node in
                try await node.addUser(name, in: container.named)
            }
            let recordName = container.named == nil ? [] : [["recordName", user.recordName]]
            try output.show(
                .object(user.members + [JSON.Member("existed", .bool(existed))]),
                rows: [["user", user.name]] + recordName
                    + [["state", existed ? "existed already" : "added"]]
            )
        }
    }

    struct Token: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an access token for a user and print it; it is not shown again.",
            discussion: help("cumulus user token alice --operator-token-file operator.token")
        )

        @Argument(help: "Name of the user.") var name: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let token = try await connection.withOperator { try await $0.addToken(forUser: name) }
            try output.show(["user": .string(name), "token": .string(token)], rows: [[token]])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the users, with their record names in the container.",
            discussion: help("cumulus user list --operator-token-file operator.token")
        )

        @OptionGroup var container: ContainerOption
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let users = try await connection.withOperator { node in
                try await node.users(in: container.name)
            }
            try output.show(
                users,
                columns: ["USER", "RECORD NAME", "ADDED"],
                json: { .object($0.members) },
                row: { [$0.name, $0.recordName, $0.created.text] }
            )
        }
    }
}

extension NodeOperator.User {
    fileprivate var members: [JSON.Member] {
        var members = [JSON.Member("user", .string(name))]
        // Users have one in each container.
        if !recordName.isEmpty { members.append(JSON.Member("recordName", .string(recordName))) }
        return members + [JSON.Member("added", .string(created.text))]
    }
}
