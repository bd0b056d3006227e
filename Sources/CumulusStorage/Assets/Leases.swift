// What users of a public database brought there: the content of these assets and chunks they have,
// because they sent it.
//
// Without a lease, a digest alone would open what others uploaded. Private databases have none:
// there everything is the owner's. Local rows, written by the writer with what they belong to;
// `AssetCollection` ends them after the time of grace. Asked by CumulusOperations' `AssetClaims`.

package import CumulusAssets
package import CumulusModel

/// That a user prepared an asset, or that it brings a chunk of one.
package struct LeaseRow: RowValue, Equatable {
    /// Plain bytes, as the user said.
    package var size: UInt64
    /// Milliseconds since 1970 UTC.
    package var since: Int64
    /// All of it was sent; false means that it was announced.
    package var isHeld: Bool
    /// Whether it counts in the user's `AssetUsageRow`: the asset's own row counts somewhere else.
    package var isCharged: Bool

    package init(size: UInt64, since: Int64, isHeld: Bool, isCharged: Bool = false) {
        self.size = size
        self.since = since
        self.isHeld = isHeld
        self.isCharged = isCharged
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(size)
        writer.varint(zigzag(since))
        writer.varint(isHeld ? 1 : 0)
        writer.varint(isCharged ? 1 : 0)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        size = try reader.varint()
        since = try reader.signed()
        isHeld = try reader.varint() != 0
        isCharged = try reader.varint() != 0
    }
}

/// A user of a database: whose leases are asked for.
package struct Leaseholder: Hashable, Sendable {
    package var database: DatabaseNumber
    /// User record name.
    package var user: String

    package init(database: DatabaseNumber, user: String) {
        self.database = database
        self.user = user
    }

    fileprivate func key(_ digest: Bytes) -> RowKey { .lease(database, user, digest) }
}

extension RowReader where Self: ~Copyable {
    /// What a user brought under a digest; nil means nothing.
    package borrowing func lease(
        _ digest: Bytes,
        of holder: Leaseholder
    ) throws(EngineError) -> LeaseRow? {
        try row(holder.key(digest))
    }

    /// Those chunks that a user still has to send: announced, and not sent or not here any more.
    ///
    /// - Returns: And one that the user did not announce, or not with that size, if there is any.
    package borrowing func sift(
        _ chunks: [ChunkList.Entry],
        of holder: Leaseholder
    ) throws(EngineError) -> (wanted: Set<Bytes>, unwanted: Bytes?) {
        var (wanted, unwanted) = (Set<Bytes>(), Bytes?.none)
        for chunk in chunks {
            guard let lease = try lease(chunk.digest, of: holder), lease.size == UInt64(chunk.size)
            else {
                unwanted = unwanted ?? chunk.digest
                continue
            }
            if lease.isHeld, try self.chunk(chunk.digest, in: holder.database) != nil { continue }
            wanted.insert(chunk.digest)
        }
        return (wanted, unwanted)
    }
}

extension WriteTransaction {
    /// A user has prepared an asset with that chunk.
    ///
    /// A list that is wrong about the size of a chunk does not undo what the user sent.
    ///
    /// - Parameter isHeld: Whether the user sent it before, and it is here.
    package mutating func lease(
        chunk: ChunkList.Entry,
        to holder: Leaseholder,
        isHeld: Bool
    ) throws(EngineError) {
        let row = LeaseRow(size: UInt64(chunk.size), since: now, isHeld: isHeld)
        let known = isHeld ? nil : try lease(chunk.digest, of: holder)
        if let known, known.isHeld, known.size != row.size { return }
        put(holder.key(chunk.digest), row)
    }

    /// A user has prepared an asset, whose row is there.
    ///
    /// It takes the user's space, unless the asset's own row takes it already.
    ///
    /// - Parameter isHeld: Whether the user sent all of its chunks.
    package mutating func lease(
        asset digest: Bytes,
        to holder: Leaseholder,
        isHeld: Bool
    ) throws(EngineError) {
        guard let asset = try asset(digest, in: holder.database) else { return }
        let row = LeaseRow(
            size: asset.size,
            since: now,
            isHeld: isHeld,
            isCharged: asset.user != holder.user
        )
        let isCharged = try lease(digest, of: holder)?.isCharged ?? false
        if isCharged != row.isCharged {
            let size = Int64(clamping: row.size)
            try charge(isCharged ? -size : size, to: holder.user, in: holder.database)
        }
        put(holder.key(digest), row)
    }

    /// A user has sent all of what it announced under a digest.
    ///
    /// The lease does not become younger: so it ends before the asset goes that the user prepared.
    package mutating func hold(_ digest: Bytes, by holder: Leaseholder) throws(EngineError) {
        guard var row = try lease(digest, of: holder), !row.isHeld else { return }
        row.isHeld = true
        put(holder.key(digest), row)
    }

    /// Ends a lease that began before a time, in milliseconds since 1970 UTC.
    ///
    /// - Parameter key: Of its row.
    package mutating func endLease(
        _ key: Bytes,
        before time: Int64
    ) throws(EngineError) {
        let row: LeaseRow? = try row(RowKey(.lease, bytes: key))
        guard let row, row.since < time else { return }
        put(RowKey(.lease, bytes: key), nil)
        guard row.isCharged else { return }
        let holder = try RowKey.leaseholder(key)
        try charge(-Int64(clamping: row.size), to: holder.user, in: holder.database)
    }
}

extension RowKey {
    /// Whose lease has that key.
    fileprivate static func leaseholder(_ key: Bytes) throws(EngineError) -> Leaseholder {
        var parts = KeyReader(key)
        let database: DatabaseNumber = try parts.number()
        return Leaseholder(database: database, user: try parts.text())
    }
}
