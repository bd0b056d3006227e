// Downloaded assets as files of a directory; the least recently used ones go when they take too
// much room.
//
// One per container. A whole asset is a file named by its digest; beside it lies its list, where it
// has several chunks, so that other assets with the same chunks need not fetch them. One that is on
// its way has a name of its own, and goes on from there, also in another process. `AssetCuts` keeps
// its files there, too.

import CumulusAssets
import CumulusModel
import CumulusSystem
import Synchronization

final class AssetCache: Sendable {
    let directory: String
    private let byteLimit: UInt64
    private let state = Mutex(State())
    /// Whether files from before the machine's last start have been marked.
    private let suspectAfterBoot = Mutex(false)

    private struct State {
        /// Running downloads by asset.
        var running: [Bytes: Running] = [:]
        /// Number of downloads that were begun.
        var downloads: UInt64 = 0
        /// All tasks that have not ended, including tasks that nothing waits for any more.
        var tasks: [UInt64: Task<String, any Error>] = [:]
        /// Chunks that are on their way, and with which download.
        var claims: [Bytes: UInt64] = [:]
        /// Places of the chunks of whole assets; nil until the files were searched.
        var places: [Bytes: Place]?
    }

    private struct Running {
        let task: Task<String, any Error>
        /// Tells it from a later download of the same asset.
        let number: UInt64
        var waiters: Int
    }

    /// The place of a chunk's plain bytes.
    struct Place: Sendable {
        let asset: Bytes
        let offset: UInt64
        let size: Int
    }

    init(directory: String, byteLimit: UInt64) {
        self.directory = directory
        self.byteLimit = byteLimit
    }

    /// A folder for the container in the user's caches.
    static func standardDirectory(_ container: String) -> String {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        let folder = (caches ?? FileManager.default.temporaryDirectory).path(percentEncoded: false)
        let name = String(container.map { $0 == "/" ? "_" : $0 })
        return "\(folder)/cumulus/\(name)"
    }

    // MARK: Whole assets

    func path(of asset: Bytes) -> String { "\(directory)/\(asset.hex)" }
    func listPath(of asset: Bytes) -> String { "\(directory)/\(asset.hex).list" }
    func partPath(of asset: Bytes) -> String { "\(directory)/\(asset.hex).part" }

    /// The file of a whole asset, which counts as used now; nil means it is not here.
    func file(of asset: Asset) -> String? {
        suspectAfterBoot.withLock { isDone in
            if !isDone { suspectEarlierFiles() }
            isDone = true
        }
        let path = path(of: asset.digest)
        var status = stat()
        guard stat(path, &status) == 0, UInt64(status.st_size) == asset.size else { return nil }
        if status.st_mtim.tv_sec == 0, !isWhole(path, asset.digest) {
            unlink(path)
            return nil
        }
        AssetCache.markUsed(path)
        return path
    }

    /// Sets a file's time of change to now, to the nanosecond.
    ///
    /// The time that the kernel would set itself only moves every few milliseconds: files that were
    /// used one right after the other would all count as equally old.
    static func markUsed(_ path: String) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        utimensat(AT_FDCWD, path, [now, now], 0)
    }

    // MARK: After a boot

    /// Files are not flushed, so a loss of power may leave one with a name and without its bytes:
    /// those from before the machine's last start are read once before they are used.
    private func suspectEarlierFiles() {
        let mark = "\(directory)/boot"
        guard let boot = AssetCache.bootID, let names = try? names() else { return }
        if let known = FileManager.default.contents(atPath: mark), known == boot { return }
        var never = [timeval(), timeval()]
        for name in names where name.count == 64 { utimes("\(directory)/\(name)", &never) }
        _ = FileManager.default.createFile(atPath: mark, contents: boot)
    }

    private func isWhole(_ path: String, _ digest: Bytes) -> Bool {
        guard let data = try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped) else {
            return false
        }
        return data.withUnsafeBytes { ChunkList(cutting: $0) }.digest == digest
    }

    /// nil where the system doesn't tell: then files are trusted.
    private static let bootID = FileManager.default.contents(
        atPath: "/proc/sys/kernel/random/boot_id"
    )

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory)
    }

    /// An asset is whole: it takes its name, and others go if need be.
    func finish(_ asset: Asset, _ list: ChunkList, from part: String) throws(ServiceError) -> String
    {
        let path = path(of: asset.digest)
        guard rename(part, path) == 0 else { throw AssetCache.problem(path) }
        AssetCache.markUsed(path)
        state.withLock { state in
            if state.places != nil { AssetCache.note(list, of: asset.digest, in: &state.places) }
        }
        if list.count < 2 { unlink(listPath(of: asset.digest)) }
        evict(keeping: asset.digest)
        return path
    }

    /// Makes room, if need be.
    func evict(keeping kept: Bytes = []) {
        let busy = Set(state.withLock { $0.running.keys.map(\.hex) } + [kept.hex])
        guard let names = try? names() else { return }
        var files: [(name: String, size: UInt64, used: Double)] = []
        for name in names where name != "boot" {
            var status = stat()
            guard stat("\(directory)/\(name)", &status) == 0 else { continue }
            let used = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
            files.append((name, UInt64(status.st_size), used))
        }
        var total = files.reduce(0) { $0 + $1.size }
        for file in files.sorted(by: { $0.used < $1.used }) where total > byteLimit {
            guard !busy.contains(String(file.name.prefix(64))) else { continue }
            // Another process may be filling it.
            if file.name.contains(".part"), file.used > Date().timeIntervalSince1970 - 3_600 {
                continue
            }
            unlink("\(directory)/\(file.name)")
            total -= file.size
        }
    }

    // MARK: Chunks that are here

    /// The place of a chunk of another asset.
    func place(of chunk: Bytes) -> Place? {
        state.withLock { state in
            if state.places == nil { state.places = readPlaces() }
            return state.places?[chunk]
        }
    }

    private func readPlaces() -> [Bytes: Place] {
        var places: [Bytes: Place]? = [:]
        let names = (try? names()) ?? []
        for name in names where name.hasSuffix(".list") {
            guard let digest = Bytes(hex: String(name.dropLast(5))),
                let list = list(of: digest),
                FileManager.default.fileExists(atPath: path(of: digest))
            else { continue }
            AssetCache.note(list, of: digest, in: &places)
        }
        return places ?? [:]
    }

    private static func note(_ list: ChunkList, of asset: Bytes, in places: inout [Bytes: Place]?) {
        guard list.count > 1 else { return }
        var offset: UInt64 = 0
        for entry in list.entries {
            places?[entry.digest] = Place(asset: asset, offset: offset, size: entry.size)
            offset += UInt64(entry.size)
        }
    }

    /// The list that lies beside an asset, if it is that asset's.
    func list(of asset: Bytes) -> ChunkList? {
        guard let data = FileManager.default.contents(atPath: listPath(of: asset)),
            let list = try? ChunkList(checking: Bytes(data)), list.digest == asset
        else { return nil }
        return list
    }

    func keep(_ list: ChunkList, of asset: Bytes) {
        _ = FileManager.default.createFile(atPath: listPath(of: asset), contents: Data(list.bytes))
    }

    // MARK: Downloads

    /// The file of an asset; starts `download` unless one is running.
    ///
    /// The download ends when no task waits for it any more.
    ///
    /// - Parameter download: Told its number.
    func file(
        of asset: Asset,
        _ download: @escaping @Sendable (UInt64) async throws -> String
    ) async throws -> String {
        let running = state.withLock { state in
            if var running = state.running[asset.digest] {
                running.waiters += 1
                state.running[asset.digest] = running
                return running
            }
            state.downloads += 1
            let number = state.downloads
            let task = Task { [self] in
                defer { end(asset.digest, number) }
                return try await download(number)
            }
            let running = Running(task: task, number: number, waiters: 1)
            state.tasks[number] = task
            state.running[asset.digest] = running
            return running
        }
        return try await withTaskCancellationHandler {
            try await running.task.valueUnlessCancelled()
        } onCancel: {
            leave(asset.digest, running.number)
        }
    }

    private func leave(_ asset: Bytes, _ number: UInt64) {
        state.withLock { state in
            guard state.running[asset]?.number == number else { return }
            state.running[asset]?.waiters -= 1
            guard let running = state.running[asset], running.waiters == 0 else { return }
            running.task.cancel()
            // The next caller begins anew.
            state.running[asset] = nil
        }
    }

    private func end(_ asset: Bytes, _ number: UInt64) {
        state.withLock { state in
            state.tasks[number] = nil
            state.claims = state.claims.filter { $0.value != number }
            if state.running[asset]?.number == number { state.running[asset] = nil }
        }
    }

    /// Claims chunks for a download; returns chunks that another download has claimed, with that
    /// download.
    ///
    /// A download claims its chunks once, so two downloads never wait for each other.
    func claim(
        _ chunks: [Bytes],
        for download: UInt64
    ) -> [(chunk: Bytes, download: Task<String, any Error>)] {
        state.withLock { state in
            var elsewhere: [(Bytes, Task<String, any Error>)] = []
            for chunk in chunks {
                if let other = state.claims[chunk], other != download,
                    let task = state.tasks[other]
                {
                    elsewhere.append((chunk, task))
                } else {
                    state.claims[chunk] = download
                }
            }
            return elsewhere
        }
    }

    static func problem(_ path: String, _ code: Int32 = errno) -> ServiceError {
        ServiceError(
            .internalError,
            code == ENOSPC || code == EDQUOT ? .diskFull : .none,
            "the asset cache can't be used: \(path): \(String(cString: strerror(code)))"
        )
    }
}

extension Task where Failure == any Error {
    /// The task's result; throws at once if the waiting task is cancelled.
    func valueUnlessCancelled() async throws -> Success {
        let waiter = TaskWaiter<Success>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiter.begin(continuation)
                Task<Void, Never> { waiter.end(await result) }
                if Task<Never, Never>.isCancelled { waiter.end(.failure(ClientCore.cancelled)) }
            }
        } onCancel: {
            waiter.end(.failure(ClientCore.cancelled))
        }
    }
}

/// Waits for whatever comes first.
private final class TaskWaiter<Value: Sendable>: Sendable {
    private let continuation = Mutex<CheckedContinuation<Value, any Error>?>(nil)

    func begin(_ waiting: CheckedContinuation<Value, any Error>) {
        continuation.withLock { $0 = waiting }
    }

    func end(_ result: Result<Value, any Error>) {
        continuation.withLock { $0.take() }?.resume(with: result)
    }
}
