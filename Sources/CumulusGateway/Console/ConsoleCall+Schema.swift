// The console's pages about an environment's schema, its indexes and its roles.

import CumulusModel
import CumulusWire

extension ConsoleCall {
    private func text(of scope: ScopeID) async throws -> String {
        let parts = try await ask(.schemaRead, in: scope) {
            try ReadSchemaResponse(wire: $0).bytes
        }
        return String(decoding: parts.joined(), as: UTF8.self)
    }

    private static func parsed(_ text: String) throws -> Schema {
        do throws(SchemaLanguageError) {
            return try Schema(ckdb: text)
        } catch {
            throw WebError(.internalError, "the node's schema can't be read: \(error)")
        }
    }

    /// The schema as text, and type by type.
    func schema() async throws -> ConsoleReply {
        let text = try await text(of: try scope())
        return .json(ConsoleCall.members(of: try ConsoleCall.parsed(text), text))
    }

    /// What a text means that is not imported yet, the text in its usual form, and what an import
    /// would change.
    ///
    /// It is no import that only validates: a form asks at each step, and an import leaves a line
    /// in the audit log.
    func parseSchema() async throws -> ConsoleReply {
        let present = try ConsoleCall.parsed(try await self.text(of: try scope()))
        let text = try values.needed("text")
        let schema: Schema
        do throws(SchemaLanguageError) {
            schema = try Schema(ckdb: text)
        } catch {
            throw WebError.badRequest("\(error)")
        }
        let changes = SchemaDifference(from: present, to: schema).changes
        return .json(
            ConsoleCall.members(of: schema, schema.ckdb) + [
                .init("changes", .array(changes.map { .string("\($0)") }))
            ]
        )
    }

    private static func members(of schema: Schema, _ text: String) -> [JSON.Member] {
        [
            .init("text", .string(text)), .init("roles", .array(schema.roles.map { .string($0) })),
            .init("types", .array(schema.recordTypes.map(json))),
        ]
    }

    private static func json(_ type: Schema.RecordType) -> JSON {
        let fields = type.fields.map { field -> JSON in
            [
                "name": .string(field.name), "type": .string(field.typeName),
                "indexes": json(field.indexes),
                "possible": json(field.type.possibleIndexes(of: field.name)),
            ]
        }
        let grants = type.grants.map { grant -> JSON in
            let rights = ConsoleCall.rights.filter { grant.permissions.contains($0.right) }
            return [
                "role": .string(grant.role), "rights": .array(rights.map { .string($0.name) }),
            ]
        }
        return [
            "name": .string(type.name), "fields": .array(fields), "grants": .array(grants),
        ]
    }

    private static func json(_ indexes: Schema.Indexes) -> JSON {
        .array(ConsoleCall.indexes.filter { indexes.contains($0.index) }.map { .string($0.name) })
    }

    private static let indexes: [(name: String, index: Schema.Indexes)] = [
        ("QUERYABLE", .queryable), ("SORTABLE", .sortable), ("SEARCHABLE", .searchable),
    ]

    private static let rights: [(name: String, right: Schema.Permissions)] = [
        ("READ", .read), ("CREATE", .create), ("WRITE", .write),
    ]

    /// The differences between development and production, and the changes that a deployment would
    /// make.
    func schemaDifference() async throws -> ConsoleReply {
        var scope = try scope()
        scope.environment = .development
        let development = try ConsoleCall.parsed(try await text(of: scope))
        scope.environment = .production
        let production = try ConsoleCall.parsed(try await text(of: scope))
        let difference = SchemaDifference(from: production, to: development)
        let message = DeploySchemaRequest(true).encoded()
        let deployment = try await ask(.schemaDeploy, message, in: scope) {
            try ImportSchemaResponse(wire: $0).texts
        }
        return .json([
            .init("difference", .array(difference.changes.map { .string("\($0)") })),
            .init("deployment", .array(deployment.joined().map { .string($0) })),
        ])
    }

    func importSchema() async throws -> ConsoleReply {
        let request = ImportSchemaRequest(
            ckdb: try bytes("text"),
            onlyValidates: try values.flag("onlyValidates") ?? false,
            drops: try values.flag("drops") ?? false
        )
        return try await changes(.schemaImport, request.encoded(), in: try scope())
    }

    func deploySchema() async throws -> ConsoleReply {
        var scope = try scope()
        scope.environment = .production
        return try await changes(
            .schemaDeploy,
            DeploySchemaRequest(false).encoded(),
            in: scope
        )
    }

    private func changes(
        _ method: Method,
        _ message: Bytes,
        in scope: ScopeID
    ) async throws -> ConsoleReply {
        let changes = try await ask(method, message, in: scope) {
            try ImportSchemaResponse(wire: $0).texts
        }
        return .json([.init("changes", .array(changes.joined().map { .string($0) }))])
    }

    // MARK: Indexes and roles

    func indexes() async throws -> ConsoleReply {
        let forms = ["", "values", "elements", "words", "cells"]
        let pages = try await ask(.indexesList, IndexesRequest().encoded(), in: try scope()) {
            try IndexesResponse(wire: $0).elements
        }
        let indexes = pages.flatMap { $0 }.map { index -> JSON in
            let form = Int(index.form)
            return [
                "type": .string(index.recordType), "field": .string(index.field),
                "form": .string(form < forms.count ? forms[form] : ""),
                "isReady": .bool(index.isReady), "looked": .count(index.looked),
                "records": .count(index.records),
            ]
        }
        return .json([.init("indexes", .array(indexes))])
    }

    func roles() async throws -> ConsoleReply {
        let request = ListRolesRequest(user: [], role: [])
        let pages = try await ask(.rolesList, request.encoded(), in: try scope()) {
            try ListRolesResponse(wire: $0).elements
        }
        let roles = pages.flatMap { $0 }.map { role -> JSON in
            [
                "user": .string(role.user), "recordName": .string(role.recordName),
                "role": .string(role.role), "isDropped": .bool(role.isDropped),
            ]
        }
        return .json([.init("roles", .array(roles))])
    }

    func setRole() async throws -> ConsoleReply {
        let request = SetRoleRequest(
            user: try bytes("user"),
            role: try bytes("role"),
            isGiven: try values.flag("isGiven") ?? false
        )
        let existed = try await askOnce(.rolesSet, request.encoded(), in: try scope()) {
            try SetRoleResponse(wire: $0).flag
        }
        return .json([.init("existed", .bool(existed))])
    }
}
