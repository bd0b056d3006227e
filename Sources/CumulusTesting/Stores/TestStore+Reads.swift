// The reads of a `TestStore`, for tests.

package import CumulusModel
import CumulusNode
package import CumulusOperations
import CumulusReplication
package import CumulusStorage

extension TestStore {
    // MARK: Reads

    package var reader: ReadTransaction {
        var reader = ReadTransaction(engine, reach: .disk)
        reader.broken = state.broken
        return reader
    }

    package func scopeNumber() throws -> ScopeNumber {
        guard let number = try reader.scope(scope) else {
            throw ServiceError(.badContainer, "the test's container is missing")
        }
        return number
    }

    /// The record as its caller sees it, or the error that it gets.
    package func fetch(
        _ name: String,
        in database: DatabaseScope,
        zone: ZoneAddress = ZoneAddress(),
        keys: [String]? = nil,
        by caller: Caller
    ) throws -> Result<RecordView, ServiceError> {
        let fetch = FetchRecords(
            database: database,
            ids: [.success(RecordAddress(zone: zone, name: name))],
            keys: keys
        )
        do {
            return try fetch.run(scopeNumber(), by: caller, in: reader)[0]
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    /// A page of what changed in a zone, or the error that its caller gets.
    package func changes(
        in zone: String,
        since token: ChangeToken? = nil,
        limit: Int = 1_000,
        keys: [String]? = nil,
        of database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws -> FetchZoneChanges.Page {
        let fetch = FetchZoneChanges(
            database: database,
            zone: ZoneAddress(name: zone),
            since: token,
            keys: keys,
            limit: FetchZoneChanges.PageLimit(items: limit, bytes: 1 << 20)
        )
        do {
            return try fetch.run(scope, scopeNumber(), by: caller, in: reader)
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    /// A page of changed zones, or the error that its caller gets.
    package func zoneChanges(
        since token: ChangeToken? = nil,
        limit: Int = 1_000,
        of database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws -> FetchDatabaseChanges.Page {
        let fetch = FetchDatabaseChanges(database: database, since: token, limit: limit)
        do {
            return try fetch.run(scope, scopeNumber(), by: caller, in: reader)
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    /// A page of what a query finds, or the error that its caller gets.
    package func query(
        _ query: Query,
        in database: DatabaseScope = .private,
        zone: ZoneAddress? = ZoneAddress(),
        keys: [String]? = nil,
        limit: Int = 100,
        from cursor: QueryCursor? = nil,
        counts: Bool = false,
        firstStretch: Int? = nil,
        limits: Limits = .standard,
        refusal: ServiceError? = nil,
        breaking broken: BrokenRules = [],
        by caller: Caller = .alice
    ) throws -> QueryRecords.Page {
        // Cursors stay in this process.
        var question = Hasher()
        question.combine(query)
        question.combine(database)
        question.combine(zone)
        var request = QueryRecords(
            database: database,
            zone: zone,
            query: query,
            keys: keys,
            limit: limit,
            question: Bytes("\(question.finalize())".utf8),
            limits: limits
        )
        request.cursor = cursor
        request.counts = counts
        if let firstStretch {
            request.firstStretch = firstStretch
            request.turnSteps = 20 * firstStretch
        }
        request.broken = broken
        let circumstances = QueryRecords.Circumstances(caller: caller, now: now) { refusal }
        do {
            let state = QueryRecords.State(reader)
            return try request.run(scope, scopeNumber(), circumstances, in: state)
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    /// All subscriptions that a user has in a database.
    package func subscriptions(
        in database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws -> [Subscription] {
        let fetch = FetchSubscriptions(database: database, wanted: .all)
        do {
            return try fetch.page(byteLimit: .max, of: scopeNumber(), by: caller, in: reader)
                .results.map { try $0.get() }
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    /// The number under which a zone's rows stand.
    package func zoneNumber(
        _ zone: ZoneAddress,
        in database: DatabaseScope = .private,
        by caller: Caller
    ) throws -> ZoneNumber? {
        let database = try Authorisation.database(database, for: caller)
        return try reader.find(zone, in: database, of: scopeNumber(), by: caller)?.number
    }

    /// The names of all records of a zone, in order.
    package func names(
        in database: DatabaseScope,
        zone: ZoneAddress = ZoneAddress(),
        by caller: Caller
    ) throws -> [String] {
        let list = ListRecords(database: database, zone: zone, keys: [])
        let found = try list.open(scopeNumber(), by: caller, in: reader)
        var names: [String] = []
        var start: Bytes?
        repeat {
            let page = try list.page(of: found, from: start, byteLimit: 1_000, in: reader)
            names += page.records.map(\.name)
            start = page.next
        } while start != nil
        return names
    }

    /// Everything that is stored, family by family.
    package func allRows() throws -> [[StoredRow]] {
        try Family.allCases.map { family in
            try reader.rows(family, KeyRange(start: [], end: [0xFF])).map(StoredRow.init)
        }
    }
}
