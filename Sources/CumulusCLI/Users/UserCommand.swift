// `cumulus user`: what the operator does about users, their passwords and their access tokens;
// `HandleCommand` has how others find them.
//
// Folder: how users come in, and what the operator does about them. Read `UserCommand`, then
// `SignInCommand` and `SessionCommand`.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Add users, let them in or not, list them, as the operator.",
        discussion: help(
            "cumulus user add alice --token-file operator.token",
            "cumulus user password alice --token-file operator.token",
            "cumulus user list --json"
        ),
        subcommands: [
            Add.self, Password.self, ResetLink.self, Token.self, Disable.self, Enable.self,
            List.self, Delete.self,
            HandleCommand.self, ProfileCommand.self, Subscriptions.self,
        ]
    )
}

extension UserCommand {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a user; one that exists stays as it is.",
            discussion: help(
                "cumulus user add alice --token-file operator.token",
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
            discussion: help(
                "cumulus user token alice --token-file operator.token",
                note: "A token of a disabled user lets nobody in until the user is enabled."
            )
        )

        @Argument(help: "Name of the user.") var name: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (isDisabled, token) = try await connection.withOperator { node in
                // Asked before: a token that was made is shown in any case.
                let isDisabled = try await node.user(named: name)?.isDisabled ?? false
                return (isDisabled, try await node.addToken(forUser: name))
            }
            try output.show(
                [
                    "user": .string(name), "token": .string(token), "disabled": .bool(isDisabled),
                ],
                rows: [[token]]
            )
            if isDisabled { complain(DisabledUser.warning(name)) }
        }
    }

    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a user's password; sessions that were opened with another one end.",
            discussion: help(
                "cumulus user password alice --token-file operator.token",
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
            let isDisabled = try await connection.withOperator { node in
                let isDisabled = try await node.user(named: name)?.isDisabled ?? false
                try await node.setPassword(of: name, to: password)
                return isDisabled
            }
            try output.show(
                [
                    "user": .string(name), "state": .string("password set"),
                    "disabled": .bool(isDisabled),
                ],
                rows: [["user", name], ["state", "password set"]]
            )
            if isDisabled { complain(DisabledUser.warning(name)) }
        }
    }

    struct ResetLink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset-link",
            abstract: "Make a link with which a user sets a new password, and print it.",
            discussion: help(
                "cumulus user reset-link alice --token-file operator.token",
                "cumulus user reset-link alice --json",
                note: """
                    Pass it on as you see fit: the node sends no mail. It works once, within an \
                    hour, at every node that has heard of it; a new one replaces it. Sessions that \
                    were opened with the former password end when it is used.
                    """
            )
        )

        @Argument(help: "Name of the user.") var name: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (isDisabled, link) = try await connection.withOperator { node in
                let isDisabled = try await node.user(named: name)?.isDisabled ?? false
                return (isDisabled, try await node.makeResetLink(forUser: name))
            }
            try output.show(
                [
                    "user": .string(name), "token": .string(link.token),
                    "url": link.url.isEmpty ? .null : .string(link.url),
                    "expires": .string(link.expires.text), "disabled": .bool(isDisabled),
                ],
                rows: [[link.url.isEmpty ? link.token : link.url]]
            )
            if isDisabled { complain(DisabledUser.warning(name)) }
            guard link.url.isEmpty else { return }
            complain(
                "The node serves no page for it; with 'cumulusd --http' and '--web-url' it would. "
                    + "The page is /sign-in/reset?token=TOKEN."
            )
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep a user out; its records, password and tokens stay.",
            discussion: help(
                "cumulus user disable alice --token-file operator.token",
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
                "cumulus user enable alice --token-file operator.token",
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
            discussion: help(
                "cumulus user list --token-file operator.token",
                "cumulus user list --container iCloud.com.example.notes --json",
                note: "With --json each has its 'id', by which the audit log names the user."
            )
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
                columns: ["USER", "STATE", "RECORD NAME", "ADDED"],
                json: { .object($0.members + [JSON.Member("disabled", .bool($0.isDisabled))]) },
                row: { [$0.name, $0.state, $0.recordName, $0.created.text] }
            )
        }
    }
}

/// The message for an operator whose change does not let the user in.
enum DisabledUser {
    static func warning(_ name: String) -> String {
        """
        '\(name)' is disabled, so that nothing lets the user in; 'cumulus user enable \(name)' \
        changes that
        """
    }
}

/// The user who is locked out or let in.
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
    fileprivate var state: String { isDisabled ? "disabled" : "enabled" }

    fileprivate var members: [JSON.Member] {
        var members = [JSON.Member("user", .string(name)), JSON.Member("id", .string(id))]
        // Users have one in each container.
        if !recordName.isEmpty { members.append(JSON.Member("recordName", .string(recordName))) }
        return members + [JSON.Member("added", .string(created.text))]
    }
}
