// zstd, as chunks use it: one frame per chunk, its size known before a byte is expanded.
//
// Each thread that packs or unpacks chunks has a codec of its own: libzstd's contexts keep their
// memory from chunk to chunk. Nobody else calls libzstd. Where it is missing, because the trait
// `Zstd` is off or the system has none, chunks stay plain, and clients ask for such: see
// `Features.plainChunks`. hot: once per chunk.

#if canImport(CZstd)

    import CZstd
    package import CumulusModel

    package final class ChunkCodec {
        /// Whether chunks are compressed at all.
        package static var compresses: Bool { true }

        private let packing: OpaquePointer
        private let unpacking: OpaquePointer
        private var buffer: [UInt8] = []
        /// Fast; higher levels gain little on what people store.
        private static let level: Int32 = 1
        /// The largest window that a frame may require of its reader: no chunk is larger.
        private static let largestWindow = ContentCutter.largest

        package init() {
            guard let packing = ZSTD_createCCtx(), let unpacking = ZSTD_createDCtx() else {
                preconditionFailure("no memory for libzstd")
            }
            self.packing = packing
            self.unpacking = unpacking
        }

        deinit {
            ZSTD_freeCCtx(packing)
            ZSTD_freeDCtx(unpacking)
        }

        /// A chunk of these bytes; plain where compression would gain less than a sixteenth.
        ///
        /// - Parameter digest: The digest of the bytes.
        package func chunk(_ plain: ArraySlice<UInt8>, digest: Bytes) -> Chunk {
            let most = plain.count - plain.count / 16
            if buffer.count < plain.count { buffer = [UInt8](repeating: 0, count: plain.count) }
            // Less room than the frame needs is an error, which says that it doesn't pay.
            let size = buffer.withUnsafeMutableBytes { room in
                plain.withUnsafeBytes { plain in
                    ZSTD_compressCCtx(
                        packing,
                        room.baseAddress,
                        most,
                        plain.baseAddress,
                        plain.count,
                        ChunkCodec.level
                    )
                }
            }
            let pays = ZSTD_isError(size) == 0
            return Chunk(
                digest: digest,
                size: plain.count,
                isCompressed: pays,
                content: pays ? Bytes(buffer[..<size])[...] : plain
            )
        }

        /// The content of one frame of exactly `size` bytes; nothing larger is ever made room for.
        func expand(_ frame: ArraySlice<UInt8>, to size: Int) throws(MalformedBytes) -> Bytes {
            let outcome: Result<Bytes, MalformedBytes> = frame.withUnsafeBytes { frame in
                do throws(MalformedBytes) {
                    try ChunkCodec.check(frame, size)
                } catch {
                    return .failure(error)
                }
                var end = 0
                let plain = Bytes(unsafeUninitializedCapacity: size) { room, count in
                    let input = frame.baseAddress
                    end = ZSTD_decompressDCtx(unpacking, room.baseAddress, size, input, frame.count)
                    count = ZSTD_isError(end) == 0 ? end : 0
                }
                guard plain.count == size else {
                    return .failure(MalformedBytes("a chunk's zstd frame is damaged"))
                }
                return .success(plain)
            }
            return try outcome.get()
        }

        /// One frame, nothing behind it, of the announced size, without a dictionary, and with a
        /// window that no reader has to fear.
        private static func check(
            _ frame: UnsafeRawBufferPointer,
            _ size: Int
        ) throws(MalformedBytes) {
            let input = frame.baseAddress
            guard ZSTD_getFrameContentSize(input, frame.count) == UInt64(size) else {
                throw MalformedBytes("a chunk's zstd frame doesn't announce \(size) bytes")
            }
            guard ZSTD_getDictID_fromFrame(input, frame.count) == 0 else {
                throw MalformedBytes("a chunk's zstd frame wants a dictionary")
            }
            guard window(of: frame) <= largestWindow else {
                throw MalformedBytes(
                    "a chunk's zstd frame wants a window of \(window(of: frame)) bytes"
                )
            }
            guard ZSTD_findFrameCompressedSize(input, frame.count) == frame.count else {
                throw MalformedBytes("a chunk is not exactly one zstd frame")
            }
        }

        /// RFC 8878, 3.1.1.1.2; a frame of one segment has none.
        private static func window(of frame: UnsafeRawBufferPointer) -> Int {
            guard frame.count > 5, frame[4] & 0x20 == 0 else { return 0 }
            let base = 1 << (10 + Int(frame[5] >> 3))
            return base + base / 8 * Int(frame[5] & 7)
        }
    }

#else

    package import CumulusModel

    /// The codec without libzstd: chunks go up as they are, and come down so.
    package final class ChunkCodec {
        /// Whether chunks are compressed at all.
        package static var compresses: Bool { false }

        package init() {}

        /// A chunk of these bytes.
        ///
        /// - Parameter digest: The digest of the bytes.
        package func chunk(_ plain: ArraySlice<UInt8>, digest: Bytes) -> Chunk {
            Chunk(digest: digest, size: plain.count, isCompressed: false, content: plain)
        }

        /// Refuses every frame: a node that knows `Features.plainChunks` sends none.
        func expand(_ frame: ArraySlice<UInt8>, to size: Int) throws(MalformedBytes) -> Bytes {
            throw MalformedBytes(
                "a chunk is compressed, and this program has no zstd; is the node too old?"
            )
        }
    }

#endif
