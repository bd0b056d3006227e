// Finds the records of one type that satisfy a predicate: a page of them in their order, and where
// the next one begins.
//
// Run by the session on a reader thread, from one snapshot per page: `QueryReading` reads it in
// turns.
//
// Folder: what a query request means, page by page. Read `QueryRecords`, then `QueryReading`,
// `QuerySearch` and `QueryCursor`.

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
    /// Steps of a turn on a reader thread; tests say less here too.
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

    /// The state that is read, with the zones and record types that were found in it.
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
                // A small tree is looked through, however large the zone is.
                names: try access?.names(limit: QueryRecords.treeNames, reader),
                limit: counts ? 0 : limit,
                start: cursor?.place,
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
        /// The user whose records alone may be found in the public database; nil means all.
        var creator: String?
        /// Whether it may read all records of the zones, of whatever type.
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
}
