// Fetches one asset: asks one peer after the other for the list and for the chunks that are
// missing, until none is.
//
// `AssetFetcher` makes it. Chunks are checked like an upload, lie in packs like one, and are
// entered message by message, so a broken fetch keeps what it got. In the background at least half
// of the time is left to others: after each message the fetch pauses for as long as the message
// took.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

struct AssetFetch: Sendable {
    let node: Node
    let key: AssetKey
    let sizes: Sizes
    /// How long a peer may say nothing while a caller waits, in milliseconds.
    private static let urgentPatience: Int64 = 2_000
    private static let smallBytes: UInt64 = 64 << 10

    /// The assets of one kind of fetch: in the background large ones delay only each other.
    enum Sizes {
        /// Assets of unknown size also count as small.
        case small
        case large
        case all
    }

    enum Outcome {
        /// All of it is here now, or nothing names it any more.
        case done
        case failed
        /// It has another size.
        case notMine
    }

    /// Whether a caller waits for it.
    private var isUrgent: Bool { node.demand.isUrgent(key) }

    func run() async throws -> Outcome {
        guard try await isMine() else { return .notMine }
        guard let database = try await database(), try await isNamed() else {
            return try await forget() ? .done : .failed
        }
        if try await isWhole() { return .done }
        for peer in peers() {
            do {
                let asset = asset(in: database)
                guard let chunks = try await wanted(asset, from: peer) else { return .notMine }
                try await take(chunks, of: asset, from: peer)
                if try await isWhole() { return .done }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                // The next one may have it.
                node.environment.logger.debug(
                    "an asset could not be fetched",
                    metadata: ["asset": "\(key.asset.hex)", "why": "\(error)"]
                )
            }
        }
        return .failed
    }

    private func isMine() async throws -> Bool {
        if sizes == .all { return true }
        let row = try await node.gate.reading { [key] in
            try $0.asset(key.asset, in: key.database)
        }
        let isLarge = row.map { $0.size > AssetFetch.smallBytes } ?? false
        return isLarge == (sizes == .large)
    }

    /// Another one comes first each time.
    private func peers() -> [PeerConnection] {
        var dice = NodeDice(node.environment)
        return node.linkedPeers.shuffled(using: &dice)
    }

    // MARK: The store

    private func database() async throws -> ScopedDatabase? {
        if let known = node.demand.name(of: key.database) { return known }
        let names = try await node.gate.reading { reader in
            var names: [DatabaseNumber: ScopedDatabase] = [:]
            for (scope, number) in try ScopeDirectory.all(in: reader) {
                for (database, number) in try reader.databases(of: number) {
                    names[number] = ScopedDatabase(scope: scope, database: database)
                }
            }
            return names
        }
        node.demand.note(names)
        return names[key.database]
    }

    private func isNamed() async throws -> Bool {
        try await node.gate.reading { [key] reader in
            try reader.isNamed(key.asset, inDatabase: key.database)
        }
    }

    /// Forgets an unwanted asset; returns false if a record that names it may be on its way, in
    /// another node's state.
    private func forget() async throws -> Bool {
        try await node.gate.change(.housekeeping) { [key] transaction throws(EngineError) in
            if try transaction.hasStages() { return false }
            if try transaction.isNamed(key.asset, inDatabase: key.database) { return false }
            transaction.put(.wantedAsset(key.database, key.asset), nil)
            return true
        }
    }

    /// Whether the asset is complete; if it is, the store is told.
    private func isWhole() async throws -> Bool {
        guard try await missing()?.isEmpty == true else { return false }
        return try await node.gate.change(.housekeeping) { [key] transaction throws(EngineError) in
            try DatabaseAssets(of: key.database).update(key.asset, &transaction)?.isComplete
                ?? false
        }
    }

    /// Indexes of the chunks that are not here; nil means not even the list is.
    private func missing() async throws -> [Int]? {
        try await node.gate.reading { [key] reader in
            guard let list = try reader.chunkList(of: key.asset, in: key.database) else {
                return nil
            }
            return try reader.missingChunks(of: list, in: key.database)
        }
    }

    // MARK: From a peer

    private func asset(in database: ScopedDatabase) -> PeerAsset {
        PeerAsset(node: node, database: database, asset: key.asset) {
            isUrgent ? AssetFetch.urgentPatience : PeerAsset.usualPatience
        }
    }

    /// The chunks to ask for; nil if the list shows that another fetch asks for them.
    private func wanted(_ asset: PeerAsset, from peer: PeerConnection) async throws -> [Int]? {
        if let missing = try await missing() { return missing }
        let list = try await asset.list(from: peer)
        let missing = try await node.gate.change(.housekeeping) {
            [key] transaction throws(EngineError) in
            try DatabaseAssets(of: key.database).enter(list, by: "", &transaction)
        }
        return try await isMine() ? missing : nil
    }

    private func take(
        _ chunks: [Int],
        of asset: PeerAsset,
        from peer: PeerConnection
    ) async throws {
        if chunks.isEmpty { return }
        var began = node.environment.now()
        try await asset.chunks(chunks, from: peer) { chunks in
            try Task.checkCancellation()
            if !chunks.isEmpty {
                try await node.arrivals.enter(chunks, in: key.database, of: node)
            }
            if !isUrgent { try await node.environment.sleep(node.environment.now() - began) }
            began = node.environment.now()
        }
    }
}

/// An asset as peers have it: its list and its chunks, asked of one peer.
///
/// A list is checked against the asset's digest; chunks are checked where they are entered.
struct PeerAsset: Sendable {
    let node: Node
    let database: ScopedDatabase
    let asset: Bytes
    /// How long a peer may say nothing, in milliseconds; asked again and again.
    let patience: @Sendable () -> Int64
    static let usualPatience: Int64 = 10_000

    func list(from peer: PeerConnection) async throws -> ChunkList {
        let request = PeerAssetRequest(database: database.database, asset: asset)
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
        let request = PeerAssetRequest(database: database.database, asset: asset, chunks: indexes)
        try await read(request, from: peer) { try await take($0.chunks) }
    }

    /// Hands over a peer's answer, message by message; a silent peer is given up.
    private func read(
        _ request: PeerAssetRequest,
        from peer: PeerConnection,
        _ take: (DownloadAssetResponse) async throws -> Void
    ) async throws {
        let reading = peer.read(.peersAsset, database.scope, request.encoded())
        try await reading.forEach(patience: patience) {
            try await node.environment.sleep($0)
        } _: {
            try await take(try DownloadAssetResponse(wire: $0))
        }
    }
}
