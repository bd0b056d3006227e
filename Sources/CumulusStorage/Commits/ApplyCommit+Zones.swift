// Applies a commit to zones and registers: makes zones, ends them, and joins the values of
// registers.
//
// Called by `apply`, once per operation.

import CumulusModel

extension WriteTransaction {
    /// Finds the zone of a commit's records; nil if the zone is gone, so that the commit has no
    /// effect.
    mutating func place(
        of application: inout CommitApplication
    ) throws(EngineError) -> ZonePlace? {
        if let place = application.place { return place }
        guard let zone = application.commit.zone else {
            throw .corrupt("a commit changes records and names no zone")
        }
        let database: DatabaseNumber
        var row: ZoneRow?
        if let found = application.found {
            (database, row) = (found.database, found.row)
        } else {
            database = try makeDatabase(application.scope, zone.database)
            row = try self.zone(database, zone.name)
        }
        if zone.name == Names.defaultZone, row?.exists != true,
            zone.generation == Zones.nextGeneration(after: row)
        {
            // A default zone always exists, also after a reset; its row is made by the first write.
            if let row, row.exists {
                let feeds = ScopeFeeds(of: application.scope)
                try feeds.noteDeletedZone(row.number, application, &self)
            }
            row = try makeZone(row, zone, in: database, created: .zero)
        }
        guard let row, row.exists, row.generation == zone.generation else { return nil }
        application.place = ZonePlace(
            scope: application.scope,
            database: database,
            number: row.number,
            zone: zone
        )
        return application.place
    }

    /// Makes a zone of a new generation; among concurrent creations the first stamp wins.
    mutating func applyZoneCreate(_ application: inout CommitApplication) throws(EngineError) {
        guard let zone = application.commit.zone else { return }
        application.found = nil
        let stamp = application.commit.stamp
        let database = try makeDatabase(application.scope, zone.database)
        guard var row = try self.zone(database, zone.name), row.generation >= zone.generation else {
            let earlier = try self.zone(database, zone.name)
            if let earlier, earlier.exists {
                let feeds = ScopeFeeds(of: application.scope)
                try feeds.noteDeletedZone(earlier.number, application, &self)
            }
            _ = try makeZone(earlier, zone, in: database, created: stamp)
            return
        }
        guard row.generation == zone.generation, stamp < row.created else { return }
        row.created = stamp
        put(.zone(database, zone.name), row)
    }

    mutating func makeZone(
        _ earlier: ZoneRow?,
        _ zone: Commit.Zone,
        in database: DatabaseNumber,
        created: Stamp
    ) throws(EngineError) -> ZoneRow {
        if let earlier, earlier.exists { dropRows(of: earlier.number) }
        var row = ZoneRow(
            number: try takeZoneNumber(),
            generation: zone.generation,
            capabilities: Zones.capabilities(of: zone.name, in: zone.database.kind),
            created: created
        )
        row.deadThrough = earlier?.deadThrough ?? 0
        row.deleted = earlier?.deleted
        row.reason = earlier?.reason ?? 0
        put(.zone(database, zone.name), row)
        return row
    }

    /// Ends a generation; among several deletions the first stamp and reason win.
    mutating func applyZoneDelete(
        _ reason: UInt8,
        _ application: inout CommitApplication
    ) throws(EngineError) {
        guard let zone = application.commit.zone else { return }
        application.found = nil
        let stamp = application.commit.stamp
        let database = try makeDatabase(application.scope, zone.database)
        guard var row = try self.zone(database, zone.name),
            zone.generation > row.deadThrough
                || (zone.generation == row.deadThrough && stamp < row.deleted ?? stamp)
        else { return }
        if row.exists, row.generation <= zone.generation {
            if row.generation == zone.generation {
                try noteLosses(in: row.number, &application)
            }
            try ScopeFeeds(of: application.scope).noteDeletedZone(row.number, application, &self)
            dropRows(of: row.number)
        }
        row.deadThrough = zone.generation
        row.deleted = stamp
        row.reason = reason
        put(.zone(database, zone.name), row)
        application.place = nil
    }

    /// Logs as lost the first living records of a zone that differ from what its deletion knew.
    mutating func noteLosses(
        in zone: ZoneNumber,
        _ application: inout CommitApplication
    ) throws(EngineError) {
        var (names, byteCount) = (Set<String>(), 0)
        for (run, row) in try loadScope(application.scope).runs.rows.sorted(by: { $0.key < $1.key })
        {
            let known = application.cut[run]
            if row.seq <= known { continue }
            let range = KeyRange.changes(of: zone, run, above: known)
            for (key, _) in try rows(.index, range, limit: CommitApplication.lossLimit) {
                let name = try RowKey.changedRecord(key)
                if names.count >= CommitApplication.lossLimit
                    || byteCount >= CommitApplication.lossBytes
                {
                    return
                }
                guard names.insert(name).inserted else { continue }
                let living = try lives(zone, name).filter { !$0.isDead }
                byteCount += living.reduce(0) { $0 + $1.body.bytes.count }
                application.noteLoss(of: living, named: name)
            }
        }
    }

    /// The time at which the zone of a late commit was deleted.
    mutating func zoneEnd(of application: CommitApplication) throws(EngineError) -> Stamp {
        guard let zone = application.commit.zone else { return .zero }
        let database = try makeDatabase(application.scope, zone.database)
        return try self.zone(database, zone.name)?.deleted ?? .zero
    }

    /// Drops all rows under a zone's number.
    package mutating func dropRows(of zone: ZoneNumber) {
        deleteRange(.records, .records(of: zone))
        deleteRange(.records, .siblings(of: zone))
        deleteRange(.index, .changes(of: zone))
        deleteRange(.index, .backReferences(of: zone))
        deleteRange(.index, .indexRows(of: zone))
        deleteRange(.index, .assetUses(of: zone))
        deleteRange(.log, .hanging(of: zone))
        ScopeIndexes.forgetOwedRows(of: zone, &self)
        put(.hangFloor(zone), nil)
        state.sharesVersion += 1
        forgetZone(zone)
    }

    mutating func apply(
        _ register: Commit.Register,
        _ commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) {
        let row = RegisterRow(stamp: commit.stamp, value: register.value)
        try ScopeRegisters(of: scope).join(
            row,
            into: register.namespace,
            register.key,
            isCommitted: true,
            &self
        )
    }
}
