// The engine on a disk: RocksDB behind the seam.
//
// `cumulusd` opens one per node. Opening refuses, with one clear line, whatever would lose
// acknowledged rows or bring RocksDB down: see `RocksDBError`. Once open it keeps the promises of
// `StorageEngine`; the store is closed when the engine and its snapshots are gone. A disk without
// room refuses batches, and RocksDB goes on by itself once there is some. Every other error of a
// commit, and of RocksDB's work in the background, is `.failed`: the process has to end, and the
// next start recovers.
//
// Folder: the storage seam on RocksDB. Read `RocksDBEngine`, then `RocksDBStore`, `RocksDBReader`
// and `RocksDBOptions`.

import CRocksDB
package import CumulusModel
package import CumulusStorage
import CumulusSystem

package final class RocksDBEngine: StorageEngine, @unchecked Sendable {
    // RocksDB may be called from any thread; what is stored here never changes.

    /// Actions during opening that an operator should know of; one line each.
    package let notes: [String]
    /// The store is a backup to which nothing was written yet: it has no file `journal.end`.
    ///
    /// A store where that file is damaged counts as one too.
    package let isBackup: Bool
    private let store: RocksDBStore
    private let newest: RocksDBReader
    /// RocksDB keeps no log: a start replays the journal.
    private let writing: OpaquePointer
    /// nil if the store was opened to be read only.
    private let journal: Journal?
    /// Free bytes without which nothing is written: a full write buffer must fit into a table.
    private let least: UInt64

    /// Opens the store in `directory`, or makes a new one.
    ///
    /// - Parameters:
    ///   - path: The directory; its parent must be there.
    ///   - profile: How much memory it may take.
    ///   - cacheBytes: Memory for blocks of tables; nil means the profile's.
    ///   - reserve: Free bytes that must be there; nil means the profile's. Opening may write
    ///     more, and then asks for that: RocksDB may end the process where it finds the disk full.
    ///   - readOnly: The journal is replayed into memory and left as it is. What is written is
    ///     there until the engine is closed.
    package init(
        directory path: String,
        profile: MemoryProfile,
        cacheBytes: Int? = nil,
        reserve: UInt64? = nil,
        readOnly: Bool = false
    ) throws(RocksDBError) {
        let directory = try DataDirectory(locking: path)
        try Self.checkSpace(directory, profile, reserve ?? profile.reserveBytes)
        let inspection = try StoreInspection(directory)
        let damage = DamageNote(directory)
        let names = FamilyRenewal.Names(
            inspection.isNew ? [] : try RocksDBStore.familyNames(in: directory)
        )
        let options = RocksDBOptions(
            profile: profile,
            cacheBytes: cacheBytes,
            creating: inspection.isNew,
            recovery: inspection.tornEnds.isEmpty ? .strict : .dropTornTail,
            names: names,
            readOnly: readOnly,
            isDamaged: damage.contains
        )
        store = try RocksDBStore(directory, options, names: names, damage: damage)
        writing = rocksdb_writeoptions_create()
        rocksdb_writeoptions_disable_WAL(writing, 1)
        let replay = try Self.replay(directory, store, writing, inspection)
        if !readOnly { try store.renewDamaged(options, names) }
        journal = readOnly ? nil : try Journal(directory, after: replay, profile, store)
        isBackup = !inspection.isNew && inspection.end == nil
        notes =
            inspection.tornEnds + replay.tornEnds + inspection.remarks
            + store.renewed.map { "the tables of \($0) were written anew, with \($1) rows" }
            + Family.allCases.filter(damage.contains).map {
                """
                a table of \($0) is damaged, and none of its tables are merged: run 'cumulus \
                cluster verify --repair', then start the node again, which writes them anew
                """
            }
        newest = RocksDBReader(store, frozen: false)
        least = UInt64(profile.writeBufferBytes)
    }

    deinit {
        journal?.close()
        rocksdb_writeoptions_destroy(writing)
    }

    /// Gives RocksDB the batches that its tables lack, once it is sure that none is lost.
    private static func replay(
        _ directory: DataDirectory,
        _ store: RocksDBStore,
        _ writing: OpaquePointer,
        _ inspection: StoreInspection
    ) throws(RocksDBError) -> JournalReplay {
        let flushed: UInt64
        do {
            flushed = try store.journalInTables()
        } catch {
            throw .unusable(directory: directory.path, reason: "\(error)")
        }
        let replay = try JournalReplay(directory, flushed: flushed)
        try inspection.check(directory, row: store.sequence, record: replay.last)
        try replay.run { changes, sequence throws(EngineError) in
            let batch = RocksDBBatch(changes, store)
            batch.mark(sequence, in: store)
            try batch.write(to: store, writing)
        }
        return replay
    }

    package func get(
        _ family: Family,
        _ key: Bytes,
        reach: Reach
    ) throws(EngineError) -> Bytes? {
        try newest.get(family, key, reach: reach)
    }

    package func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        try newest.lendRows(family, range, backwards: backwards, to: visit)
    }

    package func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        try newest.read(plan)
    }

    package func snapshot() -> any EngineReader {
        RocksDBReader(store, frozen: true)
    }

    /// After a power cut, tables may be ahead of the journal by the last batch: RocksDB may write
    /// them before the journal is flushed.
    package func write(_ changes: EngineBatch) throws(EngineError) {
        if let free = store.directory.freeBytes(), free < least {
            throw .full("\(free) bytes are free, and the engine needs \(least)")
        }
        let batch = RocksDBBatch(changes, store)
        guard let journal else { return try batch.write(to: store, writing) }
        try journal.append(changes)
        batch.mark(journal.sequence + 1, in: store)
        do {
            try batch.write(to: store, writing)
        } catch {
            if case .full = error { try journal.takeBack() }
            throw error
        }
        journal.keep()
    }

    package func flush() throws(EngineError) {
        try journal?.flush()
    }

    package func freeBytes() -> UInt64? {
        store.directory.freeBytes()
    }

    package func byteCount(of family: Family, _ range: KeyRange) throws(EngineError) -> UInt64 {
        try store.byteCount(of: family, range)
    }

    /// RocksDB merges the range's tables, and the deletions with them; others write meanwhile.
    package func reclaim(_ family: Family, _ range: KeyRange) throws(EngineError) {
        store.compact(family, range)
    }

    /// Tables are linked where the file system can.
    ///
    /// What isn't in one yet is written out before, so the copy needs no journal, and has none.
    package func copy(to directory: String) throws(EngineError) {
        var message: RocksDBMessage?
        let checkpoint = rocksdb_checkpoint_object_create(store.database, &message)
        defer { if let checkpoint { rocksdb_checkpoint_object_destroy(checkpoint) } }
        if message == nil { rocksdb_checkpoint_create(checkpoint, directory, 0, &message) }
        if let message { throw .failed(takeText(message)) }
    }

    /// The memory that the engine uses now.
    package func memoryUse() -> MemoryUse {
        MemoryUse(
            writeBuffers: store.sum(of: "rocksdb.size-all-mem-tables"),
            blockCache: store.value(of: "rocksdb.block-cache-usage", .meta),
            tables: store.sum(of: "rocksdb.estimate-table-readers-mem")
        )
    }

    /// Opening may write tables of what the journal holds, or the logs of earlier releases.
    private static func checkSpace(
        _ directory: DataDirectory,
        _ profile: MemoryProfile,
        _ reserve: UInt64
    ) throws(RocksDBError) {
        let files = try directory.files()
        let logs = (JournalFile.names(among: files) + LogScan.logs(among: files).map(\.file))
            .reduce(UInt64(profile.writeBufferBytes)) { sum, file in
                sum + (Files.size(of: "\(directory.path)/\(file)") ?? 0)
            }
        let reserve = max(reserve, logs)
        guard let free = directory.freeBytes(), free < reserve else { return }
        throw .diskFull(directory: directory.path, free: free, reserve: reserve)
    }
}

/// Bytes that RocksDB holds, by purpose.
package struct MemoryUse: Equatable, Sendable {
    /// Rows that aren't in a table yet.
    package var writeBuffers: UInt64
    /// Blocks of tables: rows, indexes and filters.
    package var blockCache: UInt64
    /// Memory of open tables beside the cache.
    package var tables: UInt64
}
