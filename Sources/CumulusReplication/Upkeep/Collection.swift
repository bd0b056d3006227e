// Decides what a node may forget and when: tombstones that every member has read past, and the log
// behind them.
//
// Called as background work, a bounded step at a time. Forgetting is always safe: it raises the
// zone's horizon or the log's floor, and a reader from below takes state instead. Forgetting
// too early only makes that happen more often.
//
// Folder: what a node may forget, and what it owes after others deleted. Read `Collection`, then
// `LogRetention` and `CascadeCompensation`.

package import CumulusModel
package import CumulusStorage

package enum Collection {
    /// The part of our vector that all members' reports cover: every member has durably read it.
    ///
    /// - Parameter reports: The last reports of the other members; nothing is stable while one of
    ///   them has not reported.
    package static func stable(
        _ vector: VersionVector,
        reports: [VersionVector?]
    ) -> VersionVector {
        reports.reduce(vector) { $0.minimum($1 ?? VersionVector()) }
    }

    /// Keeps what a member reported, and when: in milliseconds since 1970 UTC.
    package static func note(
        _ vector: VersionVector,
        of nodeID: Bytes,
        in scope: ScopeNumber,
        at time: Int64,
        _ transaction: inout WriteTransaction
    ) {
        transaction.put(.report(scope, nodeID), ReportRow(vector: vector, time: time))
    }

    /// Drops the log up to a vector.
    package static func truncateLog(
        of scope: ScopeNumber,
        through vector: VersionVector,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let known = try transaction.loadScope(scope).runs
        for dot in vector.dots {
            let last = min(dot.seq, known[dot.incarnation]?.seq ?? 0)
            try ScopeLog(of: scope).drop(of: dot.incarnation, through: last, &transaction)
        }
    }

    /// The last commit of each incarnation that was made before a time, in milliseconds since 1970
    /// UTC.
    ///
    /// Found by halving: times rise within an incarnation, and its log has no gaps.
    package static func made(
        before time: Int64,
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> VersionVector {
        var made = try reader.logFloors(of: scope)
        for (incarnation, row) in try reader.runs(of: scope).rows {
            var (low, high) = (made[incarnation], row.seq)
            while low < high {
                let middle = high - (high - low) / 2
                if try isOlder(Dot(incarnation, middle), than: time, in: scope, reader) {
                    low = middle
                } else {
                    high = middle - 1
                }
            }
            made[incarnation] = low
        }
        return made
    }

    private static func isOlder(
        _ dot: Dot,
        than time: Int64,
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        // One that can't be read is left to its next reader.
        guard let bytes = try reader.get(.commit(scope, dot)), let commit = try? Commit(bytes)
        else { return false }
        return commit.stamp.time.milliseconds < time
    }

    /// Drops increments whose requests can't be repeated any more, the oldest first; visits that
    /// many.
    ///
    /// Returns whether there are no more to drop.
    ///
    /// A request may be repeated for some time, at any node. When every member has reported since
    /// then, and everything they reported is here, each repetition is here too and was recognised.
    /// A member that was removed from the list reports no more. Commits that others took from it
    /// are covered by their later reports.
    ///
    /// - Parameters:
    ///   - members: The last reports of the other members; nil for a member that never reported.
    ///   - removal: When a member was taken off the list last; nil means none was.
    ///   - now: The wall clock, in milliseconds since 1970 UTC.
    package static func expireIncrements(
        of scope: ScopeNumber,
        members: [ReportRow]?,
        removal: Int64? = nil,
        now: Int64,
        entryLimit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let vector = try transaction.loadScope(scope).runs.vector
        let limits = Limits.standard
        // They learned of the removal soon after it, by clocks that agree about as much.
        let settled = removal.map { $0 + limits.requestLeadMilliseconds } ?? .min
        guard let members,
            members.allSatisfy({ $0.time > settled && vector.covers($0.vector) })
        else { return true }
        let repeated = limits.requestMemoryMilliseconds + limits.requestLeadMilliseconds
        let bound = (members.map(\.time) + [now]).reduce(now, min) - repeated
        let floors = try transaction.logFloors(of: scope)
        let range = KeyRange.increments(of: scope, before: bound)
        let found = try transaction.rows(.log, range, limit: entryLimit)
        var last: Bytes?
        for (key, value) in found {
            let row = try transaction.decoding(key) { () throws(MalformedBytes) in
                try IncrementRow(row: value)
            }
            // A node that still reads it from the log enters it again.
            guard floors.covers(row.stamp.dot) else { break }
            last = key
        }
        guard let last else { return true }
        transaction.deleteRange(.log, KeyRange(start: range.start, end: last + [0]))
        return last != found.last?.key || found.count < entryLimit
    }

    /// The tombstones of a zone that may go, and the ends of lives that may be forgotten.
    ///
    /// Purges ended lives.
    ///
    /// Values that a node puts into an ended life without knowing of the end are lost. So an end is
    /// remembered until no such commit can arrive any more: all members have reported that they
    /// read the end, and everything that they had read by then is here. A missing member delays it
    /// for as long as it is missing: nodes that forgot at different moments would not agree about
    /// the life.
    package struct Purge: Sendable {
        /// Tombstones with commits beyond it wait.
        package var stable: VersionVector
        /// Tombstones from this time or later stay, in milliseconds since 1970 UTC.
        package var diedBefore: Int64
        /// Tombstones from before this time are dropped even if members have not read past them.
        package var waitsSince: Int64
        /// Ends at this time or later are remembered, in milliseconds since 1970 UTC.
        package var endsBefore: Int64
        /// Requests that were made before are too old to be repeated, in milliseconds since 1970
        /// UTC.
        ///
        /// If a record has more than `mostEnds` ends, its oldest ones are forgotten by this time.
        package var requestsBefore: Int64
        /// Whether all that the members have reported is here, and no state is being taken.
        package var hasAllReported: Bool

        package init(
            stable: VersionVector,
            diedBefore: Int64,
            waitsSince: Int64 = .min,
            endsBefore: Int64? = nil,
            requestsBefore: Int64 = .min,
            hasAllReported: Bool = true
        ) {
            self.stable = stable
            self.diedBefore = diedBefore
            self.waitsSince = waitsSince
            self.endsBefore = endsBefore ?? diedBefore
            self.requestsBefore = requestsBefore
            self.hasAllReported = hasAllReported
        }

        /// Visits records after a name; returns the records with something to forget, and the name
        /// to go on from, nil at the zone's end.
        ///
        /// Read from a snapshot: `drop` looks again.
        ///
        /// - Parameters:
        ///   - limit: Records to visit, at most.
        ///   - byteLimit: No record is found behind so many bytes of found ones.
        package func find(
            in zone: ZoneNumber,
            after name: String?,
            limit: Int,
            byteLimit: Int = .max,
            _ reader: ReadTransaction
        ) throws(EngineError) -> (names: [String], last: String?) {
            let seen = try reader.recordNames(in: zone, after: name, limit: limit)
            var found: [String] = []
            var room = byteLimit
            let broken = reader.broken
            for name in seen {
                let key = RowKey.record(zone, name)
                guard let bytes = try reader.get(key) else { continue }
                let row = try reader.decoding(key.bytes) { () throws(MalformedBytes) in
                    try RecordRow(bytes)
                }
                guard mayGo(row, broken) || hasForgettable(row, broken) else { continue }
                found.append(name)
                room -= bytes.count
                if room <= 0 { return (found, name) }
            }
            return (found, seen.count < limit ? nil : seen.last)
        }

        /// Drops the records that may still be dropped, raises the zone's horizon, and forgets ends
        /// of lives.
        package func drop(
            _ names: [String],
            of zone: Commit.Zone,
            in scope: ScopeNumber,
            _ transaction: inout WriteTransaction
        ) throws(EngineError) {
            guard let database = try transaction.database(scope, zone.database),
                var row = try transaction.zone(database, zone.name),
                row.exists, row.generation == zone.generation
            else { return }
            let place = ZonePlace(
                scope: scope,
                database: database,
                number: row.number,
                zone: zone
            )
            let (horizon, broken) = (row.horizon, transaction.state.broken)
            for name in names {
                guard let record = try transaction.record(row.number, name) else { continue }
                if mayGo(record, broken) {
                    try transaction.erase([record], of: name, at: place)
                    for stamp in record.frontier { row.horizon.cover(stamp.dot) }
                } else if hasForgettable(record, broken) {
                    let forgotten = forgettable(record, broken)
                    let kept = record.ended.filter { !forgotten.contains($0) }
                    try transaction.keepEnds(kept, of: name, at: place)
                }
            }
            if row.horizon == horizon || transaction.state.broken.contains(.raisedHorizon) {
                return
            }
            transaction.put(.zone(database, zone.name), row)
        }

        private func mayGo(_ row: RecordRow, _ broken: BrokenRules) -> Bool {
            let died = row.modified.time.milliseconds
            guard row.isDead, died < diedBefore else { return false }
            let isForced = died < waitsSince && (row.ended.isEmpty || broken.contains(.keptEnds))
            if isForced { return true }
            return row.frontier.allSatisfy { stable.covers($0.dot) }
                && forgettable(row, broken).count == row.ended.count
        }

        private func hasForgettable(_ row: RecordRow, _ broken: BrokenRules) -> Bool {
            !forgettable(row, broken).isEmpty
        }

        /// The ends of a record that may be forgotten.
        private func forgettable(_ row: RecordRow, _ broken: BrokenRules) -> Set<EndedLife> {
            if row.ended.isEmpty { return [] }
            let excess = max(endsBefore, min(requestsBefore, Purge.excessTime(row.ended)))
            return Set(
                row.ended.filter { life in
                    let bound = life.key.isBlind ? endsBefore : excess
                    guard life.end.time.milliseconds < bound else { return false }
                    return broken.contains(.reportedEnds)
                        || (hasAllReported && stable.covers(life.end.dot))
                }
            )
        }

        /// If a record has more ends, the oldest are dropped before `endsBefore`, because each save
        /// of the record rewrites them.
        package static let mostEnds = 1_000

        /// Ends before this time are more than a record keeps.
        private static func excessTime(_ ended: [EndedLife]) -> Int64 {
            guard ended.count > mostEnds else { return .min }
            let times = ended.map(\.end.time.milliseconds).sorted()
            return times[times.count - mostEnds]
        }
    }
}
