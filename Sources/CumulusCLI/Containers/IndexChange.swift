// `cumulus index add` and `remove`: indexes of fields come and go, and nothing else of the schema.
//
// Both read the schema of development, change it as a value, and import it. What an import would
// take from records is refused, so a field that a save makes meanwhile is never lost: then the
// schema is read again.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

/// Words like `queryable,sortable` on the command line.
struct IndexKinds: ExpressibleByArgument, Equatable {
    var indexes: Schema.Indexes = []

    static let help = "queryable, sortable and searchable, with commas."

    init?(argument: String) {
        for word in argument.split(separator: ",", omittingEmptySubsequences: false) {
            switch word.trimmed.lowercased() {
            case "queryable": indexes.insert(.queryable)
            case "sortable": indexes.insert(.sortable)
            case "searchable": indexes.insert(.searchable)
            default: return nil
            }
        }
    }

    /// The words of the schema language.
    static func names(of indexes: Schema.Indexes) -> [String] {
        let all: [(name: String, index: Schema.Indexes)] = [
            ("QUERYABLE", .queryable), ("SORTABLE", .sortable), ("SEARCHABLE", .searchable),
        ]
        return all.filter { indexes.contains($0.index) }.map(\.name)
    }
}

/// A change of the indexes of some fields of a type.
struct IndexChange {
    var recordType: String
    var fields: [String]
    /// nil means all that a field can have.
    var kinds: Schema.Indexes?
    var isAdded: Bool

    /// The schema with the change.
    ///
    /// Throws for a type or a field that is not there, and for indexes that the field can't have.
    func applied(to schema: Schema) throws -> Schema {
        guard var type = schema.recordType(recordType) else {
            throw ServiceError(
                .unknownItem,
                "Did not find record type: \(recordType); 'cumulus schema export' shows all types"
            )
        }
        for name in fields { type.set(try changed(name, of: type)) }
        var schema = schema
        schema.recordTypes = schema.recordTypes.map { $0.name == type.name ? type : $0 }
        return schema
    }

    private func changed(_ name: String, of type: Schema.RecordType) throws -> Schema.Field {
        var field = try found(name, of: type)
        let possible = field.type.possibleIndexes(of: field.name)
        if let kinds, isAdded, !possible.isSuperset(of: kinds) || kinds.isEmpty {
            throw refusal(of: field, possible)
        }
        if possible.isEmpty, isAdded { throw refusal(of: field, possible) }
        if isAdded {
            field.indexes.formUnion(kinds ?? possible)
        } else {
            field.indexes.subtract(kinds ?? field.indexes)
        }
        return field
    }

    /// The field that queries know by that name, as they do.
    private func found(_ name: String, of type: Schema.RecordType) throws -> Schema.Field {
        if !SystemField.isProperty(name), let field = type.field(name) { return field }
        if let system = SystemField(key: name) {
            return type.field(system.rawValue)
                ?? Schema.Field(name: system.rawValue, type: .type(.one(system.kind)))
        }
        let names = type.fields.map(\.name).filter { SystemField(rawValue: $0) == nil }
        throw ServiceError(
            .unknownItem,
            "type \(type.name) has no field '\(name)'; it has "
                + (names.isEmpty ? "none yet" : names.joined(separator: ", "))
        )
    }

    private func refusal(of field: Schema.Field, _ possible: Schema.Indexes) -> ServiceError {
        let names = IndexKinds.names(of: possible).map { $0.lowercased() }
        return ServiceError(
            .invalidArguments,
            "field '\(field.name)' of type \(recordType) holds \(field.typeName), which can be "
                + (names.isEmpty ? "in no index" : names.joined(separator: " and "))
        )
    }
}

extension Schema.RecordType {
    fileprivate mutating func set(_ field: Schema.Field) {
        fields = fields.filter { $0.name != field.name } + [field]
    }
}

// MARK: - Commands

/// What `add` and `remove` have in common.
struct IndexChangeOptions: ParsableArguments {
    @Argument(help: "The record type.") var type: String
    @Argument(help: "Fields of the type, as predicates name them.") var fields: [String]
    @OptionGroup var scope: ScopeOptions
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    /// How often the schema is read again because it changed meanwhile.
    private static let attempts = 3

    func run(_ kinds: IndexKinds?, isAdded: Bool) async throws {
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        guard environment == .development else {
            throw UsageProblem(
                "indexes change in development, and come to production with 'cumulus schema deploy "
                    + "--yes': name development with --environment, or leave it out"
            )
        }
        let change = IndexChange(
            recordType: type,
            fields: fields,
            kinds: kinds?.indexes,
            isAdded: isAdded
        )
        let changes = try await connection.withOperator {
            try await make(change, of: name, by: $0)
        }
        try SchemaCommand.show(changes, done: "made", output)
    }

    private func make(
        _ change: IndexChange,
        of container: String,
        by node: NodeOperator
    ) async throws -> [String] {
        var attempt = 1
        while true {
            let text = try await node.schema(of: container, .development)
            guard let schema = try? Schema(ckdb: text) else {
                throw InputProblem("the node's schema can't be read: use a cumulus of its release")
            }
            let wanted = try change.applied(to: schema)
            if wanted == schema { return [] }
            do {
                return try await node.importSchema(wanted.ckdb, of: container, .development)
            } catch let error as ServiceError where error.reason == .invalidValue {
                // A save has made a type or a field that the text lacks.
                guard attempt < IndexChangeOptions.attempts else { throw error }
                attempt += 1
            }
        }
    }
}

extension IndexCommand {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let queries ask about fields: find, sort by or search them.",
            discussion: help(
                "cumulus index add City population --token-file operator.token",
                "cumulus index add City name country --kind queryable,sortable",
                "cumulus index add City recordName --kind queryable",
                note: """
                    queryable fields are found by == and IN, sortable ones by < and >, and sorted \
                    by; the words of searchable ones are found by self CONTAINS. recordName lets \
                    queries without --where find all records of the type. Each node builds the \
                    index beside its work: 'cumulus index list' shows how far it is, and until \
                    then queries read records. Production gets it with 'cumulus schema deploy'.
                    """
            )
        )

        @Option(help: "\(IndexKinds.help) All that the field can have if left out.")
        var kind: IndexKinds?
        @OptionGroup var options: IndexChangeOptions

        func run() async throws { try await options.run(kind, isAdded: true) }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take indexes away from fields, which then cost less to save.",
            discussion: help(
                "cumulus index remove City population --token-file operator.token",
                "cumulus index remove Note text --kind searchable",
                note: """
                    What records hold stays. Queries that need the index are refused from then on. \
                    In production they are after the next 'cumulus schema deploy'.
                    """
            )
        )

        @Option(help: "\(IndexKinds.help) All that the field has if left out.")
        var kind: IndexKinds?
        @OptionGroup var options: IndexChangeOptions

        func run() async throws { try await options.run(kind, isAdded: false) }
    }
}
