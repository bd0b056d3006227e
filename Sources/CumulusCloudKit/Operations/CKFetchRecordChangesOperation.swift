// Fetches what changed in one zone: the form of CloudKit's first years.

internal import Cumulus
public import Foundation

/// Fetches one page of what changed in a zone; `CKFetchRecordZoneChangesOperation` does more.
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The zone.
    @_Guarded public var recordZoneID: CKRecordZone.ID? = nil
    /// The token of the last fetch of the zone; nil means from the beginning.
    @_Guarded public var previousServerChangeToken: CKServerChangeToken? = nil
    /// Most records and deletions; 0 means the server decides.
    @_Guarded public var resultsLimit = 0
    /// The fields to fetch; nil means all; empty: system fields only.
    @_Guarded public var desiredKeys: [CKRecord.FieldKey]? = nil
    /// Called for each record that was saved, as it is now.
    @_Block
    public var recordChangedBlock: ((CKRecord) -> Void)? = nil
    /// Called for each record that is gone.
    @_Block
    public var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)? = nil
    /// Called at the end, with the token for the next fetch.
    @_Block
    public var fetchRecordChangesCompletionBlock:
        ((CKServerChangeToken?, Data?, (any Error)?) -> Void)? = nil
    /// Whether there is a further page; known at the end.
    public var moreComing: Bool { hasMore }

    @_Guarded private var hasMore = false
    @_Guarded private var token: CKServerChangeToken? = nil

    /// An operation without inputs.
    public override init() {}

    /// Fetches what changed in a zone since a token.
    public convenience init(
        recordZoneID: CKRecordZone.ID,
        previousServerChangeToken: CKServerChangeToken?
    ) {
        self.init()
        self.recordZoneID = recordZoneID
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func run() async throws {
        let (zone, since, keys) = (
            recordZoneID ?? .default, previousServerChangeToken, desiredKeys
        )
        let limit = resultsLimit == 0 ? nil : resultsLimit
        let page = try await call { database in
            try await database.changes(in: zone, since: since, desiredKeys: keys, limit: limit)
        }
        for result in page.modificationResultsByID.values {
            recordChangedBlock?(try result.get().record)
        }
        for deletion in page.deletions { recordWithIDWasDeletedBlock?(deletion.recordID) }
        (token, hasMore) = (page.changeToken, page.moreComing)
    }

    override func conclude(_ error: CKError?) {
        fetchRecordChangesCompletionBlock?(token, nil, error)
    }
}
