// An operator's calls on a container's schema: read, import, deploy, reset; on its merge policies,
// and on the users who have its roles.
//
// `MethodTable` lists them. The text of a schema is read here, before anything is queued.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum SchemaCalls {
    static let methods: [MethodEntry] = [
        .init(
            .operatorListMergePolicies,
            .message,
            .operator,
            parse: unread,
            read: listMergePolicies,
            encode: { policies, _ in ListMergePoliciesResponse(policies).encoded() }
        ),
        .init(
            .operatorSetMergePolicy,
            .message,
            .act,
            parse: decoded { try SetMergePolicyRequest(wire: $0).policy },
            change: { policy, _ in SetMergePolicy(try MergePolicies.Entry(checking: policy)) },
            encode: oneMessage { SetMergePolicyResponse($0).encoded() }
        ),
        .init(
            .schemaRead,
            .parts,
            .operator,
            parse: unread,
            read: read,
            encode: { text, _ in ReadSchemaResponse(Bytes(text)).encoded() }
        ),
        .init(
            .schemaImport,
            .parts,
            .act,
            parse: decoded(ImportSchemaRequest.init(wire:)),
            begin: importFile
        ),
        .init(
            .schemaDeploy,
            .parts,
            .act,
            admit: { $0.concerns("schema of development") },
            parse: decoded { try DeploySchemaRequest(wire: $0).flag },
            begin: deploy
        ),
        .init(
            .schemaReset,
            .parts,
            .act,
            admit: { $0.concerns("schema of development") },
            parse: decoded { try ResetSchemaRequest(wire: $0).flag },
            begin: reset
        ),
        .init(
            .rolesList,
            .parts,
            .operator,
            parse: decoded(ListRolesRequest.init(wire:)),
            read: listRoles,
            encode: { roles, _ in ListRolesResponse(roles).encoded() }
        ),
        .init(
            .rolesSet,
            .message,
            .act,
            parse: decoded(SetRoleRequest.init(wire:)),
            change: setRole,
            encode: oneMessage { SetRoleResponse($0).encoded() }
        ),
    ]

    private static func read(
        _: Void,
        _ context: CallContext
    ) -> Reading<ArraySlice<UInt8>>? {
        .onDisk { context in
            let schema = try context.reader.storedSchema(
                of: context.number,
                in: context.scope.environment
            )
            // In as many messages as it takes: nodes that didn't hear of each other can have made
            // one together that fits into no frame.
            let text = Bytes(schema.ckdb.utf8)[...]
            return Part(list: text, perPart: context.limits.requestBytes)
        }
    }

    // MARK: Changes

    private static func importFile(
        _ request: ImportSchemaRequest,
        _ context: CallContext
    ) throws {
        context.concerns("schema file")
        let source = SchemaImport.Source.file(try schema(request.ckdb), drops: request.drops)
        let schemaImport = SchemaImport(source, limits: context.limits)
        try change(schemaImport, onlyShows: request.onlyValidates, context)
    }

    private static func deploy(_ onlyShows: Bool, _ context: CallContext) throws {
        let schemaImport = SchemaImport(.development, limits: context.limits)
        try change(schemaImport, onlyShows: onlyShows, context)
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
                return Page(difference.messages(byteLimit: context.limits.answerBytes))
            }
        }
        try context.change(schemaImport) { difference in
            context.concerns(difference.summary)
            return difference.messages(byteLimit: context.limits.answerBytes)
        }
    }

    private static func reset(_ onlyShows: Bool, _ context: CallContext) throws {
        if onlyShows {
            context.concerns(shown)
            return try context.readFromDisk { context in
                let outcome = try SchemaReset().plan(for: context.scope, context.reader).get()
                return Page(outcome.messages(byteLimit: context.limits.answerBytes))
            }
        }
        try context.change(SchemaReset()) { outcome in
            context.concerns(outcome.difference.summary)
            return outcome.messages(byteLimit: context.limits.answerBytes)
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

    private static func listMergePolicies(
        _: Void,
        _ context: CallContext
    ) -> Reading<[WireMergePolicy]>? {
        .onDisk { context in
            let policies = try MergePolicies.all(in: context.number, context.reader)
            return Part(policies.map(WireMergePolicy.init))
        }
    }

    // MARK: Roles

    private static func listRoles(
        _ request: ListRolesRequest,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<WireAssignedRole>>? {
        let user = request.user.isEmpty ? nil : try userName(request.user)
        let role = request.role.isEmpty ? nil : try roleName(request.role)
        return .onDisk { context in
            let roles = try AssignedRoles.all(
                of: user,
                role,
                for: context.scope,
                context.number,
                in: context.reader
            )
            return Part(list: roles.map(WireAssignedRole.init)[...])
        }
    }

    private static func setRole(
        _ request: SetRoleRequest,
        _ context: CallContext
    ) throws -> ChangeRole {
        let change = ChangeRole(
            user: try userName(request.user),
            role: try roleName(request.role),
            isGiven: request.isGiven
        )
        context.concerns("\(change.user): \(change.role) \(change.isGiven ? "given" : "taken")")
        return change
    }

    /// A user's name, or the record name of a service key.
    private static func userName(_ raw: Bytes) throws(ServiceError) -> String {
        try Names.checkRecordName(raw[...], "user name")
    }

    private static func roleName(_ raw: Bytes) throws(ServiceError) -> String {
        try Names.checkIdentifier(raw[...], "role name")
    }
}

extension SchemaDifference {
    /// Its changes, a line each, in as many messages as it takes.
    fileprivate func messages(byteLimit: Int) -> [Bytes] {
        let lines = changes.map(\.description)
        return lines.parts(byteLimit: byteLimit) { $0.utf8.count }
            .map { ImportSchemaResponse(Array($0)).encoded() }
    }
}

extension SchemaReset.Outcome {
    /// The numbers are in the first one.
    fileprivate func messages(byteLimit: Int) -> [Bytes] {
        let lines = difference.changes.map(\.description)
        let parts = lines.parts(byteLimit: byteLimit) { $0.utf8.count }
        return parts.enumerated().map { index, part in
            ResetSchemaResponse(
                changes: Array(part),
                zones: index == 0 ? UInt64(zones) : 0,
                roles: index == 0 ? UInt64(roles) : 0
            ).encoded()
        }
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
