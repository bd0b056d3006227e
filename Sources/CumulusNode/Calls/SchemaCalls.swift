// An operator's calls on a container's schema: read, import, deploy, reset; on its merge policies,
// and on the users who have its roles.
//
// Called through `MethodTable`. The text of a schema is read here, before anything is queued.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum SchemaCalls {
    static func read(_ context: CallContext) throws {
        try context.readFromDisk { context in
            let schema = try context.reader.storedSchema(
                of: context.number,
                in: context.scope.environment
            )
            return Page(message: ReadSchemaResponse.encoded(ckdb: Bytes(schema.ckdb.utf8)))
        }
    }

    // MARK: Changes

    static func importFile(_ context: CallContext) throws {
        let request = try ImportSchemaRequest(wire: context.message)
        context.concerns("schema file")
        let source = SchemaImport.Source.file(try schema(request.ckdb), drops: request.drops)
        try change(SchemaImport(source), onlyShows: request.onlyValidates, context)
    }

    static func deploy(_ context: CallContext) throws {
        context.concerns("schema of development")
        let onlyShows = try DeploySchemaRequest.onlyShows(wire: context.message)
        try change(SchemaImport(.development), onlyShows: onlyShows, context)
    }

    private static func change(
        _ schemaImport: SchemaImport,
        onlyShows: Bool,
        _ context: CallContext
    ) throws {
        if onlyShows {
            context.concerns(shown)
            return try context.readFromDisk { context in
                let difference = try schemaImport.plan(for: context.scope, context.reader).get()
                return Page(message: SchemaChanges.encoded(difference.changes.map(\.description)))
            }
        }
        context.change(.importSchema(schemaImport), in: try context.scope()) { answer in
            guard case .schema(let difference) = answer else { return [] }
            context.concerns(difference.summary)
            return [SchemaChanges.encoded(difference.changes.map(\.description))]
        }
    }

    static func reset(_ context: CallContext) throws {
        context.concerns("schema of development")
        if try ResetSchemaRequest.onlyShows(wire: context.message) {
            context.concerns(shown)
            return try context.readFromDisk { context in
                let outcome = try SchemaReset().plan(for: context.scope, context.reader).get()
                return Page(message: outcome.encoded())
            }
        }
        context.change(.resetSchema, in: try context.scope()) { answer in
            guard case .reset(let outcome) = answer else { return [] }
            context.concerns(outcome.difference.summary)
            return [outcome.encoded()]
        }
    }

    /// For the audit log.
    private static let shown = "nothing changed: only shown"

    private static func schema(_ ckdb: Bytes) throws(ServiceError) -> Schema {
        guard let text = String(validating: ckdb, as: UTF8.self) else {
            throw ServiceError(.invalidArguments, .invalidValue, "the schema is not UTF-8")
        }
        do {
            return try Schema(ckdb: text)
        } catch {
            throw ServiceError(.invalidArguments, .invalidValue, "\(error)")
        }
    }

    // MARK: Merge policies

    static func listMergePolicies(_ context: CallContext) throws {
        try context.readFromDisk { context in
            let policies = try MergePolicies.all(in: context.number, context.reader)
            return Page(message: WireMergePolicy.answer(policies.map(WireMergePolicy.init)))
        }
    }

    static func setMergePolicy(_ context: CallContext) throws {
        let policy = try WireMergePolicy(wire: context.message)
        let entry = try MergePolicies.Entry(checking: policy)
        context.change(.setMergePolicy(entry), in: try context.scope()) { answer in
            guard case .mergePolicy(let existed) = answer else { return [] }
            return [WireMergePolicy.answer(existed: existed)]
        }
    }

    // MARK: Roles

    static func listRoles(_ context: CallContext) throws {
        let request = try ListRolesRequest(wire: context.message)
        let user = request.user.isEmpty ? nil : try userName(request.user)
        let role = request.role.isEmpty ? nil : try roleName(request.role)
        try context.readFromDisk { context in
            let roles = try AssignedRoles.all(
                of: user,
                role,
                for: context.scope,
                context.number,
                in: context.reader
            )
            return Page(roles.map(WireAssignedRole.init)[...], encode: WireAssignedRole.answer)
        }
    }

    static func setRole(_ context: CallContext) throws {
        let request = try SetRoleRequest(wire: context.message)
        let change = AssignedRoles.Change(
            user: try userName(request.user),
            role: try roleName(request.role),
            isGiven: request.isGiven
        )
        context.concerns("\(change.user): \(change.role) \(change.isGiven ? "given" : "taken")")
        context.change(.changeRole(change), in: try context.scope()) { answer in
            guard case .role(let existed) = answer else { return [] }
            return [SetRoleResponse.encoded(existed: existed)]
        }
    }

    /// A user's name, or the record name of a service key.
    private static func userName(_ raw: Bytes) throws(ServiceError) -> String {
        try Names.checkRecordName(raw[...], "user name")
    }

    private static func roleName(_ raw: Bytes) throws(ServiceError) -> String {
        try Names.checkIdentifier(raw[...], "role name")
    }
}

extension SchemaReset.Outcome {
    fileprivate func encoded() -> Bytes {
        let changes = difference.changes.map(\.description)
        return ResetSchemaResponse(
            changes: changes,
            zones: UInt64(zones),
            roles: UInt64(roles)
        ).encoded()
    }
}

extension WireAssignedRole {
    fileprivate init(_ entry: AssignedRoles.Entry) {
        self.init(
            user: entry.user,
            recordName: entry.recordName,
            role: entry.role,
            isDropped: entry.isDropped
        )
    }
}
