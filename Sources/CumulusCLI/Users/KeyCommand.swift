// `cumulus key`: the keys with which servers come in, as the operator registers and revokes them.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Register keys of servers, list and revoke them, as the operator.",
        discussion: help(
            "cumulus key add server.pem --token-file operator.token",
            "cumulus key list --json"
        ),
        subcommands: [Add.self, List.self, Revoke.self]
    )

    static let note = """
        A server with a service key works in the public database of one environment of a \
        container, without a user: 'cumulus --key FILE --key-id ID', or 'serviceKey' of a client's \
        configuration. 'cumulus role assign' gives it roles by its record name.
        """
}

extension KeyCommand {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register the key of a file, and make both if there is no such file.",
            discussion: help(
                "cumulus key add server.pem --token-file operator.token",
                "cumulus key add server.pem --label importer --days 90 --environment production",
                note: KeyCommand.note + """
                     The file holds a P-256 key as PEM, and may hold the public half only: the \
                    node gets no other. A file that is made is readable by nobody else. A key \
                    that is registered already gets the new label and time.
                    """
            )
        )

        @Argument(help: "PEM file with the key.") var file: String
        @Option(help: "What the list of keys is to say about it.") var label: String?
        @Option(help: "Days after which it ends (default: never).") var days: Int?
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard days.map({ (1...36_500).contains($0) }) ?? true else {
                throw ValidationError("--days must be from 1 to 36500.")
            }
        }

        func run() async throws {
            let (container, environment) = (scope.containerName, try scope.environmentValue())
            let publicKey = try publicKey()
            let (key, existed) = try await connection.withOperator {
                try await $0.addKey(
                    publicKey,
                    label: label ?? "",
                    expires: days.map(Add.time),
                    in: container,
                    environment
                )
            }
            try output.show(
                .object(key.members + [JSON.Member("existed", .bool(existed))]),
                rows: [
                    ["id", key.id], ["recordName", key.recordName],
                    ["expires", key.expires?.text ?? "never"],
                    ["state", existed ? "was registered already" : "registered"],
                ]
            )
        }

        private static func time(in days: Int) -> Timestamp {
            let seconds = Date().timeIntervalSince1970 + Double(days) * 86_400
            return Timestamp(millisecondsSince1970: Int64(seconds * 1_000))
        }

        private func publicKey() throws -> Bytes {
            if !FileManager.default.fileExists(atPath: file) {
                let pem = ServiceKey.makePEM().trimmed
                try KeyFile.write(pem, to: file, isSecret: true)
            }
            return try KeyFile.reading(file) { try ServiceKey.publicKey(ofPEM: $0) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys of a container's environment, oldest first.",
            discussion: help(
                "cumulus key list --token-file operator.token",
                "cumulus key list --environment production --json",
                note: KeyCommand.note + " Keys that were revoked are not listed."
            )
        )

        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (container, environment) = (scope.containerName, try scope.environmentValue())
            let keys = try await connection.withOperator {
                try await $0.keys(in: container, environment)
            }
            try output.show(
                keys,
                columns: ["LABEL", "ADDED", "EXPIRES", "RECORD NAME", "ID"],
                json: { .object($0.members) },
                row: {
                    [
                        $0.label, $0.created.text, $0.expires?.text ?? "never", $0.recordName,
                        $0.id,
                    ]
                }
            )
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a key for good.",
            discussion: help(
                "cumulus key revoke 5f0c...e1 --token-file operator.token",
                note: """
                    Each node refuses the key as soon as it has heard of it. It can't be \
                    registered again: make a new one. What its server saved stays.
                    """
            )
        )

        @Argument(help: "The key's id, as 'cumulus key list' shows it.") var id: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let existed = try await connection.withOperator { try await $0.revokeKey(id) }
            try output.show(
                ["id": .string(id), "existed": .bool(existed)],
                rows: [
                    ["key", id],
                    ["state", existed ? "revoked" : "had been revoked, or never was"],
                ]
            )
        }
    }
}

extension NodeOperator.RegisteredKey {
    fileprivate var members: [JSON.Member] {
        [
            .init("id", .string(id)), .init("label", .string(label)),
            .init("recordName", .string(recordName)), .init("added", .string(created.text)),
            .init("expires", expires.map { JSON.string($0.text) } ?? .null),
        ]
    }
}
