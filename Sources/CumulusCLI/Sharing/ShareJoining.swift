// The commands for the URL of a share: look, join, leave.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

/// The URL of a share.
struct ShareURLArgument: ParsableArguments {
    @Argument(help: "URL of the share, as its owner gave it.") var url: String

    func value() throws -> URL {
        guard let value = URL(string: url) else {
            throw UsageProblem("'\(url)' is no URL; quote it if it holds spaces or '&'")
        }
        return value
    }
}

extension ShareCommand {
    struct Metadata: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what a URL leads to, without joining.",
            discussion: help(
                "cumulus share metadata https://notes.example.com/share/6Zm2mJ0T1hQvQ5k9k1r2bA",
                "cumulus share metadata https://notes.example.com/share/6Zm2mJ0T1hQvQ5k9k1r2bA "
                    + "--root-record --json"
            )
        )

        @OptionGroup var url: ShareURLArgument
        @Flag(help: "Show the root's fields too.") var rootRecord = false
        @OptionGroup var encryption: EncryptionOption
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let url = try url.value()
            let metadata = try await connection.withContainer(encryption: encryption) {
                try await $0.shareMetadata(for: url, fetchingRootRecord: rootRecord)
            }
            try output.show(metadata)
        }
    }

    struct Accept: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Join a share: it is in the shared database from then on.",
            discussion: help(
                "cumulus share accept https://notes.example.com/share/6Zm2mJ0T1hQvQ5k9k1r2bA",
                note: """
                    It shows zone and owner, which other commands need: 'cumulus record list \
                    --database shared --owner OWNER --zone ZONE'.
                    """
            )
        )

        @OptionGroup var url: ShareURLArgument
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let url = try url.value()
            let metadata = try await connection.withContainer { try await $0.accept(url) }
            try output.show(metadata)
        }
    }

    struct Leave: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Leave what another user shares; others stay in it.",
            discussion: help(
                "cumulus share leave Trips --owner _0f3c...",
                "cumulus share leave Trips --owner _0f3c... --root oslo",
                note: "Without --root it leaves everything that is shared in the zone."
            )
        )

        @OptionGroup var target: ShareTarget
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard target.owner.owner != nil else {
                throw ValidationError(
                    "Name the zone's owner with --owner; 'cumulus zone list --database shared' "
                        + "shows it."
                )
            }
        }

        func run() async throws {
            try await connection.withContainer(replicas: replicas) { container in
                let database = container.sharedCloudDatabase
                if target.root == nil {
                    try await database.deleteRecordZone(withID: target.zoneID)
                } else {
                    try await database.leave(target.share(in: database))
                }
            }
            let zone = target.zoneID
            try output.show(
                ["left": .string(zone.zoneName), "ownerName": .string(zone.ownerName)],
                rows: [["left", zone.zoneName], ["owner", zone.ownerName]]
            )
        }
    }
}
