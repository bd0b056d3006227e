// Every setting of RocksDB that isn't its default, each with its reason.
//
// Called when the engine opens. RocksDB copies what it is given, so all of this is freed right
// after.

import CRocksDB
import CumulusStorage

/// The settings of the database and of each family, owned until the engine is open.
struct RocksDBOptions: ~Copyable {
    private(set) var database: OpaquePointer
    /// RocksDB insists on a family of its own, which has one row or none, then ours in the order of
    /// `Family`.
    let families: [(name: String, options: OpaquePointer)]

    /// - Parameters:
    ///   - cacheBytes: nil means the profile's bytes.
    ///   - names: Under which the families stand in the database.
    ///   - readOnly: What is in memory only when the store is closed isn't written to tables.
    ///   - isDamaged: Whether a table of a family is: its tables are not merged.
    init(
        profile: MemoryProfile,
        cacheBytes: Int? = nil,
        creating: Bool,
        recovery: Recovery,
        names: FamilyRenewal.Names = FamilyRenewal.Names([]),
        readOnly: Bool = false,
        isDamaged: (Family) -> Bool = { _ in false }
    ) {
        database = Self.database(profile, creating: creating, recovery: recovery)
        let cache = Self.cache(profile, cacheBytes ?? profile.blockCacheBytes)
        defer { rocksdb_cache_destroy(cache) }
        families =
            [("default", Self.unused(profile))]
            + Family.allCases.map { (name: names[$0], options: Self.family($0, profile, cache)) }
        if readOnly { keepMemory() }
        for family in Family.allCases where isDamaged(family) {
            let options = families[1 + Int(family.rawValue)].options
            rocksdb_options_set_disable_auto_compactions(options, 1)
        }
    }

    /// RocksDB's C interface has no call for it.
    private mutating func keepMemory() {
        let changed: OpaquePointer = rocksdb_options_create()
        var message: RocksDBMessage?
        rocksdb_get_options_from_string(
            database,
            "avoid_flush_during_shutdown=true",
            changed,
            &message
        )
        if let message { rocksdb_free(message) }
        rocksdb_options_destroy(database)
        database = changed
    }

    /// A part of the cache has to hold the index of a whole table, some megabytes: one that doesn't
    /// fit is read again by every single read.
    private static func cache(_ profile: MemoryProfile, _ byteCount: Int) -> OpaquePointer {
        let options: OpaquePointer = rocksdb_lru_cache_options_create()
        defer { rocksdb_lru_cache_options_destroy(options) }
        rocksdb_lru_cache_options_set_capacity(options, byteCount)
        rocksdb_lru_cache_options_set_num_shard_bits(options, profile.cachePartBits)
        return rocksdb_cache_create_lru_opts(options)
    }

    deinit {
        for (_, options) in families { rocksdb_options_destroy(options) }
        rocksdb_options_destroy(database)
    }

    /// How to treat a log with an incomplete end, in a store of a release that wrote such logs.
    enum Recovery {
        /// Nothing may be wrong before the end: a damaged record is an error.
        case strict
        /// Stop at the first record that isn't whole. Drops everything after it without a word, so
        /// only after `StoreInspection` found that nothing stands there.
        case dropTornTail
    }

    private static func database(
        _ profile: MemoryProfile,
        creating: Bool,
        recovery: Recovery
    ) -> OpaquePointer {
        let options: OpaquePointer = rocksdb_options_create()

        // Only a directory without rows may become a new store: a lost CURRENT is damage.
        rocksdb_options_set_create_if_missing(options, creating ? 1 : 0)
        // Always, because a crash may have come between making the store and making its families.
        rocksdb_options_set_create_missing_column_families(options, 1)
        switch recovery {
        case .strict:
            rocksdb_options_set_wal_recovery_mode(
                options,
                Int32(rocksdb_tolerate_corrupted_tail_records_recovery)
            )
        case .dropTornTail:
            rocksdb_options_set_wal_recovery_mode(options, Int32(rocksdb_point_in_time_recovery))
        }
        // Tables of all families end with the same batch: a start replays what follows.
        rocksdb_options_set_atomic_flush(options, 1)

        // One bound for the rows of all families that are in memory only.
        rocksdb_options_set_db_write_buffer_size(options, profile.writeBufferBytes)
        rocksdb_options_set_max_open_files(options, profile.openTables)
        // One flush and one merge at a time: the node has other work for its cores.
        rocksdb_options_set_max_background_jobs(options, 2)
        // Hand tables to the disk as they are written: no commit's flush waits behind a whole one.
        rocksdb_options_set_bytes_per_sync(options, 1 << 20)
        // Old tables are deleted in the background, never by the event loop that read them last.
        rocksdb_options_set_avoid_unnecessary_blocking_io(options, 1)

        // There is one writer: nothing to gain from what lets several work on a batch.
        rocksdb_options_set_allow_concurrent_memtable_write(options, 0)
        rocksdb_options_set_enable_write_thread_adaptive_yield(options, 0)

        // The list of tables is read at every start; begin a new one before it is long.
        rocksdb_options_set_max_manifest_file_size(options, 16 << 20)
        // RocksDB's diary (files LOG*): what it was opened with, and nothing after that (4). It is
        // on the same disk, and where it can't be written, the next line of it ends the process:
        // an assertion in RocksDB as Debian builds it. A few short files, no statistics.
        rocksdb_options_set_info_log_level(options, 4)
        rocksdb_options_set_max_log_file_size(options, 1 << 20)
        rocksdb_options_set_keep_log_file_num(options, 4)
        rocksdb_options_set_stats_dump_period_sec(options, 0)
        rocksdb_options_set_stats_persist_period_sec(options, 0)
        return options
    }

    /// RocksDB goes on after a full disk once the largest write buffer of all families fits on it,
    /// and by default this one's would be 64 MB.
    private static func unused(_ profile: MemoryProfile) -> OpaquePointer {
        let options: OpaquePointer = rocksdb_options_create()
        rocksdb_options_set_write_buffer_size(options, profile.writeBufferBytes / 2)
        return options
    }

    private static func family(
        _ family: Family,
        _ profile: MemoryProfile,
        _ cache: OpaquePointer
    ) -> OpaquePointer {
        let options: OpaquePointer = rocksdb_options_create()
        let tables = tables(family, cache)
        defer { rocksdb_block_based_options_destroy(tables) }
        rocksdb_options_set_block_based_table_factory(options, tables)
        // Half of the whole, so that one busy family can't fill it before another writes its table.
        rocksdb_options_set_write_buffer_size(options, profile.writeBufferBytes / 2)
        // Twice as many new tables as by default are merged at a time, so that the levels below are
        // written half as often: 12 % more records in batches; fetches, which may look into more
        // tables, lost 1 to 7 % in three runs.
        rocksdb_options_set_level0_file_num_compaction_trigger(options, 8)
        // Levels sized from the last one up: at most about a tenth of the rows is there twice.
        rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
        // The bytes that a merge writes before it deletes anything are bounded: see
        // `MemoryProfile`.
        rocksdb_options_set_max_bytes_for_level_base(options, UInt64(profile.levelBytes))
        rocksdb_options_set_target_file_size_base(options, UInt64(profile.tableBytes))
        rocksdb_options_set_max_compaction_bytes(options, UInt64(profile.mergeBytes))
        // Records and log entries are mostly text; compressed once, at the lowest level.
        rocksdb_options_set_compression(options, Int32(rocksdb_no_compression))
        rocksdb_options_set_bottommost_compression(options, Int32(rocksdb_lz4_compression))
        // Bodies stay in the tables. Blob files were measured with records of 1 KB: the same work
        // per save, a fifth more disk, scans at two thirds of the speed, and without a cache of
        // their own no read with `Reach.memory` ever succeeds.
        if family == .records || family == .log {
            // Most names that a save asks for are new, and every request id is: a filter over the
            // rows in memory answers without searching them.
            rocksdb_options_set_memtable_whole_key_filtering(options, 1)
            rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.05)
        }
        // No insert hints by prefix, though with them the bare engine commits 7 to 21 % more:
        // RocksDB 7.8 keeps one hint for rows and deleted ranges, and ends where both have the
        // prefix.
        if family == .index {
            // A hot zone leaves deleted change rows behind: merge tables that are mostly such.
            rocksdb_options_add_compact_on_deletion_collector_factory(options, 4096, 3072)
        }
        return options
    }

    private static func tables(_ family: Family, _ cache: OpaquePointer) -> OpaquePointer {
        let options: OpaquePointer = rocksdb_block_based_options_create()
        rocksdb_block_based_options_set_block_cache(options, cache)
        // Indexes and filters count against the cache too: else they grow with the data.
        rocksdb_block_based_options_set_cache_index_and_filter_blocks(options, 1)
        rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(options, 1)
        rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(options, 1)
        if family != .index {
            // Most saves first ask for a record and a request that aren't there.
            rocksdb_block_based_options_set_filter_policy(
                options,
                rocksdb_filterpolicy_create_bloom(10)  // now owned by the options
            )
        }
        return options
    }
}
