// The commands of owners and administrators: make shares, and change their participants.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

extension ShareCommand {
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Share a zone of the private database, or a record with all below it.",
            discussion: help(
                "cumulus share create Trips --writer ada@example.org --title \"Our trips\"",
                "cumulus share create Cities --root oslo --public readOnly",
                note: InvitationOptions.note + """
                     With --public everybody who has the URL may join, and nobody can be invited \
                    by name.
                    """
            )
        )

        @Argument(help: "Name of the zone.") var zone: String
        @Option(help: "Share this record and all below it, and not the whole zone.")
        var root: String?
        @Option(help: "What it is called, for people.") var title: String?
        @Option(name: .customLong("public"), help: "What everybody who has the URL may do.")
        var publicPermission = SharePermission.none
        @OptionGroup var invitations: InvitationOptions
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard publicPermission == .none || invitations.isEmpty else {
                throw ValidationError(
                    "Whoever has the URL may join with --public; leave out the invitations."
                )
            }
        }

        func run() async throws {
            let zoneID = RecordZone.ID(zoneName: zone)
            let saved = try await connection.withContainer(replicas: replicas) { container in
                let database = container.privateCloudDatabase
                guard let root else {
                    return try await save(Share(recordZoneID: zoneID), in: database)
                }
                let record = try await SubjectOptions.root(root, in: zoneID, of: database)
                var share = Share(rootRecord: record)
                set(&share)
                return try await database.save(share, rootRecord: record).share
            }
            try output.show(saved)
        }

        private func set(_ share: inout Share) {
            share.title = title
            share.publicPermission = publicPermission.permission
            invitations.add(to: &share)
        }

        private func save(_ share: Share, in database: Database) async throws -> Share {
            var share = share
            set(&share)
            do {
                return try await database.save(share)
            } catch let error as ServiceError where error.code == .serverRecordChanged {
                throw ServiceError(
                    .alreadyShared,
                    """
                    zone '\(zone)' is shared already; change its share with 'cumulus share set', \
                    'cumulus share add' and 'cumulus share remove'
                    """
                )
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change the title of a share, or what everybody who has the URL may do.",
            discussion: help(
                "cumulus share set Trips --public readWrite",
                "cumulus share set Trips --public none --title \"Our trips\"",
                note: """
                    Opening a share drops invitations that nobody accepted. With --public none all \
                    who joined by the URL alone are out.
                    """
            )
        )

        @OptionGroup var target: ShareTarget
        @Option(help: "What it is called, for people; empty removes it.") var title: String?
        @Option(name: .customLong("public"), help: "What everybody who has the URL may do.")
        var publicPermission: SharePermission?
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard title != nil || publicPermission != nil else {
                throw ValidationError("Give --title or --public: what is to change.")
            }
        }

        func run() async throws {
            let saved = try await connection.change(target, replicas) { share in
                if let title { share.title = title.isEmpty ? nil : title }
                if let publicPermission {
                    share.publicPermission = publicPermission.permission
                }
            }
            try output.show(saved)
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Invite people to a share, or change what participants may do.",
            discussion: help(
                "cumulus share add Trips --writer ada@example.org --reader \"+49 30 1234567\"",
                "cumulus share add Trips --root oslo --administrator ada@example.org",
                note: InvitationOptions.note
            )
        )

        @OptionGroup var target: ShareTarget
        @OptionGroup var invitations: InvitationOptions
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard !invitations.isEmpty else {
                throw ValidationError("Name somebody with --reader, --writer or --administrator.")
            }
        }

        func run() async throws {
            let saved = try await connection.change(target, replicas) { share in
                try invitations.check(share)
                invitations.add(to: &share)
            }
            try output.show(saved)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove participants from a share.",
            discussion: help(
                "cumulus share remove Trips ada@example.org",
                "cumulus share remove Trips _0f3c... --root oslo",
                note: """
                    A node lets a participant in no more from the moment at which it learns of the \
                    removal. What a device has copied stays there.
                    """
            )
        )

        @OptionGroup var target: ShareTarget
        @Argument(help: "\(Person.help), as 'cumulus share show' names them.")
        var people: [Person]
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let saved = try await connection.change(target, replicas) { share in
                for person in people {
                    let count = share.participants.count
                    share.removeParticipant(person.participant())
                    guard share.participants.count < count else {
                        throw ServiceError(
                            .unknownItem,
                            "\(person.text) is not in the share; see 'cumulus share show'"
                        )
                    }
                }
            }
            try output.show(saved)
        }
    }
}

extension DatabaseConnection {
    /// Fetches a share, changes it and saves it.
    fileprivate func change(
        _ target: ShareTarget,
        _ replicas: ReplicasOption,
        _ body: (inout Share) throws -> Void
    ) async throws -> Share {
        try await withDatabase(of: target.owner, replicas: replicas, ofUsers: true) { database in
            var share = try await target.share(in: database)
            try body(&share)
            return try await database.save(share)
        }
    }
}
