// What doors in the same process ask a node's peers for: a file that a caller sent to another node.
//
// Called by the gateway when a record names such a file. What comes is handed over and not kept:
// the door sends it to the node as its caller would.

package import CumulusAssets
package import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

/// Which asset is asked for.
package struct PeerAssetAddress: Hashable, Sendable {
    /// Its digest.
    package let asset: Bytes
    package let database: DatabaseID
    package let scope: ScopeID

    package init(asset: Bytes, database: DatabaseID, scope: ScopeID) {
        (self.asset, self.database, self.scope) = (asset, database, scope)
    }
}

extension Node {
    /// Reads the list of an asset from a peer that has it.
    ///
    /// - Parameter milliseconds: How long peers are asked.
    package func peerList(
        of address: PeerAssetAddress,
        within milliseconds: Int64
    ) async throws -> ChunkList {
        try await askingPeers(for: address, within: milliseconds) { try await $0.list(from: $1) }
    }

    /// Reads chunks of an asset from a peer that has them, and hands them over as they come.
    ///
    /// What `take` throws ends it: no other peer is asked.
    ///
    /// - Parameters:
    ///   - indexes: Into the list; not empty.
    ///   - milliseconds: How long peers are asked.
    package func readPeerChunks(
        _ indexes: [Int],
        of address: PeerAssetAddress,
        within milliseconds: Int64,
        _ take: ([Chunk]) async throws -> Void
    ) async throws {
        try await askingPeers(for: address, within: milliseconds) { asset, peer in
            try await asset.chunks(indexes, from: peer) { chunks in
                do { try await take(chunks) } catch { throw NotTaken(why: error) }
            }
        }
    }

    /// This node did not take what a peer sent.
    private struct NotTaken: Error {
        let why: any Error
    }

    private func askingPeers<Answer>(
        for address: PeerAssetAddress,
        within milliseconds: Int64,
        _ ask: (PeerAsset, PeerConnection) async throws -> Answer
    ) async throws -> Answer {
        let end = environment.now() + milliseconds
        let database = ScopedDatabase(scope: address.scope, database: address.database)
        let found = PeerAsset(node: self, database: database, asset: address.asset) {
            [environment] in
            min(PeerAsset.usualPatience, end - environment.now())
        }
        var without = 0
        for peer in linkedPeers where environment.now() < end {
            do {
                return try await ask(found, peer)
            } catch let error as CancellationError {
                throw error
            } catch let error as NotTaken {
                throw error.why
            } catch {
                // The next one may have it.
                let error = error as? ServiceError
                let isWithout = error?.code == .assetNotAvailable
                if isWithout, error?.reason != .assetIncomplete { without += 1 }
            }
        }
        let others = try await gate.reading { [nodeID] in try Members.others(than: nodeID, in: $0) }
        if without >= others.count { throw Node.assetGone(address.asset) }
        let endpoints = others.map(\.endpoint).filter { !$0.isEmpty }
        throw ReadAsset(asset: address.asset).notHereYet(mayBeAt: endpoints)
    }

    private static func assetGone(_ asset: Bytes) -> ServiceError {
        ServiceError(
            .assetNotAvailable,
            "no node of the cluster has asset \(asset.hex), or not any more; upload it again"
        )
    }
}
