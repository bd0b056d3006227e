// What a node knows of assets, beside the records that name them: the rows of assets, of chunks and
// of the packs in which chunks lie.
//
// Local rows: none of them travels or is digested. Chunks are counted and kept for each database on
// its own, so that nobody can learn, by word or by time, what another database holds.
//
// Folder: what the store knows of assets, and the files that hold their chunks. Read `AssetRows`,
// then `WriteTransaction+Assets`, `Leases`, `PackFiles` and `PackDirectory`.

package import CumulusModel

/// An asset of a database: known since somebody prepared it, or since a record named it here.
package struct AssetRow: RowValue, Equatable {
    /// Plain bytes.
    package var size: UInt64
    /// Different chunks that were not here when somebody last looked; 0 is always right.
    package var missing: Int
    /// Since when nothing is known to name it, in milliseconds since 1970 UTC; nil: something does.
    package var idleSince: Int64?
    /// Whose space it takes: a user record name; empty: nobody's.
    package var user: String

    package init(size: UInt64, missing: Int, idleSince: Int64?, user: String) {
        self.size = size
        self.missing = missing
        self.idleSince = idleSince
        self.user = user
    }

    package var isComplete: Bool { missing == 0 }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(size)
        writer.varint(UInt64(missing))
        writer.varint(idleSince == nil ? 0 : 1)
        writer.varint(zigzag(idleSince ?? 0))
        writer.delimited(user.utf8)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        size = try reader.varint()
        missing = try reader.count()
        let isIdle = try reader.varint() != 0
        let since = try reader.signed()
        idleSince = isIdle ? since : nil
        user = try reader.text()
    }
}

package typealias PackNumber = UInt64

/// Where a chunk lies.
package struct ChunkRow: RowValue, Equatable {
    package var pack: PackNumber
    /// Of its first byte in the pack.
    package var offset: Int
    /// Bytes in the pack.
    package var length: Int
    /// Plain bytes.
    package var size: Int
    package var isCompressed: Bool
    /// Over the bytes in the pack: tells damage without expanding them.
    ///
    /// XXH3 with 128 bits; eight bytes are of SHA-256, from before format 8.
    package var checksum: Bytes

    package init(
        pack: PackNumber,
        offset: Int,
        length: Int,
        size: Int,
        isCompressed: Bool,
        checksum: Bytes
    ) {
        self.pack = pack
        self.offset = offset
        self.length = length
        self.size = size
        self.isCompressed = isCompressed
        self.checksum = checksum
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(pack)
        writer.varint(UInt64(offset))
        writer.varint(UInt64(length))
        writer.varint(UInt64(size))
        writer.varint(isCompressed ? 1 : 0)
        writer.delimited(checksum)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        pack = try reader.varint()
        offset = try reader.count()
        length = try reader.count()
        size = try reader.count()
        isCompressed = try reader.varint() != 0
        checksum = try reader.delimitedBytes()
    }
}

/// A pack: what is in its file.
package struct PackRow: RowValue, Equatable {
    /// Bytes of the file.
    package var length: Int
    package init(length: Int) {
        self.length = length
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(length))
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        length = try reader.count()
    }
}

/// Whose packs a store names: `PackFiles.origin` says the same.
package struct PackOriginRow: RowValue, Equatable {
    /// The run that began them.
    package var run: Incarnation

    package init(run: Incarnation) {
        self.run = run
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(run.value)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        run = Incarnation(try reader.varint())
    }
}

/// The chunk that lies at a place of a pack.
package struct PackedRow: RowValue, Equatable {
    package var database: DatabaseNumber
    /// Of the chunk.
    package var digest: Bytes

    package init(database: DatabaseNumber, digest: Bytes) {
        self.database = database
        self.digest = digest
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(database))
        writer.delimited(digest)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        database = DatabaseNumber(try reader.count(limit: Int(DatabaseNumber.max)))
        digest = try reader.delimitedBytes()
    }
}

/// How an asset contains a chunk.
package struct ChunkUseRow: RowValue, Equatable {
    /// Plain bytes of the chunk, as the asset's list says.
    package var size: Int

    package init(size: Int) {
        self.size = size
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(size))
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        size = try reader.count()
    }
}

/// Bytes of all assets of a user in a database.
package struct AssetUsageRow: RowValue, Equatable {
    package var bytes: UInt64

    package init(bytes: UInt64) {
        self.bytes = bytes
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(bytes)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        bytes = try reader.varint()
    }
}
