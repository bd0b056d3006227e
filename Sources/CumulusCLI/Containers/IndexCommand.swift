// `cumulus index`: the indexes that the schema asks for, and how a node keeps them.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct IndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Add, remove, list, verify and rebuild indexes, as the operator.",
        discussion: help(
            "cumulus index add City population --token-file operator.token",
            "cumulus index list City"
        ),
        subcommands: [Add.self, Remove.self, List.self, Verify.self, Rebuild.self]
    )

    static let note = """
        The schema says which fields have indexes: 'cumulus index add' and 'remove' change it. \
        Each node keeps its own, and the node that answers tells about its own.
        """
}

/// The indexes that a command is about.
struct IndexOptions: ParsableArguments {
    @Argument(help: "Those of this record type; all if left out.") var type: String?
    @Option(help: "Only those on this field, as the schema names it.") var field: String?
    @OptionGroup var scope: ScopeOptions
    @OptionGroup var connection: OperatorConnection

    func validate() throws {
        guard type != nil || field == nil else {
            throw ValidationError("Name the record type whose --field is meant.")
        }
    }

    /// - Parameter timeout: Seconds.
    func run(
        _ action: NodeOperator.IndexAction,
        timeout: Double = 10
    ) async throws -> [NodeOperator.Index] {
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        return try await connection.withOperator(timeout: timeout) {
            try await $0.indexes(
                action,
                of: name,
                environment,
                recordType: type ?? "",
                field: field ?? ""
            )
        }
    }
}

extension IndexOptions {
    /// The indexes of the node, and the schema that asks for them.
    func listed() async throws -> ([NodeOperator.Index], Schema?) {
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        let text = try await connection.withOperator {
            try await $0.schema(of: name, environment)
        }
        return (try await run(.list), try? Schema(ckdb: text))
    }
}

extension IndexCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List them: how far those are that are being built, and what each takes.",
            discussion: help(
                "cumulus index list --token-file operator.token",
                "cumulus index list City --json",
                note: IndexCommand.note
            )
        )

        @OptionGroup var indexes: IndexOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            var listing = Listing(
                ["TYPE", "FIELD", "KINDS", "HOLDS", "OF", "STATE", "ROWS", "BYTES"],
                isJSON: output.json
            )
            let (found, schema) = try await indexes.listed()
            for index in found {
                let kinds = index.kinds(in: schema)
                let json = JSON.Member("kinds", .array(kinds.map { .string($0) }))
                try listing.add(
                    .object(index.members + [json] + index.cost),
                    row: index.row(kinds.joined(separator: " ")) + index.costRow
                )
            }
            try listing.end()
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare them with all records.",
            discussion: help(
                "cumulus index verify --token-file operator.token",
                "cumulus index verify City --field population",
                note: """
                    Reads every record and every row. Ends with 1 if a row is missing or wrong: \
                    'index rebuild' mends that. \(IndexCommand.note)
                    """
            )
        )

        @OptionGroup var indexes: IndexOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            var listing = Listing(
                ["TYPE", "FIELD", "HOLDS", "OF", "STATE", "ROWS", "MISSING", "WRONG"],
                isJSON: output.json
            )
            var (faults, unready): (UInt64, Int) = (0, 0)
            let compared = try await ProgressBar.waiting(for: "comparing with all records") {
                try await indexes.run(.verify, timeout: 600)
            }
            for index in compared {
                faults += index.missing + index.wrong
                unready += index.isReady ? 0 : 1
                try listing.add(
                    .object(index.members + index.verdict),
                    row: index.row() + index.verdictRow
                )
            }
            try listing.end()
            if unready > 0 {
                complain(
                    "\(unready) not compared: see 'index list' for those that are being built."
                )
            }
            if faults > 0 { throw ExitCode(1) }
        }
    }

    struct Rebuild: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Build them anew; until they are ready, queries read records instead.",
            discussion: help(
                "cumulus index rebuild City --token-file operator.token",
                "cumulus index rebuild --no-wait",
                note: IndexCommand.note
            )
        )

        @OptionGroup var indexes: IndexOptions
        @Flag(inversion: .prefixedNo, help: "Wait until they are ready.") var wait = true
        @OptionGroup var output: OutputOptions

        func run() async throws {
            var found = try await indexes.run(.rebuild)
            var progress = ProgressBar(total: found.map { Int($0.records) }.max())
            while wait, let behind = found.filter({ !$0.isReady }).map(\.looked).min() {
                progress.update(bytes: Int(behind), records: Int(behind))
                try await Task.sleep(for: .milliseconds(200))
                found = try await indexes.run(.list)
            }
            progress.clear()
            let ready = found.filter(\.isReady).count
            try output.show(
                ["indexes": .integer(Int64(found.count)), "ready": .integer(Int64(ready))],
                rows: [["\(counted(found.count, "index", "indexes")), \(ready) ready"]]
            )
        }
    }
}

extension NodeOperator.Index {
    /// What the schema lets queries do with the field by this index.
    fileprivate func kinds(in schema: Schema?) -> [String] {
        let indexes = schema?.recordType(recordType)?.field(field)?.indexes ?? []
        return IndexKinds.names(
            of: form == "words"
                ? indexes.intersection(.searchable) : indexes.subtracting(.searchable)
        )
    }

    fileprivate var members: [JSON.Member] {
        [
            .init("recordType", .string(recordType)), .init("field", .string(field)),
            .init("form", .string(form)), .init("type", .string(type)),
            .init("ready", .bool(isReady)), .init("looked", .integer(Int64(looked))),
            .init("records", .integer(Int64(records))),
        ]
    }

    fileprivate var cost: [JSON.Member] {
        [
            .init("rows", rows.map { .integer(Int64($0)) } ?? .null),
            .init("bytes", .integer(Int64(bytes))),
        ]
    }

    fileprivate var costRow: [String] {
        [rows.map { "\($0)" } ?? "many", ByteCount.text(bytes)]
    }

    fileprivate var verdict: [JSON.Member] {
        [
            .init("rows", .integer(Int64(rows ?? 0))), .init("missing", .integer(Int64(missing))),
            .init("wrong", .integer(Int64(wrong))),
        ]
    }

    /// - Parameter kinds: What stands behind the field.
    fileprivate func row(_ kinds: String? = nil) -> [String] {
        let part = records == 0 ? 100 : looked * 100 / records
        return [recordType, field] + (kinds.map { [$0] } ?? [])
            + [form, type, isReady ? "ready" : "building, \(part) %"]
    }

    fileprivate var verdictRow: [String] {
        isReady ? ["\(rows ?? 0)", "\(missing)", "\(wrong)"] : ["-", "-", "-"]
    }
}
