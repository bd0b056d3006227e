// The log of batches in front of RocksDB, which writes none of its own: segments that are made
// ahead and used again and again.
//
// `RocksDBEngine` owns it. Its one writer calls `append` for each batch, then `keep` once RocksDB
// has the batch or `takeBack` if RocksDB refused it, and then `flush`. The disk begins to write a
// record while RocksDB takes the batch in. A queue of its own makes the next segment before the
// present one is full. Each batch also leaves its sequence number in RocksDB, in the row
// `RocksDBStore.journalKey`. RocksDB writes the tables of all families together, so the row in the
// tables says what they hold. A segment is begun anew once tables hold all its records. Where
// segments pile up, RocksDB is told to write its tables. hot: two or three system calls per batch.
//
// The first batch of a store has no record: `flush` writes it to tables. It holds the format of the
// store. So a program that doesn't know this format is kept out before there is a journal that it
// would not read.
//
// Folder: the engine's own log, which a start replays. Read `Journal`, then `JournalRecord` and
// `JournalScan`, which do no I/O, `JournalReplay` and `JournalEnd`.

import CumulusModel
import CumulusStorage
import CumulusSystem
import Synchronization

final class Journal: @unchecked Sendable {
    // All but `segments` is touched by the writer only.

    /// The sequence number of the last record.
    private(set) var sequence: UInt64
    private let directory: DataDirectory
    private let profile: MemoryProfile
    private let store: RocksDBStore
    private let segments: Mutex<Segments>
    private let queue = DispatchQueue(label: "cumulus.journal")
    /// The segment that is written; nil before the first batch.
    private var current: (file: JournalFile, salt: UInt64)?
    /// Where the next record begins, and the checksum of the one before.
    private var place = 0
    private var checksum: UInt64
    /// The record that was appended last, and its checksum.
    private var record = CanonicalWriter(reserving: 64 << 10)
    private var appended: UInt64 = 0
    /// The next segment was asked for.
    private var isAhead = false
    /// No batch is in tables yet: the first one goes there.
    private var isFirst: Bool
    /// The file `journal.end` is kept; not before a batch was flushed.
    private var hasEnd = false
    /// A record buffer that a very large batch made larger is not kept.
    private static let mostKept = 8 << 20

    private struct Segments {
        /// Begun, oldest first; the last one is written.
        var live: [(file: JournalFile, first: UInt64)] = []
        var spare: [JournalFile] = []
        var number = 0

        /// Bytes of the segments that are begun.
        var liveBytes: Int { live.reduce(0) { $0 + $1.file.size } }

        /// Takes the segments back whose records are in tables up to `flushed`.
        ///
        /// Returns the spare ones that are too many: one is kept, and more up to `most` bytes of
        /// all segments.
        mutating func recycle(_ flushed: UInt64, keeping most: Int) -> [JournalFile] {
            while live.count > 1, live[1].first <= flushed + 1 {
                spare.append(live.removeFirst().file)
            }
            var (kept, surplus, size) = ([JournalFile](), [JournalFile](), liveBytes)
            for file in spare {
                size += file.size
                if kept.isEmpty || size <= most {
                    kept.append(file)
                } else {
                    surplus.append(file)
                }
            }
            spare = kept
            return surplus
        }

        mutating func take(holding count: Int) -> JournalFile? {
            let index = spare.firstIndex { $0.size >= count }
            return index.map { spare.remove(at: $0) }
        }
    }

    /// Goes on after a journal that was replayed; its first batch begins a segment.
    ///
    /// - Parameter profile: Has the size of new segments; a larger record gets a larger one.
    init(
        _ directory: DataDirectory,
        after replay: JournalReplay,
        _ profile: MemoryProfile,
        _ store: RocksDBStore
    ) throws(RocksDBError) {
        self.directory = directory
        self.profile = profile
        self.store = store
        sequence = replay.last
        checksum = replay.checksum
        isFirst = replay.last == 0
        do throws(FileProblem) {
            segments = Mutex(try Self.segments(of: replay, directory, profile.segmentBytes))
        } catch {
            throw .unusable(directory: directory.path, reason: "\(error)")
        }
        queue.sync { makeSpare(gently: false) }
    }

    private static func segments(
        of replay: JournalReplay,
        _ directory: DataDirectory,
        _ segmentBytes: Int
    ) throws(FileProblem) -> Segments {
        var segments = Segments()
        for segment in replay.chain.live {
            let file = try JournalFile(opening: segment.file, in: directory)
            segments.live.append((file, segment.head.first))
        }
        // The next segment begins with the same number.
        if replay.endsEmpty, let empty = segments.live.popLast() {
            try empty.file.erase()
            segments.spare.append(empty.file)
        }
        for name in replay.chain.spare {
            let file = try JournalFile(opening: name, in: directory)
            if file.size == segmentBytes {
                segments.spare.append(file)
            } else {
                unlink("\(directory.path)/\(name)")
            }
        }
        let names = replay.chain.live.map(\.file) + replay.chain.spare
        segments.number = names.compactMap(JournalFile.number).max() ?? 0
        return segments
    }

    /// Waits until nothing is made in the background any more.
    func close() { queue.sync {} }

    /// Appends the batch as the record after `sequence`.
    ///
    /// Throws `.full` if the disk has no room for it, and has then written nothing of it.
    func append(_ batch: EngineBatch) throws(EngineError) {
        if isFirst { return }
        record.bytes.removeAll(keepingCapacity: record.bytes.capacity <= Self.mostKept)
        record.raw(repeatElement(0, count: JournalRecord.headSize))
        JournalPayload.write(batch, to: &record)
        let count = JournalRecord.aligned(record.bytes.count)
        let segment: (file: JournalFile, salt: UInt64)
        if let current, place + count <= current.file.size {
            segment = current
        } else {
            segment = try begin(holding: count)
        }
        appended = JournalRecord.seal(
            &record.bytes,
            sequence: sequence + 1,
            before: checksum,
            salt: segment.salt
        )
        do {
            try segment.file.write(record.bytes[...], at: place)
        } catch {
            throw failure(segment.file, error)
        }
        segment.file.beginWriting(count, at: place)
    }

    /// The record that was appended counts: RocksDB has the batch.
    func keep() {
        sequence += 1
        guard let current else { return }
        checksum = appended
        place += record.bytes.count
        if !isAhead, place > current.file.size / 2 {
            isAhead = true
            queue.async { [weak self] in self?.makeSpare(gently: true) }
        }
    }

    /// Removes the record that was appended: RocksDB refused the batch, and no start may find it.
    func takeBack() throws(EngineError) {
        guard let current else { return }
        let zeros = [UInt8](repeating: 0, count: JournalRecord.headSize)
        do {
            try current.file.write(zeros[...], at: place)
            try current.file.flush()
        } catch {
            throw failure(current.file, error)
        }
    }

    /// Makes the batches durable that were appended.
    func flush() throws(EngineError) {
        if let current {
            do {
                try current.file.flush()
            } catch {
                throw failure(current.file, error)
            }
        } else if isFirst, sequence > 0 {
            try writeFirst()
        } else {
            return
        }
        store.end.reach(sequence)
        if hasEnd { return }
        hasEnd = true
        store.end.begin()
    }

    private func writeFirst() throws(EngineError) {
        store.writeTables()
        guard try store.journalInTables() == sequence else {
            throw .failed("\(directory.path): the first batch can't be written to tables")
        }
        isFirst = false
    }

    private func failure(_ file: JournalFile, _ problem: FileProblem) -> EngineError {
        .failed("\(directory.path)/\(file.name): \(problem)")
    }

    // MARK: Segments

    /// Begins a segment: when this returned, its head is on the disk.
    private func begin(
        holding count: Int
    ) throws(EngineError) -> (file: JournalFile, salt: UInt64) {
        do throws(FileProblem) {
            if place == JournalHead.room { try giveUp() }
            let file = try spare(holding: JournalHead.room + count)
            let salt = UInt64.random(in: 1 ... .max)
            let first = sequence + 1
            try file.begin(JournalHead(salt: salt, first: first, before: checksum))
            segments.withLock { $0.live.append((file, first)) }
            place = JournalHead.room
            isAhead = false
            current = (file, salt)
            return (file, salt)
        } catch {
            guard error.code == ENOSPC || error.code == EDQUOT else {
                throw .failed("\(directory.path): the journal: \(error)")
            }
            throw .full("the journal can't be made larger")
        }
    }

    /// Gives the present segment back, which has no record, so that no two begin with one number.
    private func giveUp() throws(FileProblem) {
        guard let file = current?.file else { return }
        try file.erase()
        current = nil
        segments.withLock { segments in
            segments.live.removeLast()
            segments.spare.append(file)
        }
    }

    private func spare(holding count: Int) throws(FileProblem) -> JournalFile {
        recycle()
        if let file = segments.withLock({ $0.take(holding: count) }) { return file }
        // One may be on its way.
        queue.sync {}
        if let file = segments.withLock({ $0.take(holding: count) }) { return file }
        return try make(holding: count, gently: false)
    }

    /// Takes back the segments whose records are in tables, and removes those that are too many.
    private func recycle() {
        guard let flushed = try? store.journalInTables() else { return }
        let most = profile.journalBytes / 2
        for file in segments.withLock({ $0.recycle(flushed, keeping: most) }) {
            unlink("\(directory.path)/\(file.name)")
        }
    }

    /// Runs on the queue; a failure shows when the segment is needed.
    private func makeSpare(gently: Bool) {
        recycle()
        if segments.withLock({ $0.spare.isEmpty }),
            let file = try? make(holding: 0, gently: gently)
        {
            segments.withLock { $0.spare.append(file) }
        }
        writePiled()
    }

    /// Where rows in memory keep many segments, writes them to tables.
    ///
    /// They fill few segments, so that happens where the process was killed often, or batches leave
    /// much of each segment empty.
    private func writePiled() {
        guard segments.withLock({ $0.liveBytes > profile.journalBytes }),
            directory.freeBytes().map({ $0 >= profile.writeBufferBytes }) ?? true
        else { return }
        store.writeTables()
        recycle()
    }

    private func make(holding count: Int, gently: Bool) throws(FileProblem) -> JournalFile {
        let number = segments.withLock { segments in
            segments.number += 1
            return segments.number
        }
        let page = JournalHead.room
        let size = max(profile.segmentBytes, (count + page - 1) / page * page)
        return try JournalFile(making: number, size: size, in: directory, gently: gently)
    }
}
