// `cumulus import`: the records of a file of JSON lines. The work is in `Importer`
// of `CumulusTransfer`.
//
// Folder: import and export of records as JSON lines. Read `ImportCommand`, then `ExportCommand`
// and `FileForm`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Save the records of a file of JSON lines.",
        discussion: help(
            "cumulus import Place places.jsonl",
            "zcat places.jsonl.gz | cumulus import Place - --strict",
            "cumulus import --all ada.jsonl --database private --assets files",
            note: """
                Each line is an object: recordName and a key per field. Text, integer, decimal \
                and array are STRING, INT64, DOUBLE and LIST, an object of latitude and longitude \
                is a LOCATION, true and false are 1 and 0, null removes the field; \
                {"$date": "2024-02-29T12:00:00Z"}, {"$bytes": "base64"} and \
                {"$reference": {"recordName": "…", "action": "none"}} are the rest. In a new type \
                the first value of a key decides its kind: write 1.0 for a decimal.

                A line that can't be used is reported with its number, and the rest goes on; of \
                more than three with one and the same mistake, the others are counted at the end. \
                Running an import again gives the same data: a line replaces the fields that it \
                names. While no answer comes the import waits, and says so after 5 seconds and \
                then each 30 seconds. It ends after 30 seconds without a connection, and says how \
                many lines are saved; --timeout sets that time, and how long a call may take. \
                --json prints how many lines were saved and failed, and each mistake with its \
                first line and how many lines have it, up to 1000 mistakes; its errors on \
                standard error have the number too, as "line", and what it waits for is an \
                object, {"waiting": {"message": "…", "saved": 400}}.

                --all takes what 'cumulus export --all' wrote: zones are made, records are saved \
                in their zones, and subscriptions. Shares are passed over, and counted: others \
                have to join a share anew.

                The exit code is 65 if a line is no such object, also if the server refused \
                others, and with --strict; it is 1 if the server refused all lines that failed.
                """
        )
    )

    @Argument(help: "Type of the records; left out with --all.") var type: String
    @Argument(help: "The file; - for standard input.") var file = ""
    /// The type in release 0.1, in which the only argument was the file.
    @Option(name: .customLong("type"), help: .hidden) var oldType: String?
    @Flag(help: "Read a file of 'cumulus export --all'.") var all = false
    @Option(help: "The key that holds the record's name.") var nameKey = "recordName"
    @Flag(
        help: """
            Read no further once a line can't be saved, with exit code 65; lines behind it that \
            were read by then may still be saved.
            """
    )
    var strict = false
    @Option(help: "The folder with the content of assets, of 'cumulus export --assets'.")
    var assets: String?
    @Option(help: "Records in one call.") var batch = 200
    @Option(help: "Calls at a time.") var parallel = 4
    @OptionGroup var zone: ZoneOption
    @OptionGroup var replicas: ReplicasOption
    @OptionGroup var encryption: EncryptionOption
    @OptionGroup var connection: DatabaseConnection
    @OptionGroup var output: OutputOptions

    mutating func validate() throws {
        if let oldType, file.isEmpty { (type, file) = (oldType, type) }
        if all {
            guard file.isEmpty, nameKey == "recordName", zone.zoneID == .default else {
                throw ValidationError("with --all name the file alone: its lines say the rest.")
            }
            (type, file) = ("", type)
        }
        guard !file.isEmpty else {
            throw ValidationError("name the type, then the file: cumulus import Place FILE.")
        }
        guard (1...400).contains(batch) else {
            throw ValidationError("--batch must be 1 to 400.")
        }
        guard (1...64).contains(parallel) else {
            throw ValidationError("--parallel must be 1 to 64.")
        }
    }

    func run() async throws {
        let (input, size) = try open()
        var lines = LineReader(input)
        if let form = FileForm(try lines.peek()) { throw InputProblem(form.advice(for: file)) }
        let standardTimeout = 600.0
        let timeout = connection.user.nodes.timeout
        let summary = try await connection.withDatabase(
            of: zone.owner,
            timeout: standardTimeout,
            replicas: replicas,
            encryption: encryption
        ) { [lines] database in
            var importer = Importer(
                lines: lines,
                type: all ? nil : type,
                zoneID: zone.zoneID,
                nameKey: nameKey,
                isStrict: strict,
                assetFolder: assets,
                batchRecords: batch,
                parallelCalls: parallel,
                patience: .seconds(timeout ?? standardTimeout),
                absence: timeout.map { Duration.seconds($0) } ?? Importer.usualAbsence,
                progress: ProgressBar(total: size),
                report: output.json ? { Failure($1)?.report(line: $0) } : nil
            )
            return try await importer.run(into: database)
        }
        try output.show(summary.json, rows: [[summary.text]])
        if let code = summary.exitCode(isStrict: strict) { throw code }
    }

    private func open() throws -> (OpenFile, size: Int?) {
        if file == "-" { return (.standardInput, nil) }
        guard let input = try? OpenFile(reading: file) else {
            throw InputProblem("\(file) can't be read")
        }
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
        return (input, size)
    }
}
