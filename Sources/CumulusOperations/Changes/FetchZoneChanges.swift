// Fetches what has changed in a zone since a token: a page of records and deletions, and the token
// to go on with.
//
// Run by the node on a reader thread, from one snapshot per page; a simulator runs it in place. The
// change index is read incarnation by incarnation above the token. A record is told as it is now,
// once per page. A record with several index rows may come again on a later page: to tell it at its
// last row only would need the next page from this node, since other nodes may have forgotten some
// of the rows. On the last page nothing is left in its snapshot; its token is the snapshot's
// vector. hot: once per record that changed.
//
// Folder: what a request for changes means. Read `ChangeToken`, then `FetchZoneChanges` and
// `FetchDatabaseChanges`, and `FollowChanges`, which makes a stream of their pages.

package import CumulusModel
package import CumulusStorage

package struct FetchZoneChanges: Sendable {
    package var database: DatabaseScope
    package var zone: ZoneAddress
    /// nil means from the beginning, without the deletions before this fetch.
    package var token: ChangeToken?
    /// Sorted names of the wanted fields; nil means all.
    package var keys: [String]?
    package var limit: PageLimit
    /// Whether default zones tell changes too; true for followers.
    package var includesDefaultZones = false
    /// Always empty in a node.
    package var broken: BrokenRules = []

    package init(
        database: DatabaseScope,
        zone: ZoneAddress,
        since token: ChangeToken?,
        keys: [String]?,
        limit: PageLimit
    ) {
        self.database = database
        self.zone = zone
        self.token = token
        self.keys = keys
        self.limit = limit
    }

    /// How much one page may hold.
    package struct PageLimit: Hashable, Sendable {
        package var items: Int
        package var bytes: Int

        package init(items: Int, bytes: Int) {
            self.items = items
            self.bytes = bytes
        }
    }

    package struct Page: Sendable {
        package struct Deletion: Hashable, Sendable {
            package var name: String
            package var type: String
        }

        package var records: [RecordView] = []
        package var deletions: [Deletion] = []
        package var token: ChangeToken
        /// Whether another caller with the same roles may be told something else, because some
        /// records are of a type that only their creators may read.
        package var isPersonal = false
        package var moreComing: Bool { token.progress != nil }
    }

    /// The next page.
    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(ReadFailure) -> Page {
        do {
            let database = try Authorisation.database(self.database, for: caller)
            guard let found = try reader.findShown(zone, in: database, of: number, by: caller)
            else {
                throw ServiceError.zoneNotFound(zone, in: self.database)
            }
            guard includesDefaultZones || found.capabilities.contains(.fetchChanges) else {
                throw ServiceError.keepsNoChanges(zone.name, database)
            }
            let runs = try reader.runs(of: number)
            let vector = runs.vector
            let viewer = found.viewer(caller)
            let start = try self.start(token, scope, found.zone, viewer, runs)
            // Nothing was written to a default zone without a number.
            if found.number == nil {
                let truncation = try reader.truncation(of: number)
                return page(scope, found, viewer, runs, truncation: truncation)
            }
            guard let databaseNumber = try reader.database(number, found.zone.database),
                let row = try reader.zone(databaseNumber, zone.name)
            else { throw EngineError.corrupt("zone '\(zone.name)' has no row") }
            let access = try AccessReader(to: found, of: number, by: caller, schemas, reader)
            try checkExpiry(of: start.base, row, found.lens, access, reader)
            if access.isPartial {
                return try treePage(scope, number, found, by: caller, access, start, runs, reader)
            }
            var gathering = Gathering(
                self,
                start,
                in: row.number,
                of: found,
                by: caller,
                access,
                reader
            )
            let isComplete = try gathering.gather(through: vector)
            let truncation = try reader.truncation(of: number)
            var page = page(scope, found, viewer, runs, truncation: truncation)
            page.records = gathering.records
            page.deletions = gathering.deletions
            page.isPersonal = gathering.isPersonal
            if !isComplete {
                page.token.base = runs.short(start.base)
                page.token.progress = .records(gathering.progress)
            }
            return page
        } catch {
            throw ReadFailure(error)
        }
    }

    /// Refuses a token if the changes since then can't all be told any more.
    private func checkExpiry(
        of base: VersionVector,
        _ row: ZoneRow,
        _ lens: RecordLens,
        _ access: AccessReader,
        _ reader: ReadTransaction
    ) throws {
        guard !checksHorizon || base.covers(row.horizon) else {
            throw ServiceError.tokenExpired("deletions that it would have to tell are forgotten")
        }
        guard lens.isKnown(to: base) else {
            throw ServiceError.tokenExpired(
                "the schema dropped types or fields since, or gave fields other types"
            )
        }
        guard try access.isKnown(to: base, reader) else {
            throw ServiceError.tokenExpired(
                "what its caller may read changed since, by the schema or by roles"
            )
        }
    }

    /// A last page, without records.
    func page(
        _ scope: ScopeID,
        _ found: FoundZone,
        _ viewer: ChangeToken.Viewer?,
        _ runs: Runs,
        truncation: HybridTime
    ) -> Page {
        Page(
            token: ChangeToken(
                scope: scope,
                subject: .records(of: found.zone),
                viewer: viewer,
                base: runs.shortVector,
                seen: runs.shortVector,
                truncation: truncation
            )
        )
    }

    private var checksHorizon: Bool {
        if broken.contains(.tokenHorizon) { return false }
        return !broken.contains(.laterHorizon) || token?.progress == nil
    }

    /// Where a page begins.
    struct Start {
        var base: VersionVector
        var progress: ChangeProgress
    }

    private func start(
        _ token: ChangeToken?,
        _ scope: ScopeID,
        _ zone: Commit.Zone,
        _ viewer: ChangeToken.Viewer?,
        _ runs: Runs
    ) throws(ServiceError) -> Start {
        guard let token else {
            return Start(base: runs.vector, progress: ChangeProgress(told: VersionVector()))
        }
        try token.check(scope)
        guard case .records(let itsZone) = token.subject, itsZone.database == zone.database,
            itsZone.name == zone.name
        else { throw .tokenOfAnother("zone") }
        guard token.viewer?.user == viewer?.user else { throw .tokenOfAnother("caller") }
        guard (token.viewer?.seen == .wholeZone) == (viewer?.seen == .wholeZone) else {
            throw .tokenExpired("the zone was shared in part, and now is as a whole, or otherwise")
        }
        guard itsZone.generation == zone.generation else {
            throw .tokenExpired("its zone was deleted, and made again under the same name")
        }
        try token.checkReach(runs, broken)
        let base = runs.whole(token.base)
        if case .records(let progress) = token.progress {
            return Start(base: base, progress: progress)
        }
        return Start(base: base, progress: ChangeProgress(told: base))
    }
}

extension FetchZoneChanges {
    /// A page in the making.
    private struct Gathering {
        private let fetch: FetchZoneChanges
        private let base: VersionVector
        private let zone: ZoneNumber
        private let found: FoundZone
        private let caller: Caller
        private let access: AccessReader
        private let reader: ReadTransaction
        private(set) var progress: ChangeProgress
        private(set) var records: [RecordView] = []
        private(set) var deletions: [Page.Deletion] = []
        private(set) var isPersonal = false
        private var names: Set<String> = []
        private var byteCount = 0

        /// How many rows of the change index are read at a time.
        private static let chunk = 128
        /// Bytes that each row counts, so that a page of untold rows ends in bounded time too.
        private static let rowBytes = 128

        init(
            _ fetch: FetchZoneChanges,
            _ start: Start,
            in zone: ZoneNumber,
            of found: FoundZone,
            by caller: Caller,
            _ access: AccessReader,
            _ reader: ReadTransaction
        ) {
            self.fetch = fetch
            self.found = found
            self.caller = caller
            self.access = access
            base = start.base
            progress = start.progress
            self.zone = zone
            self.reader = reader
        }

        private var isFull: Bool {
            names.count >= fetch.limit.items || byteCount >= fetch.limit.bytes
        }

        /// Reads records until the page is full or all are told; returns true if all are told.
        ///
        /// A commit that was told in part comes first, so there is at most one such commit.
        mutating func gather(through vector: VersionVector) throws(EngineError) -> Bool {
            if let last = progress.last, !(try gather(last.dot.incarnation, through: vector)) {
                return false
            }
            for dot in vector.dots where progress.told[dot.incarnation] < dot.seq {
                guard try gather(dot.incarnation, through: vector) else { return false }
            }
            return true
        }

        private mutating func gather(
            _ incarnation: Incarnation,
            through vector: VersionVector
        ) throws(EngineError) -> Bool {
            var isAtEnd = false
            while !isAtEnd {
                let rest = rest(of: incarnation)
                let rows = try reader.rows(.index, rest, limit: Gathering.chunk)
                for (key, _) in rows {
                    if isFull { return false }
                    var parts = KeyReader(key)
                    _ = try parts.number(ZoneNumber.self)
                    _ = try parts.number(UInt32.self)
                    let dot = try parts.dot()
                    try tell(dot, try parts.text())
                }
                isAtEnd = rows.count < Gathering.chunk
            }
            progress.told[incarnation] = vector[incarnation]
            progress.last = nil
            return true
        }

        /// The rows of the change index of an incarnation that are not told.
        private func rest(of incarnation: Incarnation) -> KeyRange {
            var range = KeyRange.changes(of: zone, incarnation, above: progress.told[incarnation])
            if let last = progress.last, last.dot.incarnation == incarnation {
                range.start = RowKey.change(zone, last.dot, last.name).bytes + [0]
            }
            return range
        }

        private mutating func tell(_ dot: Dot, _ name: String) throws(EngineError) {
            byteCount += Gathering.rowBytes
            progress.told[dot.incarnation] = dot.seq - 1
            progress.last = ChangeProgress.Position(dot: dot, name: name)
            if fetch.broken.contains(.commitPages) {
                progress.told[dot.incarnation] = dot.seq
                progress.last = nil
            }
            guard !names.contains(name) else { return }
            guard let row = try reader.record(zone, name) else {
                throw .corrupt("the change index names '\(name)', which is not there")
            }
            // The record was deleted before the fetch began.
            if row.isDead, row.frontier.allSatisfy({ base.covers($0.dot) }) { return }
            guard try mayTell(row) else { return }
            names.insert(name)
            if row.isDead {
                let type = StoredName.shown(row.type)
                deletions.append(Page.Deletion(name: name, type: type))
            } else {
                try add(row, named: name)
            }
        }

        /// Whether the caller may read a record, or might before it was deleted.
        private mutating func mayTell(_ row: RecordRow) throws(EngineError) -> Bool {
            switch try access.reading(typeOf: row, reader) {
            case .all: return true
            case .none: return false
            case .own:
                isPersonal = true
                return access.isCreator(of: row)
            }
        }

        private mutating func add(_ row: RecordRow, named name: String) throws(EngineError) {
            let view = try reader.decoding(RowKey.record(zone, name).bytes) {
                () throws(MalformedBytes) in
                try found.showing(fetch.keys) { keys in
                    var view = RecordView(row, name: name)
                    if let keys { view.fields = row.body.selecting(keys).bytes }
                    return view
                }
            }
            if let view {
                byteCount += view.fields.count
                records.append(try reader.completed(view, in: found, for: caller))
            } else if !row.frontier.allSatisfy({ base.covers($0.dot) }) {
                // A hidden record has the name of one that the caller may know.
                let type = StoredName.shown(row.type)
                deletions.append(Page.Deletion(name: name, type: type))
            }
        }
    }
}
