// The schema of a container: read, import, deploy, reset; and the merge policies of its types.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    /// How concurrent changes of a type's records merge.
    package struct TypeMergePolicy: Hashable, Sendable {
        package var recordType: String
        package var policy: MergePolicy

        package init(recordType: String, policy: MergePolicy) {
            self.recordType = recordType
            self.policy = policy
        }
    }

    /// The schema of a container's environment, in the schema language.
    package func schema(of container: String, _ environment: Environment) async throws -> String {
        let text = try await list(.schemaRead, container: container, environment) {
            try ReadSchemaResponse(wire: $0).bytes
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Replaces development's schema by a text in the schema language, or tells what would change.
    ///
    /// - Parameter drops: Types and fields that the text lacks go, with what records hold of them.
    /// - Returns: The changes, a line each.
    package func importSchema(
        _ ckdb: String,
        of container: String,
        _ environment: Environment,
        onlyValidates: Bool = false,
        drops: Bool = false
    ) async throws -> [String] {
        let request = ImportSchemaRequest(
            ckdb: Bytes(ckdb.utf8),
            onlyValidates: onlyValidates,
            drops: drops
        )
        return try await list(
            .schemaImport,
            message: request.encoded(),
            container: container,
            environment,
            repeats: onlyValidates || !drops
        ) { try ImportSchemaResponse(wire: $0).texts }
    }

    /// Adds to production what development has, or tells what would be added.
    ///
    /// - Returns: The changes, a line each.
    package func deploySchema(of container: String, onlyShows: Bool) async throws -> [String] {
        try await list(
            .schemaDeploy,
            message: DeploySchemaRequest(onlyShows).encoded(),
            container: container,
            .production
        ) { try ImportSchemaResponse(wire: $0).texts }
    }

    /// Makes development what production is, without records, or tells what would change.
    ///
    /// - Returns: The changes of the schema, a line each, how many zones go, and how many roles are
    ///   taken away from users.
    package func resetSchema(
        of container: String,
        _ environment: Environment,
        onlyShows: Bool
    ) async throws -> (changes: [String], zones: Int, roles: Int) {
        let responses = try await list(
            .schemaReset,
            message: ResetSchemaRequest(onlyShows).encoded(),
            container: container,
            environment,
            repeats: onlyShows
        ) { [try ResetSchemaResponse(wire: $0)] }
        let numbers = responses.first
        return (
            responses.flatMap(\.changes), Int(clamping: numbers?.zones ?? 0),
            Int(clamping: numbers?.roles ?? 0)
        )
    }

    /// The types of a container's environment whose records don't merge by fields.
    package func mergePolicies(
        in container: String,
        _ environment: Environment
    ) async throws -> [TypeMergePolicy] {
        try await call(.operatorListMergePolicies, container: container, environment) {
            try ListMergePoliciesResponse(wire: $0).elements.map(TypeMergePolicy.init)
        }
    }

    /// Sets how concurrent changes of a type's records merge.
    ///
    /// Returns true if it was set already.
    package func setMergePolicy(
        _ policy: TypeMergePolicy,
        in container: String,
        _ environment: Environment
    ) async throws -> Bool {
        let message = SetMergePolicyRequest(policy.wire).encoded()
        return try await call(
            .operatorSetMergePolicy,
            message: message,
            container: container,
            environment
        ) { try SetMergePolicyResponse(wire: $0).flag }
    }
}

extension NodeOperator.TypeMergePolicy {
    fileprivate init(_ wire: WireMergePolicy) {
        recordType = String(decoding: wire.recordType, as: UTF8.self)
        switch wire.unit {
        case WireMergePolicy.units.groups:
            policy = .groups(
                wire.groups.map { group in
                    FieldGroup(group.map { String(decoding: $0, as: UTF8.self) })
                }
            )
        case WireMergePolicy.units.record: policy = .record
        default: policy = .fields
        }
    }

    fileprivate var wire: WireMergePolicy {
        var wire = WireMergePolicy(
            recordType: Bytes(recordType.utf8),
            unit: WireMergePolicy.units.fields
        )
        switch policy {
        case .fields: break
        case .record: wire.unit = WireMergePolicy.units.record
        case .groups(let groups):
            wire.unit = WireMergePolicy.units.groups
            wire.groups = groups.map { group in group.fields.map { Bytes($0.utf8) } }
        }
        return wire
    }
}
