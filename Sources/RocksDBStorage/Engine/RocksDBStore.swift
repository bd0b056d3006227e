// The open database of RocksDB: its handle and those of its families.
//
// Shared by the engine and its readers; it is closed when the last of them is gone.

import CRocksDB
import CumulusStorage
import CumulusSystem

final class RocksDBStore: @unchecked Sendable {
    // RocksDB may be called from any thread; the handles never change and live as long as this
    // object.

    let directory: DataDirectory
    let database: OpaquePointer
    let end: EndKeeper
    /// The unused default family of RocksDB, then ours in the order of `Family`.
    private let families: [OpaquePointer]

    init(
        _ directory: DataDirectory,
        _ options: borrowing RocksDBOptions
    ) throws(RocksDBError) {
        let names = options.families.map { UnsafePointer(strdup($0.name)) }
        defer { for name in names { free(UnsafeMutablePointer(mutating: name)) } }
        let familyOptions = options.families.map { OpaquePointer?($0.options) }
        var handles = [OpaquePointer?](repeating: nil, count: names.count)
        var message: RocksDBMessage?
        let database = rocksdb_open_column_families(
            options.database,
            directory.path,
            Int32(names.count),
            names,
            familyOptions,
            &handles,
            &message
        )
        if let message { throw .unusable(directory: directory.path, reason: takeText(message)) }
        guard let database else {
            throw .unusable(directory: directory.path, reason: "RocksDB gave no reason")
        }
        self.directory = directory
        self.database = database
        end = EndKeeper(directory)
        families = handles.compactMap { $0 }
    }

    deinit {
        for family in families { rocksdb_column_family_handle_destroy(family) }
        rocksdb_close(database)
        end.close()
    }

    /// The number of the last row that was committed.
    var sequence: UInt64 { rocksdb_get_latest_sequence_number(database) }

    /// Nobody reads what RocksDB counts per thread: a look at a thread's own memory for each key
    /// that is compared, and several rows are compared for each that is found.
    static func countNothing() {
        rocksdb_set_perf_level(Int32(rocksdb_disable))
    }

    func family(_ family: Family) -> OpaquePointer {
        families[1 + Int(family.rawValue)]
    }

    /// Of tables; what stands in the write buffers only doesn't count.
    func byteCount(of family: Family, _ range: KeyRange) throws(EngineError) -> UInt64 {
        var (size, message): (UInt64, RocksDBMessage?) = (0, nil)
        range.start.withUnsafeBytes { start in
            range.end.withUnsafeBytes { end in
                var first = start.baseAddress?.assumingMemoryBound(to: CChar.self)
                var last = end.baseAddress?.assumingMemoryBound(to: CChar.self)
                var (firstCount, lastCount) = (start.count, end.count)
                rocksdb_approximate_sizes_cf(
                    database,
                    self.family(family),
                    1,
                    &first,
                    &firstCount,
                    &last,
                    &lastCount,
                    &size,
                    &message
                )
            }
        }
        if let message { throw .failed(takeText(message)) }
        return size
    }

    func compact(_ family: Family, _ range: KeyRange) {
        let options = rocksdb_compactoptions_create()
        defer { rocksdb_compactoptions_destroy(options) }
        rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0)
        range.start.withUnsafeBytes { start in
            range.end.withUnsafeBytes { end in
                rocksdb_compact_range_cf_opt(
                    database,
                    self.family(family),
                    options,
                    start.baseAddress?.assumingMemoryBound(to: CChar.self),
                    start.count,
                    end.baseAddress?.assumingMemoryBound(to: CChar.self),
                    end.count
                )
            }
        }
    }

    /// A number that RocksDB keeps about itself, summed over the families; 0 if it has no such.
    func sum(of property: String) -> UInt64 {
        families.reduce(0) { $0 + value(of: property, $1) }
    }

    /// The same number of one family; nil is RocksDB's own, where it also counts for the database.
    func value(of property: String, _ family: Family?) -> UInt64 {
        value(of: property, family.map(self.family) ?? families[0])
    }

    private func value(of property: String, _ family: OpaquePointer) -> UInt64 {
        var value: UInt64 = 0
        _ = rocksdb_property_int_cf(database, family, property, &value)
        return value
    }
}
