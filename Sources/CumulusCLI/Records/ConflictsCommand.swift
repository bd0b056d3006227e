// `cumulus conflicts`: what concurrent changes cost.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTransfer

struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show values that were lost to concurrent changes on other nodes.",
        discussion: help("cumulus conflicts list --mine"),
        subcommands: [List.self, Show.self]
    )

    static let note = """
        A node notes what it meets: the other nodes of a cluster may know of more. The operator \
        sees the values of public databases; with --mine a user sees those of its own private one.
        """
}

/// The owner of the conflicts, and the caller that asks for them.
struct ConflictsOptions: ParsableArguments {
    @Flag(help: "As the signed-in user, of its own private database.") var mine = false
    @OptionGroup var encryption: EncryptionOption
    @OptionGroup var role: OperatorOption
    @OptionGroup var connection: Connection

    func validate() throws {
        guard !mine else {
            if role.operatorTokenFile == nil { return }
            throw ValidationError("With --mine a user asks: leave out --operator-token-file.")
        }
        let ofUsers = [connection.token, connection.session, encryption.encryptionKeyFile]
        guard ofUsers.allSatisfy({ $0 == nil }) else {
            throw ValidationError(
                "Without --mine the operator asks: --token, --session and --encryption-key-file "
                    + "go with --mine."
            )
        }
    }

    func visit(_ visit: (RecordConflict) throws -> Bool) async throws {
        if mine {
            return try await connection.withContainer(encryption: encryption) {
                try await $0.conflicts(visit)
            }
        }
        let scope = connection.scope
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        try await role.withOperator(of: connection.nodes, tokenFile: connection.tokenFile) {
            try await $0.conflicts(of: name, environment, visit)
        }
    }
}

extension ConflictsCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List them, newest first.",
            discussion: help(
                "cumulus conflicts list --token-file operator.token",
                "cumulus conflicts list --mine --record note-7 --json",
                note: ConflictsCommand.note
            )
        )

        @OptionGroup var whose: ConflictsOptions
        @Option(help: "Only those of records with this name.") var record: String?
        @Option(help: "How many at most.") var limit: Int?
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard limit ?? 1 > 0 else { throw ValidationError("--limit must be at least 1.") }
        }

        func run() async throws {
            let columns = ["LOST AT", "DATABASE", "ZONE", "RECORD", "FIELD", "LOST", "ID"]
            var listing = Listing(columns, isJSON: output.json)
            var count = 0
            try await whose.visit { conflict in
                guard record.map({ $0 == conflict.recordName }) ?? true else { return true }
                try listing.add(conflict.json, row: conflict.row)
                count += 1
                return count != limit
            }
            try listing.end()
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one with all that was lost.",
            discussion: help(
                "cumulus conflicts show 019aa1 --token-file operator.token",
                note: ConflictsCommand.note
            )
        )

        @Argument(help: "The conflict's id, or the first digits of it.") var id: String
        @OptionGroup var whose: ConflictsOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            var found: [RecordConflict] = []
            let wanted = id.lowercased()
            try await whose.visit { conflict in
                if conflict.id.hasPrefix(wanted) { found.append(conflict) }
                return found.count < 2
            }
            guard found.count < 2 else {
                throw InputProblem("several conflicts begin with '\(id)'; name more of its id")
            }
            guard let conflict = found.first else {
                throw ServiceError(.unknownItem, "this node has no conflict '\(id)' to show you")
            }
            try output.show(conflict.json, rows: conflict.rows)
        }
    }
}

extension RecordConflict {
    fileprivate var recordName: String { lost.recordID.recordName }

    private var databaseName: String {
        owner.isEmpty ? database.name : "\(database.name) of \(owner)"
    }

    private var lostText: String { isWithheld ? "(private)" : lost.fields.text }

    fileprivate var row: [String] {
        [
            loser.time.text, databaseName, lost.recordID.zoneID.zoneName, recordName, field,
            lostText, id,
        ]
    }

    fileprivate var rows: [[String]] {
        [
            ["id", id], ["database", databaseName], ["zone", lost.recordID.zoneID.zoneName],
            ["record", recordName], ["field", field.isEmpty ? "(the record)" : field],
            ["lost", lostText], ["written", "\(loser.time.text) by commit \(loser.commit)"],
            ["lost to", "\(winner.time.text) by commit \(winner.commit)"],
        ]
    }

    fileprivate var json: JSON {
        [
            "id": .string(id), "database": .string(database.name), "owner": .string(owner),
            "zone": .string(lost.recordID.zoneID.zoneName), "recordName": .string(recordName),
            "field": field.isEmpty ? .null : .string(field),
            "lost": isWithheld ? .null : lost.fields, "isWithheld": .bool(isWithheld),
            "loser": loser.json, "winner": winner.json,
        ]
    }
}

extension RecordConflict.Change {
    fileprivate var json: JSON { ["time": .string(time.text), "commit": .string(commit)] }
}
