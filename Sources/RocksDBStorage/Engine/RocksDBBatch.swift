// A batch of the seam as one write batch of RocksDB.
//
// Made by the engine for each write.

import CRocksDB
import CumulusModel
import CumulusStorage

struct RocksDBBatch: ~Copyable {
    private let batch: OpaquePointer

    /// Range deletes come first: RocksDB applies them in order, so a row written here stays.
    init(_ changes: EngineBatch, _ store: RocksDBStore) {
        batch = rocksdb_writebatch_create()
        for (family, range) in changes.deletedRanges where precedes(range.start, range.end) {
            delete(store.family(family), range)
        }
        for write in changes.writes {
            self.write(store.family(write.family), write.key, write.value)
        }
    }

    deinit { rocksdb_writebatch_destroy(batch) }

    /// Leaves the number of the batch's record in the journal beside its rows.
    func mark(_ sequence: UInt64, in store: RocksDBStore) {
        store.markJournal(sequence, in: batch)
    }

    /// Makes the batch visible.
    func write(to store: RocksDBStore, _ options: OpaquePointer) throws(EngineError) {
        RocksDBStore.countNothing()
        var message: RocksDBMessage?
        rocksdb_write(store.database, options, batch, &message)
        guard let message else { return }
        let text = takeText(message)
        store.noteDamage(in: text)
        throw EngineError(writing: text)
    }

    private func delete(_ family: OpaquePointer, _ range: KeyRange) {
        range.start.withCharacters { start, startCount in
            range.end.withCharacters { end, endCount in
                rocksdb_writebatch_delete_range_cf(batch, family, start, startCount, end, endCount)
            }
        }
    }

    private func write(_ family: OpaquePointer, _ key: Bytes, _ value: Bytes?) {
        key.withCharacters { key, keyCount in
            guard let value else {
                return rocksdb_writebatch_delete_cf(batch, family, key, keyCount)
            }
            value.withCharacters { value, valueCount in
                rocksdb_writebatch_put_cf(batch, family, key, keyCount, value, valueCount)
            }
        }
    }
}
