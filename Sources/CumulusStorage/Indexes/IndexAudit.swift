// Lists a node's indexes, and checks whether they match the records.
//
// Operators ask for it. An audit reads every record and every row of an index from one snapshot,
// and keeps nothing but counts.

package import CumulusModel

package struct IndexAudit {
    /// Rows that are there.
    package private(set) var rows: UInt64 = 0
    /// Rows that should be there and aren't.
    package private(set) var missing: UInt64 = 0
    /// Rows that are there and should be.
    private var right: UInt64 = 0
    private let type: String
    private let index: NumberedIndex
    private let reader: ReadTransaction
    private var effort: QueryEffort

    /// Rows that are read at a time.
    private static let chunk = 500
    private static let recordSteps = 20

    /// Compares an index with the records of all zones of its scope, except records whose rows are
    /// owed.
    ///
    /// - Parameter refusal: Returns the reason to stop; nil to continue.
    package init(
        _ index: NumberedIndex,
        of type: String,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction,
        refusal: @escaping @Sendable () -> ServiceError?
    ) throws {
        self.type = type
        self.index = index
        self.reader = reader
        effort = QueryEffort(refusal: refusal)
        for zone in try reader.zoneNumbers(of: scope) {
            let owed = Set(try reader.owedRecords(in: zone, of: scope))
            try walk(.records, .records(of: zone)) { audit, key, value in
                let name = try IndexAudit.name(in: key)
                if !owed.contains(name) { try audit.lookForRows(of: value, named: name, in: zone) }
            }
            try walk(.index, .indexRows(of: zone, index.number)) { audit, key, value in
                if !owed.isEmpty {
                    let entry = try IndexEntry(index.definition, key: key, value: value)
                    if owed.contains(entry.name) { return }
                }
                audit.rows += 1
            }
        }
    }

    /// Rows that are there and shouldn't be.
    package var wrong: UInt64 { rows - right }

    private mutating func walk(
        _ family: Family,
        _ all: KeyRange,
        _ look: (inout IndexAudit, Bytes, Bytes) throws -> Void
    ) throws {
        var range = all
        while true {
            let rows = try reader.rows(family, range, limit: IndexAudit.chunk)
            for (key, value) in rows {
                try effort.spend(IndexAudit.recordSteps)
                try look(&self, key, value)
            }
            guard rows.count == IndexAudit.chunk, let last = rows.last else { return }
            range.start = last.key + [0]
        }
    }

    private static func name(in key: Bytes) throws(EngineError) -> String {
        var parts = KeyReader(key)
        _ = try parts.number(ZoneNumber.self)
        return try parts.text()
    }

    private mutating func lookForRows(
        of bytes: Bytes,
        named name: String,
        in zone: ZoneNumber
    ) throws {
        for (key, value) in try wanted(bytes, name, zone) {
            try effort.spend(IndexAudit.recordSteps)
            if try reader.get(key) == value { right += 1 } else { missing += 1 }
        }
    }

    /// The rows that a record should have.
    private func wanted(
        _ bytes: Bytes,
        _ name: String,
        _ zone: ZoneNumber
    ) throws -> [(key: RowKey, value: Bytes)] {
        let row = try reader.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try RecordRow(bytes)
        }
        guard !row.isDead, row.type == type else { return [] }
        return try Candidate(row, named: name).rows(in: zone, index)
    }
}

extension RowReader where Self: ~Copyable {
    /// The living records of all zones of a scope.
    package borrowing func recordCount(of scope: ScopeNumber) throws(EngineError) -> UInt64 {
        var count: UInt64 = 0
        for zone in try zoneNumbers(of: scope) {
            let state: ZoneState? = try row(.zoneState(zone))
            count += UInt64(max(0, state?.records ?? 0))
        }
        return count
    }
}
