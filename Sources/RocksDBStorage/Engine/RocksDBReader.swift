// Reads of RocksDB, from the newest state or from a snapshot's.
//
// hot: once per row that a request reads.
//
// The engine holds one reader, each snapshot another. Both own the store through it, so it is open
// for as long as anyone can read from it.

import CRocksDB
package import CumulusModel
package import CumulusStorage

package final class RocksDBReader: EngineReader, @unchecked Sendable {
    // RocksDB's reads may be called from any thread; what is stored here never changes.

    private let store: RocksDBStore
    private let snapshot: OpaquePointer?
    private let fromMemory: OpaquePointer
    private let fromDisk: OpaquePointer

    /// Reads the newest state at each call, or with `frozen` the newest state of this moment.
    init(_ store: RocksDBStore, frozen: Bool) {
        self.store = store
        snapshot = frozen ? rocksdb_create_snapshot(store.database) : nil
        fromMemory = Self.options(.memory, snapshot)
        fromDisk = Self.options(.disk, snapshot)
    }

    deinit {
        rocksdb_readoptions_destroy(fromMemory)
        rocksdb_readoptions_destroy(fromDisk)
        if let snapshot { rocksdb_release_snapshot(store.database, snapshot) }
    }

    package func get(
        _ family: Family,
        _ key: Bytes,
        reach: Reach
    ) throws(EngineError) -> Bytes? {
        RocksDBStore.countNothing()
        var message: RocksDBMessage?
        // Pinned: the value is copied once, from the block it stands in.
        let value = key.withCharacters { start, count in
            rocksdb_get_pinned_cf(
                store.database,
                reach == .memory ? fromMemory : fromDisk,
                store.family(family),
                start,
                count,
                &message
            )
        }
        defer { rocksdb_pinnableslice_destroy(value) }
        if let message { throw error(message, family) }
        guard let value else { return nil }
        let bytes = Bytes { count in rocksdb_pinnableslice_value(value, count) }
        // For a key of a table that isn't open yet, RocksDB reports success and an empty value,
        // which means that the key may exist.
        if reach == .memory, bytes.isEmpty { throw .notInMemory }
        return bytes
    }

    /// With `Reach.memory`, rows may have been visited before `.notInMemory` is thrown.
    package func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        reach: Reach,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        guard precedes(range.start, range.end) else { return }
        RocksDBStore.countNothing()
        // Bounds are part of the options, so each scan has its own.
        let options = Self.options(reach, snapshot)
        defer { rocksdb_readoptions_destroy(options) }
        let message = range.start.withCharacters { start, startCount in
            range.end.withCharacters { end, endCount in
                rocksdb_readoptions_set_iterate_lower_bound(options, start, startCount)
                rocksdb_readoptions_set_iterate_upper_bound(options, end, endCount)
                return iterate(store.family(family), options, backwards: backwards, visit)
            }
        }
        if let message { throw error(message, family) }
    }

    /// Damage is noted, so that no merge of tables runs into it.
    private func error(_ message: RocksDBMessage, _ family: Family) -> EngineError {
        let error = EngineError(reading: message)
        if case .corrupt = error { store.noteDamage(of: family) }
        return error
    }

    /// Visits the rows within the bounds of `options`; returns what went wrong.
    private func iterate(
        _ family: OpaquePointer,
        _ options: OpaquePointer,
        backwards: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    ) -> RocksDBMessage? {
        let iterator = rocksdb_create_iterator_cf(store.database, options, family)
        defer { rocksdb_iter_destroy(iterator) }
        if backwards {
            rocksdb_iter_seek_to_last(iterator)
        } else {
            rocksdb_iter_seek_to_first(iterator)
        }
        while rocksdb_iter_valid(iterator) != 0 {
            var (keyCount, valueCount) = (0, 0)
            let key = rocksdb_iter_key(iterator, &keyCount)
            let value = rocksdb_iter_value(iterator, &valueCount)
            let goesOn = visit(
                UnsafeRawBufferPointer(start: key, count: keyCount),
                UnsafeRawBufferPointer(start: value, count: valueCount)
            )
            guard goesOn else { break }
            if backwards {
                rocksdb_iter_prev(iterator)
            } else {
                rocksdb_iter_next(iterator)
            }
        }
        var message: RocksDBMessage?
        rocksdb_iter_get_error(iterator, &message)
        return message
    }

    private static func options(_ reach: Reach, _ snapshot: OpaquePointer?) -> OpaquePointer {
        let options: OpaquePointer = rocksdb_readoptions_create()
        rocksdb_readoptions_set_snapshot(options, snapshot)
        if reach == .memory {
            // 1 is the block cache: what isn't there makes the read incomplete.
            rocksdb_readoptions_set_read_tier(options, 1)
            // An event loop doesn't walk a long run of deleted rows either.
            rocksdb_readoptions_set_max_skippable_internal_keys(options, 1_000)
        }
        return options
    }
}
