// What a node may forget, and when: tombstones that every member has read past, and the log behind
// all of them.
//
// Called as background work, a bounded step at a time. Forgetting is always safe: it raises the
// zone's horizon or the log's floor, and whoever reads from below takes state instead. Forgetting
// too early only makes that happen more often.

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

    /// Keeps what a member reported.
    package static func note(
        _ vector: VersionVector,
        of nodeID: Bytes,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) {
        transaction.put(.report(scope, nodeID), ReportRow(vector: vector))
    }

    /// Drops the log up to a vector.
    package static func truncateLog(
        of scope: ScopeNumber,
        through vector: VersionVector,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let known = try transaction.loadScope(scope).vectors
        for dot in vector.dots {
            let last = min(dot.seq, known[dot.incarnation]?.seq ?? 0)
            try transaction.dropLog(of: dot.incarnation, through: last, in: scope)
        }
    }

    /// A step of a zone's purge.
    package struct Purge: Sendable {
        /// Tombstones with commits beyond it stay.
        package var stable: VersionVector
        /// Those that died at this time or later stay, in milliseconds since 1970 UTC.
        package var diedBefore: Int64
        /// Rows to look at per step.
        package var rowLimit: Int

        package init(stable: VersionVector, diedBefore: Int64, rowLimit: Int = 1_000) {
            self.stable = stable
            self.diedBefore = diedBefore
            self.rowLimit = rowLimit
        }

        /// Drops tombstones from behind a name, and returns the name to go on from; nil at the
        /// zone's end.
        package func run(
            in zone: Commit.Zone,
            of scope: ScopeNumber,
            after name: String?,
            _ transaction: inout WriteTransaction
        ) throws(EngineError) -> String? {
            guard let database = try transaction.database(scope, zone.database),
                var row = try transaction.zone(database, zone.name),
                row.exists, row.generation == zone.generation
            else { return nil }
            let place = ZonePlace(database: database, number: row.number, zone: zone)
            var range = KeyRange.records(of: row.number)
            if let name { range.start = RowKey.record(row.number, name).bytes + [0] }
            let found = try transaction.rows(.records, range, limit: rowLimit)
            var last: String?
            let horizon = row.horizon
            for (key, value) in found {
                var parts = KeyReader(key)
                _ = try parts.number(ZoneNumber.self)
                let name = try parts.text()
                last = name
                let record = try transaction.decoding(key) { () throws(MalformedBytes) in
                    try RecordRow(value)
                }
                guard mayGo(record) else { continue }
                try transaction.erase([record], of: name, at: place)
                for stamp in record.frontier {
                    let dot = stamp.dot
                    row.horizon[dot.incarnation] = max(row.horizon[dot.incarnation], dot.seq)
                }
            }
            let isRaised = row.horizon != horizon
            if isRaised, !transaction.state.broken.contains(.raisedHorizon) {
                transaction.put(.zone(database, zone.name), row)
            }
            return found.count < rowLimit ? nil : last
        }

        private func mayGo(_ row: RecordRow) -> Bool {
            row.isDead && row.modified.time.milliseconds < diedBefore
                && row.frontier.allSatisfy { stable.covers($0.dot) }
        }
    }
}
