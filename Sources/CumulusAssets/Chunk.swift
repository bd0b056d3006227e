// A chunk as it travels and rests: its bytes, compressed where that pays, under the digest of what
// they were.
//
// Made by clients; checked by everyone who gets one, before it is kept. hot: once per chunk.

import Crypto
package import CumulusModel

package struct Chunk: Hashable, Sendable {
    /// SHA-256 of the plain bytes.
    package var digest: Bytes
    /// Plain bytes.
    package var size: Int
    package var isCompressed: Bool
    /// Part of what was read or arrived, which is kept as long as this is.
    package var content: ArraySlice<UInt8>

    package init(digest: Bytes, size: Int, isCompressed: Bool, content: ArraySlice<UInt8>) {
        self.digest = digest
        self.size = size
        self.isCompressed = isCompressed
        self.content = content
    }

    /// A chunk's name.
    package static func digest(of plain: UnsafeRawBufferPointer) -> Bytes {
        var hash = SHA256()
        hash.update(bufferPointer: plain)
        return Bytes(hash.finalize())
    }

    package var isWellFormed: Bool {
        digest.count == 32 && (1...ContentCutter.largest).contains(size)
    }

    /// The error text for chunks that are not well-formed.
    package static let shape = "a chunk has a digest of 32 bytes and 1 to 1,048,576 plain bytes"

    /// The same chunk, compressed where that pays.
    ///
    /// - Parameter codec: The codec of the calling thread.
    package func compressed(_ codec: ChunkCodec) -> Chunk {
        isCompressed ? self : codec.chunk(content, digest: digest)
    }

    /// The same chunk as plain bytes, which are not held against its digest.
    ///
    /// - Parameter codec: The codec of the calling thread.
    package func expanded(_ codec: ChunkCodec) throws(MalformedBytes) -> Chunk {
        guard isCompressed else { return self }
        var chunk = self
        chunk.content = try codec.expand(content, to: size)[...]
        chunk.isCompressed = false
        return chunk
    }

    /// The plain bytes, if they are what the chunk says that they are.
    ///
    /// - Parameter codec: The codec of the calling thread.
    package func plain(_ codec: ChunkCodec) throws(MalformedBytes) -> ArraySlice<UInt8> {
        guard isWellFormed else { throw MalformedBytes(Chunk.shape) }
        let plain = isCompressed ? try codec.expand(content, to: size)[...] : content
        guard plain.count == size else {
            throw MalformedBytes("a chunk of \(size) bytes came with \(plain.count)")
        }
        guard plain.withUnsafeBytes(Chunk.digest(of:)) == digest else {
            throw MalformedBytes("a chunk's bytes are not what its digest says")
        }
        return plain
    }
}
