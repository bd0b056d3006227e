// How far the log of a scope reaches, and what changes that without a commit: the vector rises when
// a node takes over another node's state, and the log behind it is dropped.
//
// CumulusReplication calls it inside the writer. `WriteTransaction.log` adds commits.

package import CumulusModel

extension RowReader where Self: ~Copyable {
    /// How far each run's commits are applied.
    package borrowing func runs(of scope: ScopeNumber) throws(EngineError) -> Runs {
        Runs(try runRows(of: scope).mapValues(\.end))
    }

    /// How far each run's commits are applied, and the last position of the local order; 0 before
    /// the first.
    package borrowing func progress(
        of scope: ScopeNumber
    ) throws(EngineError) -> (runs: Runs, position: UInt64) {
        let rows = try runRows(of: scope)
        let lastBreak: SeqRow? = try row(.feedBreak(scope))
        let position = rows.values.reduce(lastBreak?.seq ?? 0) { max($0, $1.position) }
        return (Runs(rows.mapValues(\.end)), position)
    }

    /// The latest time of all commits of all scopes; 0 if the store has no commit.
    package borrowing func lastCommitTime() throws(EngineError) -> HybridTime {
        var latest = HybridTime(0)
        for (_, scope) in try ScopeDirectory.all(in: self) {
            for run in try runRows(of: scope).values { latest = max(latest, run.end.time) }
        }
        return latest
    }

    private borrowing func runRows(
        of scope: ScopeNumber
    ) throws(EngineError) -> [Incarnation: RunRow] {
        var rows: [Incarnation: RunRow] = [:]
        for (key, value) in try self.rows(.meta, .vectors(of: scope)) {
            rows[try incarnation(in: key)] = try decoding(key) { () throws(MalformedBytes) in
                try RunRow(row: value)
            }
        }
        return rows
    }

    /// The commits that are applied.
    package borrowing func vector(of scope: ScopeNumber) throws(EngineError) -> VersionVector {
        try runs(of: scope).vector
    }

    /// The last commit of each incarnation before the log begins; all later ones are in the log.
    package borrowing func logFloors(of scope: ScopeNumber) throws(EngineError) -> VersionVector {
        var floors = VersionVector()
        for (key, value) in try rows(.meta, .logFloors(of: scope)) {
            floors[try incarnation(in: key)] = try decoding(key) { () throws(MalformedBytes) in
                try SeqRow(row: value).seq
            }
        }
        return floors
    }

    /// The last reports of members, by node id.
    package borrowing func reports(
        of scope: ScopeNumber
    ) throws(EngineError) -> [Bytes: ReportRow] {
        var reports: [Bytes: ReportRow] = [:]
        for (key, value) in try rows(.meta, .reports(of: scope)) {
            var reader = KeyReader(key)
            _ = try reader.number(ScopeNumber.self)
            let nodeID = try reader.bytes(16)
            reports[nodeID] = try decoding(key) { () throws(MalformedBytes) in
                try ReportRow(row: value)
            }
        }
        return reports
    }

    private borrowing func incarnation(in key: Bytes) throws(EngineError) -> Incarnation {
        var reader = KeyReader(key)
        _ = try reader.number(ScopeNumber.self)
        return Incarnation(try reader.number())
    }
}

/// The log of a scope, as the writer keeps it.
package struct ScopeLog: Sendable {
    let scope: ScopeNumber

    package init(of scope: ScopeNumber) { self.scope = scope }

    /// Raises the vector to these commits: they arrived as state, without log entries.
    package func raise(
        to vectors: [Incarnation: VectorRow],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        var known = try transaction.loadScope(scope)
        var rows = known.runs.rows
        for (incarnation, row) in vectors {
            guard row.seq > rows[incarnation]?.seq ?? 0 else { continue }
            try drop(of: incarnation, through: row.seq, &transaction)
            rows[incarnation] = row
            known.touched.insert(incarnation)
            known.isRaised = true
            transaction.observe(row.time)
        }
        known.runs = Runs(rows)
        known.cuts = [:]
        transaction.replaceScope(known)
        try ScopeFeeds(of: scope).noteBreak(&transaction)
    }

    /// Drops an incarnation's commits from the log, up to a given one.
    package func drop(
        of incarnation: Incarnation,
        through seq: UInt64,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let key = RowKey.logFloor(scope, incarnation)
        let floor: SeqRow? = try transaction.row(key)
        let first = (floor?.seq ?? 0) + 1
        guard first <= seq else { return }
        transaction.deleteRange(.log, .commits(scope, incarnation, first...seq))
        transaction.put(key, SeqRow(seq: seq))
    }
}
