// Fetches records by their names.

internal import Cumulus
internal import Foundation

/// Fetches records by their names, with the files of their assets.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The records to fetch.
    @_Guarded public var recordIDs: [CKRecord.ID]? = nil
    /// The fields to fetch; nil means all; empty: system fields only.
    @_Guarded public var desiredKeys: [CKRecord.FieldKey]? = nil
    /// Called while a record's assets arrive, with the part that is there, 0 to 1.
    ///
    /// A record without assets has one call, with 1.
    @_Block
    public var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? = nil
    /// Called once for each record.
    @_Block
    public var perRecordResultBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? = nil
    /// Called at the end.
    @_Block
    public var fetchRecordsResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `perRecordResultBlock`.
    @_Block
    public var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? = nil
    /// The old form of `fetchRecordsResultBlock`: with all records.
    @_Block
    public var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? =
        nil

    @_Guarded private var results: RecordResults = [:]
    @_Guarded private var isForCurrentUser = false

    /// An operation without inputs.
    public override init() {}

    /// Fetches these records.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// Fetches the signed-in user's record.
    public class func fetchCurrentUserRecordOperation() -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation()
        operation.isForCurrentUser = true
        return operation
    }

    override func run() async throws {
        var ids = recordIDs ?? []
        if isForCurrentUser {
            let container = database.map { CKContainer($0.client) } ?? usedContainer
            ids = [try await container.userRecordID()]
        }
        do {
            let (ids, keys) = (ids, desiredKeys)
            // Assets of several records arrive beside each other.
            let progress = perRecordProgressBlock.map { oneAtATime($0) }
            results = try await call { database in
                try await database.fetch(ids, desiredKeys: keys, progress: progress)
            }
        } catch {
            for id in ids { results[id] = .failure(error) }
            tell()
            throw error
        }
        tell()
    }

    private func tell() {
        for (id, result) in results {
            // Downloads of assets told their progress before.
            if case .success(let record) = result, !record.holdsAssets {
                perRecordProgressBlock?(id, 1)
            }
            perRecordResultBlock?(id, result)
            switch result {
            case .success(let record): perRecordCompletionBlock?(record, id, nil)
            case .failure(let error): perRecordCompletionBlock?(nil, id, error)
            }
        }
    }

    override func conclude(_ error: CKError?) {
        fetchRecordsResultBlock?(error.map { .failure($0) } ?? .success(()))
        let records = results.compactMapValues { try? $0.get() }
        fetchRecordsCompletionBlock?(records, error ?? CKError.partial(failures(results)))
    }
}
