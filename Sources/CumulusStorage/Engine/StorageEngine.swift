// The storage seam: an ordered key-value store, and nothing more.
//
// There are three engines: `MemoryEngine` for tests and the simulator, `RocksDBEngine` on a disk,
// and `PostgresEngine` in a database. `Keyspace.swift` and its extensions define what keys and
// values mean. Every call blocks: the node calls from its writer thread and its readers, a
// simulator calls in place.
//
// An engine promises:
// - keys are ordered as unsigned bytes, and a prefix comes before its extensions;
// - `write` is all or nothing, and the engine's own reads see it at once;
// - what was written is durable when `flush` returns (a crash of the machine included);
// - after `write` or `flush` threw `.failed`, the outcome of that batch is unknown and the process
//   must end;
// - a snapshot sees exactly the batches written before it was taken, for as long as it lives.
//
// The writer promises to flush each batch before it writes the next. A later batch in a log
// therefore proves that the earlier one was durable, see `JournalScan`.
//
// Folder: the ordered store beneath everything, and the transactions on it. Read `StorageEngine`,
// then `WriteTransaction`, `Overlay` and `GroupCommit`; `MemoryEngine` serves tests and the
// simulator.

package import CumulusModel

/// Groups of rows by their pattern of access.
///
/// An engine tunes each family separately.
package enum Family: UInt8, CaseIterable, Sendable {
    /// Small rows that are read often: scopes, databases, zones, registers.
    case meta
    /// Record rows: point reads and scans by name.
    case records
    /// Rows without a body that are scanned by prefix: changes, references.
    case index
    /// Rows written in order and dropped by range: commits, request outcomes.
    case log
}

/// The keys from `start` up to, but not including, `end`.
package struct KeyRange: Equatable, Sendable {
    package var start: Bytes
    package var end: Bytes

    package init(start: Bytes, end: Bytes) {
        self.start = start
        self.end = end
    }

    /// All rows of a family.
    package static let everything = KeyRange(start: [], end: Bytes(repeating: 0xFF, count: 16))

    package func contains(_ key: Bytes) -> Bool {
        !precedes(key, start) && precedes(key, end)
    }
}

/// Up to `limit` rows of a range, from its start or from its end.
package struct RowRange: Sendable {
    package var family: Family
    package var range: KeyRange
    package var backwards: Bool
    package var limit: Int

    package init(_ family: Family, _ range: KeyRange, backwards: Bool = false, limit: Int) {
        (self.family, self.range) = (family, range)
        (self.backwards, self.limit) = (backwards, limit)
    }
}

/// Rows that are read together, see `EngineReader.read`.
package struct ReadPlan: Sendable {
    package var keys: [RowKey]
    package var ranges: [RowRange]
    /// Once the values of keys have so many bytes, no further key has to be read.
    package var byteLimit: Int

    package init(keys: [RowKey] = [], ranges: [RowRange] = [], byteLimit: Int = .max) {
        (self.keys, self.ranges, self.byteLimit) = (keys, ranges, byteLimit)
    }
}

/// The rows of a plan.
package struct ReadRows: Sendable {
    package enum Value: Equatable, Sendable {
        case found(Bytes)
        case missing
        /// The row is damaged, or the plan's bytes were used up: `get` says what it is.
        case unread
    }

    /// One for each key of the plan, in its order.
    package var values: [Value]
    /// The rows of each range of the plan, in the order in which they were read.
    package var ranges: [[(key: Bytes, value: Bytes)]]

    package init(values: [Value], ranges: [[(key: Bytes, value: Bytes)]]) {
        (self.values, self.ranges) = (values, ranges)
    }
}

/// How far a read may reach.
package enum Reach: Sendable {
    /// Only memory, for event loops; `.notInMemory` is thrown where memory can't answer.
    ///
    /// It is for single rows: RocksDB 7.8 ends the process after some scans that may read memory
    /// only.
    case memory
    /// Memory and disk; may block.
    case disk
}

package enum EngineError: Error, Equatable, Sendable {
    /// A read with `Reach.memory` would need the disk: repeat it on a reader thread.
    case notInMemory
    /// A stored row or file is damaged.
    case corrupt(String)
    /// The engine can't continue.
    ///
    /// If `write` or `flush` throws it, the outcome of the batch is unknown.
    case failed(String)
    /// The disk has no room for a batch.
    ///
    /// Nothing of the batch was written; a later one may succeed once there is room. Only `write`
    /// throws it.
    case full(String)
    /// No number or room is left for something new; the existing rows are intact.
    case exhausted(String)
    /// The store is in a database that can't be reached now, or another process has taken it over.
    ///
    /// A read may succeed later, or at another process. If `write` throws it, nothing of the batch
    /// was written, and the process must end.
    case unavailable(String)

    /// What an operator can do about damage.
    package static let remedy =
        "check its disk, then restore a backup, or let an empty node fetch the data from its peers"
}

/// Reads from one state of the store.
package protocol EngineReader: Sendable {
    /// The value of `key`, nil if there is none.
    func get(_ family: Family, _ key: Bytes, reach: Reach) throws(EngineError) -> Bytes?

    /// Visits the rows of `range` in order, or from its end if `backwards`, until `visit` returns
    /// false; may block.
    ///
    /// A row is valid only while `visit` runs.
    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError)

    /// Reads the rows of a plan; an engine may do so faster than row by row. May block.
    ///
    /// A key may occur twice. Throws what `get` and `lendRows` throw, but a damaged row of a key is
    /// left unread.
    func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows
}

extension EngineReader {
    package func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        try readRowByRow(plan)
    }

    /// What `read` does in an engine that has no faster way.
    package func readRowByRow(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        var room = plan.byteLimit
        let values = try plan.keys.map { key throws(EngineError) -> ReadRows.Value in
            guard room > 0 else { return .unread }
            do throws(EngineError) {
                let value = try get(key.family, key.bytes, reach: .disk)
                room -= value?.count ?? 0
                return value.map { .found($0) } ?? .missing
            } catch .corrupt {
                return .unread
            }
        }
        return ReadRows(values: values, ranges: try rows(of: plan.ranges))
    }

    /// The rows of ranges, range by range.
    package func rows(
        of ranges: [RowRange]
    ) throws(EngineError) -> [[(key: Bytes, value: Bytes)]] {
        try ranges.map { wanted throws(EngineError) in
            var rows: [(key: Bytes, value: Bytes)] = []
            guard wanted.limit > 0 else { return rows }
            let (family, range) = (wanted.family, wanted.range)
            try scan(family, range, backwards: wanted.backwards) { key, value in
                rows.append((key, value))
                return rows.count < wanted.limit
            }
            return rows
        }
    }

    /// Visits copies of the rows of a range, like `lendRows`.
    package func scan(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        _ visit: (_ key: Bytes, _ value: Bytes) -> Bool
    ) throws(EngineError) {
        try lendRows(family, range, backwards: backwards) { key, value in
            visit(Bytes(key), Bytes(value))
        }
    }
}

/// An ordered store that commits batches.
///
/// Its own reads show the last write; reads that belong together use a snapshot.
package protocol StorageEngine: EngineReader {
    func snapshot() throws(EngineError) -> any EngineReader

    /// Throws unless what this process has in memory of the store was the newest state at some
    /// moment of the call.
    ///
    /// Only a store that several processes reach can fail so: another one took it over. Reads of
    /// rows check it themselves; this is for answers that need none. May block, unless it reaches
    /// memory only.
    func checkTerm(_ reach: Reach) throws(EngineError)

    /// Adds a batch to the store; the previous one must have been flushed.
    ///
    /// Throws `.full` if the disk has no room: the store stays as it was.
    func write(_ batch: EngineBatch) throws(EngineError)

    /// Makes the last write durable; may run on any thread, but not concurrently with `write`.
    func flush() throws(EngineError)

    /// Free bytes on the file system that holds the data; nil if there is no file system.
    func freeBytes() -> UInt64?

    /// Approximate disk space of the rows of a range; the newest rows may not count yet.
    func byteCount(of family: Family, _ range: KeyRange) throws(EngineError) -> UInt64

    /// Returns the disk space of deleted rows of a range, if any is left to return.
    ///
    /// This rewrites the rows around them: about a second for 64 MiB.
    func reclaim(_ family: Family, _ range: KeyRange) throws(EngineError)

    /// Makes a durable copy of the store in a directory; commits go on meanwhile.
    ///
    /// A failure says nothing about the store itself.
    func copy(to directory: String) throws(EngineError)
}

extension StorageEngine {
    /// No other process reaches the store.
    package func checkTerm(_ reach: Reach) {}

    /// Writes the batch and flushes.
    package func commit(_ batch: EngineBatch) throws(EngineError) {
        try write(batch)
        try flush()
    }

    /// Counts the rows themselves.
    package func byteCount(of family: Family, _ range: KeyRange) throws(EngineError) -> UInt64 {
        var count: UInt64 = 0
        try lendRows(family, range, backwards: false) { key, value in
            count += UInt64(key.count + value.count)
            return true
        }
        return count
    }

    package func reclaim(_ family: Family, _ range: KeyRange) throws(EngineError) {}

    package func copy(to directory: String) throws(EngineError) {
        throw .failed("this store is in memory only")
    }
}

/// The changes of one commit: range deletions first, then the writes.
///
/// There is at most one write per key.
package struct EngineBatch: Sendable {
    package struct Write: Sendable {
        package var family: Family
        package var key: Bytes
        /// nil deletes.
        package var value: Bytes?

        package init(family: Family, key: Bytes, value: Bytes?) {
            self.family = family
            self.key = key
            self.value = value
        }
    }

    package var deletedRanges: [(family: Family, range: KeyRange)] = []
    package var writes: [Write] = []

    package init() {}

    package var isEmpty: Bool { deletedRanges.isEmpty && writes.isEmpty }

    /// Bytes of keys and values: roughly what the commit adds to the disk.
    package var byteCount: Int {
        writes.reduce(0) { $0 + $1.key.count + ($1.value?.count ?? 0) }
    }
}
