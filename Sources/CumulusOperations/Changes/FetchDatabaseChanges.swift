// Fetches which zones of a database have changed since a token: zones that were made or deleted, or
// whose records changed.
//
// Run by the node on a reader thread, from one snapshot per page; a page of the shared database
// takes as many turns there as it needs. Zones are told in the order of their names. A fetch of
// several pages ends with the vector of its first page, so the next fetch tells what changed
// meanwhile.

package import CumulusModel
package import CumulusStorage

package struct FetchDatabaseChanges: Sendable {
    package var database: DatabaseScope
    /// nil means from the beginning, without deleted zones.
    package var token: ChangeToken?
    /// The most zones of a page.
    package var limit: Int
    /// Whether default zones are told too, and with them the public database; true for followers.
    package var includesDefaultZones = false
    /// Whether the page has only a token that covers all changes up to now.
    package var onlyToken = false
    /// Always empty in a node.
    package var broken: BrokenRules = []

    package init(database: DatabaseScope, since token: ChangeToken?, limit: Int) {
        self.database = database
        self.token = token
        self.limit = limit
    }

    package struct Page: Sendable {
        package struct Deletion: Hashable, Sendable {
            package var zone: ZoneAddress
            /// 0 deleted, 1 purged, 2 encrypted data reset.
            package var reason: UInt8
        }

        /// The zones that changed; in the shared database they have owners.
        package var changed: [ZoneAddress] = []
        package var deletions: [Deletion] = []
        package var token: ChangeToken
        package var moreComing: Bool { token.progress != nil }
    }

    /// The next page.
    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Page {
        var reading = try begin(scope, number, by: caller, in: reader)
        while true {
            if let page = try reading.turn() { return page }
        }
    }

    /// Checks that there may be a next page, and begins it.
    package func begin(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Reading {
        do {
            let database = try Authorisation.database(self.database, for: caller)
            guard includesDefaultZones || database.kind != .public else {
                throw ServiceError.keepsNoChanges(Names.defaultZone, database)
            }
            let runs = try reader.runs(of: number)
            let token = try checked(scope, database, runs)
            if database.kind == .shared {
                let shared = try VisibleZoneChanges(
                    self,
                    after: token,
                    runs,
                    database,
                    in: number,
                    by: caller,
                    reader
                )
                return Reading(way: .shared(shared))
            }
            let databaseNumber = try reader.database(number, database)
            var page = try page(after: token, runs, databaseNumber, in: number, reader)
            page.token.truncation = try reader.truncation(of: number)
            return Reading(way: .done(page))
        } catch {
            throw ReadFailure(error)
        }
    }

    /// A page in the making, over one snapshot.
    package struct Reading: Sendable {
        fileprivate enum Way: Sendable {
            case done(Page)
            case shared(VisibleZoneChanges)
        }

        fileprivate var way: Way

        /// Goes on for one turn on a reader thread; returns the page if it is done.
        package mutating func turn() throws(ReadFailure) -> Page? {
            do {
                switch way {
                case .done(let page): return page
                case .shared(var shared):
                    let page = try shared.turn()
                    way = .shared(shared)
                    return page
                }
            } catch {
                throw ReadFailure(error)
            }
        }
    }

    /// The token, or the one from which a first fetch goes on; refuses one of something else.
    private func checked(
        _ scope: ScopeID,
        _ database: DatabaseID,
        _ runs: Runs
    ) throws(ServiceError) -> ChangeToken {
        let token =
            token
            ?? ChangeToken(
                scope: scope,
                subject: .zones(of: database),
                base: VersionVector(),
                seen: runs.shortVector,
                truncation: HybridTime(0)
            )
        try token.check(scope)
        guard token.subject == .zones(of: database) else {
            throw .tokenOfAnother("database")
        }
        try token.checkReach(runs, broken)
        return token
    }

    private func page(
        after token: ChangeToken,
        _ runs: Runs,
        _ database: DatabaseNumber?,
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Page {
        var (last, end) = ("", runs.shortVector)
        if case .zones(let name, let first) = token.progress { (last, end) = (name, first) }
        var page = Page(token: token)
        page.token.base = end
        page.token.seen = runs.shortVector
        page.token.progress = nil
        guard let database, !onlyToken else { return page }
        let heads = try heads(of: database, reader)
        let base = runs.whole(token.base)
        // A change of the schema may change what records show, in any zone.
        let isKnown = try RecordLens(of: scope, in: reader).isKnown(to: base)
        let known = base.isEmpty ? runs.whole(end) : base
        var range = KeyRange.zones(of: database)
        if !last.isEmpty { range.start = RowKey.zone(database, last).bytes + [0] }
        for (key, value) in try reader.rows(.meta, range) {
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            let name = try parts.text()
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try ZoneRow(row: value)
            }
            guard includesDefaultZones || name != Names.defaultZone else { continue }
            if row.exists {
                guard !isKnown || !base.covers(heads[name] ?? VersionVector()) else { continue }
            } else {
                // Without a token, deleted zones are not told.
                guard let deleted = row.deleted, !known.covers(deleted.dot) else { continue }
            }
            if page.changed.count + page.deletions.count >= limit {
                page.token.base = token.base
                page.token.progress = .zones(last: last, end: end)
                return page
            }
            last = name
            if row.exists {
                page.changed.append(ZoneAddress(name: name))
            } else {
                let zone = ZoneAddress(name: name)
                page.deletions.append(Page.Deletion(zone: zone, reason: row.reason))
            }
        }
        return page
    }

    /// How far each incarnation has touched each zone.
    private func heads(
        of database: DatabaseNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [String: VersionVector] {
        var heads: [String: VersionVector] = [:]
        for (key, value) in try reader.rows(.meta, .zoneHeads(of: database)) {
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            let incarnation = Incarnation(try parts.number())
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try SeqRow(row: value)
            }
            heads[try parts.text(), default: VersionVector()][incarnation] = row.seq
        }
        return heads
    }
}
