// Saves and deletes records.

internal import Cumulus
public import Foundation

/// How a save compares and sends fields: `CKModifyRecordsOperation.RecordSavePolicy`.
public enum CKRecordSavePolicy: Int, Sendable {
    /// Changed keys, if the record did not change since it was fetched.
    case ifServerRecordUnchanged = 0
    /// Changed keys, whatever the server holds.
    case changedKeys = 1
    /// All keys, whatever the server holds; keys that only the server has stay.
    case allKeys = 2

    /// The policy of the client library.
    var model: RecordSavePolicy {
        switch self {
        case .ifServerRecordUnchanged: .ifServerRecordUnchanged
        case .changedKeys: .changedKeys
        case .allKeys: .allKeys
        }
    }
}

/// Saves and deletes records; the objects become what was saved.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// How a save compares and sends fields.
    public typealias RecordSavePolicy = CKRecordSavePolicy

    /// New records, and changed ones.
    @_Guarded public var recordsToSave: [CKRecord]? = nil
    /// The records to delete.
    @_Guarded public var recordIDsToDelete: [CKRecord.ID]? = nil
    /// How a save compares and sends fields.
    @_Guarded public var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
    /// Whether all of a zone's items succeed or none; means nothing in default zones.
    @_Guarded public var isAtomic = true
    /// Is not sent: fetches of changes tell own changes by their change tags.
    @_Guarded public var clientChangeTokenData: Data? = nil
    /// Called while a record's assets are uploaded, with the part that is there, 0 to 1.
    ///
    /// A record without assets has one call, with 1, once it is saved.
    @_Block
    public var perRecordProgressBlock: ((CKRecord, Double) -> Void)? = nil
    /// Called once for each record to save.
    @_Block
    public var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? = nil
    /// Called once for each record to delete.
    @_Block
    public var perRecordDeleteBlock: ((CKRecord.ID, Result<Void, any Error>) -> Void)? = nil
    /// Called at the end.
    ///
    /// A failure is the error of the whole request, such as `zoneNotFound` if no record's zone
    /// exists, or a `partialFailure` with the errors of the items that failed.
    @_Block
    public var modifyRecordsResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `perRecordSaveBlock`.
    @_Block
    public var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? = nil
    /// The old form of `modifyRecordsResultBlock`: with what was saved and deleted.
    @_Block
    public var modifyRecordsCompletionBlock:
        (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? = nil

    @_Guarded private var saves: RecordResults = [:]
    @_Guarded private var deletes: DeleteResults = [:]

    /// An operation without inputs.
    public override init() {}

    /// Saves and deletes these records.
    public convenience init(
        recordsToSave: [CKRecord]? = nil,
        recordIDsToDelete: [CKRecord.ID]? = nil
    ) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    override func run() async throws {
        let (records, ids) = (recordsToSave ?? [], recordIDsToDelete ?? [])
        do {
            let (policy, isAtomic, progress) = (savePolicy.model, isAtomic, report(on: records))
            (saves, deletes) = try await call { database in
                try await database.modify(
                    saving: records,
                    deleting: ids,
                    savePolicy: policy,
                    atomically: isAtomic,
                    progress: progress
                )
            }
        } catch {
            for record in records { saves[record.recordID] = .failure(error) }
            for id in ids { deletes[id] = .failure(error) }
            tell(records, ids)
            throw error
        }
        tell(records, ids)
    }

    private func report(on records: [CKRecord]) -> AssetReport? {
        guard let perRecordProgressBlock else { return nil }
        return oneAtATime { id, share in
            guard let record = records.first(where: { $0.recordID == id }) else { return }
            perRecordProgressBlock(record, share)
        }
    }

    private func tell(_ records: [CKRecord], _ ids: [CKRecord.ID]) {
        for record in records {
            guard let result = saves[record.recordID] else { continue }
            // Uploads of assets told their progress before.
            if result.isSuccess, !record.holdsAssets { perRecordProgressBlock?(record, 1) }
            perRecordSaveBlock?(record.recordID, result)
            if case .failure(let error) = result {
                perRecordCompletionBlock?(record, error)
            } else {
                perRecordCompletionBlock?(record, nil)
            }
        }
        for id in ids {
            if let result = deletes[id] { perRecordDeleteBlock?(id, result) }
        }
    }

    override func conclude(_ error: CKError?) {
        let error = error ?? CKError.partial(failures(saves).merging(failures(deletes)) { $1 })
        modifyRecordsResultBlock?(error.map { .failure($0) } ?? .success(()))
        guard let modifyRecordsCompletionBlock else { return }
        // One that was cancelled before it began has no results.
        let saved = (recordsToSave ?? []).filter { saves[$0.recordID]?.isSuccess ?? false }
        let deleted = (recordIDsToDelete ?? []).filter { deletes[$0]?.isSuccess ?? false }
        modifyRecordsCompletionBlock(saved, deleted, error)
    }
}
