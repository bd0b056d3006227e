// Brings the content of one asset to a file: only the chunks that are nowhere on this machine
// travel, and what arrived stays when the connection, or the process, ends.
//
// Run by `AssetCache`, once per asset at a time. Nothing is believed: every chunk is checked before
// it is written, and the file gets its name when all of it is there. hot: once per chunk.

import CumulusAssets
import CumulusModel
import CumulusSystem
import CumulusWire

struct AssetDownload: Sendable {
    let core: ClientCore
    let database: DatabaseScope
    let asset: Asset
    let cache: AssetCache
    /// Tells it from other downloads of the cache.
    let number: UInt64
    let progress: AssetProgress?

    /// Up to so many bytes, asking for the list first costs more than it can save.
    private static let smallBytes: UInt64 = 1 << 20
    /// Bytes that the server may send before we have written them.
    private static let window = 4 << 20
    /// Chunks that are checked and written at once.
    private static let takers = 3

    /// The path of the whole file.
    func run() async throws -> String {
        if let path = cache.file(of: asset) { return path }
        try FileManager.default.createDirectory(
            atPath: cache.directory,
            withIntermediateDirectories: true
        )
        let file = try PartialFile(cache.partPath(of: asset.digest), size: asset.size)
        progress?.update { $0.totalBytes += asset.size }
        var writer: Writer?
        if let list = try await knownList() {
            writer = Writer(list, asset, file, progress)
            try await takeLocal(&writer)
        }
        try await fetch(&writer, into: file)
        guard let writer, writer.missing.isEmpty else { throw AssetDownload.incomplete(asset) }
        return try cache.finish(asset, writer.list, from: file.path)
    }

    // MARK: The list, and what is here

    /// nil means the list comes with the chunks.
    private func knownList() async throws -> ChunkList? {
        if let list = cache.list(of: asset.digest) { return list }
        if asset.size <= AssetDownload.smallBytes { return nil }
        var request = DownloadAssetRequest(database: database, asset)
        request.onlyList = true
        let messages = try await core.read(.assetsDownload, request.encoded())
        guard let first = messages.first else { throw Database.missingResult }
        let answer = try decoding { try DownloadAssetResponse(wire: first) }
        let list = try AssetDownload.list(answer.list, of: asset)
        cache.keep(list, of: asset.digest)
        return list
    }

    static func list(_ bytes: Bytes, of asset: Asset) throws -> ChunkList {
        guard let list = try? ChunkList(checking: bytes), list.digest == asset.digest,
            list.size == asset.size
        else { throw ServiceError(.internalError, "the server sent the list of another asset") }
        return list
    }

    /// Takes what an earlier try left, what other assets of the cache contain, and what other
    /// downloads bring.
    private func takeLocal(_ writer: inout Writer?) async throws {
        try writer?.takeWritten()
        guard let missing = writer?.missing.keys.sorted(by: { precedes($0, $1) }) else { return }
        for chunk in missing {
            guard let place = cache.place(of: chunk) else { continue }
            try writer?.takeCopy(of: chunk, from: cache.path(of: place.asset), place.offset)
        }
        let left = Array(writer?.missing.keys ?? [:].keys)
        for (chunk, download) in cache.claim(left, for: number) {
            _ = try? await download.valueUnlessCancelled()
            try ClientCore.checkCancellation()
            guard let place = cache.place(of: chunk) else { continue }
            try writer?.takeCopy(of: chunk, from: cache.path(of: place.asset), place.offset)
        }
    }

    // MARK: What is not

    private func fetch(_ writer: inout Writer?, into file: PartialFile) async throws {
        var deadline = core.environment.now() + core.settings.callMilliseconds
        var attempt = 0
        while writer?.missing.isEmpty != true {
            let before = writer?.missing.count
            var problem = AssetDownload.incomplete(asset)
            do {
                try await stream(&writer, into: file)
            } catch let error as ServiceError where isPassing(error) {
                problem = error
            }
            if writer?.missing.isEmpty == true { return }
            if writer?.missing.count != before {
                deadline = core.environment.now() + core.settings.callMilliseconds
                attempt = 0
            }
            guard core.environment.now() < deadline else { throw problem }
            try await core.pause(attempt)
            attempt += 1
        }
    }

    /// Whether another try may go better.
    private func isPassing(_ error: ServiceError) -> Bool {
        let mayComeYet = error.reason == .assetIncomplete && error.retryAfterMilliseconds != nil
        return error.code == .networkFailure || mayComeYet || error.isPassing
            || error.reason == .deadline
    }

    private func stream(_ writer: inout Writer?, into file: PartialFile) async throws {
        var request = DownloadAssetRequest(database: database, asset)
        if let writer {
            let room = try await core.hello().limits.requestBytes / 2 / 34
            request.except = Array(writer.present.prefix(room))
        }
        let pages = try await PageStream.open(
            core,
            CallHeader(.assetsDownload),
            request.encoded(),
            window: AssetDownload.window
        )
        try await withThrowingTaskGroup(of: Writer.Taken.self) { group in
            do {
                try await take(pages, &writer, into: file, &group)
            } catch {
                // Chunks that are written needn't be fetched again.
                while let taken = try? await group.next() { writer?.note(taken) }
                throw error
            }
        }
    }

    /// Takes some chunks at once while others come.
    private func take(
        _ pages: PageStream,
        _ writer: inout Writer?,
        into file: PartialFile,
        _ group: inout ThrowingTaskGroup<Writer.Taken, any Error>
    ) async throws {
        var running = 0
        while let message = try await pages.next() {
            try ClientCore.checkCancellation()
            let answer = try decoding { try DownloadAssetResponse(wire: message) }
            if writer == nil { writer = try self.writer(for: answer.list, into: file) }
            for chunk in answer.chunks {
                guard let place = writer?.place(of: chunk) else { continue }
                if running == AssetDownload.takers, let taken = try await group.next() {
                    writer?.note(taken)
                    running -= 1
                }
                group.addTask { try file.take(chunk, at: place) }
                running += 1
            }
        }
        while let taken = try await group.next() { writer?.note(taken) }
    }

    /// Knows what to write from the list that came first.
    private func writer(for list: Bytes, into file: PartialFile) throws -> Writer {
        let list = try AssetDownload.list(list, of: asset)
        if list.count > 1 { cache.keep(list, of: asset.digest) }
        return Writer(list, asset, file, progress)
    }

    static func incomplete(_ asset: Asset) -> ServiceError {
        ServiceError(.assetNotAvailable, "the server didn't send all of asset \(asset.digest.hex)")
    }
}

// MARK: - Writing

/// Tracks which chunks of an asset are in its file, and writes the others.
private struct Writer {
    /// The place of a chunk in the file.
    struct Place: Sendable {
        var offsets: [UInt64] = []
        let size: Int
    }

    /// A chunk that is in the file now.
    struct Taken: Sendable {
        let digest: Bytes
        let place: Place
        /// Bytes that travelled for it; nil means it was on this machine.
        let travelled: Int?
    }

    let list: ChunkList
    private let file: PartialFile
    private let progress: AssetProgress?
    private(set) var missing: [Bytes: Place] = [:]
    private(set) var present: Set<Bytes> = []

    init(_ list: ChunkList, _ asset: Asset, _ file: PartialFile, _ progress: AssetProgress?) {
        self.list = list
        self.file = file
        self.progress = progress
        var offset: UInt64 = 0
        for entry in list.entries {
            missing[entry.digest, default: Place(size: entry.size)].offsets.append(offset)
            offset += UInt64(entry.size)
        }
        let count = list.count
        progress?.update { $0.totalChunks += count }
    }

    /// Looks what an earlier try wrote.
    mutating func takeWritten() throws {
        if file.isNew { return }
        for (chunk, place) in missing {
            guard place.offsets.allSatisfy({ file.holds(chunk, at: $0, place.size) }) else {
                continue
            }
            note(Taken(digest: chunk, place: place, travelled: nil))
        }
    }

    /// Takes a chunk from another file, if it is still there.
    mutating func takeCopy(of chunk: Bytes, from path: String, _ offset: UInt64) throws {
        guard let place = missing[chunk],
            let plain = PartialFile.read(path, offset, place.size),
            plain.withUnsafeBytes(Chunk.digest(of:)) == chunk
        else { return }
        for offset in place.offsets { try file.write(plain[...], at: offset) }
        note(Taken(digest: chunk, place: place, travelled: nil))
    }

    /// The place of a chunk that the server sent; nil if it is not wanted.
    func place(of chunk: Chunk) -> Place? {
        missing[chunk.digest].flatMap { $0.size == chunk.size ? $0 : nil }
    }

    mutating func note(_ taken: Taken) {
        // A server may send a chunk twice.
        guard missing.removeValue(forKey: taken.digest) != nil else { return }
        present.insert(taken.digest)
        progress?.update {
            let bytes = UInt64(taken.place.offsets.count * taken.place.size)
            $0.completedBytes += bytes
            $0.completedChunks += taken.place.offsets.count
            if let travelled = taken.travelled {
                $0.transferredBytes += UInt64(travelled)
            } else {
                $0.skippedBytes += bytes
            }
        }
    }
}

extension PartialFile {
    /// Checks a chunk that the server sent, and writes it.
    fileprivate func take(_ chunk: Chunk, at place: Writer.Place) throws -> Writer.Taken {
        let codec = AssetUpload.codecs.take()
        defer { AssetUpload.codecs.give(codec) }
        let plain: ArraySlice<UInt8>
        do {
            plain = try chunk.plain(codec)
        } catch {
            throw ServiceError(.internalError, "the server sent a damaged chunk: \(error.reason)")
        }
        for offset in place.offsets { try write(plain, at: offset) }
        return Writer.Taken(
            digest: chunk.digest,
            place: place,
            travelled: chunk.content.count
        )
    }
}

/// A file that is being filled; one process at a time.
final class PartialFile: Sendable {
    let path: String
    /// Nothing was in it.
    let isNew: Bool
    private let descriptor: Int32

    /// Opens what an earlier try left, or a new file.
    init(_ path: String, size: UInt64) throws(ServiceError) {
        var path = path
        var descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            // Another process fills it: this one goes its own way.
            close(descriptor)
            path += ".\(getpid())"
            descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw AssetCache.problem(path) }
        var status = stat()
        fstat(descriptor, &status)
        self.path = path
        self.descriptor = descriptor
        isNew = status.st_size == 0
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw AssetCache.problem(path) }
    }

    deinit { close(descriptor) }

    func write(_ bytes: ArraySlice<UInt8>, at offset: UInt64) throws(ServiceError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw AssetCache.problem(path) }
            written += count
        }
    }

    func holds(_ chunk: Bytes, at offset: UInt64, _ size: Int) -> Bool {
        guard let bytes = PartialFile.read(descriptor, offset, size) else { return false }
        return bytes.withUnsafeBytes(Chunk.digest(of:)) == chunk
    }

    /// Part of a file; nil if it isn't there.
    static func read(_ path: String, _ offset: UInt64, _ size: Int) -> Bytes? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return read(descriptor, offset, size)
    }

    private static func read(_ descriptor: Int32, _ offset: UInt64, _ size: Int) -> Bytes? {
        let bytes = Bytes(unsafeUninitializedCapacity: size) { room, filled in
            let room = UnsafeMutableRawBufferPointer(room)
            while filled < size {
                let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled...])
                let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + filled)
                guard count > 0 else { return }
                filled += count
            }
        }
        return bytes.count == size ? bytes : nil
    }
}
