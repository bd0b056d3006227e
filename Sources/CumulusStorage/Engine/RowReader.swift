// Typed reads over raw rows, shared by read transactions and write transactions.
//
// Operations and the node read through these methods; no other code decodes a row. A row that
// doesn't decode is damage.

package import CumulusModel

package protocol RowReader: ~Copyable {
    borrowing func get(_ key: RowKey) throws(EngineError) -> Bytes?
    borrowing func scan(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        _ visit: (_ key: Bytes, _ value: Bytes) -> Bool
    ) throws(EngineError)
    /// Always empty in a node.
    var broken: BrokenRules { get }
}

extension RowReader where Self: ~Copyable {
    package borrowing func row<Row: RowValue>(_ key: RowKey) throws(EngineError) -> Row? {
        guard let bytes = try get(key) else { return nil }
        return try decoding(key.bytes) { () throws(MalformedBytes) in try Row(row: bytes) }
    }

    package borrowing func scope(_ scope: ScopeID) throws(EngineError) -> ScopeNumber? {
        let row: NumberRow? = try row(.scope(scope))
        return row.map { ScopeNumber(truncatingIfNeeded: $0.number) }
    }

    package borrowing func database(
        _ scope: ScopeNumber,
        _ database: DatabaseID
    ) throws(EngineError) -> DatabaseNumber? {
        let row: NumberRow? = try row(.database(scope, database))
        return row?.number
    }

    /// A zone that exists or existed.
    package borrowing func zone(
        _ database: DatabaseNumber,
        _ name: String
    ) throws(EngineError) -> ZoneRow? {
        try row(.zone(database, name))
    }

    package borrowing func record(
        _ zone: ZoneNumber,
        _ name: String
    ) throws(EngineError) -> RecordRow? {
        let key = RowKey.record(zone, name)
        guard let bytes = try get(key) else { return nil }
        return try decoding(key.bytes) { () throws(MalformedBytes) in try RecordRow(bytes) }
    }

    package borrowing func register(
        _ scope: ScopeNumber,
        _ namespace: String,
        _ key: [Bytes]
    ) throws(EngineError) -> RegisterRow? {
        try row(.register(scope, namespace, key))
    }

    /// The registers below a key: the rest of each key, and its value.
    ///
    /// Removed ones are left out.
    package borrowing func registers(
        _ scope: ScopeNumber,
        _ namespace: String,
        below key: [Bytes] = []
    ) throws(EngineError) -> [(key: [Bytes], value: Bytes)] {
        try registerRows(scope, namespace, below: key).compactMap { rest, row in
            row.value.map { (rest, $0) }
        }
    }

    /// The registers below a key, including removed ones.
    package borrowing func registerRows(
        _ scope: ScopeNumber,
        _ namespace: String,
        below key: [Bytes] = []
    ) throws(EngineError) -> [(key: [Bytes], row: RegisterRow)] {
        let range = KeyRange.registers(scope, namespace, key)
        return try rows(.meta, range).map { (rowKey, value) throws(EngineError) in
            let row = try decoding(rowKey) { () throws(MalformedBytes) in
                try RegisterRow(row: value)
            }
            var reader = KeyReader(rowKey)
            _ = try reader.number(ScopeNumber.self)
            _ = try reader.content()
            for _ in key { _ = try reader.content() }
            var rest: [Bytes] = []
            while !reader.isAtEnd { rest.append(try reader.content()) }
            return (rest, row)
        }
    }

    /// All rows of a range that is known to be small.
    package borrowing func rows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool = false,
        limit: Int = .max
    ) throws(EngineError) -> [(key: Bytes, value: Bytes)] {
        var rows: [(key: Bytes, value: Bytes)] = []
        guard limit > 0 else { return rows }
        try scan(family, range, backwards: backwards) { key, value in
            rows.append((key, value))
            return rows.count < limit
        }
        return rows
    }

    /// The first rows of a range that may hold large ones, and whether nothing follows them.
    ///
    /// - Parameters:
    ///   - limit: Rows to read, at most.
    ///   - byteLimit: No row is read behind so many bytes.
    package borrowing func page(
        _ family: Family,
        _ range: KeyRange,
        limit: Int,
        byteLimit: Int
    ) throws(EngineError) -> (rows: [(key: Bytes, value: Bytes)], isLast: Bool) {
        var rows: [(key: Bytes, value: Bytes)] = []
        var bytes = 0
        var isLast = true
        try scan(family, range, backwards: false) { key, value in
            rows.append((key, value))
            bytes += value.count
            isLast = rows.count < limit && bytes < byteLimit
            return isLast
        }
        return (rows, isLast)
    }

    /// Runs a decoder, and reports a row that it can't read as damage.
    package borrowing func decoding<Value>(
        _ key: Bytes,
        _ decode: () throws(MalformedBytes) -> Value
    ) throws(EngineError) -> Value {
        do {
            return try decode()
        } catch {
            throw .corrupt("the row \(key.hex) is damaged: \(error.reason)")
        }
    }
}

/// Rows that were read together, before they are asked for one by one.
struct RowsAhead: Sendable {
    private var rows: [HashedKey: Bytes?] = [:]
    private(set) var byteCount = 0

    func knows(_ key: RowKey) -> Bool { rows[HashedKey(key.bytes)] != nil }

    /// Returns the value of `key`, nil if the key has no row; reads it unless it was read ahead.
    func get(
        _ key: RowKey,
        orRead read: () throws(EngineError) -> Bytes?
    ) throws(EngineError) -> Bytes? {
        if let known = rows[HashedKey(key.bytes)] { return known }
        return try read()
    }

    /// Reads keys that are about to be asked for, until the values here have `byteLimit` bytes.
    ///
    /// Rows that this leaves unread are read when they are asked for.
    mutating func read(
        _ keys: [RowKey],
        byteLimit: Int,
        from reader: any EngineReader
    ) throws(EngineError) {
        let plan = ReadPlan(keys: keys, byteLimit: byteLimit - byteCount)
        rows.reserveCapacity(rows.count + keys.count)
        for (key, value) in zip(keys, try reader.read(plan).values) {
            switch value {
            case .found(let bytes):
                rows[HashedKey(key.bytes)] = .some(bytes)
                byteCount += bytes.count
            case .missing: rows[HashedKey(key.bytes)] = .some(nil)
            case .unread: break
            }
        }
    }
}

/// Counts what a write transaction reads; an object, since reads only borrow the transaction.
final class RecordReads {
    var inRequest = 0
    private(set) var inBatch = 0

    func note(_ value: Bytes) {
        inRequest += value.count
        inBatch += value.count
    }
}

/// Reads from one snapshot.
package struct ReadTransaction: RowReader, Sendable {
    private let reader: any EngineReader
    private let reach: Reach
    private var ahead = RowsAhead()
    package var broken: BrokenRules = []

    package init(_ reader: any EngineReader, reach: Reach) {
        self.reader = reader
        self.reach = reach
    }

    /// How many rows a page reads ahead, at most.
    package static let stretch = 64

    /// Whether `readAhead` does anything: single reads from memory are as good.
    package var readsAhead: Bool { reach == .disk }

    /// Reads rows together that are about to be asked for, and forgets those before.
    ///
    /// It makes no difference but to the time and the memory: about `byteLimit` bytes are kept.
    package mutating func readAhead(
        _ keys: [RowKey],
        byteLimit: Int = 1 << 20
    ) throws(EngineError) {
        ahead = RowsAhead()
        guard readsAhead, keys.count > 1 else { return }
        try ahead.read(keys, byteLimit: byteLimit, from: reader)
    }

    package func get(_ key: RowKey) throws(EngineError) -> Bytes? {
        try ahead.get(key) { () throws(EngineError) in
            try reader.get(key.family, key.bytes, reach: reach)
        }
    }

    package func scan(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        _ visit: (_ key: Bytes, _ value: Bytes) -> Bool
    ) throws(EngineError) {
        guard reach == .disk else { throw .notInMemory }
        try reader.scan(family, range, backwards: backwards, visit)
    }

    /// Visits rows forwards without copying them; a row is valid only inside `visit`.
    package func lendRows(
        _ family: Family,
        _ range: KeyRange,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        guard reach == .disk else { throw .notInMemory }
        try reader.lendRows(family, range, backwards: false, to: visit)
    }
}
