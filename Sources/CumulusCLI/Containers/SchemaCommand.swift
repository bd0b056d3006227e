// `cumulus schema`: record types, fields, indexes and grants, as text in CloudKit's language.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Export, check, import, deploy and reset a container's schema, as the operator.",
        discussion: help(
            "cumulus schema export --token-file operator.token",
            "cumulus schema deploy --yes"
        ),
        subcommands: [
            Export.self, Import.self, Validate.self, Diff.self, Deploy.self, Reset.self,
        ]
    )
}

extension SchemaCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the schema of an environment in the schema language.",
            discussion: help(
                "cumulus schema export --token-file operator.token",
                "cumulus schema export --environment production --output app.ckdb",
                note: "--json prints a summary to standard output, and so needs --output."
            )
        )

        @Option(name: .shortAndLong, help: "The file to write; standard output if left out.")
        var output: String?
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var format: OutputOptions

        func validate() throws {
            guard !format.json || output != nil else {
                throw ValidationError("--json prints a summary; name the file with --output.")
            }
        }

        func run() async throws {
            let (name, environment) = (scope.containerName, try scope.environmentValue())
            let text = try await connection.withOperator {
                try await $0.schema(of: name, environment)
            }
            guard let output else { return try StandardOutput.write(text) }
            do {
                try Data(text.utf8).write(to: URL(filePath: output), options: .atomic)
            } catch {
                throw OutputProblem("the schema can't be written to \(output)")
            }
            let count = text.utf8.count
            try format.show(
                ["bytes": .integer(Int64(count)), "file": .string(output)],
                rows: [["\(ByteCount.text(count)) in \(output)"]]
            )
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make the schema of development what a file says.",
            discussion: help(
                "cumulus schema import app.ckdb --token-file operator.token",
                "cumulus schema import app.ckdb --drop",
                note: """
                    The file is the complete schema. If it lacks a type or a field that is there, \
                    or gives a field another type, nothing is changed without --drop: it takes \
                    away what records hold of them, for good. To add types and fields and lose \
                    nothing, export the schema ('cumulus schema export'), add yours to that file, \
                    and import it. What production has stays in any case.
                    """
            )
        )

        @Argument(help: "The file, in the schema language.") var file: String
        @Flag(help: "Drop types and fields that the file lacks, with what records hold of them.")
        var drop = false
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let changes = try await change(
                file,
                scope,
                connection,
                onlyValidates: false,
                drops: drop
            )
            try SchemaCommand.show(changes, done: "imported", output)
        }
    }

    struct Validate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what an import of a file would change, and change nothing.",
            discussion: help(
                "cumulus schema validate app.ckdb --token-file operator.token",
                note: """
                    Lines with a - before a type or field, and changes of a field's type, need \
                    --drop when the file is imported.
                    """
            )
        )

        @Argument(help: "The file, in the schema language.") var file: String
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let changes = try await change(
                file,
                scope,
                connection,
                onlyValidates: true,
                drops: true
            )
            try SchemaCommand.show(changes, done: nil, output)
        }
    }

    struct Diff: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what a deployment would change in production.",
            discussion: help("cumulus schema diff --token-file operator.token")
        )

        @OptionGroup var container: ContainerOption
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let name = container.name
            let changes = try await connection.withOperator {
                try await $0.deploySchema(of: name, onlyShows: true)
            }
            try SchemaCommand.show(changes, done: nil, output)
        }
    }

    struct Deploy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deploy development's schema to production, all of it or nothing.",
            discussion: help(
                "cumulus schema deploy --token-file operator.token",
                "cumulus schema deploy --yes",
                note: """
                    Without --yes it only says what would change. Types and fields are added, and \
                    stay for good; indexes and grants become those of development, so queries \
                    that need an index that is gone there fail in production too.
                    """
            )
        )

        @Flag(help: "Deploy, and not only say what would change.") var yes = false
        @OptionGroup var container: ContainerOption
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let name = container.name
            let changes = try await connection.withOperator {
                try await $0.deploySchema(of: name, onlyShows: !yes)
            }
            try SchemaCommand.show(changes, done: yes ? "deployed" : nil, output)
            if !yes, !changes.isEmpty { complain("Nothing was changed yet; --yes deploys it.") }
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make development what production is, without records.",
            discussion: help(
                "cumulus schema reset --token-file operator.token",
                "cumulus schema reset --yes",
                note: """
                    Without --yes it only says what would change. The schema becomes \
                    production's, empty if nothing was ever deployed, and all zones of \
                    development are deleted with their records, of all users. Users lose the \
                    roles that they were given there. Users and their tokens stay.
                    """
            )
        )

        @Flag(help: "Reset, and not only say what would change.") var yes = false
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (name, environment) = (scope.containerName, try scope.environmentValue())
            let (changes, zones, roles) = try await connection.withOperator {
                try await $0.resetSchema(of: name, environment, onlyShows: !yes)
            }
            let gone = (zones: zones, roles: roles)
            try SchemaCommand.show(changes, gone: gone, done: yes ? "made" : nil, output)
            let isThere = !changes.isEmpty || zones > 0 || roles > 0
            if !yes, isThere { complain("Nothing was changed yet; --yes resets development.") }
        }
    }
}

private func change(
    _ file: String,
    _ scope: ScopeOptions,
    _ connection: OperatorConnection,
    onlyValidates: Bool,
    drops: Bool
) async throws -> [String] {
    guard FileManager.default.fileExists(atPath: file) else {
        throw InputProblem("there is no file '\(file)'")
    }
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
        throw InputProblem("\(file) can't be read, or is no text in UTF-8")
    }
    do {
        _ = try Schema(ckdb: text)
    } catch {
        throw InputProblem("\(file):\(error)")
    }
    let (name, environment) = (scope.containerName, try scope.environmentValue())
    return try await connection.withOperator {
        try await $0.importSchema(
            text,
            of: name,
            environment,
            onlyValidates: onlyValidates,
            drops: drops
        )
    }
}

extension SchemaCommand {
    /// Prints changes, a line each.
    ///
    /// - Parameters:
    ///   - gone: How many zones are deleted, and roles taken away; nil means none can be.
    ///   - done: The word for what was done with them; nil means nothing yet.
    static func show(
        _ changes: [String],
        gone: (zones: Int, roles: Int)? = nil,
        done: String?,
        _ output: OutputOptions
    ) throws {
        let isEmpty = changes.isEmpty && gone.map { $0.zones + $0.roles } ?? 0 == 0
        var members = [
            JSON.Member("changes", .array(changes.map { .string($0) })),
            JSON.Member("made", .bool(done != nil && !isEmpty)),
        ]
        var parts = [counted(changes.count, "change")]
        if let gone {
            members.append(JSON.Member("zones", .integer(Int64(gone.zones))))
            members.append(JSON.Member("roles", .integer(Int64(gone.roles))))
            parts.append("\(counted(gone.zones, "zone")) with all records")
            if gone.roles > 0 { parts.append("\(counted(gone.roles, "role")) of users") }
        }
        parts.append(done ?? "not made yet")
        let summary = isEmpty ? "nothing to change" : parts.joined(separator: ", ")
        try output.show(.object(members), rows: changes.map { [$0] } + [[summary]])
    }
}
