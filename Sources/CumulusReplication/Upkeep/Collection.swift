// What a node may forget, and when: tombstones that every member has read past, and the log behind
// all of them.
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
    /// What every member has read, durably: the part of our vector that all reports cover.
    ///
    /// - Parameter reports: Of the other members, as they came last; nothing is stable while one
    ///   of them has not reported.
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

    /// Drops the log up to a vector, and the places of those commits in the order of application.
    ///
    /// Looks at that many places at most; true when there are no more to drop.
    package static func truncateLog(
        of scope: ScopeNumber,
        through vector: VersionVector,
        entryLimit: Int = .max,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let known = try transaction.loadScope(scope).runs
        for dot in vector.dots {
            let last = min(dot.seq, known[dot.incarnation]?.seq ?? 0)
            try transaction.dropLog(of: dot.incarnation, through: last, in: scope)
        }
        return try transaction.dropOrder(of: scope, through: vector, limit: entryLimit)
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

    /// Drops increments that nobody can repeat any more, the oldest first; looks at that many.
    ///
    /// Returns whether there are no more to drop.
    ///
    /// A request may be repeated for some time, at any node. When every member has said since how
    /// far it was, and all of that is here, then each repetition is here too and was recognised.
    /// One that was taken off the list reports no more: what others had taken of it they tell when
    /// they report after that.
    ///
    /// - Parameters:
    ///   - members: What the other members reported last; nil means one of them never did.
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
        transaction.deleteIncrements(KeyRange(start: range.start, end: last + [0]))
        return last != found.last?.key || found.count < entryLimit
    }

    /// The tombstones of a zone that may go, and the ends of lives that may be forgotten.
    ///
    /// What is put into an ended life by a node that did not know the end is lost. So an end is
    /// remembered until no such commit can arrive any more: all members have reported that they
    /// read the end, and what they had read then is here. A missing member makes it wait for as
    /// long as it takes: nodes that forget at different moments would not agree about the life.
    package struct Purge: Sendable {
        /// Those with commits beyond it wait.
        package var stable: VersionVector
        /// Those that died at this time or later stay, in milliseconds since 1970 UTC.
        package var diedBefore: Int64
        /// Those that died before go though members have not read past them.
        package var waitsSince: Int64
        /// Ends at this time or later are remembered, in milliseconds since 1970 UTC.
        package var endsBefore: Int64
        /// Requests that were made before are too old to be repeated, in milliseconds since 1970
        /// UTC.
        ///
        /// Of a record with more than `mostEnds` ends the oldest are forgotten by this time.
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

        /// Looks at records from behind a name; returns those of which something may go, and the
        /// name to go on from, nil at the zone's end.
        ///
        /// Read from a snapshot: `drop` looks again.
        package func find(
            in zone: ZoneNumber,
            after name: String?,
            limit: Int,
            _ reader: ReadTransaction
        ) throws(EngineError) -> (names: [String], last: String?) {
            let seen = try reader.recordNames(in: zone, after: name, limit: limit)
            var found: [String] = []
            let broken = reader.broken
            for name in seen {
                guard let row = try reader.record(zone, name) else { continue }
                if mayGo(row, broken) || hasForgettable(row, broken) { found.append(name) }
            }
            return (found, seen.count < limit ? nil : seen.last)
        }

        /// Drops those of the records that may still go, raises the zone's horizon, and forgets
        /// ends of lives.
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

        /// Of a record with more ends the oldest go before `endsBefore`: each save of the record
        /// rewrites them.
        package static let mostEnds = 1_000

        /// Ends before this time are more than a record keeps.
        private static func excessTime(_ ended: [EndedLife]) -> Int64 {
            guard ended.count > mostEnds else { return .min }
            let times = ended.map(\.end.time.milliseconds).sorted()
            return times[times.count - mostEnds]
        }
    }
}
