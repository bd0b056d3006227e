// An entry of the conflict log: two writers did not know of each other, and one value lost.
//
// Applying a commit finds conflicts. The log is a family of local rows, neither replicated nor part
// of a digest. Operators read it; it never affects records.

package import CumulusModel

package struct Conflict: RowValue, Equatable {
    package var zone: Commit.Zone
    package var recordName: String
    /// The record's stored type; empty if nothing is left of it.
    package var recordType: String
    /// Empty means the record as a whole.
    package var field: String
    package var winner: Stamp
    package var loser: Stamp
    /// The lost fields as `Field` messages; a lost increment is a field whose value is the amount.
    ///
    /// Empty if only a removal was lost.
    package var lost: Bytes

    package init(
        zone: Commit.Zone,
        recordName: String,
        recordType: String,
        field: String,
        winner: Stamp,
        loser: Stamp,
        lost: Bytes
    ) {
        self.zone = zone
        self.recordName = recordName
        self.recordType = recordType
        self.field = field
        self.winner = winner
        self.loser = loser
        self.lost = lost
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(zone.database.kind.rawValue))
        writer.delimited(zone.database.owner.utf8)
        writer.delimited(zone.name.utf8)
        writer.varint(zone.generation)
        writer.delimited(recordName.utf8)
        writer.delimited(recordType.utf8)
        writer.delimited(field.utf8)
        writer.stamp(winner)
        writer.stamp(loser)
        writer.delimited(lost)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let kind = DatabaseScope(rawValue: UInt8(try reader.count(limit: 255)))
        guard let kind else { throw MalformedBytes("a conflict in an unknown database") }
        let database = DatabaseID(kind: kind, owner: try reader.text())
        zone = Commit.Zone(
            database: database,
            name: try reader.text(),
            generation: try reader.varint()
        )
        recordName = try reader.text()
        recordType = try reader.text()
        field = try reader.text()
        winner = try reader.stamp()
        loser = try reader.stamp()
        lost = try reader.delimitedBytes()
    }
}
