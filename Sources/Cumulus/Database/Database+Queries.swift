// Queries: a page at a time, or all pages as one sequence.

public import CumulusModel
import CumulusWire

/// The place where a query goes on; valid on every node of the cluster, also after restarts.
///
/// It holds the query, its zone and the place of the last record that was found: what is saved or
/// deleted meanwhile neither repeats nor skips another record.
public struct QueryCursor: Hashable, Sendable {
    /// The question of the first page, with the node's cursor in it.
    let request: QueryRecordsRequest

    init(request: QueryRecordsRequest) {
        self.request = request
    }

    /// A cursor that was written as text; nil if it isn't one.
    public init?(text: String) {
        guard let bytes = TokenText.bytes(text),
            let request = try? QueryRecordsRequest(tolerant: bytes, growth: 16),
            !request.cursor.isEmpty
        else { return nil }
        self.request = request
    }

    /// The cursor as one word of ASCII characters; it tells nothing to people.
    public var text: String { TokenText.text(request.encoded()) }
}

/// How a node answered a page of a query.
public struct QueryExplanation: Hashable, Sendable {
    /// How it found the records, in words.
    public var plan: String
    /// Rows of records and indexes that it read.
    public var rowsRead: Int
    /// Records that satisfied the predicate.
    public var rowsKept: Int
    /// How long the node took, without what the page took to travel.
    public var duration: Duration
}

extension Database {
    /// The page size that the server chooses by itself.
    public static let maximumResults = 0

    /// The first records that a query finds; each has a result of its own.
    ///
    /// ```swift
    /// let query = Query(
    ///     recordType: "City",
    ///     predicate: try Query.Predicate(format: "country == %@", "JP"),
    ///     sortDescriptors: [Query.SortDescriptor(key: "population", ascending: false)]
    /// )
    /// var page = try await database.records(matching: query)
    /// while let cursor = page.queryCursor {
    ///     page = try await database.records(continuingMatchFrom: cursor)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone that is searched; nil: all zones of the private database, the default
    ///     zone of the public one.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    ///   - resultsLimit: Most records of the page; `maximumResults`: the server decides.
    /// - Returns: The records in their order, and where the next page begins; nil at the end.
    public func records(
        matching query: Query,
        inZoneWith zoneID: RecordZone.ID? = nil,
        desiredKeys: [String]? = nil,
        resultsLimit: Int = Database.maximumResults
    ) async throws -> (
        matchResults: [(Record.ID, Result<Record, any Error>)],
        queryCursor: QueryCursor?
    ) {
        try await page(
            of: request(query, zoneID),
            desiredKeys: desiredKeys,
            resultsLimit: resultsLimit
        )
    }

    /// The records after the ones of an earlier page.
    ///
    /// - Parameters:
    ///   - queryCursor: The cursor of that page.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    ///   - resultsLimit: Most records of the page; `maximumResults`: the server decides.
    public func records(
        continuingMatchFrom queryCursor: QueryCursor,
        desiredKeys: [String]? = nil,
        resultsLimit: Int = Database.maximumResults
    ) async throws -> (
        matchResults: [(Record.ID, Result<Record, any Error>)],
        queryCursor: QueryCursor?
    ) {
        var request = queryCursor.request
        // A cursor of another database is for the node to refuse.
        request.database = UInt32(databaseScope.rawValue)
        return try await page(
            of: request,
            desiredKeys: desiredKeys,
            resultsLimit: resultsLimit
        )
    }

    /// All records that a query finds, in their order, fetched page by page as they are taken.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone that is searched; nil: all zones of the private database, the default
    ///     zone of the public one.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    ///   - pageSize: Most records of a page; `maximumResults`: the server decides.
    public func allRecords(
        matching query: Query,
        inZoneWith zoneID: RecordZone.ID? = nil,
        desiredKeys: [String]? = nil,
        pageSize: Int = Database.maximumResults
    ) -> QuerySequence {
        QuerySequence(
            database: self,
            query: query,
            zoneID: zoneID,
            desiredKeys: desiredKeys,
            pageSize: pageSize
        )
    }

    /// How many records a query finds.
    ///
    /// Beyond CloudKit.
    public func count(
        matching query: Query,
        inZoneWith zoneID: RecordZone.ID? = nil
    ) async throws -> Int {
        var request = request(query, zoneID)
        request.counts = true
        return Int(clamping: try await answer(to: request).count)
    }

    /// How a node finds a query's first page, which is fetched for it.
    ///
    /// The way and its rows are told to a user who may read all that the node may look at: in a
    /// database of its own, in a zone that is shared as a whole, and in the public database where
    /// an index leads to records of one type that the user may all read. Elsewhere the plan says
    /// that it is not told, and the rows are 0.
    ///
    /// Beyond CloudKit.
    public func explain(
        _ query: Query,
        inZoneWith zoneID: RecordZone.ID? = nil,
        resultsLimit: Int = Database.maximumResults
    ) async throws -> QueryExplanation {
        var request = request(query, zoneID)
        request.limit = try Database.wireLimit(resultsLimit)
        request.explains = true
        guard let work = try await answer(to: request).work else {
            throw ServiceError(.internalError, "the server's answer lacks what was asked for")
        }
        return QueryExplanation(
            plan: String(decoding: work.plan, as: UTF8.self),
            rowsRead: Int(clamping: work.rowsRead),
            rowsKept: Int(clamping: work.rowsKept),
            duration: .microseconds(Int64(clamping: work.microseconds))
        )
    }

    // MARK: Parts

    private func request(_ query: Query, _ zoneID: RecordZone.ID?) -> QueryRecordsRequest {
        QueryRecordsRequest(
            query,
            database: databaseScope,
            zone: zoneID.map { WireZoneID($0) }
        )
    }

    private func page(
        of request: QueryRecordsRequest,
        desiredKeys: [String]?,
        resultsLimit: Int
    ) async throws -> (
        matchResults: [(Record.ID, Result<Record, any Error>)],
        queryCursor: QueryCursor?
    ) {
        var request = request
        request.keys = desiredKeys.map { $0.map { Bytes($0.utf8) } }
        request.limit = try Database.wireLimit(resultsLimit)
        let answer = try await answer(to: request)
        let records = answer.records.map(core.keyring.opening)
        request.cursor = answer.cursor
        return (
            records.map { ($0.recordID, .success($0)) },
            answer.cursor.isEmpty ? nil : QueryCursor(request: request)
        )
    }

    private func answer(to request: QueryRecordsRequest) async throws -> QueryRecordsResponse {
        let messages = try await core.read(.recordsQuery, request.encoded())
        return try decoding { try QueryRecordsResponse(wire: Database.only(messages)) }
    }
}
