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

    package func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        guard precedes(range.start, range.end) else { return }
        RocksDBStore.countNothing()
        // Bounds are part of the options, so each scan has its own.
        let options = Self.options(.disk, snapshot)
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

    /// Reads keys together, in about half the time of single reads.
    package func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        var values = [ReadRows.Value](repeating: .unread, count: plan.keys.count)
        var room = plan.byteLimit
        for family in Family.allCases {
            let places = plan.keys.indices.filter { plan.keys[$0].family == family }
            try read(places[...], of: plan, in: family, &values, &room)
        }
        return ReadRows(values: values, ranges: try rows(of: plan.ranges))
    }

    /// The most keys at a time: more would take hardly less time each, and a value may have a
    /// megabyte.
    private static let mostKeys = 16

    /// Reads keys of one family while there is room for their values.
    ///
    /// As many keys are read at a time as fit if no value is larger than the largest so far.
    private func read(
        _ places: ArraySlice<Int>,
        of plan: ReadPlan,
        in family: Family,
        _ values: inout [ReadRows.Value],
        _ room: inout Int
    ) throws(EngineError) {
        var (left, largest) = (places, 1)
        while !left.isEmpty, room > 0 {
            let next = left.prefix(max(1, min(RocksDBReader.mostKeys, room / largest)))
            left = left.dropFirst(next.count)
            let found = try multiGet(next.map { plan.keys[$0].bytes }, family)
            for (place, value) in zip(next, found) {
                values[place] = value
                guard case .found(let bytes) = value else { continue }
                room -= bytes.count
                largest = max(largest, bytes.count)
            }
        }
    }

    private func multiGet(
        _ keys: [Bytes],
        _ family: Family
    ) throws(EngineError) -> [ReadRows.Value] {
        RocksDBStore.countNothing()
        let sizes = keys.map(\.count)
        var found = [OpaquePointer?](repeating: nil, count: keys.count)
        var messages = [RocksDBMessage?](repeating: nil, count: keys.count)
        Bytes(keys.joined()).withCharacters { start, _ in
            var next = start
            let starts = sizes.map { size -> UnsafePointer<CChar>? in
                defer { next += size }
                return next
            }
            rocksdb_batched_multi_get_cf(
                store.database,
                fromDisk,
                store.family(family),
                keys.count,
                starts,
                sizes,
                &found,
                &messages,
                false
            )
        }
        defer { for value in found { rocksdb_pinnableslice_destroy(value) } }
        var failure: EngineError?
        let values = zip(found, messages).map { value, message -> ReadRows.Value in
            if let message {
                let problem = error(message, family)
                if case .corrupt = problem {} else { failure = problem }
                return .unread
            }
            guard let value else { return .missing }
            return .found(Bytes { count in rocksdb_pinnableslice_value(value, count) })
        }
        if let failure { throw failure }
        return values
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
            // 1 is the block cache: what isn't there makes the read incomplete. No iterator may
            // have this option: RocksDB 7.8 has ended the process where one was destroyed.
            rocksdb_readoptions_set_read_tier(options, 1)
        }
        return options
    }
}
