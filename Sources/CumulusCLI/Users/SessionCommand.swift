// `cumulus session`: the sessions and access tokens of a user, for the user and for the operator.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "List and end the sessions of a user.",
        discussion: help(
            "cumulus session list",
            "cumulus session revoke --all --user alice --token-file operator.token"
        ),
        subcommands: [List.self, Revoke.self]
    )

    static let note = """
        A user sees and ends its own sessions, with its token. The operator names a user with \
        --user. Access tokens of 'cumulus user token' are among them.
        """
}

extension SessionCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the sessions of a user, oldest first.",
            discussion: help(
                "cumulus session list",
                "cumulus session list --user alice --token-file operator.token --json",
                note: SessionCommand.note
                    + " Tokens that earlier releases made are good, and not listed."
            )
        )

        @OptionGroup var owner: UserOwner
        @OptionGroup var output: OutputOptions

        func validate() throws { try owner.checkOfCluster() }

        func run() async throws {
            let sessions = try await owner.ask {
                try await $0.sessions()
            } asOperator: { node, user in
                try await node.sessions(of: user)
            }
            try output.show(
                sessions,
                columns: ["KIND", "LABEL", "DEVICE", "OPENED", "EXPIRES", "THIS", "ID"],
                json: { .object($0.members) },
                row: {
                    [
                        $0.kind.rawValue, $0.label, $0.deviceID, $0.opened.text,
                        $0.expires?.text ?? "never", $0.isThis ? "yes" : "", $0.id,
                    ]
                }
            )
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a session of a user, or all.",
            discussion: help(
                "cumulus session revoke 5f0c...e1",
                "cumulus session revoke --all --user alice --token-file operator.token",
                note: SessionCommand.note + """
                     Each node refuses a token that was ended as soon as it has heard of it. With \
                    --all those end too that other nodes open at the same time.
                    """
            )
        )

        @Argument(help: "The session's id, as 'cumulus session list' shows it.") var id: String?
        @Flag(help: "End all of the user's sessions and access tokens.") var all = false
        @OptionGroup var owner: UserOwner
        @OptionGroup var output: OutputOptions

        func validate() throws {
            try owner.checkOfCluster()
            guard all == (id == nil) else {
                throw ValidationError("Name the id of one session, or give --all.")
            }
        }

        func run() async throws {
            let existed = try await owner.ask {
                guard let id else {
                    try await $0.revokeAllSessions()
                    return true
                }
                return try await $0.revoke(id)
            } asOperator: { node, user in
                guard let id else {
                    try await node.revokeAllSessions(of: user)
                    return true
                }
                return try await node.revoke(id, of: user)
            }
            let state = id == nil ? "all ended" : existed ? "ended" : "had ended, or never was"
            try output.show(
                ["id": id.map(JSON.string) ?? .null, "existed": .bool(existed)],
                rows: (id.map { [["session", $0]] } ?? []) + [["state", state]]
            )
        }
    }
}

extension ListedSession {
    fileprivate var members: [JSON.Member] {
        [
            .init("id", .string(id)), .init("kind", .string(kind.rawValue)),
            .init("label", .string(label)), .init("device", .string(deviceID)),
            .init("opened", .string(opened.text)),
            .init("expires", expires.map { JSON.string($0.text) } ?? .null),
            .init("isThis", .bool(isThis)),
        ]
    }
}
