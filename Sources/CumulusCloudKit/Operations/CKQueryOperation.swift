// Finds records, a page at a time.

internal import Cumulus
internal import Foundation

/// Finds the records of one page of a query, with the files of their assets.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Where a query goes on.
    public typealias Cursor = CKQueryCursor

    /// The page size that the server chooses by itself.
    public static let maximumResults = 0

    /// The query; nil if the operation goes on from a cursor.
    @_Guarded public var query: CKQuery? = nil
    /// Where an earlier operation ended.
    @_Guarded public var cursor: Cursor? = nil
    /// The zone that is searched.
    ///
    /// Nil means all zones of the private database, the default zone of the public one. It has
    /// no effect with a cursor.
    @_Guarded public var zoneID: CKRecordZone.ID? = nil
    /// Most records of the page; `maximumResults`: the server decides.
    @_Guarded public var resultsLimit = CKQueryOperation.maximumResults
    /// The fields to fetch; nil means all; empty: system fields only.
    @_Guarded public var desiredKeys: [CKRecord.FieldKey]? = nil
    /// Called once for each record, in their order.
    @_Block
    public var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? = nil
    /// Called at the end, with where the next page begins.
    @_Block
    public var queryResultBlock: ((Result<Cursor?, any Error>) -> Void)? = nil
    /// The old form of `recordMatchedBlock`.
    @_Block
    public var recordFetchedBlock: ((CKRecord) -> Void)? = nil
    /// The old form of `queryResultBlock`.
    @_Block
    public var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)? = nil

    @_Guarded private var next: Cursor? = nil
    @_Guarded private var errors: [CKRecord.ID: Result<CKRecord, any Error>] = [:]

    /// An operation without inputs.
    public override init() {}

    /// Finds the first page of a query.
    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

    /// Finds the page that follows another one.
    public convenience init(cursor: Cursor) {
        self.init()
        self.cursor = cursor
    }

    override func run() async throws {
        let (zone, keys, limit) = (zoneID, desiredKeys, resultsLimit)
        let page: QueryPage
        if let cursor {
            page = try await call { database in
                try await database.find(from: cursor, desiredKeys: keys, resultsLimit: limit)
            }
        } else if let query {
            page = try await call { database in
                try await database.find(query, in: zone, desiredKeys: keys, resultsLimit: limit)
            }
        } else {
            throw ServiceError(
                .invalidArguments,
                "the operation has neither a query nor a cursor; set one of them"
            )
        }
        for (id, result) in page.matchResults {
            recordMatchedBlock?(id, result)
            switch result {
            case .success(let record): recordFetchedBlock?(record)
            case .failure: errors[id] = result
            }
        }
        next = page.queryCursor
    }

    override func conclude(_ error: CKError?) {
        queryResultBlock?(error.map { .failure($0) } ?? .success(next))
        queryCompletionBlock?(next, error ?? CKError.partial(failures(errors)))
    }
}
