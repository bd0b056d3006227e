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
    /// The store is a backup that was never opened: it has no file END.
    ///
    /// A store that only releases without END wrote, or whose END is damaged, counts as one too.
    package let isBackup: Bool
    private let store: RocksDBStore
    private let newest: RocksDBReader
    /// They don't flush: that is a step of its own.
    private let writing: OpaquePointer
    private let isFlushing: Bool
    private let logRoom: LogRoom

    /// Opens the store in `directory`, or makes a new one.
    ///
    /// - Parameters:
    ///   - path: The directory; its parent must be there.
    ///   - profile: How much memory it may take.
    ///   - cacheBytes: Memory for blocks of tables; nil means the profile's.
    ///   - reserve: Free bytes that must be there; nil means the profile's. Opening may write
    ///     more, and then asks for that: RocksDB may end the process where it finds the disk full.
    ///   - flushing: False only in the test that shows what a power cut then costs.
    package init(
        directory path: String,
        profile: MemoryProfile,
        cacheBytes: Int? = nil,
        reserve: UInt64? = nil,
        flushing: Bool = true
    ) throws(RocksDBError) {
        let directory = try DataDirectory(locking: path)
        try Self.checkSpace(directory, profile, reserve ?? profile.reserveBytes)
        let inspection = try StoreInspection(directory)
        let damage = DamageNote(directory)
        let names = FamilyRenewal.Names(
            inspection.isNew ? [] : try RocksDBStore.familyNames(in: directory)
        )
        store = try RocksDBStore(
            directory,
            RocksDBOptions(
                profile: profile,
                cacheBytes: cacheBytes,
                creating: inspection.isNew,
                recovery: inspection.tornEnds.isEmpty ? .strict : .dropTornTail,
                names: names,
                isDamaged: damage.contains
            ),
            names: names,
            damage: damage
        )
        // Rows that the logs no longer hold must be in the tables.
        if let end = inspection.end, store.sequence < end.sequence {
            throw .endMissing(directory: path)
        }
        isBackup = !inspection.isNew && inspection.end == nil
        notes =
            inspection.tornEnds + inspection.remarks
            + store.renewed.map { "the tables of \($0) were written anew, with \($1) rows" }
            + Family.allCases.filter(damage.contains).map {
                """
                a table of \($0) is damaged, and none of its tables are merged: run 'cumulus \
                cluster verify --repair', then start the node again, which writes them anew
                """
            }
        newest = RocksDBReader(store, frozen: false)
        writing = rocksdb_writeoptions_create()
        isFlushing = flushing
        logRoom = LogRoom(directory, least: UInt64(profile.writeBufferBytes))
        store.end.reach(store.sequence)
        // END must not count unflushed rows as being on the disk.
        if flushing { store.end.begin() }
    }

    deinit { rocksdb_writeoptions_destroy(writing) }

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

    package func write(_ batch: EngineBatch) throws(EngineError) {
        let batch = RocksDBBatch(batch, store)
        try logRoom.hold(batch.logBytes)
        try batch.write(to: store, writing)
    }

    package func flush() throws(EngineError) {
        if isFlushing {
            var message: RocksDBMessage?
            rocksdb_flush_wal(store.database, 1, &message)
            if let message { throw .failed(takeText(message)) }
        }
        store.end.reach(store.sequence)
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

    /// Tables are linked where the file system can; what isn't in one yet is written out before.
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

    /// Opening writes tables of what the logs hold, and begins a new log.
    private static func checkSpace(
        _ directory: DataDirectory,
        _ profile: MemoryProfile,
        _ reserve: UInt64
    ) throws(RocksDBError) {
        let logs = LogScan.logs(among: try directory.files())
            .reduce(UInt64(profile.writeBufferBytes)) { sum, log in
                sum + (Files.size(of: "\(directory.path)/\(log.file)") ?? 0)
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
