// Tells another node which assets this one lacks: a node that leaves stays until another node has
// its bytes.
//
// Asked by `Node.leave`, answered by `PeerCalls`, page by page.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Synchronization

/// The incomplete assets of one scope that a node's records name.
struct WantedAssets: Sendable {
    let node: Node
    let databases: [(id: DatabaseID, number: DatabaseNumber)]
    private static let assetsAtOnce = 1_000

    /// The next page, from a database on.
    ///
    /// - Parameter after: The last asset of that database that was told.
    func page(from index: Int = 0, after last: Bytes = []) throws -> Page {
        let reader = node.gate.latest(reach: .disk)
        var assets: [WantedAsset] = []
        for (offset, database) in databases.enumerated().dropFirst(index) {
            let after = offset == index ? last : []
            let room = WantedAssets.assetsAtOnce - assets.count
            let found = try reader.wantedAssets(in: database.number, after: after, limit: room)
            assets += found.map { .init(database: database.id, asset: $0) }
            if found.count == room, let last = found.last {
                return Page(message: WantedAssetsResponse(assets).encoded()) {
                    try page(from: offset, after: last)
                }
            }
        }
        return Page(message: WantedAssetsResponse(assets).encoded())
    }
}

extension Node {
    /// Whether a member has the bytes of all assets that are whole here; false if it can't be
    /// asked.
    func hasAllAssets(_ member: Bytes, of scopes: [ScopeID]) async -> Bool {
        guard let peer = connections.withLock({ $0[member]?.connection }) else { return false }
        for scope in scopes {
            guard let lacks = try? await lacksAssets(peer, of: scope), !lacks else { return false }
        }
        return true
    }

    private func lacksAssets(_ peer: PeerConnection, of scope: ScopeID) async throws -> Bool {
        var lacks = false
        let answer = peer.read(.peersWanted, scope, [])
        try await answer.forEach {
            Node.leavePatience
        } sleep: { [environment] in
            try await environment.sleep($0)
        } _: { payload in
            let wanted = try WantedAssetsResponse(wire: payload).elements
            let isHere = try await gate.reading { reader in
                try wanted.contains { try reader.isWhole($0, of: scope) }
            }
            lacks = lacks || isHere
        }
        return lacks
    }

    /// How long the member may say nothing, in milliseconds.
    private static let leavePatience: Int64 = 2_000
}

extension ReadTransaction {
    fileprivate borrowing func wantedAssets(
        in database: DatabaseNumber,
        after asset: Bytes,
        limit: Int
    ) throws(EngineError) -> [Bytes] {
        let range = KeyRange.wantedAssets(of: database, after: asset)
        return try rows(.log, range, limit: limit).map { (key, _) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            return try parts.bytes(32)
        }
    }

    fileprivate borrowing func isWhole(
        _ wanted: WantedAsset,
        of scope: ScopeID
    ) throws -> Bool {
        guard wanted.asset.count == 32, let number = try self.scope(scope),
            let kind = DatabaseScope(rawValue: UInt8(clamping: wanted.database)),
            let database = try database(
                number,
                DatabaseID(kind: kind, owner: String(decoding: wanted.owner, as: UTF8.self))
            )
        else { return false }
        return try asset(wanted.asset, in: database)?.isComplete ?? false
    }
}
