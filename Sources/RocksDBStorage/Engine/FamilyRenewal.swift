// Writes the tables of a family anew, where one of them is damaged and all its rows can be read
// again.
//
// `RocksDBStore` asks it at the end of an opening. RocksDB can't merge a table with a damaged
// block, and stops all writes when it tries. So a family with such a table is not merged until it
// was rewritten: its rows are copied to a family of the next generation, and the old one is dropped
// as a whole. The name says the generation: `records`, `records-2`, and so on. A copy that a crash
// interrupted stays beside its source, and the next opening drops it.

import CRocksDB
import CumulusStorage

struct FamilyRenewal {
    /// The names of families in a database, and of unfinished copies.
    struct Names {
        private(set) var current: [Family: String] = [:]
        private(set) var unfinished: [String] = []

        /// - Parameter all: The names that the database lists; empty if it is new.
        init(_ all: [String]) {
            for family in Family.allCases {
                let generations = all.filter { Names.generation($0, of: family) != nil }.sorted {
                    Names.generation($0, of: family) ?? 0 < Names.generation($1, of: family) ?? 0
                }
                current[family] = generations.first ?? "\(family)"
                unfinished += generations.dropFirst()
            }
        }

        subscript(family: Family) -> String { current[family] ?? "\(family)" }

        func next(after family: Family) -> String {
            "\(family)-\((Names.generation(self[family], of: family) ?? 1) + 1)"
        }

        private static func generation(_ name: String, of family: Family) -> Int? {
            if name == "\(family)" { return 1 }
            guard name.hasPrefix("\(family)-") else { return nil }
            return Int(name.dropFirst("\(family)-".count))
        }
    }

    let database: OpaquePointer
    let old: OpaquePointer
    let options: OpaquePointer

    /// Bytes that are written at once.
    private static let batchBytes = 4 << 20

    /// Copies all rows; returns the new family, or nil if they can't all be read yet.
    ///
    /// The old one is dropped, and its handle still has to be destroyed.
    func run(as name: String) throws(RocksDBMessageError) -> (family: OpaquePointer, rows: Int)? {
        let new = try checked { rocksdb_create_column_family(database, options, name, &$0) }
        guard let new else { return nil }
        guard let rows = try copy(to: new) else {
            try checked { rocksdb_drop_column_family(database, new, &$0) }
            rocksdb_column_family_handle_destroy(new)
            return nil
        }
        let flushing = rocksdb_flushoptions_create()
        defer { rocksdb_flushoptions_destroy(flushing) }
        try checked { rocksdb_flush_cf(database, flushing, new, &$0) }
        try checked { rocksdb_drop_column_family(database, old, &$0) }
        return (new, rows)
    }

    /// Returns the number of rows, nil if not all can be read.
    private func copy(to new: OpaquePointer) throws(RocksDBMessageError) -> Int? {
        let reading = rocksdb_readoptions_create()
        defer { rocksdb_readoptions_destroy(reading) }
        rocksdb_readoptions_set_fill_cache(reading, 0)
        let iterator = rocksdb_create_iterator_cf(database, reading, old)
        defer { rocksdb_iter_destroy(iterator) }
        let batch = rocksdb_writebatch_create()
        defer { rocksdb_writebatch_destroy(batch) }
        var (rows, size) = (0, 0)
        rocksdb_iter_seek_to_first(iterator)
        while rocksdb_iter_valid(iterator) != 0 {
            var (keyCount, valueCount) = (0, 0)
            let key = rocksdb_iter_key(iterator, &keyCount)
            let value = rocksdb_iter_value(iterator, &valueCount)
            rocksdb_writebatch_put_cf(batch, new, key, keyCount, value, valueCount)
            rows += 1
            size += keyCount + valueCount
            if size >= FamilyRenewal.batchBytes {
                try write(batch)
                size = 0
            }
            rocksdb_iter_next(iterator)
        }
        var damage: RocksDBMessage?
        rocksdb_iter_get_error(iterator, &damage)
        if let damage {
            rocksdb_free(damage)
            return nil
        }
        try write(batch)
        return rows
    }

    private func write(_ batch: OpaquePointer?) throws(RocksDBMessageError) {
        let writing = rocksdb_writeoptions_create()
        defer { rocksdb_writeoptions_destroy(writing) }
        // They are safe once they are in a table.
        rocksdb_writeoptions_disable_WAL(writing, 1)
        try checked { rocksdb_write(database, writing, batch, &$0) }
        rocksdb_writebatch_clear(batch)
    }

    @discardableResult
    private func checked<Value>(
        _ call: (inout RocksDBMessage?) -> Value
    ) throws(RocksDBMessageError) -> Value {
        var message: RocksDBMessage?
        let value = call(&message)
        if let message { throw RocksDBMessageError(text: takeText(message)) }
        return value
    }
}

/// An error message of RocksDB.
struct RocksDBMessageError: Error {
    let text: String
}
