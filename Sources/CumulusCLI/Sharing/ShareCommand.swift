// `cumulus share`: share zones and records with other users, and join what others share.
//
// Folder: commands of owners and participants of shares. Read `ShareCommand`, then `ShareChanges`,
// `ShareJoining` and `ShareOptions`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Share zones and records with other users, and join what others share.",
        discussion: help(
            "cumulus share create Trips --public readOnly --title \"Our trips\"",
            "cumulus share accept https://notes.example.com/share/6Zm2mJ0T1hQvQ5k9k1r2bA",
            "cumulus record list --database shared --owner _0f3c... --zone Trips",
            note: """
                A share is of a whole custom zone of the private database, or of a record there \
                and all records below it. Others join by its URL, and then find the zone in their \
                shared database, under the record name of its owner.
                """
        ),
        subcommands: [
            Create.self, Set.self, Add.self, Remove.self, List.self, Show.self, Stop.self,
            Metadata.self, Accept.self, Leave.self,
        ]
    )
}

extension ShareCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the shares in the zones of a database.",
            discussion: help(
                "cumulus share list",
                "cumulus share list --database shared --json",
                "cumulus share list --zone Trips",
                "cumulus share list --user alice --token-file operator.token",
                note: """
                    It reads through all records of the zones, since any of them may be shared. \
                    With --user the operator sees who is in the shares of a user, and no titles.
                    """
            )
        )

        @Option(help: "Only this zone.") var zone: String?
        @OptionGroup var owner: OwnerOption
        @OptionGroup var others: UserOfShares
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            try others.check(connection.user, connection.database, owner.owner)
            guard zone != nil || owner.owner == nil else {
                throw ValidationError("--owner goes with --zone: name a zone of that owner.")
            }
        }

        func run() async throws {
            var listing = Listing(
                ["ZONE", "OWNER", "ROOT", "PUBLIC", "PARTICIPANTS", "TITLE", "URL"],
                isJSON: output.json
            )
            if let shares = try await others.shares(by: connection.user, in: zone) {
                for share in shares { try listing.add(share.json, row: share.row) }
                return try listing.end()
            }
            try await connection.withDatabase(
                of: zone == nil ? nil : owner,
                ofUsers: true
            ) { database in
                for zone in try await zones(of: database) {
                    // A share has few fields, other records may have many.
                    let records = database.allRecords(
                        inZoneWith: zone,
                        desiredKeys: [Share.SystemFieldKey.title]
                    )
                    for try await record in records {
                        guard let share = Share(record) else { continue }
                        try listing.add(share.json, row: share.row)
                    }
                }
            }
            try listing.end()
        }

        private func zones(of database: Database) async throws -> [RecordZone.ID] {
            if let zone { return [owner.zoneID(zone)] }
            return try await database.allRecordZones().map(\.zoneID)
                .filter { $0.zoneName != RecordZone.ID.default.zoneName }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a share and its participants.",
            discussion: help(
                "cumulus share show Trips",
                "cumulus share show Trips --root oslo --json",
                "cumulus share show Trips --database shared --owner _0f3c..."
            )
        )

        @OptionGroup var target: ShareTarget
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let share = try await connection.withDatabase(of: target.owner, ofUsers: true) {
                try await target.share(in: $0)
            }
            try output.show(share)
        }
    }

    struct Stop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stop sharing: nobody but the owner sees the records any more.",
            discussion: help(
                "cumulus share stop Trips",
                "cumulus share stop Trips --root oslo",
                "cumulus share stop Trips --user alice --token-file operator.token",
                note: """
                    The records stay. Shared again, the zone or record gets the same URL, and its \
                    participants have to be invited again. With --user the operator stops a \
                    share of a user.
                    """
            )
        )

        @OptionGroup var target: SubjectOptions
        /// Accepted only so that the error can name the right command.
        @OptionGroup(visibility: .hidden) var owner: OwnerOption
        @OptionGroup var others: UserOfShares
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            let copies = replicas.replicas.map { "\($0)" }
            try others.check(connection, copies, owner.owner)
            guard owner.owner == nil else {
                throw ValidationError(
                    "Owners stop their own shares, without --owner. To leave what another user "
                        + "shares: 'cumulus share leave'."
                )
            }
        }

        func run() async throws {
            let share = try await stop()
            try output.show(
                [
                    "stopped": .string(share.recordID.recordName),
                    "zoneName": .string(share.recordID.zoneID.zoneName),
                ],
                rows: [
                    ["stopped", share.recordID.recordName],
                    ["zone", share.recordID.zoneID.zoneName],
                ]
            )
        }

        private func stop() async throws -> Share {
            if let stopped = try await others.stop(target, by: connection) { return stopped }
            return try await connection.withContainer(replicas: replicas) { container in
                let database = container.privateCloudDatabase
                let share = try await target.share(in: database, owner.zoneID(target.zone))
                try await database.deleteRecord(withID: share.recordID)
                return share
            }
        }
    }
}
