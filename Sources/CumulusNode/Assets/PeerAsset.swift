// An asset as peers have it: its list and its chunks, asked of one peer, or of one after the other.
//
// Used by `AssetFetch` for what records name, and by doors of this process for what a caller of
// theirs sent to another node. A list is checked against the asset's digest; chunks are checked
// where they are entered.

package import CumulusAssets
package import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

struct PeerAsset: Sendable {
    let node: Node
    let place: AssetPlace
    let asset: Bytes
    /// How long a peer may say nothing, in milliseconds; asked again and again.
    let patience: @Sendable () -> Int64
    static let usualPatience: Int64 = 10_000

    func list(from peer: PeerConnection) async throws -> ChunkList {
        let request = PeerAssetRequest(database: place.database, asset: asset)
        var bytes: Bytes = []
        try await read(request, from: peer) { bytes += $0.list }
        let list = try ChunkList(checking: bytes)
        guard list.digest == asset else {
            throw ServiceError(.internalError, "a peer sent the list of another asset")
        }
        return list
    }

    /// Hands over chunks as they come.
    ///
    /// - Parameter indexes: Into the list; not empty.
    func chunks(
        _ indexes: [Int],
        from peer: PeerConnection,
        _ take: ([Chunk]) async throws -> Void
    ) async throws {
        let request = PeerAssetRequest(database: place.database, asset: asset, chunks: indexes)
        try await read(request, from: peer) { try await take($0.chunks) }
    }

    /// Hands over what a peer answers, message by message; one that says nothing is given up.
    private func read(
        _ request: PeerAssetRequest,
        from peer: PeerConnection,
        _ take: (DownloadAssetResponse) async throws -> Void
    ) async throws {
        let reading = peer.read(.peersAsset, place.scope, request.encoded())
        try await reading.forEach(patience: patience) {
            try await node.environment.sleep($0)
        } _: {
            try await take(try DownloadAssetResponse(wire: $0))
        }
    }
}

// MARK: - For doors

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
