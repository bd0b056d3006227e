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
            return page(of: Bytes(schema.ckdb.utf8)[...], byteLimit: context.limits.requestBytes)
        }
    }

    /// A text in as many messages as it takes: nodes that didn't hear of each other can have made
    /// one together that fits into no frame.
    private static func page(of text: ArraySlice<UInt8>, byteLimit: Int) -> Page {
        let rest = text.dropFirst(byteLimit)
        let message = ReadSchemaResponse.encoded(ckdb: Bytes(text.prefix(byteLimit)))
        if rest.isEmpty { return Page(message: message) }
        return Page(message: message) { page(of: rest, byteLimit: byteLimit) }
    }

    // MARK: Changes

    static func importFile(_ context: CallContext) throws {
        let request = try ImportSchemaRequest(wire: context.message)
        context.concerns("schema file")
        let source = SchemaImport.Source.file(try schema(request.ckdb), drops: request.drops)
        let schemaImport = SchemaImport(source, limits: context.limits)
        try change(schemaImport, onlyShows: request.onlyValidates, context)
    }

    static func deploy(_ context: CallContext) throws {
        context.concerns("schema of development")
        let onlyShows = try DeploySchemaRequest.onlyShows(wire: context.message)
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

    static func reset(_ context: CallContext) throws {
        context.concerns("schema of development")
        if try ResetSchemaRequest.onlyShows(wire: context.message) {
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

    static func listMergePolicies(_ context: CallContext) throws {
        try context.readFromDisk { context in
            let policies = try MergePolicies.all(in: context.number, context.reader)
            return Page(message: WireMergePolicy.answer(policies.map(WireMergePolicy.init)))
        }
    }

    static func setMergePolicy(_ context: CallContext) throws {
        let policy = try WireMergePolicy(wire: context.message)
        let entry = try MergePolicies.Entry(checking: policy)
        try context.change(SetMergePolicy(entry)) { [WireMergePolicy.answer(existed: $0)] }
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
        let change = ChangeRole(
            user: try userName(request.user),
            role: try roleName(request.role),
            isGiven: request.isGiven
        )
        context.concerns("\(change.user): \(change.role) \(change.isGiven ? "given" : "taken")")
        try context.change(change) { [SetRoleResponse.encoded(existed: $0)] }
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
            .map { SchemaChanges.encoded(Array($0)) }
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
