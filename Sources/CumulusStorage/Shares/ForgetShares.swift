// Drops old rows of shares: rows of ended shares, and former parents from a month ago.
//
// The node's collector calls it, a few rows at a time, and fewer where it has to read large
// records. Dropping rows of the past raises the zone's hang floor: an older token has expired.

package import CumulusModel

extension WriteTransaction {
    /// Drops the rows by which users found ended shares, for users who left before a time.
    ///
    /// Visits some rows after a key; returns the key to go on from, nil at the end.
    ///
    /// - Parameter time: In milliseconds since 1970 UTC.
    package mutating func forgetVisibleZones(
        of scope: ScopeNumber,
        before time: Int64,
        after key: Bytes?,
        limit: Int
    ) throws(EngineError) -> Bytes? {
        var range = KeyRange(prefix: RowKey(.visibleZone) { $0.add(scope) }.bytes)
        if let key { range.start = key + [0] }
        let page = try rows(.meta, range, limit: limit)
        var last: Bytes?
        for (key, value) in page {
            if let last, hasReadEnough { return last }
            last = key
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let (user, owner, zone) = (try parts.text(), try parts.text(), try parts.text())
            let row = try decoding(key) { () throws(MalformedBytes) in try VisibleZone(row: value) }
            if row.changed >= time { continue }
            if try isVisible(row, zone, of: owner, to: user, in: scope) { continue }
            put(.visibleZone(scope, user, owner: owner, zone), nil)
        }
        return page.count < limit ? nil : page.last?.key
    }

    private borrowing func isVisible(
        _ row: VisibleZone,
        _ zone: String,
        of owner: String,
        to user: String,
        in scope: ScopeNumber
    ) throws(EngineError) -> Bool {
        guard let database = try database(scope, DatabaseID(kind: .private, owner: owner)),
            let known = try self.zone(database, zone), known.exists,
            known.generation == row.generation
        else { return false }
        for name in row.shares {
            guard let share = try share(name, in: known.number) else { continue }
            if share.entries.permission(of: user) != nil { return true }
        }
        return false
    }

    /// Drops, in the same way, the rows that lead to shares whose record is gone.
    package mutating func forgetSharePlaces(
        of scope: ScopeNumber,
        after key: Bytes?,
        limit: Int
    ) throws(EngineError) -> Bytes? {
        var range = KeyRange(prefix: RowKey(.sharePlace) { $0.add(scope) }.bytes)
        if let key { range.start = key + [0] }
        let page = try rows(.meta, range, limit: limit)
        var last: Bytes?
        for (key, value) in page {
            if let last, hasReadEnough { return last }
            last = key
            var row = try decoding(key) { () throws(MalformedBytes) in try SharePlace(row: value) }
            let names = row.recordNames
            row.recordNames = try living(names, in: row.zone, of: scope)
            if row.recordNames == names { continue }
            put(RowKey(.sharePlace, bytes: key), row.recordNames.isEmpty ? nil : row.rowBytes)
        }
        return page.count < limit ? nil : page.last?.key
    }

    /// The names of the shares whose records exist.
    private borrowing func living(
        _ shares: [String],
        in zone: Commit.Zone,
        of scope: ScopeNumber
    ) throws(EngineError) -> [String] {
        guard let database = try database(scope, zone.database),
            let known = try self.zone(database, zone.name), known.exists,
            known.generation == zone.generation
        else { return [] }
        var living: [String] = []
        for name in shares {
            if try share(name, in: known.number) != nil { living.append(name) }
        }
        return living
    }

    /// Drops, in the same way, the former parents of a zone's records from before a time.
    ///
    /// For each life the parent at that time stays, and all later ones.
    package mutating func forgetHanging(
        of zone: ZoneNumber,
        before time: Int64,
        after key: Bytes?,
        limit: Int
    ) throws(EngineError) -> Bytes? {
        var range = KeyRange.hanging(of: zone)
        if let key { range.start = key + [0] }
        let page = try rows(.log, range, limit: limit)
        var names: [(name: String, last: Bytes)] = []
        for (key, _) in page {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let name = try parts.text()
            if names.last?.name == name { names.removeLast() }
            names.append((name, key))
        }
        var floor = VersionVector()
        var end = page.count < limit ? nil : page.last?.key
        for (name, last) in names {
            try forgetHanging(of: name, in: zone, before: time, &floor)
            if hasReadEnough, last != page.last?.key {
                end = last
                break
            }
        }
        if floor != VersionVector() { try raiseHangFloor(of: zone, to: floor) }
        return end
    }

    /// Whether a turn in the background has read as many bytes of records as it may.
    private var hasReadEnough: Bool { recordBytes >= state.storedBytesPerTurn }

    private mutating func forgetHanging(
        of name: String,
        in zone: ZoneNumber,
        before time: Int64,
        _ floor: inout VersionVector
    ) throws(EngineError) {
        let lives = try lives(zone, name).filter { !$0.isDead }
        let pasts = Dictionary(grouping: try hangEvents(of: name, in: zone), by: \.birth)
        for (birth, events) in pasts {
            // Once the floor covers a life's end, the rows of the life are not needed.
            let ends = events.filter(\.event.isEnd).map(\.stamp)
            if let end = ends.min(), end.time.milliseconds < time {
                for event in events { put(.hang(zone, name, birth, event.stamp), nil) }
                floor.merge(VersionVector(end.dot))
                continue
            }
            let life = lives.first { $0.isBorn(at: birth.dot) }
            let births = life?.creations ?? Self.births(of: events, pasts)
            let repeats = Set(births).subtracting([births.min() ?? birth])
            let stamps = events.map(\.stamp) + [life?.parent?.stamp].compactMap(\.self)
            // An event that a later event followed doesn't count after that later one. A repeated
            // creation doesn't count if the first one is known.
            let counting = stamps.filter { $0.time.milliseconds < time && !repeats.contains($0) }
            guard let last = counting.max() else { continue }
            for event in events where event.stamp < last {
                put(.hang(zone, name, birth, event.stamp), nil)
                floor.merge(VersionVector(last.dot))
                if repeats.contains(event.stamp), let first = births.min() {
                    floor.merge(VersionVector(first.dot))
                }
            }
        }
    }

    /// The births of an ended life, whose end is recorded under each of them.
    private static func births(
        of events: [HangEvent],
        _ pasts: [Stamp: [HangEvent]]
    ) -> [Stamp] {
        let ends = Set(events.filter { $0.event.isEnd && $0.event != .ended(nil) }.map(\.event))
        return pasts.filter { $0.value.contains { ends.contains($0.event) } }.map(\.key)
    }
}

extension VersionVector {
    fileprivate init(_ dot: Dot) {
        self.init()
        self[dot.incarnation] = dot.seq
    }
}
