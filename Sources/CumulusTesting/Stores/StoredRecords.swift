// Every record row of a store with the place where it stands, for checks that look at all of them.

import CumulusModel
package import CumulusStorage

package enum StoredRecords {
    /// All rows of zones that exist: shown ones, tombstones, and lives that wait behind.
    package static func all(
        in reader: ReadTransaction
    ) throws -> [(place: RecordRow.Place, row: RecordRow)] {
        var found: [(place: RecordRow.Place, row: RecordRow)] = []
        for (key, value) in try reader.rows(.meta, .all(.database)) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            guard let kind = DatabaseScope(rawValue: try parts.number(UInt8.self)) else { continue }
            let database = DatabaseID(kind: kind, owner: try parts.text())
            let number = try NumberRow(row: value).number
            for (key, value) in try reader.rows(.meta, .zones(of: number)) {
                var parts = KeyReader(key)
                _ = try parts.number(DatabaseNumber.self)
                let zone = try ZoneRow(row: value)
                let place = RecordRow.Place(
                    database: database,
                    zone: try parts.text(),
                    generation: zone.generation,
                    name: ""
                )
                if zone.exists { found += try rows(of: zone.number, at: place, reader) }
            }
        }
        return found
    }

    private static func rows(
        of zone: ZoneNumber,
        at place: RecordRow.Place,
        _ reader: ReadTransaction
    ) throws -> [(place: RecordRow.Place, row: RecordRow)] {
        let rows =
            try reader.rows(.records, .records(of: zone))
            + reader.rows(.records, .siblings(of: zone))
        return try rows.map { key, value in
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            var place = place
            place.name = try parts.text()
            return (place, try RecordRow(value))
        }
    }
}
