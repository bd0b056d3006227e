// Finds the records of one type that satisfy a predicate: a page of them in their order, and where
// the next one begins.
//
// Run by the session on a reader thread, from one snapshot per page. `QuerySearch` finds the places
// of a page's records; their bodies are read afterwards, so memory is bounded by the page.
//
// Folder: what a query request means, page by page. Read `QueryRecords`, then `QuerySearch` and
// `QueryCursor`.

package import CumulusModel
package import CumulusStorage

package struct QueryRecords: Sendable {
    package var database: DatabaseScope
    /// nil means all zones of the private database, the default zone of the public one; the shared
    /// one needs it.
    package var zone: ZoneAddress?
    package var query: Query
    /// Sorted names of the wanted fields; nil means all.
    package var keys: [String]?
    /// Most records of a page.
    package var limit: Int
    /// Only the number of records is wanted.
    ///
    /// Beyond CloudKit.
    package var counts = false
    /// nil means from the beginning.
    package var cursor: QueryCursor?
    /// Tells what is asked, and where, from everything else.
    package var question: Bytes
    package var limits: Limits
    /// Rows that are counted before anything is walked; tests have few records, and say less.
    package var firstStretch = 256
    /// Always empty in a node.
    package var broken: BrokenRules = []

    package init(
        database: DatabaseScope,
        zone: ZoneAddress?,
        query: Query,
        keys: [String]?,
        limit: Int,
        question: Bytes,
        limits: Limits
    ) {
        self.database = database
        self.zone = zone
        self.query = query
        self.keys = keys
        self.limit = limit
        self.question = question
        self.limits = limits
    }

    package struct Page: Sendable {
        package var records: [(zone: ZoneAddress, record: RecordView)] = []
        /// nil means this was the last page.
        package var next: QueryCursor?
        /// Records that satisfy the predicate, where only their number was wanted.
        package var count: UInt64 = 0
        package var work = Work()
        /// Whether the caller may read all that the search may look at.
        ///
        /// If not, its work must not be told: it depends on what the caller may not see.
        package var tellsWork = false
    }

    /// What a page cost.
    package struct Work: Hashable, Sendable {
        /// How the records were found, for people.
        package var plan = ""
        package var rowsRead: UInt64 = 0
        package var rowsKept: UInt64 = 0
        /// How long it took; the caller, which has a clock, enters it.
        package var microseconds: UInt64 = 0
    }

    /// The caller, the time, and whether anybody still waits for the answer.
    package struct Circumstances: Sendable {
        package var caller: Caller
        /// Milliseconds since 1970 UTC.
        package var now: Int64
        /// Why to stop; nil means go on.
        ///
        /// Asked every few milliseconds.
        package var refusal: @Sendable () -> ServiceError?

        package init(
            caller: Caller,
            now: Int64,
            refusal: @escaping @Sendable () -> ServiceError? = { nil }
        ) {
            self.caller = caller
            self.now = now
            self.refusal = refusal
        }
    }

    /// The next page, or what the caller is to be told instead.
    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        _ circumstances: Circumstances,
        in reader: ReadTransaction,
        zones directory: ZoneDirectory = ZoneDirectory(),
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(ReadFailure) -> Page {
        do {
            let database = try Authorisation.database(database, for: circumstances.caller)
            let zones = try zones(number, database, circumstances.caller, directory, reader)
            let type = try schemas.find(query.recordType, of: number, reader)
            let caller = circumstances.caller
            var creator: String?
            var readsAll = true
            if database.kind == .public {
                let roles = try schemas.roles(of: caller, in: number, reader).names
                creator = try onlyCreator(type.schema.grants, caller, roles)
                readsAll = caller.role == .operator
            }
            var bound = try bind(scope, type.schema, circumstances)
            if let creator { bound.restrict(toRecordsOf: creator) }
            let runs = try reader.runs(of: number)
            try cursor?.check(scope, database, caller, question, runs, broken)
            let access = try partialAccess(zones, number, caller, schemas, reader)
            let plan = QueryPlan(bound, type.indexes, counts: counts)
            if plan.staysInType, creator == nil { readsAll = true }
            var search = QuerySearch(
                query: bound,
                plan: plan,
                // A small tree is looked through, however large the zone is.
                names: try access?.names(limit: QueryRecords.treeNames, reader),
                limit: counts ? 0 : limit,
                start: cursor?.place,
                access: access,
                firstStretch: firstStretch,
                circumstances: circumstances
            )
            for zone in zones { try search.read(zone, reader) }
            var page = Page(work: search.work, tellsWork: readsAll && access == nil)
            if zones.count > 1 {
                page.work.plan += " (in the last of \(zones.count) zones)"
            }
            if counts {
                page.count = search.work.rowsKept
                return page
            }
            if let last = try fill(&page, &search, zones, for: caller, reader) {
                page.next = QueryCursor(
                    scope: scope,
                    database: database,
                    caller: caller.role,
                    question: question,
                    seen: runs.shortVector,
                    truncation: try reader.truncation(of: number),
                    place: last
                )
            }
            return page
        } catch {
            throw ReadFailure(error)
        }
    }

    // MARK: What is searched

    /// Records of a shared tree that are looked up by name and not searched for.
    private static let treeNames = 400

    /// Asked for each result, where the caller sees a part of the zone; nil elsewhere.
    private func partialAccess(
        _ zones: [FoundZone],
        _ scope: ScopeNumber,
        _ caller: Caller,
        _ schemas: SchemaDirectory,
        _ reader: ReadTransaction
    ) throws(EngineError) -> AccessReader? {
        guard let zone = zones.first, let view = zone.rights.view, view.wholeZone == nil else {
            return nil
        }
        return try AccessReader(to: zone, of: scope, by: caller, schemas, reader)
    }

    private func zones(
        _ scope: ScopeNumber,
        _ database: DatabaseID,
        _ caller: Caller,
        _ directory: ZoneDirectory,
        _ reader: ReadTransaction
    ) throws -> [FoundZone] {
        if zone == nil, database.kind == .private {
            return try reader.findAllShown(of: database, scope, by: caller)
        }
        guard zone != nil || database.kind == .public else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a query of the shared database must name a zone, with its owner"
            )
        }
        let zone = zone ?? ZoneAddress()
        let found = try directory.find(zone, in: database, of: scope, by: caller, reader)
        guard let found else { throw ServiceError.zoneNotFound(zone, in: database.kind) }
        return [found]
    }

    private func bind(
        _ scope: ScopeID,
        _ schema: TypeSchema,
        _ circumstances: Circumstances
    ) throws -> BoundQuery {
        guard query.recordType != UserRecords.type else {
            throw ServiceError(
                .invalidArguments,
                "Can't query system types: records of type Users are fetched by name"
            )
        }
        return try BoundQuery(
            query,
            schema,
            BoundQuery.Context(
                environment: scope.environment,
                user: circumstances.caller.user,
                now: circumstances.now,
                limits: limits
            )
        )
    }

    /// The user whose records alone may be found in the public database, since only creators may
    /// read the type; nil means all.
    private func onlyCreator(
        _ grants: Grants,
        _ caller: Caller,
        _ roles: Set<String>
    ) throws(ServiceError) -> String? {
        switch Authorisation.reading(grants, by: caller, with: roles) {
        case .all: return nil
        case .own: return caller.user
        case .none: throw Authorisation.notReadable(query.recordType, grants, caller, roles)
        }
    }

    // MARK: The page

    /// Reads the bodies, until the page is full.
    ///
    /// Returns the place behind which the next page begins.
    private func fill(
        _ page: inout Page,
        _ search: inout QuerySearch,
        _ zones: [FoundZone],
        for caller: Caller,
        _ reader: ReadTransaction
    ) throws -> ResultPlace? {
        let results = search.results.results
        var byteCount = 0
        for result in results.prefix(limit) {
            if byteCount >= limits.answerBytes { break }
            let place = result.place
            let spelling = place.zone.utf8
            guard let zone = zones.first(where: { $0.zone.name.utf8.elementsEqual(spelling) }),
                let found = try view(result, zone, &search, reader)
            else { throw EngineError.corrupt("a record that was found is not there") }
            let view = try reader.completed(found, in: zone, for: caller)
            byteCount += view.fields.count
            let owner = zone.rights.view == nil ? "" : zone.zone.database.owner
            page.records.append((ZoneAddress(name: place.zone, owner: owner), view))
        }
        guard page.records.count < results.count else { return nil }
        return results[page.records.count - 1].place
    }

    /// A record as the caller is shown it; nil if it is gone.
    private func view(
        _ result: SortedResults.Result,
        _ zone: FoundZone,
        _ search: inout QuerySearch,
        _ reader: ReadTransaction
    ) throws -> RecordView? {
        let name = result.place.name
        if let known = result.record?.view {
            return try zone.showing(keys) { (keys) throws(MalformedBytes) in
                guard let keys else { return known }
                var view = known
                view.fields = try RecordBody(stored: known.fields).selecting(keys).bytes
                return view
            }
        }
        guard let number = zone.number, let row = try reader.get(.record(number, name)) else {
            return nil
        }
        try search.spend(onRow: row)
        return try zone.showing(keys) { (keys) throws(MalformedBytes) in
            try RecordView(row: row, name: name, keys: keys)
        }
    }
}
