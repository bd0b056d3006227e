// Packs in the store: which chunks lie where, and which packs hold nothing any more.
//
// Pack files are written before the batch that names them, and removed after the batch that forgets
// them. `DatabaseAssets` enters chunks; the node's collector moves them.

package import CumulusAssets
package import CumulusModel

/// A chunk in a pack whose file is durable.
package struct PackedChunk: Sendable {
    /// Digest of its plain bytes.
    package var digest: Bytes
    package var row: ChunkRow

    package init(digest: Bytes, row: ChunkRow) {
        self.digest = digest
        self.row = row
    }

    package var entry: ChunkList.Entry { ChunkList.Entry(digest: digest, size: row.size) }
}

/// The packs of a store, whose chunks may belong to several databases.
package enum Packs {
    /// Forgets all chunks of a pack whose file is gone.
    package static func lose(
        _ pack: PackNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for (key, value) in try transaction.rows(.index, .packed(pack)) {
            let packed = try transaction.decoding(key) { () throws(MalformedBytes) in
                try PackedRow(row: value)
            }
            guard let row = try transaction.chunk(packed.digest, in: packed.database) else {
                continue
            }
            let assets = DatabaseAssets(of: packed.database)
            _ = try assets.lose(packed.digest, at: row, &transaction)
        }
        transaction.put(.pack(pack), nil)
    }

    /// Moves chunks that were copied into another, durable pack.
    package static func move(
        _ chunks: [(database: DatabaseNumber, from: ChunkRow, to: PackedChunk)],
        length: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (freed: Set<PackNumber>, isUsed: Bool) {
        var (touched, isUsed) = (Set<PackNumber>(), false)
        for (database, from, to) in chunks {
            guard try transaction.chunk(to.digest, in: database) == from else { continue }
            transaction.put(.chunk(database, to.digest), to.row)
            transaction.put(.packed(from.pack, from.offset), nil)
            transaction.put(
                .packed(to.row.pack, to.row.offset),
                PackedRow(database: database, digest: to.digest)
            )
            touched.insert(from.pack)
            isUsed = true
        }
        if isUsed { transaction.put(.pack(chunks[0].to.row.pack), PackRow(length: length)) }
        return (try forgetEmpty(touched, &transaction), isUsed)
    }

    /// Forgets the packs among these that hold no chunk any more, and returns them.
    static func forgetEmpty(
        _ packs: Set<PackNumber>,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Set<PackNumber> {
        var empty: Set<PackNumber> = []
        for pack in packs where try transaction.rows(.index, .packed(pack), limit: 1).isEmpty {
            transaction.put(.pack(pack), nil)
            empty.insert(pack)
        }
        return empty
    }
}
