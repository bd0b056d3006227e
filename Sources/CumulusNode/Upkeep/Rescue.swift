// Takes what an operator brings from the directory of a removed node: commits that no other node
// may have, and before them parts of the assets that they name.
//
// `OperatorCalls` calls it. Commits are applied like a peer's commits, and chunks are entered like
// fetched chunks, so everything passes the same checks.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire

extension Node {
    /// Takes part of a removed node's directory.
    ///
    /// - Parameter kind: The database of the request's lists and chunks; nil means it has none.
    func take(
        _ request: RescueRequest,
        in kind: DatabaseScope?,
        of scope: ScopeID
    ) async throws -> RescueResponse {
        guard let kind else { return try await take(request.commits, of: scope) }
        let id = DatabaseID(kind: kind, owner: String(decoding: request.owner, as: UTF8.self))
        let missing = try await take(request.lists, request.chunks, in: id, of: scope)
        var response = try await take(request.commits, of: scope)
        response.missing = missing
        return response
    }

    /// Applies commits, and says how far the scope is applied then.
    private func take(_ commits: [Bytes], of scope: ScopeID) async throws -> RescueResponse {
        if commits.isEmpty {
            return try await gate.reading { reader in
                guard let number = try reader.scope(scope) else {
                    throw Containers.unknown(scope.container)
                }
                return RescueResponse(vector: try reader.vector(of: number))
            }
        }
        let rescued = RescuedCommits(scope: scope, commits: commits, clock: intakeClock(of: []))
        let stops = gate.stops
        let outcome = try await gate.change(.commits) {
            transaction throws(EngineError) -> Result<RescueResponse, ServiceError> in
            if let refusal = stops.refusal(of: scope) { return .failure(refusal) }
            switch try rescued.run(in: &transaction) {
            case .failure(let refusal): return .failure(refusal.error(in: scope))
            case .success(let count):
                let vector = try transaction.vector(of: scope) ?? VersionVector()
                return .success(RescueResponse(vector: vector, applied: UInt64(count)))
            }
        }
        return try outcome.get()
    }

    /// Makes assets known and keeps chunks of known ones.
    ///
    /// Returns per list what the node lacks of that asset.
    private func take(
        _ lists: [Bytes],
        _ chunks: [Chunk],
        in id: DatabaseID,
        of scope: ScopeID
    ) async throws -> [[Int]] {
        let lists = try lists.map(Node.chunkList)
        let stops = gate.stops
        let known = try await gate.change(.derived) {
            transaction throws(EngineError) -> Result<KnownAssets, ServiceError> in
            if let refusal = stops.refusal(of: scope) { return .failure(refusal) }
            guard let number = try transaction.scope(scope) else {
                return .failure(Containers.unknown(scope.container))
            }
            var known = KnownAssets(database: try transaction.makeDatabase(number, id))
            for list in lists {
                known.missing.append(
                    try DatabaseAssets(of: known.database).enter(list, by: "", &transaction)
                )
            }
            return .success(known)
        }.get()
        if !chunks.isEmpty { try await arrivals.enter(chunks, in: known.database, of: self) }
        return known.missing
    }

    private static func chunkList(_ bytes: Bytes) throws(ServiceError) -> ChunkList {
        do throws(MalformedBytes) {
            return try ChunkList(checking: bytes)
        } catch {
            throw ServiceError(.invalidArguments, .invalidValue, error.reason)
        }
    }
}

/// The writer's answer about assets that an operator names.
private struct KnownAssets: Sendable {
    let database: DatabaseNumber
    var missing: [[Int]] = []
}

extension RescuedCommits.Refusal {
    /// The error for the operator.
    fileprivate func error(in scope: ScopeID) -> ServiceError {
        switch self {
        case .unknownScope: Containers.unknown(scope.container)
        case .missing(let dot):
            ServiceError(
                .serviceUnavailable,
                .nodeBehind,
                "commit \(dot), which others depend on, is not on this node; ask another node"
            )
        case .malformed(let what):
            ServiceError(.invalidArguments, .corrupt, "a commit can't be read: \(what)")
        case .unfit(let run, let refusal):
            ServiceError(
                .invalidArguments,
                "the commits of run \(run) are refused: \(refusal.text)"
            )
        case .ownRun:
            ServiceError(
                .serviceUnavailable,
                "this node's machine went back to a snapshot while it ran: start the node again"
            )
        case .removes(let nodes):
            ServiceError(
                .invalidArguments,
                """
                the removed node took \(nodes.map(\.hex).joined(separator: ", ")) off the list of \
                members, whose process would end; if that node is gone, say 'cumulus cluster \
                remove' of it, and run this again
                """
            )
        }
    }
}

extension CommitIntake.Refusal {
    /// The reason, and what can be done.
    fileprivate var text: String {
        switch self {
        case .forked:
            """
            this node has others of the same numbers, so two copies of the directory were written \
            to; 'cumulusd --read-only' shows what this one holds
            """
        case .timeWentBack: "their times go back"
        case .clockAhead(let milliseconds):
            """
            they are dated \(milliseconds / 1_000) s ahead of this node's clock; run this again \
            when that time has come
            """
        case .unreadable(let what): "they can't be read by this release: \(what)"
        case .damagedHere(let what):
            "this node's own store is damaged: \(what); \(EngineError.remedy)"
        case .follows(let run): "they depend on those of run \(run), which are refused"
        }
    }
}
