// `cumulus backup`: lets a node make a copy of itself while it runs.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Let a node make a directory with all that it holds, while it runs.",
        discussion: help(
            "cumulus backup /backups/monday --token-file operator.token",
            note: """
                The directory is made on the node's machine; it holds the cluster's key and the \
                operator's token, so guard it. To go back to it, stop the node and put a copy of \
                it in the place of its data directory: what was changed since comes back from the \
                other nodes. To begin a new node with it: cumulusd --from-backup DIRECTORY.

                On the file system of the node's data it is made at once, and of hard links: files \
                that don't change any more are those of the store itself. So it is no copy against \
                a damaged disk; copy it to another one.

                A node that was started with --store makes none: back up its database.
                """
        )
    )

    @Argument(help: "The directory to make; an absolute path on the node's machine.")
    var path: String
    @OptionGroup var connection: NodeConnection
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let made = try await ProgressBar.waiting(for: "making the backup") {
            try await connection.withOperator(timeout: 600) { try await $0.backUp(to: path) }
        }
        try output.show(
            [
                "backup": .string(path), "bytes": .integer(Int64(clamping: made.bytes)),
                "files": .integer(Int64(made.files)),
            ],
            rows: [["\(path): \(counted(made.files, "file")), \(ByteCount.text(made.bytes))"]]
        )
    }
}
