// Overwrites damaged parts, so that every row of the store can be read again.
//
// `RecordMending` of CumulusReplication calls it inside the writer. A range deletion covers the
// whole stretch and the rows at its edges, and new rows lie above it. So nobody reads the
// unreadable bytes, which stay on the disk until their table is rewritten. The edges are included
// because a scan that starts at one of them would read on into the stretch.

package import CumulusModel

/// What replaces a damaged stretch or row of records.
package struct Mending: Sendable {
    /// A record of the stretch, as another node holds it.
    package struct Record: Sendable {
        package var place: ZonePlace
        package var name: String
        /// The shown life or the tombstone, then the hidden lives; empty if its tombstone is
        /// forgotten.
        package var rows: [RecordRow]
        /// The record's commits according to this node's change index.
        package var known: [Dot]

        package init(place: ZonePlace, name: String, rows: [RecordRow], known: [Dot]) {
            self.place = place
            self.name = name
            self.rows = rows
            self.known = known
        }
    }

    package var damage: StoreDamage
    package var records: [Record]
    /// The zones that the stretch touches, and the vector of each scope when the damage was found.
    package var zones: [(place: ZonePlace, vector: VersionVector)]

    package init(
        _ damage: StoreDamage,
        records: [Record],
        zones: [(place: ZonePlace, vector: VersionVector)]
    ) {
        self.damage = damage
        self.records = records
        self.zones = zones
    }
}

extension Mending {
    /// Replaces the damaged records.
    ///
    /// Returns false and changes nothing if rows that were written there since can't be read
    /// either.
    package func run(_ transaction: inout WriteTransaction) throws(EngineError) -> Bool {
        var since = Since()
        do throws(EngineError) {
            since = try rowsSince(&transaction)
        } catch .corrupt {
            return false
        }
        if damage.isRow {
            guard since.changed.isEmpty else { return false }
        } else {
            let end = damage.after.map { $0 + [0] } ?? KeyRange.behindAll
            let start = damage.before ?? damage.range.start
            transaction.deleteRange(damage.family, KeyRange(start: start, end: end))
        }
        for (key, value) in since.kept { transaction.put(RowKey(.record, bytes: key), value) }
        for record in records {
            let place = record.place
            let isThere = try transaction.number(of: place.zone, in: place.scope) == place.number
            let key = RowKey.record(place.number, record.name)
            if isThere, !since.changed.contains(key.bytes) {
                try restore(record, key, &transaction)
            }
        }
        return true
    }

    /// What was written over a stretch since the damage was found.
    private struct Since {
        /// Rows at its edges, and rows that were written into it since.
        var kept: [Bytes: Bytes] = [:]
        /// Keys of the records that were written since.
        var changed: Set<Bytes> = []
    }

    private func rowsSince(_ transaction: inout WriteTransaction) throws(EngineError) -> Since {
        var since = Since()
        for key in [damage.before, damage.after].compactMap(\.self) where !damage.isRow {
            since.kept[key] = try transaction.get(RowKey(.record, bytes: key))
        }
        for (place, vector) in zones {
            for run in try transaction.loadScope(place.scope).runs.rows.keys {
                let changes = KeyRange.changes(of: place.number, run, above: vector[run])
                for (key, _) in try transaction.rows(.index, changes) {
                    try note(try RowKey.changedRecord(key), in: place.number, &since, &transaction)
                }
            }
        }
        return since
    }

    private func note(
        _ name: String,
        in zone: ZoneNumber,
        _ since: inout Since,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let record = RowKey.record(zone, name)
        if damage.range.contains(record.bytes) {
            since.changed.insert(record.bytes)
            since.kept[record.bytes] = try transaction.get(record)
        }
        let siblings = KeyRange.siblings(of: zone, name)
        guard damage.touches(siblings) else { return }
        since.changed.insert(record.bytes)
        for (key, value) in try transaction.rows(.records, siblings) { since.kept[key] = value }
    }

    /// Writes a record's rows and all rows that are derived from them.
    ///
    /// The zone's counts stay: they already count the record in the state that another node sent.
    private func restore(
        _ record: Mending.Record,
        _ key: RowKey,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let (place, name, rows) = (record.place, record.name, record.rows)
        let dots = Set(rows.first?.frontier.map(\.dot) ?? [])
        for dot in record.known where !dots.contains(dot) {
            transaction.put(.change(place.number, dot, name), nil)
        }
        guard !rows.isEmpty else {
            transaction.put(key, nil)
            guard var zone = try transaction.zone(place.database, place.zone.name) else { return }
            for dot in record.known { zone.horizon.cover(dot) }
            return transaction.put(.zone(place.database, place.zone.name), zone)
        }
        _ = try transaction.replace(rows, with: rows, of: name, at: place)
        try transaction.storeDerivedRows(of: name, [], rows, at: place)
    }
}
