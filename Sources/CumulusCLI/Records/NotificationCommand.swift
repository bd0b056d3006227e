// `cumulus notification`: lists what the user's subscriptions told, and marks it as read.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct NotificationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notification",
        abstract: "List what the user's subscriptions told, and mark it as read.",
        discussion: help(
            "cumulus notification list",
            "cumulus notification read --all"
        ),
        subcommands: [List.self, Read.self]
    )
}

extension NotificationCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List what the user's subscriptions told, up to now.",
            discussion: help(
                "cumulus notification list",
                "cumulus notification list --unread --json",
                note: """
                    It begins with the oldest change that the node remembers (30 days, unless \
                    --feed-retention-days of 'cumulusd' says otherwise). Several changes of a \
                    record come as one notification. 'cumulus watch' shows what happens from now on.
                    """
            )
        )

        @Flag(help: "Leave out what was marked as read.") var unread = false
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await connection.withContainer { container in
                var listing = Listing(["READ", "ID"] + FeedListing.columns, isJSON: output.json)
                var isWhole = true
                for try await page in container.notificationHistory() {
                    for told in page.notifications where !(unread && told.isRead) {
                        let members = told.members + [JSON.Member("isRead", .bool(told.isRead))]
                        let mark = told.isRead ? "read" : ""
                        try listing.add(.object(members), row: [mark, "\(told.id)"] + told.row)
                    }
                    if page.reset != nil { isWhole = false }
                }
                try listing.end()
                if !isWhole {
                    complain("not everything can be told: use 'cumulus query' or 'cumulus changes'")
                }
            }
        }
    }

    struct Read: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Mark notifications as read, for all devices of the user.",
            discussion: help(
                "cumulus notification read 000102030405060708090a0b0c0d0e0f",
                "cumulus notification read --all",
                note: """
                    The last 400 ids of a user are kept; what was marked before these is unread \
                    again. --all marks everything up to now, and takes no room.
                    """
            )
        )

        @Argument(help: "Ids of the notifications, as 'cumulus notification list' shows them.")
        var ids: [String] = []
        @Flag(help: "Mark everything that was told up to now.") var all = false
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if ids.isEmpty != all { throw ValidationError("Give either ids or --all.") }
            _ = try notificationIDs()
        }

        private func notificationIDs() throws -> [FeedNotification.ID] {
            try ids.map { text in
                guard let id = FeedNotification.ID(text) else {
                    throw ValidationError(
                        "'\(text)' is no id of a notification: it has 32 hexadecimal digits."
                    )
                }
                return id
            }
        }

        func run() async throws {
            let ids = try notificationIDs()
            try await connection.withContainer(replicas: replicas) { container in
                if all {
                    try await container.markNotificationsRead(upTo: Read.now(container))
                } else {
                    try await container.markNotificationsRead(ids)
                }
            }
            try output.show(
                all ? ["all"] : ids.map(\.description),
                columns: ["READ"],
                json: { ["read": .string($0)] },
                row: { [$0] }
            )
        }

        /// The token of a feed that begins now.
        private static func now(_ container: Container) async throws -> FeedToken {
            // The first page of a feed comes at once.
            for try await page in container.notifications(since: nil) { return page.token }
            throw ServiceError(.internalError, "a feed ended without a page")
        }
    }
}
