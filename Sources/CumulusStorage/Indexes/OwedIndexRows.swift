// Records whose index rows are still to be written. Each has a local row, written in the batch that
// changed the record and deleted once its index rows are right.
//
// `ScopeIndexes+Rows` writes and settles them. Queries look up such records by name and
// skip their rows in indexes (`QuerySearch`). The rows survive the process.

package import CumulusModel

/// The index rows of a record as they stand, though the record has changed since.
package struct OwedIndexRows: RowValue, Equatable {
    /// Where a turn of the writer stopped within a record.
    struct Part: Hashable {
        /// The record whose rows are being written; nil if it was gone.
        var goal: RecordView?
        /// All indexes with lower numbers hold the rows of `goal`.
        var next: IndexNumber
    }

    /// The record that the standing rows describe, as indexes see it; nil if it has no rows.
    var base: RecordView?
    /// All rows of `base` are known to stand only in indexes with lower numbers.
    ///
    /// Later indexes were not ready when the record became owed, or were made afterwards.
    var firstUnsure: IndexNumber
    /// nil if no row was written since the record became owed.
    var part: Part?

    init(base: RecordView?, firstUnsure: IndexNumber, part: Part? = nil) {
        (self.base, self.firstUnsure, self.part) = (base, firstUnsure, part)
    }

    /// The record whose rows stand in an index.
    func standing(in index: IndexNumber) -> RecordView? {
        if let part, index < part.next { return part.goal }
        return base
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.indexed(base)
        writer.varint(UInt64(firstUnsure))
        writer.varint(part == nil ? 0 : 1)
        guard let part else { return }
        writer.indexed(part.goal)
        writer.varint(UInt64(part.next))
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        base = try reader.indexed()
        firstUnsure = try reader.indexNumber()
        guard try reader.count(limit: 1) == 1 else { return }
        part = Part(goal: try reader.indexed(), next: try reader.indexNumber())
    }
}

extension CanonicalWriter {
    /// A record reduced to what indexes look at.
    fileprivate mutating func indexed(_ record: RecordView?) {
        varint(record == nil ? 0 : 1)
        guard let record else { return }
        for text in [record.name, record.type, record.createdBy, record.modifiedBy] {
            delimited(text.utf8)
        }
        delimited(record.changeTag)
        bigEndian(UInt64(bitPattern: record.created))
        bigEndian(UInt64(bitPattern: record.modified))
        // No record has an empty name.
        delimited((record.parent ?? "").utf8)
        delimited((record.share ?? "").utf8)
        delimited(record.fields)
    }
}

extension CanonicalReader {
    fileprivate mutating func indexed() throws(MalformedBytes) -> RecordView? {
        guard try count(limit: 1) == 1 else { return nil }
        let (name, type) = (try text(), try text())
        let (createdBy, modifiedBy) = (try text(), try text())
        let tag = try delimitedBytes()
        let created = Int64(bitPattern: try bigEndian())
        let modified = Int64(bitPattern: try bigEndian())
        let (parent, share) = (try text(), try text())
        return RecordView(
            name: name,
            type: type,
            changeTag: tag,
            created: created,
            createdBy: createdBy,
            modified: modified,
            modifiedBy: modifiedBy,
            parent: parent.isEmpty ? nil : parent,
            share: share.isEmpty ? nil : share,
            fields: try delimitedBytes()
        )
    }

    fileprivate mutating func indexNumber() throws(MalformedBytes) -> IndexNumber {
        IndexNumber(try count(limit: Int(IndexNumber.max)))
    }
}

extension RowKey {
    static func owedIndexRows(
        _ scope: ScopeNumber,
        _ zone: ZoneNumber,
        _ name: String
    ) -> RowKey {
        RowKey(.owedIndexRows) {
            $0.add(scope)
            $0.add(zone)
            $0.add(name)
        }
    }

    static func owedIndexRows(
        _ key: Bytes
    ) throws(EngineError) -> (scope: ScopeNumber, zone: ZoneNumber, name: String) {
        var parts = KeyReader(key)
        return (try parts.number(), try parts.number(), try parts.text())
    }
}

extension KeyRange {
    /// The records of a zone, or of all zones of a scope.
    static func owedIndexRows(of scope: ScopeNumber, _ zone: ZoneNumber? = nil) -> KeyRange {
        let prefix = RowKey(.owedIndexRows) {
            $0.add(scope)
            if let zone { $0.add(zone) }
        }
        return KeyRange(prefix: prefix.bytes)
    }
}

/// How many records of a zone have owed rows.
struct OwedRecords {
    let scope: ScopeNumber
    var count = 0
}

extension ReadTransaction {
    /// Whether a scope has records whose rows in indexes are owed.
    package func owesIndexRows(of scope: ScopeNumber) throws(EngineError) -> Bool {
        var isFound = false
        try lendRows(.log, .owedIndexRows(of: scope)) { _, _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// The names of a zone's records whose rows in indexes are owed.
    package func owedRecords(
        in zone: ZoneNumber,
        of scope: ScopeNumber
    ) throws(EngineError) -> [String] {
        var names: [String] = []
        try visitOwed(.owedIndexRows(of: scope, zone)) { names.append($0.name) }
        return names
    }

    /// How many records have owed rows, by zone.
    func owedRecords() throws(EngineError) -> [ZoneNumber: OwedRecords] {
        var counts: [ZoneNumber: OwedRecords] = [:]
        try visitOwed(.all(.owedIndexRows)) {
            counts[$0.zone, default: OwedRecords(scope: $0.scope)].count += 1
        }
        return counts
    }

    /// Visits the keys only, because the rows may be large.
    private func visitOwed(
        _ range: KeyRange,
        _ visit: ((scope: ScopeNumber, zone: ZoneNumber, name: String)) -> Void
    ) throws(EngineError) {
        var failure: EngineError?
        try lendRows(.log, range) { key, _ in
            do throws(EngineError) {
                visit(try RowKey.owedIndexRows(Bytes(key)))
            } catch {
                failure = error
            }
            return failure == nil
        }
        if let failure { throw failure }
    }
}
