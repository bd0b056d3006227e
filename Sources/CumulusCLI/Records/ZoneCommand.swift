// `cumulus zone`: list, create and delete zones.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone",
        abstract: "List, create and delete zones.",
        discussion: help(
            "cumulus zone create Notes",
            "cumulus zone list --json",
            "cumulus zone delete Notes"
        ),
        subcommands: [List.self, Create.self, Delete.self]
    )
}

extension ZoneCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the zones of a database.",
            discussion: help(
                "cumulus zone list",
                "cumulus zone list --database shared --json",
                note: """
                    It means the private database unless told otherwise, which needs a token. The \
                    public database has its one zone.
                    """
            )
        )

        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let zones = try await connection.withDatabase(ofUsers: true) { database in
                try await database.allRecordZones()
            }
            try output.show(zones)
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create zones; one that exists stays as it is.",
            discussion: help("cumulus zone create Notes Drafts")
        )

        @Argument(help: "Names of the zones.") var names: [String]
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            guard try connection.scope() != .public else {
                throw UsageProblem(
                    """
                    the public database has its one zone and takes no others: zones are made in a \
                    user's private database, with --token or CUMULUS_TOKEN
                    """
                )
            }
            let zones = names.map { RecordZone(zoneName: $0) }
            let results = try await connection.withDatabase(replicas: replicas) { database in
                try await database.modifyRecordZones(saving: zones, deleting: []).saveResults
            }
            let made = zones.compactMap { try? results[$0.zoneID]?.get() }
            if !made.isEmpty { try output.show(made) }
            try refuse(zones.map { ($0.zoneID.zoneName, results[$0.zoneID]?.error) })
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete zones with all their records.",
            discussion: help(
                "cumulus zone delete Drafts",
                note: "To leave a zone that another user shares: 'cumulus share leave'."
            )
        )

        @Argument(help: "Names of the zones.") var names: [String]
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            guard try connection.scope() != .shared else {
                throw UsageProblem(
                    """
                    zones of the shared database are other users'; to leave one: 'cumulus share \
                    leave \(names[0]) --owner RECORD-NAME'
                    """
                )
            }
            let ids = names.map { RecordZone.ID(zoneName: $0) }
            let results = try await connection.withDatabase(replicas: replicas) { database in
                try await database.modifyRecordZones(saving: [], deleting: ids).deleteResults
            }
            let deleted = ids.filter { results[$0]?.error == nil }.map(\.zoneName)
            if !deleted.isEmpty {
                try output.show(
                    deleted,
                    columns: ["DELETED"],
                    json: { ["zoneName": .string($0)] },
                    row: { [$0] }
                )
            }
            try refuse(ids.map { ($0.zoneName, results[$0]?.error) })
        }
    }
}

extension OutputOptions {
    fileprivate func show(_ zones: [RecordZone]) throws {
        let isShared = zones.contains { $0.zoneID.otherOwner != nil }
        try show(
            zones,
            columns: ["NAME", "CAPABILITIES"] + (isShared ? ["OWNER"] : []),
            json: { zone in
                let names = zone.capabilities.names.map { JSON.string($0) }
                var members = [
                    JSON.Member("zoneName", .string(zone.zoneID.zoneName)),
                    JSON.Member("capabilities", .array(names)),
                ]
                if let owner = zone.zoneID.otherOwner {
                    members.append(JSON.Member("ownerName", .string(owner)))
                }
                return .object(members)
            },
            row: { zone in
                let names = zone.capabilities.names.joined(separator: ", ")
                let owner = zone.zoneID.otherOwner.map { [$0] } ?? []
                return [zone.zoneID.zoneName, names] + owner
            }
        )
    }
}

extension RecordZone.ID {
    /// The owner, if it is another user.
    var otherOwner: String? { ownerName == RecordZone.ID.currentUserName ? nil : ownerName }
}

extension RecordZone.Capabilities {
    fileprivate var names: [String] {
        let known: [(RecordZone.Capabilities, String)] = [
            (.fetchChanges, "fetchChanges"), (.atomic, "atomic"), (.sharing, "sharing"),
            (.zoneWideSharing, "zoneWideSharing"),
        ]
        return known.filter { contains($0.0) }.map(\.1)
    }
}
