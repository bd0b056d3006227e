// A store as releases before the journal wrote it: what was committed stands in RocksDB's log.

import CRocksDB
import CumulusModel
import CumulusStorage
import Foundation

@testable import RocksDBStorage

/// Opens the store, or makes it; it is closed when this is gone.
///
/// A further opening makes tables of the log, as such a release did, and begins another one.
final class TakenOverStore {
    private let store: RocksDBStore
    private let writing: OpaquePointer

    init(_ path: String) throws {
        let directory = try DataDirectory(locking: path)
        let isNew = try !directory.files().contains("CURRENT")
        store = try RocksDBStore(
            directory,
            RocksDBOptions(profile: .small, creating: isNew, recovery: .strict),
            damage: DamageNote(directory)
        )
        writing = rocksdb_writeoptions_create()
        rocksdb_writeoptions_set_sync(writing, 1)
    }

    deinit { rocksdb_writeoptions_destroy(writing) }

    func commit(_ batch: EngineBatch) throws {
        try RocksDBBatch(batch, store).write(to: store, writing)
    }

    /// Commits rows of `records`, one by one.
    func commit(_ rows: Range<Int>, valueSize: Int = 200) throws {
        for number in rows {
            let value = Bytes(repeating: UInt8(number % 251), count: valueSize)
            try commit(.writing(.records, [(bytes(number), value)]))
        }
    }

    /// Writes END: all that was committed is on the disk.
    ///
    /// - Parameter log: The number of the log that holds the last row; 0: none of the newest.
    func note(log: UInt64 = 0) throws {
        let end = TakenOverEnd(sequence: store.sequence, log: log)
        try store.directory.replace(TakenOverEnd.file, with: end.bytes)
    }

    /// Writes END: the newest log holds the last row.
    func noteNewest() throws {
        let logs = LogScan.logs(among: try store.directory.files())
        try note(log: logs.last?.number ?? 0)
    }
}
