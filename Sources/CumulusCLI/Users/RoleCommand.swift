// `cumulus role`: which users have the roles that the schema creates.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct RoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role",
        abstract: "Give users roles of the schema, take them away, list them, as the operator.",
        discussion: help(
            "cumulus role assign alice Moderator --token-file operator.token",
            "cumulus role list --user alice --json"
        ),
        subcommands: [Assign.self, Unassign.self, List.self]
    )

    static let note = """
        A schema creates roles with 'CREATE ROLE Moderator;' and grants them READ, CREATE and \
        WRITE type by type. They count in the public database of one environment, on each node as \
        soon as it has heard of them.
        """
}

/// The user, the role that it gets or loses, and the container.
struct RoleArguments: ParsableArguments {
    @Argument(help: "Name of the user.") var user: String
    @Argument(help: "A role that the schema creates.") var role: String
    @OptionGroup var scope: ScopeOptions
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    func set(isGiven: Bool, _ states: (new: String, existed: String)) async throws {
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        let existed = try await connection.withOperator {
            try await $0.setRole(role, ofUser: user, isGiven: isGiven, in: name, environment)
        }
        try output.show(
            ["user": .string(user), "role": .string(role), "existed": .bool(existed)],
            rows: [
                ["user", user], ["role", role],
                ["state", existed ? states.existed : states.new],
            ]
        )
    }
}

extension RoleCommand {
    struct Assign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a user a role; one who has it keeps it.",
            discussion: help(
                "cumulus role assign alice Moderator --token-file operator.token",
                "cumulus role assign alice Moderator --environment production",
                note: RoleCommand.note
            )
        )

        @OptionGroup var arguments: RoleArguments

        func run() async throws {
            try await arguments.set(isGiven: true, ("assigned", "was assigned already"))
        }
    }

    struct Unassign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a role away from a user.",
            discussion: help(
                "cumulus role unassign alice Moderator --token-file operator.token",
                note: """
                    If another node gives the role at the same time, it stays taken away. What the \
                    user changed before stays.
                    """
            )
        )

        @OptionGroup var arguments: RoleArguments

        func run() async throws {
            try await arguments.set(isGiven: false, ("unassigned", "was not assigned"))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the users who have roles.",
            discussion: help(
                "cumulus role list --token-file operator.token",
                "cumulus role list --user alice --json",
                "cumulus role list --role Moderator",
                note: "A role that the schema dropped gives nothing; it is listed until taken away."
            )
        )

        @Option(help: "Only the roles of this user.") var user: String?
        @Option(help: "Only the users with this role.") var role: String?
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (name, environment) = (scope.containerName, try scope.environmentValue())
            let roles = try await connection.withOperator {
                try await $0.roles(ofUser: user, role, in: name, environment)
            }
            try output.show(
                roles,
                columns: ["USER", "ROLE", "RECORD NAME"],
                json: { .object($0.members) },
                row: {
                    [
                        $0.user.isEmpty ? "(unknown here)" : $0.user,
                        $0.isDropped ? "\($0.role) (dropped)" : $0.role, $0.recordName,
                    ]
                }
            )
        }
    }
}

extension NodeOperator.AssignedRole {
    fileprivate var members: [JSON.Member] {
        [
            .init("user", .string(user)),
            .init("role", .string(role)),
            .init("recordName", .string(recordName)),
            .init("dropped", .bool(isDropped)),
        ]
    }
}
