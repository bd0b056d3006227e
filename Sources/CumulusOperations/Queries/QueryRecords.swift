// Finds the records of one type that satisfy a predicate: a page of them in their order, and where
// the next page begins.
//
// Run by the session on a reader thread, from one snapshot per page; `QueryReading` reads it in
// turns.
//
// Folder: what a query request means, page by page. Read `QueryRecords`, then `QueryReading`,
// `QuerySearch` and `QueryCursor`.

package import CumulusModel
package import CumulusStorage

package struct QueryRecords: Sendable {
    package var database: DatabaseScope
    /// The zone that is searched.
    ///
    /// nil means all zones of the private database, or the default zone of the public one. A query
    /// of the shared database must name a zone.
    package var zone: ZoneAddress?
    package var query: Query
    /// Sorted names of the wanted fields; nil means all.
    package var keys: [String]?
    /// The most records of a page.
    package var limit: Int
    /// Whether only the number of records is wanted.
    ///
    /// This is beyond CloudKit.
    package var counts = false
    /// nil means from the beginning.
    package var cursor: QueryCursor?
    /// A digest of everything that is asked, and where; different questions have different digests.
    package var question: Bytes
    package var limits: Limits
    /// Index rows that are counted before the walk begins; tests have few records, and set it
    /// lower.
    package var firstStretch = 256
    /// The steps of one turn on a reader thread; tests set it lower, too.
    package var turnSteps = QueryEffort.turnSteps
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
        /// Where the next page begins; nil if this was the last page.
        package var next: QueryCursor?
        /// The number of records that satisfy the predicate, if only that was wanted.
        package var count: UInt64 = 0
        package var work = Work()
        /// Whether the caller may read everything that the search may look at.
        ///
        /// If not, the cost of the search must not be told: it depends on what the caller may not
        /// see.
        package var tellsWork = false
    }

    /// The cost of a page.
    package struct Work: Hashable, Sendable {
        /// How the records were found, in words.
        package var plan = ""
        package var rowsRead: UInt64 = 0
        package var rowsKept: UInt64 = 0
        /// How long it took; the code that calls this has a clock and sets it.
        package var microseconds: UInt64 = 0
    }

    /// The state that is read, with the zones and the record types that were found in it.
    package struct State: Sendable {
        package var reader: ReadTransaction
        package var zones: ZoneDirectory
        package var schemas: SchemaDirectory

        package init(
            _ reader: ReadTransaction,
            zones: ZoneDirectory = ZoneDirectory(),
            schemas: SchemaDirectory = SchemaDirectory()
        ) {
            (self.reader, self.zones, self.schemas) = (reader, zones, schemas)
        }
    }

    /// The caller, the time, and whether anybody still waits for the answer.
    package struct Circumstances: Sendable {
        package var caller: Caller
        /// Milliseconds since 1970 UTC.
        package var now: Int64
        /// Why the search must stop; nil means that it goes on.
        ///
        /// It is asked every few milliseconds.
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

    /// The next page, or the error for the caller.
    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        _ circumstances: Circumstances,
        in state: State
    ) throws(ReadFailure) -> Page {
        var reading = try begin(scope, number, circumstances, in: state)
        while true {
            if let page = try reading.next() { return page }
        }
    }

    /// Begins to read the next page, turn by turn.
    package func begin(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        _ circumstances: Circumstances,
        in state: State
    ) throws(ReadFailure) -> QueryReading {
        do {
            let (reader, caller) = (state.reader, circumstances.caller)
            let rights = try rights(number, caller, in: state)
            let type = try state.schemas.find(query.recordType, of: number, reader)
            var bound = try bind(scope, type.schema, circumstances)
            if let creator = rights.creator { bound.restrict(toRecordsOf: creator) }
            let runs = try reader.runs(of: number)
            let database = try Authorisation.database(database, for: caller)
            try cursor?.check(scope, database, caller, question, runs, broken)
            let access = try partialAccess(rights.zones, number, caller, state.schemas, reader)
            let plan = QueryPlan(bound, type.indexes, counts: counts)
            let staysInType = plan.staysInType && rights.creator == nil
            let search = QuerySearch(
                query: bound,
                scope: number,
                plan: plan,
                // A small tree is looked through as a whole, however large the zone is.
                names: try access?.names(limit: QueryRecords.treeNames, reader),
                limit: counts ? 0 : limit,
                start: cursor?.position,
                access: access,
                firstStretch: firstStretch,
                steps: (limits.querySteps, turnSteps),
                ignoresOwed: broken.contains(.indexOwed),
                circumstances: circumstances
            )
            return QueryReading(
                request: self,
                scope: scope,
                number: number,
                database: database,
                caller: caller,
                rights: rights,
                tellsWork: (rights.readsAll || staysInType) && access == nil,
                reader: reader,
                search: search
            )
        } catch {
            throw ReadFailure(error)
        }
    }

    // MARK: What the caller may find

    /// What a caller may find in one state.
    struct Rights: Hashable, Sendable {
        var zones: [FoundZone]
        /// The user to whose records a query of the public database is limited; nil means no limit.
        var creator: String?
        /// Whether no grant keeps records of any type of these zones from the caller.
        var readsAll: Bool
    }

    func rights(
        _ number: ScopeNumber,
        _ caller: Caller,
        in state: State
    ) throws -> Rights {
        let database = try Authorisation.database(database, for: caller)
        let zones = try zones(number, database, caller, state.zones, state.reader)
        let type = try state.schemas.find(query.recordType, of: number, state.reader)
        guard database.kind == .public else {
            return Rights(zones: zones, creator: nil, readsAll: true)
        }
        let roles = try state.schemas.roles(of: caller, in: number, state.reader).names
        return Rights(
            zones: zones,
            creator: try onlyCreator(type.schema.grants, caller, roles),
            readsAll: caller.role == .operator
        )
    }

    /// The most records of shared trees that are looked up by name instead of searched for.
    private static let treeNames = 400

    /// Decides about each result, if the caller sees only a part of the zone; nil otherwise.
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
            return try reader.findZones(of: database, scope, by: caller)
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

    /// The user to whose records a query of the public database is limited, since only creators may
    /// read the type; nil means no limit.
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
}
