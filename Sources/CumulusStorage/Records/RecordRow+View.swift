// Reads from a record row only what a fetch needs: system fields and the body.
//
// All code that shows records calls it: fetch, list, query and changes. hot: once per fetched
// record.

package import CumulusModel

extension RecordView {
    /// The record in a row; nil for a tombstone.
    ///
    /// `keys` must be sorted and selects fields; nil takes all.
    package init?(
        row: Bytes,
        name: String,
        keys: [String]?
    ) throws(MalformedBytes) {
        var reader = CanonicalReader(row)
        var head = try reader.message()
        guard let type = try head.livingType() else { return nil }
        let stamps = try head.list { (head: inout CanonicalReader) throws(MalformedBytes) in
            try head.stamp().time
        }
        let birth = try head.count()
        _ = try head.count()
        let modified = try head.count()
        guard birth < stamps.count, modified < stamps.count else {
            throw MalformedBytes("a stamp is missing")
        }
        let createdBy = try head.text()
        let modifiedBy = try head.text()
        _ = try head.delimited()
        try head.skipFieldNotes()
        let parent = try head.namedTarget()
        let share = try head.namedTarget()
        guard head.end - head.position >= 24 else { throw MalformedBytes("a row is cut off") }
        let body = reader.position..<row.count
        self.init(
            name: name,
            type: type,
            changeTag: Bytes(row[head.end - 24..<head.end - 16]),
            created: stamps[birth].milliseconds,
            createdBy: createdBy,
            modified: stamps[modified].milliseconds,
            modifiedBy: modifiedBy,
            parent: parent,
            share: share,
            fields: try keys.map { (keys) throws(MalformedBytes) in
                try RecordBody(stored: row, body).selecting(keys).bytes
            } ?? Bytes(row[body])
        )
    }

    /// The record in a decoded row.
    package init(_ row: RecordRow, name: String) {
        self.init(
            name: name,
            type: row.type,
            changeTag: row.tag,
            created: row.birth.time.milliseconds,
            createdBy: row.createdBy,
            modified: row.modified.time.milliseconds,
            modifiedBy: row.modifiedBy,
            parent: row.parent?.name,
            share: row.share?.name,
            fields: row.body.bytes
        )
    }
}

extension RecordRow {
    /// The type of the record in a row; nil for a tombstone.
    package static func livingType(in row: Bytes) throws(MalformedBytes) -> String? {
        var reader = CanonicalReader(row)
        var head = try reader.message()
        return try head.livingType()
    }
}

extension CanonicalReader {
    /// The beginning of a head; nil if no life is visible.
    fileprivate mutating func livingType() throws(MalformedBytes) -> String? {
        guard try varint() == RecordRow.version else {
            throw MalformedBytes("a record row of an unknown version")
        }
        return try varint() & 1 != 0 ? nil : try text()
    }

    /// Field stamps, absences and reference targets.
    fileprivate mutating func skipFieldNotes() throws(MalformedBytes) {
        for _ in 0..<(try count(limit: end - position)) { _ = try varint() }
        for _ in 0..<(try count(limit: end - position)) {
            _ = try delimited()
            _ = try varint()
        }
        for _ in 0..<(try count(limit: end - position)) {
            _ = try delimited()
            _ = try varint()
            _ = try dot()
        }
    }

    fileprivate mutating func namedTarget() throws(MalformedBytes) -> String? {
        let form = try varint()
        guard form > 0 else { return nil }
        let name = try text()
        _ = try varint()
        if form == 2 { _ = try dot() }
        return name.isEmpty ? nil : name
    }
}
