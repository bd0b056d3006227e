// Cuts an upload into chunks while it comes, and hands them on in parts, so that a large file is
// never in memory as a whole.
//
// `WebUpload` feeds it. It cuts the same chunks as every other client does from the same bytes.

package import CumulusAssets
package import CumulusModel
import CumulusWire

package struct UploadCutter {
    /// Some chunks in a row, ready to be sent.
    package struct Part: Sendable {
        package var list = ChunkList()
        fileprivate var plain: [Bytes] = []

        package init() {}

        package var isEmpty: Bool { plain.isEmpty }

        /// Bytes of chunks that share a message.
        private static let messageBytes = 2 << 20

        /// The messages that bring the chunks with these indexes.
        package func messages(of indexes: [Int]) -> [Bytes] {
            let codec = ChunkCodec()
            var messages: [Bytes] = []
            var (chunks, byteCount): ([Chunk], Int) = ([], 0)
            for index in indexes where plain.indices.contains(index) {
                if byteCount + plain[index].count > Part.messageBytes, !chunks.isEmpty {
                    messages.append(WireChunks(chunks).encoded())
                    (chunks, byteCount) = ([], 0)
                }
                chunks.append(codec.chunk(plain[index][...], digest: list[index].digest))
                byteCount += plain[index].count
            }
            if !chunks.isEmpty { messages.append(WireChunks(chunks).encoded()) }
            return messages
        }
    }

    /// Bytes that a part has at least, but for the last one.
    package static let partBytes = 4 << 20
    /// Approximate memory of an upload: bytes that are not cut, a part, and its messages.
    package static let memoryBytes = 10 << 20

    /// All chunks so far.
    package private(set) var list = ChunkList()
    private var part = Part()
    /// Bytes that are not cut yet.
    private var rest: Bytes = []

    package init() {}

    /// Bytes that came so far.
    package var byteCount: Int { Int(list.size) + rest.count }

    package var isPartFull: Bool { part.list.size >= UInt64(UploadCutter.partBytes) }

    package mutating func take(_ bytes: Bytes) {
        rest += bytes
        cut(untilFewerThan: ContentCutter.largest)
    }

    /// Nothing more comes.
    package mutating func end() { cut(untilFewerThan: 1) }

    /// The chunks that were not handed on.
    package mutating func takePart() -> Part {
        defer { part = Part() }
        return part
    }

    private mutating func cut(untilFewerThan limit: Int) {
        var start = 0
        while rest.count - start >= limit {
            let length = rest.withUnsafeBytes { bytes in
                let next = bytes[start...].prefix(ContentCutter.largest)
                return ContentCutter.cut(UnsafeRawBufferPointer(rebasing: next))
            }
            let plain = Bytes(rest[start..<start + length])
            let entry = ChunkList.Entry(
                digest: plain.withUnsafeBytes { Chunk.digest(of: $0) },
                size: length
            )
            list.append(entry)
            part.list.append(entry)
            part.plain.append(plain)
            start += length
        }
        rest.removeFirst(start)
    }
}
