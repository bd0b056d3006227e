// Assets in the store: which records name them, which chunks they consist of, and when an asset may
// be deleted.
//
// The writer changes these rows in the batch of the rows that cause the change. So an asset can't
// be deleted while a record that names it arrives, nor a chunk while a user sends it. `Packs` says
// where the chunks lie.

package import CumulusAssets
package import CumulusModel

extension RowReader where Self: ~Copyable {
    package borrowing func asset(
        _ asset: Bytes,
        in database: DatabaseNumber
    ) throws(EngineError) -> AssetRow? {
        try row(.asset(database, asset))
    }

    package borrowing func chunkList(
        of asset: Bytes,
        in database: DatabaseNumber
    ) throws(EngineError) -> ChunkList? {
        let key = RowKey.chunkList(database, asset)
        guard let bytes = try get(key) else { return nil }
        return try decoding(key.bytes) { () throws(MalformedBytes) in
            try ChunkList(checking: bytes)
        }
    }

    package borrowing func chunk(
        _ chunk: Bytes,
        in database: DatabaseNumber
    ) throws(EngineError) -> ChunkRow? {
        try row(.chunk(database, chunk))
    }

    /// Indexes of the chunks that are missing here, each chunk once.
    package borrowing func missingChunks(
        of list: ChunkList,
        in database: DatabaseNumber
    ) throws(EngineError) -> [Int] {
        var seen: Set<Bytes> = []
        var missing: [Int] = []
        for (index, entry) in list.entries.enumerated() where seen.insert(entry.digest).inserted {
            let isHere = try chunk(entry.digest, in: database)?.size == entry.size
            if !isHere { missing.append(index) }
        }
        return missing
    }

    /// Says what to do with a chunk that a user sends.
    private borrowing func need(
        of digest: Bytes,
        size: Int,
        in database: DatabaseNumber
    ) throws(EngineError) -> ChunkNeed {
        if try get(.chunk(database, digest)) != nil { return .here }
        let right = ChunkUseRow(size: size).rowBytes
        var range = KeyRange.chunkUses(database, digest)
        // The list's first chunk of that digest decides, unless the sizes differ.
        while true {
            let uses = try rows(.index, range, limit: 100)
            if uses.contains(where: { $0.value == right }) { return .wanted }
            guard uses.count == 100, let last = uses.last else { return .unwanted }
            range.start = last.key + [0]
        }
    }

    /// Returns the chunks that are wanted and missing, and the first that no asset contains.
    package borrowing func sift(
        _ chunks: [ChunkList.Entry],
        in database: DatabaseNumber
    ) throws(EngineError) -> (wanted: Set<Bytes>, unwanted: Bytes?) {
        var (wanted, unwanted) = (Set<Bytes>(), Bytes?.none)
        for chunk in chunks {
            switch try need(of: chunk.digest, size: chunk.size, in: database) {
            case .here: break
            case .wanted: wanted.insert(chunk.digest)
            case .unwanted: unwanted = unwanted ?? chunk.digest
            }
        }
        return (wanted, unwanted)
    }

    /// Whether a record of a zone names an asset.
    package borrowing func isNamed(
        _ asset: Bytes,
        in zone: ZoneNumber
    ) throws(EngineError) -> Bool {
        try !rows(.index, .assetUses(of: zone, asset), limit: 1).isEmpty
    }

    /// Whether a record of a database names an asset, or an entry of the conflict log.
    package borrowing func isNamed(
        _ asset: Bytes,
        inDatabase database: DatabaseNumber
    ) throws(EngineError) -> Bool {
        for (key, value) in try rows(.meta, .zones(of: database)) {
            let zone = try decoding(key) { () throws(MalformedBytes) in try ZoneRow(row: value) }
            if zone.exists, try isNamed(asset, in: zone.number) { return true }
        }
        for (key, _) in try rows(.index, .assetLosses(of: asset)) {
            var parts = KeyReader(key)
            _ = try parts.bytes(32)
            if try get(RowKey(.conflict, bytes: try parts.content())) != nil { return true }
        }
        return false
    }

    /// The assets that contain a chunk, without assets whose list is wrong about its size.
    ///
    /// - Parameter limit: How many assets are looked at.
    package borrowing func assets(
        containing chunk: ChunkList.Entry,
        in database: DatabaseNumber,
        limit: Int = .max
    ) throws(EngineError) -> [Bytes] {
        let right = ChunkUseRow(size: chunk.size).rowBytes
        let range = KeyRange.chunkUses(database, chunk.digest)
        var users: [Bytes] = []
        for (key, value) in try rows(.index, range, limit: limit) where value == right {
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            _ = try parts.bytes(32)
            users.append(try parts.bytes(32))
        }
        return users
    }
}

private enum ChunkNeed {
    /// The chunk already lies in a pack.
    case here
    /// An asset contains the chunk.
    case wanted
    /// No asset of the database contains the chunk with that size.
    case unwanted
}

extension ChunkList {
    /// Its chunks in the order of their first occurrence, each once.
    package var distinct: [Entry] {
        var seen: Set<Bytes> = []
        return entries.filter { seen.insert($0.digest).inserted }
    }
}

// MARK: - Writing

/// The assets that a database knows.
package struct DatabaseAssets: Sendable {
    let database: DatabaseNumber

    package init(of database: DatabaseNumber) { self.database = database }

    // MARK: What names them

    /// Updates the index from assets to the records that name them, over all lives of a record.
    func storeUses(
        of name: String,
        _ before: [RecordRow],
        _ after: [RecordRow],
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let (old, new) = (try digests(of: before, transaction), try digests(of: after, transaction))
        guard old != new else { return }
        for gone in old.subtracting(new) { transaction.put(.assetUse(zone, gone, name), nil) }
        for added in new.subtracting(old).sorted(by: { precedes($0, $1) }) {
            transaction.put(.assetUse(zone, added, name), Bytes())
            try want(added, &transaction)
        }
    }

    /// Keeps the assets of lost values while the conflict log names them.
    func noteLosses(
        _ conflict: Conflict,
        _ key: RowKey,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let assets = try transaction.decoding(key.bytes) { () throws(MalformedBytes) in
            try RecordBody(stored: conflict.lost).assets()
        }
        for asset in assets.sorted(by: { precedes($0, $1) }) {
            transaction.put(.assetLoss(asset, of: key), Bytes())
            try want(asset, &transaction)
        }
    }

    /// Notes that something names the asset: it stays, and its missing chunks are fetched.
    private func want(_ asset: Bytes, _ transaction: inout WriteTransaction) throws(EngineError) {
        let known = try transaction.asset(asset, in: database)
        if known?.isComplete != true { transaction.put(.wantedAsset(database, asset), Bytes()) }
        guard var row = known, row.idleSince != nil else { return }
        row.idleSince = nil
        transaction.put(.asset(database, asset), row)
    }

    private func digests(
        of rows: [RecordRow],
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Set<Bytes> {
        var found: Set<Bytes> = []
        for row in rows {
            guard row.body.entries.contains(where: { $0.type?.holdsAssets == true }) else {
                continue
            }
            found.formUnion(
                try transaction.decoding([]) { () throws(MalformedBytes) in try row.body.assets() }
            )
        }
        return found
    }

    // MARK: Coming

    /// Enters an asset into a database; the caller has checked its size.
    ///
    /// - Parameter user: The user whose space a new asset takes.
    /// - Returns: Indexes of the chunks that are missing, each chunk once.
    package func enter(
        _ list: ChunkList,
        by user: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [Int] {
        let digest = list.digest
        let missing = try transaction.missingChunks(of: list, in: database)
        if var known = try transaction.asset(digest, in: database) {
            known.idleSince = transaction.now
            note(missing.count, missingOf: digest, &known, &transaction)
            return missing
        }
        let row = AssetRow(
            size: list.size,
            missing: missing.count,
            idleSince: transaction.now,
            user: user
        )
        transaction.put(.asset(database, digest), row)
        transaction.put(.chunkList(database, digest), list.bytes)
        for entry in list.distinct {
            transaction.put(
                .chunkUse(database, entry.digest, digest),
                ChunkUseRow(size: entry.size)
            )
        }
        try charge(Int64(list.size), to: user, &transaction)
        if row.isComplete { transaction.put(.wantedAsset(database, digest), nil) }
        return missing
    }

    /// Counts the missing chunks of an asset again.
    ///
    /// - Returns: The asset's row after that; nil if it has none.
    package func update(
        _ digest: Bytes,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> AssetRow? {
        guard var row = try transaction.asset(digest, in: database) else { return nil }
        if row.isComplete { return row }
        guard let list = try transaction.chunkList(of: digest, in: database) else { return row }
        let missing = try transaction.missingChunks(of: list, in: database).count
        if missing != row.missing { note(missing, missingOf: digest, &row, &transaction) }
        return row
    }

    private func note(
        _ missing: Int,
        missingOf digest: Bytes,
        _ row: inout AssetRow,
        _ transaction: inout WriteTransaction
    ) {
        row.missing = missing
        transaction.put(.asset(database, digest), row)
        if row.isComplete { transaction.put(.wantedAsset(database, digest), nil) }
    }

    /// Enters chunks of a durable pack; the chunks must be wanted and missing here.
    ///
    /// The assets that contain the chunks are not updated here: the cost stays the same however
    /// many share a chunk. Each asset is counted again when it is needed.
    ///
    /// - Parameter length: Size of the pack in bytes.
    package func enter(
        _ chunks: [PackedChunk],
        length: Int,
        _ transaction: inout WriteTransaction
    ) {
        guard let pack = chunks.first?.row.pack else { return }
        for chunk in chunks {
            transaction.put(.chunk(database, chunk.digest), chunk.row)
            let packed = PackedRow(database: database, digest: chunk.digest)
            transaction.put(.packed(pack, chunk.row.offset), packed)
        }
        transaction.put(.pack(pack), PackRow(length: length))
    }

    func charge(
        _ byteCount: Int64,
        to user: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let key = RowKey.assetUsage(database, user)
        let usage: AssetUsageRow? = try transaction.row(key)
        let bytes = max(0, Int64(usage?.bytes ?? 0) + byteCount)
        transaction.put(key, bytes == 0 ? nil : AssetUsageRow(bytes: UInt64(bytes)).rowBytes)
    }

    // MARK: Forgetting

    /// Forgets an asset that nothing names any more, and the chunks that only it contained.
    ///
    /// - Returns: The packs that are now empty. Delete their files once the batch is durable.
    package func forget(
        _ digest: Bytes,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Set<PackNumber> {
        guard let row = try transaction.asset(digest, in: database) else { return [] }
        let list = try transaction.chunkList(of: digest, in: database) ?? ChunkList()
        transaction.put(.asset(database, digest), nil)
        transaction.put(.chunkList(database, digest), nil)
        transaction.put(.wantedAsset(database, digest), nil)
        try charge(-Int64(row.size), to: row.user, &transaction)
        var touched: Set<PackNumber> = []
        for entry in list.distinct {
            transaction.put(.chunkUse(database, entry.digest, digest), nil)
            guard
                try transaction.rows(.index, .chunkUses(database, entry.digest), limit: 1).isEmpty,
                let chunk = try transaction.chunk(entry.digest, in: database)
            else { continue }
            transaction.put(.chunk(database, entry.digest), nil)
            transaction.put(.packed(chunk.pack, chunk.offset), nil)
            touched.insert(chunk.pack)
        }
        return try Packs.forgetEmpty(touched, &transaction)
    }

    /// Forgets a chunk whose bytes are gone or damaged; its assets lack it from now on.
    ///
    /// - Parameter row: Where the chunk was. If it lies elsewhere by now, nothing happens.
    package func lose(
        _ digest: Bytes,
        at row: ChunkRow,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Set<PackNumber> {
        guard try transaction.chunk(digest, in: database) == row else { return [] }
        transaction.put(.chunk(database, digest), nil)
        transaction.put(.packed(row.pack, row.offset), nil)
        let lost = ChunkList.Entry(digest: digest, size: row.size)
        for asset in try transaction.assets(containing: lost, in: database) {
            guard var known = try transaction.asset(asset, in: database) else { continue }
            known.missing += 1
            transaction.put(.asset(database, asset), known)
            // The fetch drops the asset if nothing names it.
            transaction.put(.wantedAsset(database, asset), Bytes())
        }
        return try Packs.forgetEmpty([row.pack], &transaction)
    }

    /// Notes whether something names an asset, as found by a walk through all assets.
    package func note(
        _ digest: Bytes,
        isNamed: Bool,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard var row = try transaction.asset(digest, in: database),
            (row.idleSince == nil) != isNamed
        else {
            return
        }
        row.idleSince = isNamed ? nil : transaction.now
        transaction.put(.asset(database, digest), row)
    }
}

// MARK: - Names of assets

extension RecordBody {
    /// The digests of all assets in it.
    package func assets() throws(MalformedBytes) -> Set<Bytes> {
        var found: Set<Bytes> = []
        for entry in entries { for asset in try assets(entry) { found.insert(asset.digest) } }
        return found
    }

    /// Sum of the sizes of all assets in it, modulo 2^64; an asset that is named twice counts
    /// twice.
    package func assetBytes() throws(MalformedBytes) -> Int64 {
        var sum: UInt64 = 0
        for entry in entries { for asset in try assets(entry) { sum &+= asset.size } }
        return Int64(bitPattern: sum)
    }

    /// The assets of a field, in order; empty if the field holds something else.
    package func assets(_ entry: Entry) throws(MalformedBytes) -> [Asset] {
        var reader = CanonicalReader(bytes, entry.value)
        if entry.type == .one(.asset) { return [try Asset(reading: &reader)] }
        guard entry.type == .list(.asset) else { return [] }
        var assets: [Asset] = []
        while try reader.nextField() != nil {
            var element = try reader.message()
            assets.append(try Asset(reading: &element))
        }
        return assets
    }
}

extension FieldType {
    package var holdsAssets: Bool { self == .one(.asset) || self == .list(.asset) }
}
