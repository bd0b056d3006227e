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

/// Reads from one snapshot.
package struct ReadTransaction: RowReader, Sendable {
    private let reader: any EngineReader
    private let reach: Reach
    package var broken: BrokenRules = []

    package init(_ reader: any EngineReader, reach: Reach) {
        self.reader = reader
        self.reach = reach
    }

    package func get(_ key: RowKey) throws(EngineError) -> Bytes? {
        try reader.get(key.family, key.bytes, reach: reach)
    }

    package func scan(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        _ visit: (_ key: Bytes, _ value: Bytes) -> Bool
    ) throws(EngineError) {
        try reader.scan(family, range, backwards: backwards, reach: reach, visit)
    }

    /// Visits rows forwards without copying them; a row is valid only inside `visit`.
    package func lendRows(
        _ family: Family,
        _ range: KeyRange,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        try reader.lendRows(family, range, backwards: false, reach: reach, to: visit)
    }
}
