// The storage seam: an ordered key-value store, and nothing more.
//
// Two engines stand behind it: `MemoryEngine` for tests and the simulator, `RocksDBEngine` on a
// disk. What keys and values mean is written in `Keyspace.swift` and its extensions. Everything
// here blocks: the node moves calls to its writer thread and its readers, a simulator runs them in
// place.
//
// An engine promises:
// - keys are ordered as unsigned bytes, a prefix before what it begins;
// - `write` is all or nothing, and what it wrote is read at once, by the engine's own reads;
// - what was written is durable when `flush` returns (a crash of the machine included);
// - after `write` or `flush` threw `.failed`, the outcome of that batch is unknown and the process
//   must end;
// - a snapshot sees exactly the batches written before it was taken, for as long as it lives.
//
// The writer promises that each batch is flushed before the next one is written: what stands in
// a log behind a batch then proves that the batch was durable, see `LogScan`.
//
// Folder: the ordered store beneath everything, and the transactions on it. Read `StorageEngine`,
// then `WriteTransaction`, `Overlay` and `GroupCommit`; `MemoryEngine` serves tests and the
// simulator.

package import CumulusModel

/// Where rows stand, by habit of use.
///
/// An engine tunes each on its own.
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

/// From `start` up to, not including, `end`.
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

/// How far a read may reach.
package enum Reach: Sendable {
    /// What is in memory; `.notInMemory` is thrown where that doesn't decide. For event loops.
    case memory
    /// Everything. May block on the disk.
    case disk
}

package enum EngineError: Error, Equatable, Sendable {
    /// A read with `Reach.memory` would have to go to the disk: repeat it on a reader thread.
    case notInMemory
    /// A stored row or file is damaged.
    case corrupt(String)
    /// The engine can't go on. After `write` or `flush`: the outcome of the batch is unknown.
    case failed(String)
    /// The disk has no room for a batch, of which nothing was written; a later one may be, once
    /// there is room. Only `write` throws it.
    case full(String)
    /// No number or room is left for what is to be made; nothing is wrong with what is there.
    case exhausted(String)

    /// What an operator can do about damage.
    package static let remedy =
        "check its disk, then restore a backup, or let an empty node fetch the data from its peers"
}

/// Reads from one state of the store.
package protocol EngineReader: Sendable {
    /// The value of `key`, nil if there is none.
    func get(_ family: Family, _ key: Bytes, reach: Reach) throws(EngineError) -> Bytes?

    /// Visits the rows of `range` in order, or from its end if `backwards`, until `visit` returns
    /// false.
    ///
    /// What it is lent is gone when it returns.
    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        reach: Reach,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError)
}

extension EngineReader {
    /// The same with copies of the rows.
    package func scan(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        reach: Reach,
        _ visit: (_ key: Bytes, _ value: Bytes) -> Bool
    ) throws(EngineError) {
        try lendRows(family, range, backwards: backwards, reach: reach) { key, value in
            visit(Bytes(key), Bytes(value))
        }
    }
}

/// An ordered store that commits batches.
///
/// Read as itself it shows what was written last; reads that belong together use a snapshot.
package protocol StorageEngine: EngineReader {
    func snapshot() throws(EngineError) -> any EngineReader

    /// Adds a batch to the store; the one before must have been flushed.
    ///
    /// Throws `.full` where the disk has no room for it: the store stays as it was.
    func write(_ batch: EngineBatch) throws(EngineError)

    /// Makes durable what was written last; on any thread, but not beside `write`.
    func flush() throws(EngineError)

    /// Free bytes on the file system that holds the data; nil where that means nothing.
    func freeBytes() -> UInt64?

    /// About how many bytes of disk the rows of a range take; the newest may not count yet.
    func byteCount(of family: Family, _ range: KeyRange) throws(EngineError) -> UInt64

    /// Gives back the disk of deleted rows of a range, where that is still to be done.
    ///
    /// Rewrites what stands around them: about a second for 64 MiB.
    func reclaim(_ family: Family, _ range: KeyRange) throws(EngineError)

    /// Makes a directory that holds the store as it is now, durably; commits go on meanwhile.
    ///
    /// What goes wrong says nothing about the store.
    func copy(to directory: String) throws(EngineError)
}

extension StorageEngine {
    /// Writes the batch and flushes.
    package func commit(_ batch: EngineBatch) throws(EngineError) {
        try write(batch)
        try flush()
    }

    /// Counts the rows themselves.
    package func byteCount(of family: Family, _ range: KeyRange) throws(EngineError) -> UInt64 {
        var count: UInt64 = 0
        try lendRows(family, range, backwards: false, reach: .disk) { key, value in
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

/// What one commit of the engine changes: range deletes first, then the writes.
///
/// At most one write per key.
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

    /// Bytes of keys and values: what the commit adds to the disk, roughly.
    package var byteCount: Int {
        writes.reduce(0) { $0 + $1.key.count + ($1.value?.count ?? 0) }
    }
}
