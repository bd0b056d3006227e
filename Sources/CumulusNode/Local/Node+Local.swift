// What doors in the same process ask a node for besides calls: the fields of types, and tokens that
// every node of the cluster can open.

package import CumulusModel
import CumulusOperations
import CumulusStorage

extension Node {
    /// The fields of record types, by type; a type that the schema does not have is left out.
    package func columns(
        of types: [String],
        in scope: ScopeID
    ) async throws(ServiceError) -> [String: [String: FieldType]] {
        do {
            return try find(types, in: scope, reach: .memory)
        } catch EngineError.notInMemory {
        } catch {
            throw serviceError(error)
        }
        let result = await withCheckedContinuation { continuation in
            let isQueued = gate.read(.prompt) { [self] in
                let found = Result { try find(types, in: scope, reach: .disk) }
                continuation.resume(returning: found.mapError { serviceError($0) })
            }
            if !isQueued { continuation.resume(returning: .failure(ServiceError.tooManyReads)) }
        }
        return try result.get()
    }

    private func find(
        _ types: [String],
        in scope: ScopeID,
        reach: Reach
    ) throws -> [String: [String: FieldType]] {
        let view = gate.latestView(reach: reach)
        guard let number = try view.reader.scope(scope) else {
            throw Containers.unknown(scope.container)
        }
        var columns: [String: [String: FieldType]] = [:]
        for type in types {
            let schema = try view.schemas.find(type, of: number, view.reader).schema
            if schema.exists || type == Schema.users.name { columns[type] = schema.fields }
        }
        return columns
    }

    /// Seals what a door hands out, such as a token of a browser's session.
    package func seal(web content: Bytes) -> Bytes { mint.seal(web: content) }

    /// What a node of this cluster sealed for a door; nil for everything else.
    package func open(web sealed: Bytes) -> Bytes? { mint.open(web: sealed) }
}
