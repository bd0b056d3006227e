// `cumulus record`: save, get, delete and list records.
//
// Folder: commands on records, zones, queries, changes and feeds. Read `RecordCommand`, then
// `QueryCommand`, `ChangesCommand`, `WatchCommand` and `NotificationCommand`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTransfer

struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Save, get, delete and list records.",
        discussion: help(
            "cumulus record save Greeting hello --field text=Hello",
            "cumulus record get hello --json",
            "cumulus record list --zone Notes"
        ),
        subcommands: [Save.self, Get.self, Delete.self, List.self]
    )
}

extension RecordCommand {
    struct Save: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Save a record: a new one, or fields of one that is there.",
            discussion: help(
                "cumulus record save Greeting hello --field text=Hello --field stars=3",
                #"cumulus record save Place home --json-fields '{"floors": 2, "name": null}'"#,
                "cumulus record save Page front --increment visits=1",
                "cumulus record save Photo front --field title=Front --asset image=front.jpg",
                "cumulus record save Greeting hello --field text=Hej --tag 4f6e3cfc869a11f4",
                "cumulus record save Greeting hello --field text=Hej --force",
                "cumulus record save Place home --field zip:string=11122 --field at:location=59,18",
                note: """
                    A record that is there is not overwritten unseen: name the change tag that \
                    'cumulus record get' shows with --tag, or overwrite it with --force. A save of \
                    increments alone needs neither. Fields that are not named keep their values.

                    A text is read by the type that its field has. In a new field a number like 3 \
                    makes an INT64, one like 0.5 a DOUBLE, and everything else a STRING; \
                    KEY:TYPE=TEXT makes another type, of \(TypedText.typeNames). A list is written \
                    in JSON, a location as LATITUDE,LONGITUDE, bytes in base64, a reference as the \
                    name of a record.
                    """
            )
        )

        @Argument(help: "Type of the record.") var type: String
        @Argument(help: "Name of the record.") var name: String
        @Option(help: "A field, KEY=TEXT or KEY:TYPE=TEXT.") var field: [FieldAssignment] = []
        @Option(help: "Fields of any kind as a JSON object; null removes a field.")
        var jsonFields: String?
        @Option(help: "A field with a file, KEY=FILE.") var asset: [Assignment] = []
        @Option(help: "Adds to an integer field, KEY=NUMBER.") var increment: [Assignment] = []
        @Option(help: "Record name of the parent.") var parent: String?
        @OptionGroup var rule: SaveRule
        @OptionGroup var zone: ZoneOption
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var encryption: EncryptionOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            for field in field { try field.check() }
            for increment in increment where Int64(increment.value) == nil {
                throw ValidationError("--increment: '\(increment.value)' is not an integer.")
            }
            var seen: Set<String> = []
            for key in keys where !seen.insert(key).inserted {
                throw ValidationError(
                    "'\(key)' stands twice in --field, --asset and --json-fields."
                )
            }
        }

        /// The fields that get a value, each as often as it does.
        private var keys: [String] {
            var keys = field.map(\.key) + asset.map(\.key)
            // An invalid text is reported when it is used.
            if let jsonFields, case .object(let members)? = try? JSONReader.read(jsonFields.utf8) {
                keys += members.map(\.key)
            }
            return keys
        }

        func run() async throws {
            let record = try record()
            let transfer = AssetTransfer()
            let timeout = asset.isEmpty ? 10.0 : 60
            let saved = try await connection.withDatabase(
                of: zone.owner,
                timeout: timeout,
                replicas: replicas,
                encryption: encryption
            ) { database in
                do {
                    return try await save(record, in: database, transfer)
                } catch {
                    throw rule.advised(error, get: get)
                }
            }
            guard let saved else { return }
            let sent = asset.isEmpty ? [] : [["", transfer.text("sent")]]
            try output.show(saved.json, rows: saved.rows + sent)
        }

        /// The command that shows the record.
        var get: String {
            var words = ["cumulus", "record", "get", name]
            if zone.zoneID.zoneName != RecordZone.ID.default.zoneName {
                words += ["--zone", zone.zone]
            }
            if let database = connection.database { words += ["--database", database] }
            if let owner = zone.owner.owner { words += ["--owner", owner] }
            return words.joined(separator: " ")
        }

        /// Saves the record; texts whose fields have another type are read by it.
        private func save(
            _ record: Record,
            in database: Database,
            _ transfer: AssetTransfer
        ) async throws -> Record? {
            let results = try await transfer.following { progress in
                try await database.modifyRecords(
                    saving: [record],
                    deleting: [],
                    savePolicy: policy(for: record),
                    progress: progress
                )
            }
            do {
                return try results.saveResults[record.recordID]?.get()
            } catch {
                // A text that was read has another type, so each field comes here once.
                guard let (key, type) = TypedText.expected(by: error),
                    let field = field.first(where: { $0.key == key && $0.typeName == nil })
                else { throw error }
                var typed = record
                typed[key] = try TypedText.value(of: field.text, in: key, as: type)
                return try await save(typed, in: database, transfer)
            }
        }

        func policy(for record: Record) -> RecordSavePolicy {
            rule.policy(isSum: keys.isEmpty && parent == nil && !record.increments.isEmpty)
        }

        func record() throws -> Record {
            var record = Record(
                recordType: type,
                recordID: Record.ID(recordName: name, zoneID: zone.zoneID)
            )
            record.recordChangeTag = rule.tag
            for field in field { record[field.key] = try field.value() }
            for asset in asset {
                record[asset.key] = .asset(try AssetFile.asset(asset.value))
            }
            if let jsonFields { try set(jsonFields, in: &record) }
            for increment in increment {
                record.increment(increment.key, by: Int64(increment.value) ?? 0)
            }
            if let parent { record.parent = Record.Reference(recordName: parent) }
            return record
        }

        private func set(_ text: String, in record: inout Record) throws {
            do {
                guard case .object(let members) = try JSONReader.read(text.utf8) else {
                    throw InputProblem("--json-fields must be a JSON object")
                }
                for member in members { try record.set(member) }
            } catch let problem as JSONReader.Problem {
                throw InputProblem("--json-fields: \(problem.message)")
            }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Get records by name.",
            discussion: help(
                "cumulus record get hello",
                "cumulus record get hello good-bye --keys text --json"
            )
        )

        @Argument(help: "Names of the records.") var names: [String]
        @OptionGroup var keys: KeysOption
        @OptionGroup var zone: ZoneOption
        @OptionGroup var encryption: EncryptionOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let ids = names.map { Record.ID(recordName: $0, zoneID: zone.zoneID) }
            let results = try await connection.withDatabase(
                of: zone.owner,
                encryption: encryption
            ) { database in
                try await database.records(for: ids, desiredKeys: keys.list)
            }
            let records = ids.compactMap { try? results[$0]?.get() }
            if output.json, !records.isEmpty {
                try StandardOutput.write(line: Table.array(records.map(\.json.text)))
            } else if !records.isEmpty {
                let tables = records.map { Table.aligned($0.rows) }
                try StandardOutput.write(line: tables.joined(separator: "\n\n"))
            }
            try refuse(ids.map { ($0.recordName, results[$0]?.error) })
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete records, and what refers to them with deleteSelf.",
            discussion: help("cumulus record delete hello good-bye")
        )

        @Argument(help: "Names of the records.") var names: [String]
        @OptionGroup var zone: ZoneOption
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let ids = names.map { Record.ID(recordName: $0, zoneID: zone.zoneID) }
            let results = try await connection.withDatabase(
                of: zone.owner,
                replicas: replicas
            ) { database in
                try await database.modifyRecords(saving: [], deleting: ids, atomically: false)
                    .deleteResults
            }
            let deleted = ids.filter { results[$0]?.error == nil }.map(\.recordName)
            if !deleted.isEmpty {
                try output.show(
                    deleted,
                    columns: ["DELETED"],
                    json: { ["recordName": .string($0)] },
                    row: { [$0] }
                )
            }
            try refuse(ids.map { ($0.recordName, results[$0]?.error) })
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the records of a zone in the order of their names.",
            discussion: help(
                "cumulus record list --limit 20",
                "cumulus record list --zone Notes --json"
            )
        )

        @OptionGroup var keys: KeysOption
        @Option(help: "How many records at most.") var limit: Int?
        @OptionGroup var zone: ZoneOption
        @OptionGroup var encryption: EncryptionOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard limit ?? 1 > 0 else { throw ValidationError("--limit must be at least 1.") }
        }

        func run() async throws {
            try await connection.withDatabase(
                of: zone.owner,
                encryption: encryption
            ) { database in
                let records = database.allRecords(inZoneWith: zone.zoneID, desiredKeys: keys.list)
                var listing = Listing(
                    ["NAME", "TYPE", "MODIFIED", "FIELDS"],
                    isJSON: output.json
                )
                var count = 0
                for try await record in records {
                    try listing.add(record.json, row: record.row)
                    count += 1
                    if count == limit { break }
                }
                try listing.end()
            }
        }
    }
}

/// The fields to fetch.
struct KeysOption: ParsableArguments {
    @Option(help: "Fields to fetch, with commas; all if left out, none if empty.")
    var keys: String?

    var list: [String]? { keys.map { $0.split(separator: ",").map(String.init) } }
}

/// `KEY=VALUE` on the command line.
struct Assignment: ExpressibleByArgument, Equatable {
    var key: String
    var value: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        (key, value) = (String(parts[0]), String(parts[1]))
    }
}

/// Reports the items that failed; if there are any, the command ends with their exit code.
func refuse(_ items: [(name: String, error: (any Error)?)]) throws {
    let failures = items.compactMap { name, error in
        error.flatMap { Failure($0) }.map { (name, $0) }
    }
    for (name, failure) in failures { failure.report(item: name) }
    if let first = failures.first { throw first.1.code }
}
