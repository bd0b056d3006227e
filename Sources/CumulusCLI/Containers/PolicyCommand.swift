// `cumulus policy`: how concurrent changes of a type's records come together.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Say what of a record changes as one, per record type, as the operator.",
        discussion: help("cumulus policy list --token-file operator.token"),
        subcommands: [Set.self, List.self]
    )

    static let note = """
        By 'fields', the default, each field keeps its latest value, whoever wrote the others. By \
        'record' the latest save stands whole. By groups, fields that only make sense together \
        are of one save. What a save cost is in 'cumulus conflicts list'.
        """
}

/// The units to choose from; groups have an option of their own.
private enum Unit: String, ExpressibleByArgument, CaseIterable {
    case fields
    case record
}

extension PolicyCommand {
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the policy of a record type; saves follow it from then on.",
            discussion: help(
                "cumulus policy set Page --merge record --token-file operator.token",
                "cumulus policy set Invoice --group amount,currency --group street,city",
                "cumulus policy set Page --merge fields",
                note: PolicyCommand.note
            )
        )

        @Argument(help: "The record type; it need not exist yet.") var type: String
        @Option(help: "What keeps its latest value: fields or record.") private var merge: Unit?
        @Option(name: .customLong("group"), help: "Fields that change together: NAME,NAME….")
        private var groups: [String] = []
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if groups.isEmpty == (merge == nil) {
                throw ValidationError("Give either --merge or one --group or more.")
            }
            if merge == nil, let refusal = MergePolicy.refusal(of: fieldGroups) {
                throw ValidationError(refusal + ".")
            }
        }

        private var fieldGroups: [FieldGroup] {
            groups.map { FieldGroup($0.split(separator: ",").map(String.init)) }
        }

        private var policy: MergePolicy {
            switch merge {
            case .fields: .fields
            case .record: .record
            case nil: .groups(fieldGroups)
            }
        }

        func run() async throws {
            let (name, environment) = (scope.containerName, try scope.environmentValue())
            let policy = NodeOperator.TypeMergePolicy(recordType: type, policy: policy)
            let existed = try await connection.withOperator {
                try await $0.setMergePolicy(policy, in: name, environment)
            }
            try output.show(
                .object(policy.members + [.init("existed", .bool(existed))]),
                rows: [
                    ["type", type], ["merge", policy.text],
                    ["state", existed ? "was so already" : "set"],
                ]
            )
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the types whose records don't merge by fields.",
            discussion: help(
                "cumulus policy list --token-file operator.token",
                note: PolicyCommand.note
            )
        )

        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (name, environment) = (scope.containerName, try scope.environmentValue())
            let policies = try await connection.withOperator {
                try await $0.mergePolicies(in: name, environment)
            }
            try output.show(
                policies,
                columns: ["TYPE", "MERGE"],
                json: { .object($0.members) },
                row: { [$0.recordType, $0.text] }
            )
        }
    }
}

extension NodeOperator.TypeMergePolicy {
    fileprivate var text: String {
        switch policy {
        case .fields: "fields"
        case .record: "record"
        case .groups(let groups):
            groups.map { $0.fields.joined(separator: "+") }.joined(separator: " ")
        }
    }

    fileprivate var members: [JSON.Member] {
        let (name, groups): (String, [FieldGroup]) =
            switch policy {
            case .fields: ("fields", [])
            case .record: ("record", [])
            case .groups(let groups): ("groups", groups)
            }
        return [
            .init("type", .string(recordType)),
            .init("merge", .string(name)),
            .init("groups", .array(groups.map(\.json))),
        ]
    }
}

extension FieldGroup {
    fileprivate var json: JSON { .array(fields.map { .string($0) }) }
}
