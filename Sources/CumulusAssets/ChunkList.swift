// The content of an asset: its chunks in order, each with the SHA-256 and the number of its bytes.
//
// The list is what names an asset; clients make it from a file, nodes keep it beside the chunks,
// and it is checked whole wherever it comes from outside.

import Crypto
package import CumulusModel

package struct ChunkList: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// SHA-256 of the chunk's plain bytes.
        package var digest: Bytes
        /// Plain bytes.
        package var size: Int

        package init(digest: Bytes, size: Int) {
            self.digest = digest
            self.size = size
        }
    }

    /// The encoded list: for each chunk 32 bytes of digest and 4 bytes of size, big-endian.
    package private(set) var bytes: Bytes
    /// Plain bytes of all chunks.
    package private(set) var size: UInt64

    package static let entryBytes = 36

    /// The list of an empty asset.
    package init() {
        bytes = []
        size = 0
    }

    /// The list of bytes that are in memory.
    package init(cutting content: UnsafeRawBufferPointer) {
        self.init()
        var rest = content[...]
        while !rest.isEmpty {
            let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(ContentCutter.largest))
            let chunk = UnsafeRawBufferPointer(rebasing: bytes.prefix(ContentCutter.cut(bytes)))
            append(Entry(digest: Chunk.digest(of: chunk), size: chunk.count))
            rest = rest.dropFirst(chunk.count)
        }
    }

    /// Checks a list that came from outside.
    package init(checking bytes: Bytes) throws(MalformedBytes) {
        guard bytes.count.isMultiple(of: ChunkList.entryBytes) else {
            throw MalformedBytes("a chunk list has 36 bytes per chunk, not \(bytes.count) in all")
        }
        self.bytes = bytes
        size = 0
        var sizes: [ArraySlice<UInt8>: Int] = [:]
        for index in 0..<count {
            let size = self.size(at: index)
            let start = index * ChunkList.entryBytes
            guard sizes.updateValue(size, forKey: bytes[start..<start + 32]) ?? size == size else {
                throw MalformedBytes("chunk \(index) has \(size) bytes, and before it had others")
            }
            // A list is therefore never much longer than its asset requires.
            let smallest = index + 1 < count ? ContentCutter.smallest : 1
            guard (smallest...ContentCutter.largest).contains(size) else {
                throw MalformedBytes(
                    """
                    chunk \(index) has \(size) bytes, and it may have \(smallest) to \
                    \(ContentCutter.largest)
                    """
                )
            }
            self.size += UInt64(size)
        }
    }

    /// Adds the chunk that comes next.
    package mutating func append(_ entry: Entry) {
        bytes += entry.digest
        withUnsafeBytes(of: UInt32(entry.size).bigEndian) { bytes.append(contentsOf: $0) }
        size += UInt64(entry.size)
    }

    package var count: Int { bytes.count / ChunkList.entryBytes }

    package subscript(index: Int) -> Entry {
        let start = index * ChunkList.entryBytes
        return Entry(digest: Bytes(bytes[start..<start + 32]), size: size(at: index))
    }

    private func size(at index: Int) -> Int {
        let end = (index + 1) * ChunkList.entryBytes
        return bytes[end - 4..<end].reduce(0) { $0 << 8 | Int($1) }
    }

    package var entries: [Entry] { (0..<count).map { self[$0] } }

    /// The name of the asset: SHA-256 over "cumulus asset" and the list.
    package var digest: Bytes {
        var hash = SHA256()
        hash.update(data: Array("cumulus asset".utf8))
        hash.update(data: bytes)
        return Bytes(hash.finalize())
    }

    /// The chunks that hold a stretch of the asset, and the place where the first of them begins.
    package func chunks(holding range: Range<UInt64>) -> (chunks: Range<Int>, start: UInt64) {
        var (index, first, start, position) = (0, 0, UInt64(0), UInt64(0))
        if range.isEmpty { return (0..<0, 0) }
        while index < count, position < range.upperBound {
            let end = position + UInt64(size(at: index))
            if end <= range.lowerBound { (first, start) = (index + 1, end) }
            position = end
            index += 1
        }
        return (first..<max(first, index), start)
    }
}
