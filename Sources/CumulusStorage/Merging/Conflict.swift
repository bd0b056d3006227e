// What a concurrent change cost somebody: two writers who didn't know of each other, and the value
// that does not stand.
//
// Met while a commit is applied and kept in the conflict log, a family of local rows that no node
// sends or digests. Operators read it; records never do.

package import CumulusModel

package struct Conflict: RowValue, Equatable {
    package var zone: Commit.Zone
    package var recordName: String
    /// The record's stored type; empty where nothing is left of it.
    package var recordType: String
    /// Empty: the record as a whole.
    package var field: String
    package var winner: Stamp
    package var loser: Stamp
    /// The losing fields, as `Field` messages of a record, with what a lost increment adds as a
    /// field's value; empty where nothing was lost but a removal.
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
