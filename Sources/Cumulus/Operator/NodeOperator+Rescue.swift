// Handing a node what the directory of a removed node holds: commits, and the assets they name.

package import CumulusAssets
package import CumulusModel
import CumulusWire

extension NodeOperator {
    /// How far the node has applied a scope's commits.
    package func vector(of scope: ScopeID) async throws -> VersionVector {
        try await rescue(RescueRequest(), of: scope).vector
    }

    /// Hands over commits, as their origins encoded them and in an order in which they can be
    /// applied: all are durable when this returns.
    ///
    /// Repeating it is harmless. Returns how many were new to the node.
    package func rescue(_ commits: [Bytes], of scope: ScopeID) async throws -> UInt64 {
        try await rescue(RescueRequest(commits: commits), of: scope).applied
    }

    /// Makes an asset known, and returns which of its chunks the node lacks, as indexes into its
    /// list.
    package func missingChunks(
        of list: ChunkList,
        in database: DatabaseID,
        of scope: ScopeID
    ) async throws -> [Int] {
        let request = RescueRequest(database: database, lists: [list.bytes])
        return try await rescue(request, of: scope).missing.first ?? []
    }

    /// Hands over chunks of assets that the node knows.
    package func rescue(
        _ chunks: [Chunk],
        in database: DatabaseID,
        of scope: ScopeID
    ) async throws {
        _ = try await rescue(RescueRequest(database: database, chunks: chunks), of: scope)
    }

    private func rescue(
        _ request: RescueRequest,
        of scope: ScopeID
    ) async throws -> RescueResponse {
        try await call(
            .operatorRescue,
            message: request.encoded(),
            container: scope.container,
            scope == .cluster ? nil : scope.environment
        ) { try RescueResponse(wire: $0) }
    }
}
