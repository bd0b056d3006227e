// The open database of RocksDB: its handle and the handles of its families.
//
// Shared by the engine and its readers; it is closed when the last of them is gone.

import CRocksDB
import CumulusModel
import CumulusStorage
import CumulusSystem

final class RocksDBStore: @unchecked Sendable {
    // RocksDB may be called from any thread; the handles change in `init` only and live as long as
    // this object.

    let directory: DataDirectory
    let database: OpaquePointer
    let end: EndKeeper
    /// The families that were written anew when the store was opened, with their rows.
    private(set) var renewed: [(family: Family, rows: Int)] = []
    private let damage: DamageNote
    /// RocksDB's default family, which has one row or none, then ours in the order of `Family`.
    private var families: [OpaquePointer]

    init(
        _ directory: DataDirectory,
        _ options: borrowing RocksDBOptions,
        names familyNames: FamilyRenewal.Names = FamilyRenewal.Names([]),
        damage: DamageNote
    ) throws(RocksDBError) {
        let unfinished = familyNames.unfinished
        let all = options.families.map(\.name) + unfinished
        let names = all.map { UnsafePointer(strdup($0)) }
        defer { for name in names { free(UnsafeMutablePointer(mutating: name)) } }
        // A copy that was not finished is only dropped.
        let familyOptions =
            options.families.map { OpaquePointer?($0.options) }
            + unfinished.map { _ in OpaquePointer?(options.families[0].options) }
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
        self.damage = damage
        end = EndKeeper(directory)
        families = handles.compactMap { $0 }
        for handle in families.dropFirst(options.families.count) {
            rocksdb_drop_column_family(database, handle, &message)
            rocksdb_column_family_handle_destroy(handle)
            if let message { throw .unusable(directory: directory.path, reason: takeText(message)) }
        }
        families.removeLast(unfinished.count)
    }

    /// The names of the families of a database that is not open.
    static func familyNames(in directory: DataDirectory) throws(RocksDBError) -> [String] {
        let options = rocksdb_options_create()
        defer { rocksdb_options_destroy(options) }
        var (count, message): (Int, RocksDBMessage?) = (0, nil)
        let list = rocksdb_list_column_families(options, directory.path, &count, &message)
        if let message { throw .unusable(directory: directory.path, reason: takeText(message)) }
        defer { rocksdb_list_column_families_destroy(list, count) }
        return (0..<count).compactMap { list?[$0].map { String(cString: $0) } }
    }

    /// Writes the tables of damaged families anew, as far as all their rows can be read.
    ///
    /// It comes after the replay of the journal, which may have what a repair wrote.
    func renewDamaged(
        _ options: borrowing RocksDBOptions,
        _ names: FamilyRenewal.Names
    ) throws(RocksDBError) {
        for family in Family.allCases where damage.contains(family) {
            try renew(family, options.families[1 + Int(family.rawValue)], names)
        }
    }

    private func renew(
        _ family: Family,
        _ current: (name: String, options: OpaquePointer),
        _ names: FamilyRenewal.Names
    ) throws(RocksDBError) {
        // Rows, and as much again until the old ones are dropped.
        let size = try? byteCount(of: family, KeyRange(start: [], end: [0xFF]))
        guard let size, directory.freeBytes().map({ $0 > 3 * size }) ?? true else { return }
        rocksdb_options_set_disable_auto_compactions(current.options, 0)
        let old = self.family(family)
        let renewal = FamilyRenewal(database: database, old: old, options: current.options)
        do {
            guard let new = try renewal.run(as: names.next(after: family)) else { return }
            rocksdb_column_family_handle_destroy(old)
            families[1 + Int(family.rawValue)] = new.family
            renewed.append((family, new.rows))
            damage.remove(family)
        } catch {
            throw .unusable(directory: directory.path, reason: error.text)
        }
    }

    // MARK: Damage

    /// A table of a family is damaged: its tables are not merged until it was written anew.
    func noteDamage(of family: Family) {
        guard damage.add(family) else { return }
        let (key, value) = (strdup("disable_auto_compactions"), strdup("true"))
        defer {
            free(key)
            free(value)
        }
        var (keys, values) = ([UnsafePointer(key)], [UnsafePointer(value)])
        var message: RocksDBMessage?
        rocksdb_set_options_cf(database, self.family(family), 1, &keys, &values, &message)
        if let message { rocksdb_free(message) }
    }

    /// The same of the family whose table a message of RocksDB names.
    func noteDamage(in message: String) {
        guard message.hasPrefix("Corruption"),
            let match = message.firstMatch(of: /([0-9]+)\.sst/), let number = Int(match.output.1)
        else { return }
        let files = rocksdb_livefiles(database)
        defer { rocksdb_livefiles_destroy(files) }
        for index in 0..<rocksdb_livefiles_count(files) {
            guard let name = rocksdb_livefiles_name(files, index),
                Int(String(cString: name).filter(\.isNumber)) == number,
                let family = rocksdb_livefiles_column_family_name(files, index)
            else { continue }
            let prefix = String(cString: family).split(separator: "-")[0]
            if let found = Family.allCases.first(where: { "\($0)" == prefix }) {
                noteDamage(of: found)
            }
        }
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

    // MARK: The journal

    /// The one row of RocksDB's default family: the number of the last batch's record.
    ///
    /// RocksDB writes the tables of all families together, with `atomic_flush`. A flush that names
    /// one family would break that: use `writeTables`.
    static let journalKey = Bytes("journal".utf8)

    func markJournal(_ sequence: UInt64, in batch: OpaquePointer) {
        RocksDBStore.journalKey.withCharacters { key, keyCount in
            withUnsafeBytes(of: sequence.bigEndian) { value in
                let start = value.baseAddress?.assumingMemoryBound(to: CChar.self)
                rocksdb_writebatch_put_cf(batch, families[0], key, keyCount, start, value.count)
            }
        }
    }

    /// The number of the last record whose batch is in tables, and so are all before it; 0 if none
    /// is.
    func journalInTables() throws(EngineError) -> UInt64 {
        let options = rocksdb_readoptions_create()
        defer { rocksdb_readoptions_destroy(options) }
        // 2 leaves out what is in memory only, where there is no log.
        rocksdb_readoptions_set_read_tier(options, 2)
        var (count, message): (Int, RocksDBMessage?) = (0, nil)
        let value = RocksDBStore.journalKey.withCharacters { key, keyCount in
            rocksdb_get_cf(database, options, families[0], key, keyCount, &count, &message)
        }
        defer { rocksdb_free(value) }
        if let message { throw EngineError(reading: message) }
        guard let value else { return 0 }
        guard count == 8 else { throw .corrupt("the number of the journal's last record") }
        return UInt64(bigEndian: UnsafeRawPointer(value).loadUnaligned(as: UInt64.self))
    }

    /// Writes the rows to tables that are in memory only; when it returned, they are there unless
    /// RocksDB met an error.
    ///
    /// RocksDB does that before it merges the tables of any family, and this one has a single row.
    func writeTables() { compact(families[0], nil) }

    func family(_ family: Family) -> OpaquePointer {
        families[1 + Int(family.rawValue)]
    }

    /// Counts bytes of tables; rows in the write buffers don't count.
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

    /// Merges the tables of a range; nothing happens while one of the family is damaged.
    func compact(_ family: Family, _ range: KeyRange) {
        if damage.contains(family) { return }
        compact(self.family(family), range)
    }

    /// - Parameter range: nil means everything.
    private func compact(_ family: OpaquePointer, _ range: KeyRange?) {
        let options = rocksdb_compactoptions_create()
        defer { rocksdb_compactoptions_destroy(options) }
        rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0)
        guard let range else {
            return rocksdb_compact_range_cf_opt(database, family, options, nil, 0, nil, 0)
        }
        range.start.withUnsafeBytes { start in
            range.end.withUnsafeBytes { end in
                rocksdb_compact_range_cf_opt(
                    database,
                    family,
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
