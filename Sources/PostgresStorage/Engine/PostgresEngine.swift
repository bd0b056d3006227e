// The engine on a PostgreSQL database: the storage seam for one process.
//
// `cumulusd` opens one in place of `RocksDBEngine` when it is given a database. A write is one
// statement and durable when it returns, so `flush` has nothing left to do. Memory holds no rows: a
// read that may not block is always `.notInMemory`. What the database's disk, backups and unused
// space need is left to the database. One process writes to a store at a time: a second one is
// refused or stands by, see `Standby`, and one that was believed dead is fenced off, see `Term`.
//
// Folder: the storage seam on PostgreSQL. Read `PostgresEngine`, then `PostgresStore` and
// `TermKeeper`.

package import CumulusModel
package import CumulusStorage

package final class PostgresEngine: StorageEngine {
    /// Actions during opening that an operator should know of; one line each.
    package let notes: [String]
    /// A name by which a data directory knows the store that it belongs to: 32 digits.
    package let name: String
    /// The tables were made by this opening.
    package let isNew: Bool
    let store: PostgresStore
    private let newest: NewestRows
    private let keeper: TermKeeper

    /// Opens the store in a database, or makes its tables.
    ///
    /// - Parameters:
    ///   - address: The database; its user may make tables there, or has made them.
    ///   - patience: How long to try while the database can't be reached. The same while the node
    ///     runs.
    ///   - queueing: How long to try while another process that has just ended still counts as
    ///     alive; nil means as long as `patience`.
    ///   - makesTables: Whether tables are made in a database that has none of ours.
    ///   - whenLost: Called, on a thread of its own, when another process has taken the store over,
    ///     or the database has been silent for longer than the patience: this process has to end.
    package init(
        _ address: PostgresAddress,
        patience: Duration = .seconds(10),
        queueing: Duration? = nil,
        makesTables: Bool = true,
        whenLost: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(PostgresError) {
        let process = Int64.random(in: 1 ... .max)
        let pool = SessionPool(
            address,
            application: Term.application(process),
            patience: patience
        )
        let session = try pool.connect()
        let lease = Lease(.now)
        let opened = try Opening(
            session: session,
            place: address.description,
            process: process,
            patience: queueing ?? patience,
            makesTables: makesTables
        ).run()
        notes = opened.notes(address)
        name = opened.store
        isNew = opened.isNew
        store = PostgresStore(pool, session, process: process, lease: lease)
        newest = NewestRows(store: store)
        keeper = TermKeeper(store, patience: max(patience, .seconds(4)), whenLost: whenLost)
    }

    /// The packs of assets, in the same database.
    package var packs: SQLPacks { SQLPacks(store: store) }

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

    package func snapshot() throws(EngineError) -> any EngineReader {
        try PostgresSnapshot(store)
    }

    package func checkTerm(_ reach: Reach) throws(EngineError) { try store.checkTerm(reach) }

    /// The batch is durable when this returns.
    package func write(_ batch: EngineBatch) throws(EngineError) {
        if store.lease.isLost { throw .unavailable(Term.loss) }
        try store.writer.write(batch)
    }

    package func flush() {}

    /// Nobody can tell how much room the database has; it refuses a batch that it has none for.
    package func freeBytes() -> UInt64? { nil }

    /// The bytes of the rows themselves, about; of a whole family, those that its table and index
    /// take on the disk.
    package func byteCount(of family: Family, _ range: KeyRange) throws(EngineError) -> UInt64 {
        var question = Question(RowStatements.tableBytes(of: family))
        if range != .everything {
            guard precedes(range.start, range.end) else { return 0 }
            var parameters = Parameters()
            parameters.add(range.start)
            parameters.add(range.end)
            question = Question(RowStatements.byteCount(of: family), parameters)
        }
        return UInt64(clamping: try newest.ask([question])[0].number(0, 0))
    }

    /// The database gives the space of deleted rows to new ones, by itself.
    package func reclaim(_ family: Family, _ range: KeyRange) {}

    package func copy(to directory: String) throws(EngineError) {
        throw .failed(
            """
            the store is in a database, with its assets and keys, and the database has backups of \
            its own: use pg_dump or pg_basebackup
            """
        )
    }
}
