// `cumulus export`: the records of one type, or a database, as JSON lines. The work is in
// `Exporter` of `CumulusTransfer`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the records of a type as JSON lines, in the order of their names.",
        discussion: help(
            "cumulus export Place --output places.jsonl",
            "cumulus export Place | gzip > places.jsonl.gz",
            "cumulus export --all --database private --output ada.jsonl --system-fields "
                + "--assets files",
            "cumulus export Place --output places.jsonl --system-fields --assets files",
            note: """
                The lines have the form that 'cumulus import' reads, and are all from one moment. \
                How many there were is said on standard error; a type or a zone that isn't there \
                is an error. A file is not in its line, which names it: 'cumulus asset get' \
                fetches it. The file of --output takes its name when it is complete; while the \
                server is away such an export waits for it, for the time of --timeout. --json \
                prints a summary to standard output, and so needs --output.

                --system-fields adds under $record when and by whom each record was created and \
                modified, and with whom a share is shared; an import passes it over, since a node \
                says its own. --assets writes the content of assets into a folder, from which \
                'cumulus import --assets' takes it.

                --all writes the public or the private database: its zones, the records of all \
                types, each with $type and $zone, and the user's subscriptions. 'cumulus import \
                --all' takes it. Each zone is from one moment.
                """
        )
    )

    @Argument(help: "Type of the records.") var type = ""
    /// The type in release 0.1.
    @Option(name: .customLong("type"), help: .hidden) var oldType: String?
    @Option(name: .shortAndLong, help: "The file to write; standard output if left out.")
    var output: String?
    @Flag(help: "Write all of the database: zones, all types, subscriptions.") var all = false
    @Flag(help: "Say when and by whom records were created and modified, too.")
    var systemFields = false
    @Option(help: "The folder that gets the content of assets, a file each.")
    var assets: String?
    @OptionGroup var zone: ZoneOption
    @OptionGroup var encryption: EncryptionOption
    @OptionGroup var connection: DatabaseConnection
    @OptionGroup var format: OutputOptions

    mutating func validate() throws {
        if let oldType, type.isEmpty { type = oldType }
        guard type.isEmpty == all else {
            throw ValidationError("name the type of the records, or --all for all of a database.")
        }
        guard !all || zone.zoneID == .default, try !all || connection.scope() != .shared else {
            throw ValidationError("--all is for all zones of the public or the private database.")
        }
        guard !format.json || output != nil else {
            throw ValidationError("--json prints a summary; name the records' file with --output.")
        }
    }

    func run() async throws {
        if !all { _ = try Names.checkSchemaName(ArraySlice(type.utf8), "record type") }
        if let assets { try FileManager.default.makeFolder(assets) }
        let standardTimeout = 10.0
        try await connection.withDatabase(
            of: zone.owner,
            timeout: standardTimeout,
            encryption: encryption
        ) { database in
            var exporter = Exporter(
                database: database,
                zoneID: zone.zoneID,
                type: all ? nil : type,
                patience: .seconds(connection.user.nodes.timeout ?? standardTimeout),
                withSystemFields: systemFields,
                assetFolder: assets,
                progress: output == nil ? .besideContent(total: nil) : ProgressBar(total: nil)
            )
            guard let output else {
                let count = try await exporter.write(to: .standardOutput)
                writeToStandardError("\(counted(count, "record")) exported\n")
                return
            }
            let count = try await exporter.write(toFile: output)
            try format.show(
                ["exported": .integer(Int64(count)), "file": .string(output)],
                rows: [["\(counted(count, "record")) in \(output)"]]
            )
        }
    }
}

extension FileManager {
    /// Makes a folder, unless it is there.
    fileprivate func makeFolder(_ path: String) throws {
        do {
            try createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw OutputProblem("the folder \(path) can't be made")
        }
    }
}
