// The calls on a container's schema: read, import, deploy, reset; for operators.
//
// Called by `ClientSession+Calls`. The text of a schema is read here, before anything is queued.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

extension ClientSession {
    func serveSchema(_ method: Method, _ call: Call) throws {
        try checkOperator()
        let scope = try callScope(call.header)
        switch method {
        case .schemaImport:
            let request = try ImportSchemaRequest(wire: call.message)
            let schema = try ClientSession.schema(request.ckdb)
            let source = SchemaImport.Source.file(schema, drops: request.drops)
            change(SchemaImport(source), of: scope, onlyShows: request.onlyValidates, call)
        case .schemaDeploy:
            let onlyShows = try DeploySchemaRequest.onlyShows(wire: call.message)
            change(SchemaImport(.development), of: scope, onlyShows: onlyShows, call)
        case .schemaReset:
            reset(scope, onlyShows: try ResetSchemaRequest.onlyShows(wire: call.message), call)
        default:
            readFromDisk(call.stream, scope) { _, number, _, view in
                let schema = try view.reader.storedSchema(of: number, in: scope.environment)
                return Page(message: ReadSchemaResponse.encoded(ckdb: Bytes(schema.ckdb.utf8)))
            }
        }
    }

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

    private func change(
        _ schemaImport: SchemaImport,
        of scope: ScopeID,
        onlyShows: Bool,
        _ call: Call
    ) {
        guard onlyShows else {
            return change(call, .importSchema(schemaImport), in: scope) { _, answer in
                guard case .schema(let difference) = answer else { return [] }
                return [SchemaChanges.encoded(difference.changes.map(\.description))]
            }
        }
        readFromDisk(call.stream, scope) { _, _, _, view in
            let difference = try schemaImport.plan(for: scope, view.reader).get()
            return Page(message: SchemaChanges.encoded(difference.changes.map(\.description)))
        }
    }

    private func reset(_ scope: ScopeID, onlyShows: Bool, _ call: Call) {
        guard onlyShows else {
            return change(call, .resetSchema, in: scope) { _, answer in
                guard case .reset(let outcome) = answer else { return [] }
                return [outcome.encoded()]
            }
        }
        readFromDisk(call.stream, scope) { _, _, _, view in
            Page(message: try SchemaReset().plan(for: scope, view.reader).get().encoded())
        }
    }
}

extension SchemaReset.Outcome {
    fileprivate func encoded() -> Bytes {
        let changes = difference.changes.map(\.description)
        return ResetSchemaResponse(changes: changes, zones: UInt64(zones)).encoded()
    }
}
