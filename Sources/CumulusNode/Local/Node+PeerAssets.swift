// What doors in the same process ask a node's peers for: a file that a caller sent to another node.
//
// Called by the gateway when a record names such a file. What comes is handed over and not kept:
// the door sends it to the node as its caller would.

package import CumulusAssets
package import CumulusModel
import CumulusOperations
import CumulusStorage

extension Node {
    /// Reads the list of an asset from a peer that has it.
    package func peerList(
        of asset: Bytes,
        in database: DatabaseID,
        of scope: ScopeID
    ) async throws -> ChunkList {
        try await askingPeers(for: asset, in: database, of: scope) { try await $0.list(from: $1) }
    }

    /// Reads chunks of an asset from a peer that has them, and hands them over as they come.
    ///
    /// - Parameter indexes: Into the list; not empty.
    package func readPeerChunks(
        _ indexes: [Int],
        of asset: Bytes,
        in database: DatabaseID,
        of scope: ScopeID,
        _ take: ([Chunk]) async throws -> Void
    ) async throws {
        try await askingPeers(for: asset, in: database, of: scope) {
            try await $0.chunks(indexes, from: $1, take)
        }
    }

    private func askingPeers<Answer>(
        for asset: Bytes,
        in database: DatabaseID,
        of scope: ScopeID,
        _ ask: (PeerAsset, PeerConnection) async throws -> Answer
    ) async throws -> Answer {
        let place = AssetPlace(scope: scope, database: database)
        let found = PeerAsset(node: self, place: place, asset: asset) { PeerAsset.usualPatience }
        var without = 0
        for peer in linkedPeers {
            do {
                return try await ask(found, peer)
            } catch let error as CancellationError {
                throw error
            } catch {
                // The next one may have it.
                let error = error as? ServiceError
                let isWithout = error?.code == .assetNotAvailable
                if isWithout, error?.reason != .assetIncomplete { without += 1 }
            }
        }
        let others = try await gate.reading { [nodeID] in try Members.others(than: nodeID, in: $0) }
        if without >= others.count { throw Node.assetGone(asset) }
        let endpoints = others.map(\.endpoint).filter { !$0.isEmpty }
        throw ReadAsset(asset: asset).notHereYet(mayBeAt: endpoints)
    }

    private static func assetGone(_ asset: Bytes) -> ServiceError {
        ServiceError(
            .assetNotAvailable,
            "no node of the cluster has asset \(asset.hex), or not any more; upload it again"
        )
    }
}
