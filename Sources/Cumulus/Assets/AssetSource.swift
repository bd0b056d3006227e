// The content of an asset on this machine, and how it is cut. A file is read block by block, and
// the chunks of one block are hashed while the next one is read. A part of a file that is unchanged
// since it was cut is only hashed.
//
// Called by uploads. A file is opened for each read, so that thousands of them need no more than a
// few descriptors, and never mapped: one that shrinks meanwhile must not end the process.
// hot: once per byte of an asset.

import CumulusAssets
import CumulusModel
import CumulusSystem

final class AssetSource: Sendable {
    private let content: Content
    let size: UInt64

    private enum Content: Sendable {
        case bytes(Bytes)
        case file(path: String)
    }

    init(_ source: Asset.Source) throws(ServiceError) {
        switch source {
        case .bytes(let bytes):
            content = .bytes(bytes)
            size = UInt64(bytes.count)
        case .file(let path):
            var status = stat()
            guard stat(path, &status) == 0 else { throw AssetSource.problem(path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw ServiceError(.assetFileNotFound, "\(path): not a file")
            }
            content = .file(path: path)
            size = UInt64(status.st_size)
            try checkEmptiness(path)
        }
    }

    /// nil means the content is in memory.
    var path: String? {
        if case .file(let path) = content { path } else { nil }
    }

    /// Some files of the system, below /proc, have bytes and say that they have none.
    private func checkEmptiness(_ path: String) throws(ServiceError) {
        guard size == 0, try !read(0, 1).isEmpty else { return }
        throw ServiceError(
            .assetFileNotFound,
            "\(path): its size is not known in advance; copy it into a file first"
        )
    }

    private static func problem(_ path: String, _ code: Int32 = errno) -> ServiceError {
        ServiceError(.assetFileNotFound, "\(path): \(String(cString: strerror(code)))")
    }

    /// Part of the content, behind other bytes; shorter where a file has become shorter.
    func read(
        _ start: UInt64,
        _ count: Int,
        behind front: ArraySlice<UInt8> = []
    ) throws(ServiceError) -> Bytes {
        switch content {
        case .bytes(let bytes):
            return Bytes(front) + bytes.dropFirst(Int(start)).prefix(count)
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw AssetSource.problem(path) }
            defer { close(descriptor) }
            var problem: Int32 = 0
            let all = front.count + count
            let bytes = Bytes(unsafeUninitializedCapacity: all) { room, filled in
                let room = UnsafeMutableRawBufferPointer(room)
                front.withUnsafeBytes { room.copyMemory(from: $0) }
                filled = front.count
                while filled < all {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled...])
                    let place = off_t(start) + off_t(filled - front.count)
                    let got = pread(descriptor, rest.baseAddress, rest.count, place)
                    if got < 0, errno == EINTR { continue }
                    if got < 0 { problem = errno }
                    guard got > 0 else { return }
                    filled += got
                }
            }
            guard problem == 0 else { throw AssetSource.problem(path, problem) }
            return bytes
        }
    }

    // MARK: Cutting

    private static let blockBytes = 4 << 20
    /// Blocks that are hashed at once.
    private static let hashers = 3

    /// The chunks that a block was cut into.
    private struct Block: Sendable {
        let bytes: Bytes
        let sizes: [Int]

        func hashed() -> [ChunkList.Entry] {
            bytes.withUnsafeBytes { bytes in
                var start = 0
                return sizes.map { size in
                    defer { start += size }
                    let chunk = UnsafeRawBufferPointer(rebasing: bytes[start..<start + size])
                    return ChunkList.Entry(digest: Chunk.digest(of: chunk), size: size)
                }
            }
        }
    }

    /// Cuts and names the content.
    ///
    /// - Parameter known: The remembered cuts of an earlier upload.
    func chunkList(known: ChunkList? = nil) async throws -> ChunkList {
        var list = ChunkList()
        if let known { list = try await unchanged(since: known) }
        for entry in try await cut(from: list.size) { list.append(entry) }
        return list
    }

    /// Cuts the bytes behind a cut.
    private func cut(from start: UInt64) async throws -> [ChunkList.Entry] {
        try await withThrowingTaskGroup(of: (Int, [ChunkList.Entry]).self) { group in
            var done: [Int: [ChunkList.Entry]] = [:]
            var (position, rest, count, running) = (start, ArraySlice<UInt8>(), 0, 0)
            while position < size || !rest.isEmpty {
                try Task.checkCancellation()
                let wanted = min(UInt64(AssetSource.blockBytes - rest.count), size - position)
                let bytes = try read(position, Int(wanted), behind: rest)
                guard bytes.count == rest.count + Int(wanted) else { throw AssetSource.modified }
                position += wanted
                let block = AssetSource.cut(bytes, isLast: position == size, rest: &rest)
                if running == AssetSource.hashers, let next = try await group.next() {
                    done[next.0] = next.1
                    running -= 1
                }
                let number = count
                group.addTask { (number, block.hashed()) }
                (count, running) = (count + 1, running + 1)
            }
            for try await next in group { done[next.0] = next.1 }
            return (0..<count).flatMap { done[$0] ?? [] }
        }
    }

    // MARK: Cut before

    /// Chunks that are read and hashed together.
    private struct Span: Sendable {
        let start: UInt64
        var entries: [ChunkList.Entry] = []
        var byteCount = 0
    }

    /// The chunks at the beginning that are unchanged.
    ///
    /// The end of a chunk depends on its own bytes only, except for the last chunk, which ends with
    /// the file. So these chunks are the ones that would be cut again.
    private func unchanged(since known: ChunkList) async throws -> ChunkList {
        let spans = spans(of: known)
        return try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            var (same, isSame, running) = ([Int: Int](), true, 0)
            func note(_ done: (number: Int, count: Int)) {
                same[done.number] = done.count
                isSame = isSame && done.count == spans[done.number].entries.count
                running -= 1
            }
            for (number, span) in spans.enumerated() {
                try Task.checkCancellation()
                if running == AssetSource.hashers, let next = try await group.next() { note(next) }
                guard isSame else { break }
                group.addTask { [self] in (number, try countUnchanged(span)) }
                running += 1
            }
            for try await next in group { note(next) }
            var list = ChunkList()
            for (number, span) in spans.enumerated() {
                let count = same[number] ?? 0
                for entry in span.entries.prefix(count) { list.append(entry) }
                if count < span.entries.count { break }
            }
            return list
        }
    }

    private func spans(of known: ChunkList) -> [Span] {
        let entries = known.size == size ? known.entries[...] : known.entries.dropLast()
        var (spans, position) = ([Span](), UInt64(0))
        for entry in entries {
            guard position + UInt64(entry.size) <= size else { break }
            if spans.last.map({ $0.byteCount + entry.size > AssetSource.blockBytes }) ?? true {
                spans.append(Span(start: position))
            }
            spans[spans.count - 1].entries.append(entry)
            spans[spans.count - 1].byteCount += entry.size
            position += UInt64(entry.size)
        }
        return spans
    }

    /// How many chunks of a span, one after the other, have the digests that they had.
    private func countUnchanged(_ span: Span) throws(ServiceError) -> Int {
        let bytes = try read(span.start, span.byteCount)
        guard bytes.count == span.byteCount else { return 0 }
        return bytes.withUnsafeBytes { bytes in
            var start = 0
            return span.entries.prefix { entry in
                defer { start += entry.size }
                let chunk = UnsafeRawBufferPointer(rebasing: bytes[start..<start + entry.size])
                return Chunk.digest(of: chunk) == entry.digest
            }.count
        }
    }

    /// Cuts the bytes so far; the rest waits for more.
    private static func cut(_ bytes: Bytes, isLast: Bool, rest: inout ArraySlice<UInt8>) -> Block {
        var (sizes, start) = ([Int](), 0)
        bytes.withUnsafeBytes { bytes in
            while start < bytes.count, isLast || bytes.count - start >= ContentCutter.largest {
                let chunk = UnsafeRawBufferPointer(rebasing: bytes[start...])
                sizes.append(ContentCutter.cut(chunk))
                start += sizes[sizes.count - 1]
            }
        }
        rest = bytes[start...]
        return Block(bytes: bytes, sizes: sizes)
    }

    static let modified = ServiceError(
        .assetFileModified,
        "the file of an asset changed while it was read; save the record again"
    )
}
