// Leases record which assets and chunks a user of a public database has sent, and therefore knows.
//
// Without a lease, a digest alone would give access to what others uploaded. Private databases need
// no leases: everything there belongs to the owner. Leases are local rows, written in the same
// batch as the asset they belong to. `AssetCollection` ends them after the time of grace;
// `AssetClaims` of CumulusOperations asks for them.

package import CumulusAssets
package import CumulusModel

/// Records that a user prepared an asset, or announced a chunk of one.
package struct LeaseRow: RowValue, Equatable {
    /// Plain bytes, according to the user.
    package var size: UInt64
    /// Milliseconds since 1970 UTC.
    package var since: Int64
    /// True if the user sent all of it; false if the user only announced it.
    package var isHeld: Bool
    /// True if the user's `AssetUsageRow` counts it; false if the asset's own row is charged
    /// elsewhere.
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

/// A user of a database, who holds leases.
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
    /// Returns the user's lease for a digest; nil if there is none.
    package borrowing func lease(
        _ digest: Bytes,
        of holder: Leaseholder
    ) throws(EngineError) -> LeaseRow? {
        try row(holder.key(digest))
    }

    /// Returns the chunks that the user still has to send: chunks that the user announced and that
    /// are not here.
    ///
    /// - Returns: The wanted chunks, and the first chunk that the user did not announce with that
    ///   size, if any.
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

extension Leaseholder {
    /// Enters a lease for a chunk of an asset that the user prepared.
    ///
    /// If the list is wrong about the size of a chunk, an existing lease stays.
    ///
    /// - Parameter isHeld: Whether the user sent the chunk before, and it is still here.
    package func lease(
        chunk: ChunkList.Entry,
        isHeld: Bool,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let row = LeaseRow(size: UInt64(chunk.size), since: transaction.now, isHeld: isHeld)
        let known = isHeld ? nil : try transaction.lease(chunk.digest, of: self)
        if let known, known.isHeld, known.size != row.size { return }
        transaction.put(key(chunk.digest), row)
    }

    /// Enters a lease for an asset that the user prepared and that has a row.
    ///
    /// The asset counts for this user unless the asset's own row already does.
    ///
    /// - Parameter isHeld: Whether the user sent all of its chunks.
    package func lease(
        asset digest: Bytes,
        isHeld: Bool,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let asset = try transaction.asset(digest, in: database) else { return }
        let row = LeaseRow(
            size: asset.size,
            since: transaction.now,
            isHeld: isHeld,
            isCharged: asset.user != user
        )
        let isCharged = try transaction.lease(digest, of: self)?.isCharged ?? false
        if isCharged != row.isCharged {
            let size = Int64(clamping: row.size)
            try DatabaseAssets(of: database).charge(
                isCharged ? -size : size,
                to: user,
                &transaction
            )
        }
        transaction.put(key(digest), row)
    }

    /// Marks a lease as held: the user has sent everything announced under the digest.
    ///
    /// The lease keeps its age, so it ends before the user's asset is collected.
    package func hold(_ digest: Bytes, _ transaction: inout WriteTransaction) throws(EngineError) {
        guard var row = try transaction.lease(digest, of: self), !row.isHeld else { return }
        row.isHeld = true
        transaction.put(key(digest), row)
    }

    /// Ends a lease that began before a time, in milliseconds since 1970 UTC.
    ///
    /// - Parameter key: The key of the lease's row.
    package static func endLease(
        _ key: Bytes,
        before time: Int64,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let row: LeaseRow? = try transaction.row(RowKey(.lease, bytes: key))
        guard let row, row.since < time else { return }
        transaction.put(RowKey(.lease, bytes: key), nil)
        guard row.isCharged else { return }
        let holder = try RowKey.leaseholder(key)
        try DatabaseAssets(of: holder.database).charge(
            -Int64(clamping: row.size),
            to: holder.user,
            &transaction
        )
    }
}

extension RowKey {
    /// The holder of the lease with that key.
    fileprivate static func leaseholder(_ key: Bytes) throws(EngineError) -> Leaseholder {
        var parts = KeyReader(key)
        let database: DatabaseNumber = try parts.number()
        return Leaseholder(database: database, user: try parts.text())
    }
}
