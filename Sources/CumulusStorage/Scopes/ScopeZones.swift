// The databases of a scope and their zones, read from their rows.
//
// State transfers, indexes and resets go through all of them. Work that returns to a zone later
// checks that it still exists.

package import CumulusModel

extension RowReader where Self: ~Copyable {
    /// The databases of a scope that were ever written to.
    package borrowing func databases(
        of scope: ScopeNumber
    ) throws(EngineError) -> [(id: DatabaseID, number: DatabaseNumber)] {
        try rows(.meta, .databases(of: scope)).map { (key, value) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            guard let kind = DatabaseScope(rawValue: try parts.number(UInt8.self)) else {
                throw .corrupt("a database of an unknown kind")
            }
            let id = DatabaseID(kind: kind, owner: try parts.text())
            let row = try decoding(key) { () throws(MalformedBytes) in try NumberRow(row: value) }
            return (id, row.number)
        }
    }

    /// The zones of a database by name, including deleted ones.
    package borrowing func zoneRows(
        of database: DatabaseNumber
    ) throws(EngineError) -> [(name: String, row: ZoneRow)] {
        try rows(.meta, .zones(of: database)).map { (key, value) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            let name = try parts.text()
            return (
                name, try decoding(key) { () throws(MalformedBytes) in try ZoneRow(row: value) }
            )
        }
    }

    /// The size of a database; equal on nodes that have applied the same commits.
    package borrowing func usage(
        of database: DatabaseNumber
    ) throws(EngineError) -> DatabaseUsage {
        var usage = DatabaseUsage()
        for (_, zone) in try zoneRows(of: database) where zone.exists {
            usage.add(try row(.zoneState(zone.number)) ?? ZoneState())
        }
        return usage
    }

    /// The number of a zone; nil if that generation of it is gone.
    package borrowing func number(
        of zone: Commit.Zone,
        in scope: ScopeNumber
    ) throws(EngineError) -> ZoneNumber? {
        guard let database = try database(scope, zone.database),
            let row = try self.zone(database, zone.name),
            row.exists, row.generation == zone.generation
        else { return nil }
        return row.number
    }

    /// The zones of a scope that exist.
    package borrowing func zones(of scope: ScopeNumber) throws(EngineError) -> [Commit.Zone] {
        var zones: [Commit.Zone] = []
        for (database, number) in try databases(of: scope) {
            for (name, row) in try zoneRows(of: number) where row.exists {
                zones.append(
                    Commit.Zone(database: database, name: name, generation: row.generation)
                )
            }
        }
        return zones
    }
    /// Names of a zone's records and tombstones after a given name, ascending.
    package borrowing func recordNames(
        in zone: ZoneNumber,
        after name: String?,
        limit: Int
    ) throws(EngineError) -> [String] {
        var range = KeyRange.records(of: zone)
        if let name { range.start = RowKey.record(zone, name).bytes + [0] }
        var keys: [Bytes] = []
        try scan(.records, range, backwards: false) { key, _ in
            keys.append(key)
            return keys.count < limit
        }
        return try keys.map { (key) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            return try parts.text()
        }
    }
}
