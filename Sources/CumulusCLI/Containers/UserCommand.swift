// `cumulus user`: what the operator does about users, their passwords and their access tokens;
// `HandleCommand` has how others find them.

import ArgumentParser
import Cumulus
import CumulusBulk

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Add users, let them in or not, list them, as the operator.",
        subcommands: [
            Add.self, Password.self, Token.self, Disable.self, Enable.self, List.self,
            HandleCommand.self, ProfileCommand.self,
        ]
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

    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a user's password; sessions that were opened with another one end.",
            discussion: help(
                "cumulus user password alice --operator-token-file operator.token",
                "cumulus user password alice --password-file alice.password",
                note: """
                    It stands over one that the user sets on another node at the same time. The \
                    user signs in with 'cumulus sign-in'. Access tokens stay good: end them with \
                    'cumulus session revoke'.
                    """
            )
        )

        @Argument(help: "Name of the user.") var name: String
        @OptionGroup var password: PasswordOption
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let password = try password.new(of: name)
            try await connection.withOperator { try await $0.setPassword(of: name, to: password) }
            try output.show(
                ["user": .string(name), "state": .string("password set")],
                rows: [["user", name], ["state", "password set"]]
            )
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep a user out; its records, password and tokens stay.",
            discussion: help(
                "cumulus user disable alice --operator-token-file operator.token",
                note: """
                    Each node refuses the user's calls and ends its streams as soon as it has \
                    heard of it. If another node enables the user at the same time, it stays \
                    disabled.
                    """
            )
        )

        @OptionGroup var arguments: UserStateArguments

        func run() async throws {
            try await arguments.set(isDisabled: true)
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let a user in again who was disabled.",
            discussion: help(
                "cumulus user enable alice --operator-token-file operator.token",
                note: "Sessions and access tokens are good again that did not end meanwhile."
            )
        )

        @OptionGroup var arguments: UserStateArguments

        func run() async throws {
            try await arguments.set(isDisabled: false)
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
                columns: ["USER", "RECORD NAME", "ADDED", "STATE"],
                json: { .object($0.members + [.init("disabled", .bool($0.isDisabled))]) },
                row: {
                    [$0.name, $0.recordName, $0.created.text, $0.isDisabled ? "disabled" : ""]
                }
            )
        }
    }
}

/// Who is kept out or let in.
struct UserStateArguments: ParsableArguments {
    @Argument(help: "Name of the user.") var name: String
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    func set(isDisabled: Bool) async throws {
        let isChanged = try await connection.withOperator {
            try await $0.setState(of: name, isDisabled: isDisabled)
        }
        let state = isDisabled ? "disabled" : isChanged ? "enabled" : "was not disabled"
        try output.show(
            [
                "user": .string(name), "disabled": .bool(isDisabled), "changed": .bool(isChanged),
            ],
            rows: [["user", name], ["state", state]]
        )
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
