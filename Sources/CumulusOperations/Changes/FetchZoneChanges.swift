// Fetches what has changed in a zone since a token: a page of records and deletions, and the token
// to go on with.
//
// Run by the node on a reader thread, from one snapshot per page; a simulator runs it in place. A
// page takes as many turns there as it needs. The change index is read incarnation by incarnation
// above the token. A record is told as it is now, once per page. A record with several index rows
// may come again on a later page: to tell it at its last row only would need the next page from
// this node, since other nodes may have forgotten some of the rows. On the last page nothing is
// left in its snapshot; its token is the snapshot's vector. hot: once per record that changed.
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
    /// Whether the page has only a token that covers all changes up to now.
    package var onlyToken = false
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
        var reading = try begin(scope, number, by: caller, in: reader, schemas: schemas)
        while true {
            if let page = try reading.turn() { return page }
        }
    }

    /// Checks that there may be a next page, and begins it.
    package func begin(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(ReadFailure) -> Reading {
        do {
            let database = try Authorisation.database(self.database, for: caller)
            guard let found = try reader.find(zone, in: database, of: number, by: caller)
            else {
                throw ServiceError.zoneNotFound(zone, in: self.database)
            }
            guard includesDefaultZones || found.capabilities.contains(.fetchChanges) else {
                throw ServiceError.keepsNoChanges(zone.name, database)
            }
            let runs = try reader.runs(of: number)
            let viewer = found.viewer(caller)
            let start = try self.start(token, scope, found.zone, viewer, runs)
            let truncation = try reader.truncation(of: number)
            let page = page(scope, found, viewer, runs, truncation: truncation)
            // Nothing was written to a default zone without a number.
            if found.number == nil { return Reading(way: .nothing, page: page, runs: runs) }
            guard let databaseNumber = try reader.database(number, found.zone.database),
                let row = try reader.zone(databaseNumber, zone.name)
            else { throw EngineError.corrupt("zone '\(zone.name)' has no row") }
            let access = try AccessReader(to: found, of: number, by: caller, schemas, reader)
            if onlyToken { return Reading(way: .nothing, page: page, runs: runs) }
            try checkExpiry(of: start.base, row, found.lens, access, reader)
            if access.isPartial {
                let trees = try trees(found, by: caller, access, start, runs, reader)
                return Reading(way: .trees(trees), page: page, runs: runs)
            }
            let gathering = Gathering(
                self,
                start,
                in: row.number,
                of: found,
                by: caller,
                access,
                reader
            )
            return Reading(way: .records(gathering), page: page, runs: runs)
        } catch {
            throw ReadFailure(error)
        }
    }

    /// A page in the making, over one snapshot.
    ///
    /// Only what is told fills a page, and more comes only if something is left to tell. So a page
    /// says nothing of changes that its caller may not know, however many are between.
    package struct Reading: Sendable {
        fileprivate enum Way: Sendable {
            case nothing
            case records(Gathering)
            case trees(TreeReading)
        }

        fileprivate var way: Way
        /// The last page, if it tells nothing.
        fileprivate let page: Page
        fileprivate let runs: Runs

        /// Goes on for one turn on a reader thread; returns the page if it is done.
        package mutating func turn() throws(ReadFailure) -> Page? {
            do {
                switch way {
                case .nothing: return page
                case .records(var gathering):
                    let isDone = try gathering.turn(through: runs.vector)
                    way = .records(gathering)
                    return isDone ? gathering.finish(page, runs) : nil
                case .trees(var trees):
                    let isDone = try trees.changes.turn(through: runs.vector)
                    way = .trees(trees)
                    return isDone ? trees.finish(page, runs) : nil
                }
            } catch {
                throw ReadFailure(error)
            }
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
    /// Gathers the changes of a zone that the caller sees as a whole, or by the grants of types.
    fileprivate struct Gathering: Sendable {
        private let fetch: FetchZoneChanges
        private let base: VersionVector
        private let zone: ZoneNumber
        private let found: FoundZone
        private let caller: Caller
        private let access: AccessReader
        private var reader: ReadTransaction
        private var progress: ChangeProgress
        /// Where the page ends, behind the last change that it has room for; nil while it has room.
        private var end: ChangeProgress?
        /// Whether something is left to tell that the page has no room for.
        private var isOver = false
        private var records: [RecordView] = []
        private var deletions: [Page.Deletion] = []
        private var isPersonal = false
        private var names: Set<String> = []
        private var byteCount = 0
        private var looks = 0

        /// How many rows of the change index are read at a time.
        private static let chunk = 128
        /// Rows that are looked at in one turn.
        private static let turn = 4_096
        /// Bytes of a change besides its fields.
        private static let rowBytes = 128

        private enum News {
            case record(RecordView)
            case deletion(type: String)
        }

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

        /// The page, once it is done.
        ///
        /// - Parameter empty: The last page, if it tells nothing.
        func finish(_ empty: Page, _ runs: Runs) -> Page {
            var page = empty
            page.records = records
            page.deletions = deletions
            page.isPersonal = isPersonal
            if isOver, let end {
                page.token.base = runs.short(base)
                page.token.progress = .records(end)
            }
            return page
        }

        /// Looks at as many changes as one turn may; returns whether the page is done.
        mutating func turn(through vector: VersionVector) throws(EngineError) -> Bool {
            looks = 0
            return try gather(through: vector) || isOver
        }

        /// Returns whether all changes were looked at.
        ///
        /// A commit that was told in part comes first, so there is at most one such commit.
        private mutating func gather(through vector: VersionVector) throws(EngineError) -> Bool {
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
                let rows = try reader.rows(.index, rest(of: incarnation), limit: Gathering.chunk)
                var ahead = 0
                for (index, row) in rows.enumerated() {
                    if looks == Gathering.turn { return false }
                    looks += 1
                    if index == ahead { ahead += try readAhead(rows[index...].lazy.map(\.key)) }
                    let change = try RowKey.change(row.key)
                    try look(at: change.dot, change.name)
                    if isOver { return false }
                }
                isAtEnd = rows.count < Gathering.chunk
            }
            progress.told[incarnation] = vector[incarnation]
            progress.last = nil
            return true
        }

        private mutating func readAhead<Keys: Collection<Bytes>>(
            _ keys: Keys
        ) throws(EngineError) -> Int {
            try reader.readAhead(
                changes: keys,
                of: zone,
                besides: names,
                byteCount: byteCount,
                limit: fetch.limit
            )
        }

        /// The rows of the change index of an incarnation that were not looked at.
        private func rest(of incarnation: Incarnation) -> KeyRange {
            var range = KeyRange.changes(of: zone, incarnation, above: progress.told[incarnation])
            if let last = progress.last, last.dot.incarnation == incarnation {
                range.start = RowKey.change(zone, last.dot, last.name).bytes + [0]
            }
            return range
        }

        private mutating func look(at dot: Dot, _ name: String) throws(EngineError) {
            if !names.contains(name), let news = try news(of: name) {
                isOver = end != nil
                if isOver { return }
                take(news, of: name)
            }
            progress.told[dot.incarnation] = dot.seq - 1
            progress.last = ChangeProgress.Position(dot: dot, name: name)
            if fetch.broken.contains(.commitPages) {
                progress.told[dot.incarnation] = dot.seq
                progress.last = nil
            }
            if end == nil, names.count >= fetch.limit.items || byteCount >= fetch.limit.bytes {
                end = progress
            }
        }

        private mutating func take(_ news: News, of name: String) {
            names.insert(name)
            byteCount += Gathering.rowBytes
            switch news {
            case .record(let view):
                byteCount += view.fields.count
                records.append(view)
            case .deletion(let type): deletions.append(Page.Deletion(name: name, type: type))
            }
        }

        /// What the caller is told of a record; nil if it is told nothing.
        private mutating func news(of name: String) throws(EngineError) -> News? {
            guard let row = try reader.record(zone, name) else {
                throw .corrupt("the change index names '\(name)', which is not there")
            }
            let isKnown = row.frontier.allSatisfy { base.covers($0.dot) }
            // The record was deleted before the fetch began.
            if row.isDead, isKnown { return nil }
            guard try mayTell(row) else { return nil }
            let deletion = News.deletion(type: StoredName.shown(row.type))
            if row.isDead { return deletion }
            let view = try reader.decoding(RowKey.record(zone, name).bytes) {
                () throws(MalformedBytes) in
                try found.showing(fetch.keys) { keys in
                    var view = RecordView(row, name: name)
                    if let keys { view.fields = row.body.selecting(keys).bytes }
                    return view
                }
            }
            if let view { return .record(try reader.completed(view, in: found, for: caller)) }
            // The record is hidden, but the caller may know an earlier record of its name.
            return isKnown ? nil : deletion
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
    }
}
