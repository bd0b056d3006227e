// The rows that describe assets on a node: assets, chunks, and the packs that hold chunks.
//
// These rows are local: they are neither replicated nor part of a digest. Chunks are counted and
// kept per database, so that neither an answer nor its timing tells what another database holds.
//
// Folder: what the store knows of assets, and the files that hold their chunks. Read `AssetRows`,
// then `DatabaseAssets`, `Leases`, `Packs`, `PackFiles` and `PackDirectory`.

package import CumulusModel

/// An asset that a database knows, because a user prepared it or a record named it.
package struct AssetRow: RowValue, Equatable {
    /// Size in plain bytes.
    package var size: UInt64
    /// Number of different chunks that were missing when the asset was last looked at; 0 is always
    /// exact.
    package var missing: Int
    /// Milliseconds since 1970 UTC at which the last record stopped naming the asset; nil while
    /// something names it.
    package var idleSince: Int64?
    /// Record name of the user whose space the asset takes; empty if nobody's.
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

/// The place of a chunk.
package struct ChunkRow: RowValue, Equatable {
    package var pack: PackNumber
    /// Offset of the chunk's first byte in the pack.
    package var offset: Int
    /// Number of bytes in the pack.
    package var length: Int
    /// Number of plain bytes.
    package var size: Int
    package var isCompressed: Bool
    /// Checksum over the bytes in the pack: it finds damage without expanding them.
    ///
    /// It is XXH3 with 128 bits. Eight bytes mean the first bytes of SHA-256, from before format 8.
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

/// A pack, and how much is in its file.
package struct PackRow: RowValue, Equatable {
    /// Number of bytes of the file.
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

/// The origin of the packs that a store names; `PackFiles.origin` must agree.
package struct PackOriginRow: RowValue, Equatable {
    /// The run that created the packs.
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
    /// Digest of the chunk.
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
    /// Number of plain bytes of the chunk, according to the asset's list.
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
