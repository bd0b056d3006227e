// What doors in the same process ask a node for besides calls: the fields of types, where a user's
// read mark stands, whether this node is the first of its cluster, and tokens that every node of
// the cluster can open.

package import CumulusModel
import CumulusOperations
import CumulusStorage

extension Node {
    /// The fields of record types, by type; a type that the schema does not have is left out.
    package func columns(
        of types: [String],
        in scope: ScopeID
    ) async throws(ServiceError) -> [String: [String: FieldType]] {
        try await look { [self] reach in try find(types, in: scope, reach: reach) }
    }

    /// Looks in memory, or else on a reader thread.
    private func look<Found: Sendable>(
        _ find: @escaping @Sendable (Reach) throws -> Found
    ) async throws(ServiceError) -> Found {
        do {
            return try find(.memory)
        } catch EngineError.notInMemory {
        } catch {
            throw serviceError(error)
        }
        let result = await withCheckedContinuation { continuation in
            let isQueued = gate.read(.prompt) { [self] in
                let found = Result { try find(.disk) }
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

    /// The token of a feed behind everything that a user marked as read; empty: the user marked
    /// nothing up to a token.
    package func feedAfterMarks(
        of user: String,
        in scope: ScopeID
    ) async throws(ServiceError) -> Bytes {
        try await look { [self] reach in
            let reader = gate.latest(reach: reach)
            guard let number = try reader.scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            let marks = try reader.readMarks(of: user, in: number)
            if marks.vector.isEmpty { return [] }
            let token = FeedToken(
                scope: scope,
                user: user,
                base: marks.vector,
                truncation: try reader.truncation(of: number)
            )
            return mint.make(token)
        }
    }

    /// Whether this node has the lowest id of the members that it is connected to, and itself.
    package func isFirstMember() async throws(ServiceError) -> Bool {
        try await look { [self] reach in
            let others = try Members.others(than: nodeID, in: gate.latest(reach: reach))
            return !others.contains { member in
                member.nodeID.lexicographicallyPrecedes(nodeID)
                    && peerRuns.isConnected(member.nodeID)
            }
        }
    }

    /// Seals what a door hands out, such as a token of a browser's session.
    package func seal(web content: Bytes) -> Bytes { mint.seal(web: content) }

    /// What a node of this cluster sealed for a door; nil for everything else.
    package func open(web sealed: Bytes) -> Bytes? { mint.open(web: sealed) }
}
