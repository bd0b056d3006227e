// Applies commits to rows. No other code writes records, zones and registers: a request of this
// node becomes a commit first and is applied here. Replaying a log gives the same rows byte for
// byte.
//
// Called by operations through `perform`. Every step is a function of the commit and of replicated
// state, never of the node.
//
// Folder: what a commit is and what it does to the store. Read `Commit`, then `ApplyCommit` and its
// steps in `ApplyCommit+Zones` and `ApplyCommit+Records`.

package import CumulusModel

extension WriteTransaction {
    /// Makes a commit of this node, logs it and applies it.
    ///
    /// Returns the commit, and the rows that its puts left, in order.
    ///
    /// - Parameter bringsBack: The puts restore references as they stood, though their targets may
    ///   have been deleted since.
    package mutating func perform(
        _ operations: [Commit.Operation],
        in scope: ScopeNumber,
        zone: Commit.Zone?,
        author: Author,
        bringsBack: Bool = false
    ) throws(EngineError) -> (commit: Commit, rows: [RecordRow]) {
        let commit = try makeCommit(scope, author: author, zone: zone, operations: operations)
        let rows = try apply(commit, bytes: commit.encoded(), in: scope)
        if bringsBack || operations.contains(where: \.endsHiddenLives) {
            noteUncompensated(commit, in: scope)
        }
        if !state.fired.isEmpty { try ScopeFeeds(of: scope).endFired(on: commit.stamp.dot, &self) }
        return (commit, rows)
    }

    /// Logs a commit and applies its operations.
    ///
    /// Everything that the commit depends on must have been applied.
    @discardableResult
    package mutating func apply(
        _ commit: Commit,
        bytes: Bytes,
        in scope: ScopeNumber
    ) throws(EngineError) -> [RecordRow] {
        if commit.stamp.dot.incarnation != state.incarnation { ScopeIndexes.allowRows(&self) }
        let found = try find(commit.zone, in: scope)
        let cut = try log(commit, bytes: bytes, in: scope)
        var application = CommitApplication(
            commit: commit,
            cut: cut,
            scope: scope,
            broken: state.broken,
            position: try loadScope(scope).nextPosition - 1,
            found: found
        )
        for operation in commit.operations {
            switch operation {
            case .register(let register): try apply(register, commit, in: scope)
            case .zoneCreate: try applyZoneCreate(&application)
            case .zoneDelete(let reason): try applyZoneDelete(reason, &application)
            case .put(let put): try apply(put, &application)
            case .delete(let name, let births, let keys):
                try applyDelete(name, births, keys, &application)
            case .access(let access): try apply(access, &application)
            }
        }
        if let zone = commit.zone {
            let known = application.place?.database
            let database = if let known { known } else { try makeDatabase(scope, zone.database) }
            touch(database, zone: zone.name, commit.stamp.dot)
            try ScopeFeeds(of: scope).noteZone(zone, commit, &self)
        }
        try store(application.conflicts, of: commit, in: scope)
        try ScopeIndexes.settle(&self)
        if commit.stamp.dot.incarnation != state.incarnation { try noteRequest(of: commit, scope) }
        return application.rows
    }

    /// The row of a commit's zone; nil if the commit names no zone.
    ///
    /// A commit that only names a zone must not end the zone's last generation.
    private mutating func find(
        _ zone: Commit.Zone?,
        in scope: ScopeNumber
    ) throws(EngineError) -> CommitApplication.Found? {
        guard let zone else { return nil }
        guard let database = try database(scope, zone.database) else {
            try checkReach(of: zone, from: nil)
            return nil
        }
        let row = try self.zone(database, zone.name)
        try checkReach(of: zone, from: row)
        return CommitApplication.Found(database: database, row: row)
    }

    private borrowing func checkReach(
        of zone: Commit.Zone,
        from row: ZoneRow?
    ) throws(EngineError) {
        guard Zones.isReachable(zone.generation, from: row) else {
            throw .corrupt(
                "a commit names generation \(zone.generation) of \(zone.name), which nobody made"
            )
        }
    }

    /// Remembers which commits another node made for a request, so that its retry here is known.
    private mutating func noteRequest(
        of commit: Commit,
        _ scope: ScopeNumber
    ) throws(EngineError) {
        guard let requestID = RequestID(commit.requestID) else { return }
        let key = RowKey.request(requestID, scope, commit.user)
        var row = try row(key) ?? RequestRow(digest: [], dots: [], outcome: [])
        guard row.digest.isEmpty else { return }
        row.dots.append(commit.stamp.dot)
        put(key, row)
    }

    private mutating func store(
        _ conflicts: [Conflict],
        of commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) {
        // Fields beyond that have no number; no commit loses 65,535 fields at once.
        for (number, conflict) in conflicts.prefix(Int(UInt16.max)).enumerated() {
            let key = RowKey.conflict(scope, commit.stamp, UInt16(truncatingIfNeeded: number))
            put(key, conflict)
            let database = try makeDatabase(scope, conflict.zone.database)
            try DatabaseAssets(of: database).noteLosses(conflict, key, &self)
        }
    }
}

extension Commit.Operation {
    /// Whether the commit may end lives that are not shown.
    ///
    /// A deletion cascades only to what the shown life owned. It names all births of a life, so a
    /// deletion that names several may still end a single life.
    fileprivate var endsHiddenLives: Bool {
        switch self {
        case .put(let put): !put.absorbed.isEmpty
        case .delete(_, let births, _): births.count > 1
        case .zoneCreate, .zoneDelete, .register, .access: false
        }
    }
}
