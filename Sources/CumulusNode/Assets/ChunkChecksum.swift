// The checksum of a chunk in its pack: tells damage whenever the chunk is read, far cheaper than
// its digest does.
//
// Made and compared by `AssetStore`, kept in the chunk's row. hot: once per chunk.

import CXXHash
import Crypto
import CumulusModel
import CumulusStorage

enum ChunkChecksum {
    /// XXH3 with 128 bits over the bytes in the pack, big-endian.
    static func of(_ stored: ArraySlice<UInt8>) -> Bytes {
        let hash = stored.withUnsafeBytes { XXH3_128bits($0.baseAddress, $0.count) }
        return bytes(hash.high64) + bytes(hash.low64)
    }

    private static func bytes(_ number: UInt64) -> Bytes {
        withUnsafeBytes(of: number.bigEndian) { Bytes($0) }
    }

    /// Whether these are the bytes that a row names.
    static func matches(_ stored: ArraySlice<UInt8>, _ row: ChunkRow) -> Bool {
        guard stored.count == row.length else { return false }
        if row.checksum.count == 8 { return early(stored) == row.checksum }
        return of(stored) == row.checksum
    }

    /// The checksum of stores up to format 7: the first eight bytes of SHA-256.
    private static func early(_ stored: ArraySlice<UInt8>) -> Bytes {
        stored.withUnsafeBytes { bytes in
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            return Bytes(hash.finalize().prefix(8))
        }
    }
}
