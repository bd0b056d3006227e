// Fetches which zones of a database changed.

internal import Cumulus
internal import Foundation

/// Fetches which zones changed since a token; default zones are never among them.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The token of the last fetch; nil means from the beginning.
    @_Guarded public var previousServerChangeToken: CKServerChangeToken? = nil
    /// Most zones of a page; 0 means the server decides.
    @_Guarded public var resultsLimit = 0
    /// Whether the operation goes on until there is no further page.
    @_Guarded public var fetchAllChanges = true
    /// Called for each zone that was made, or whose records changed.
    @_Block
    public var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)? = nil
    /// Called for each zone that was deleted.
    @_Block
    public var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)? = nil
    /// Called for each zone whose user removed the app's data; without it the block of deleted
    /// zones is called.
    @_Block
    public var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)? = nil
    /// Called for each zone whose user's keys were reset; without it the block of deleted zones
    /// is called.
    @_Block
    public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock:
        ((CKRecordZone.ID) -> Void)? = nil
    /// Called after each page.
    @_Block
    public var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)? = nil
    /// Called at the end, with the token for the next fetch.
    @_Block
    public var fetchDatabaseChangesResultBlock:
        (
            (
                Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>
            ) -> Void
        )? = nil
    /// The old form of `fetchDatabaseChangesResultBlock`.
    @_Block
    public var fetchDatabaseChangesCompletionBlock:
        ((CKServerChangeToken?, Bool, (any Error)?) -> Void)? = nil

    @_Guarded private var position: (token: CKServerChangeToken, moreComing: Bool)? = nil

    /// Fetches all zones.
    public override init() {}

    /// Fetches the zones that changed since a token.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func run() async throws {
        let limit = resultsLimit == 0 ? nil : resultsLimit
        while true {
            let token = position?.token ?? previousServerChangeToken
            let page = try await call { try await $0.changes(since: token, limit: limit) }
            for change in page.modifications { recordZoneWithIDChangedBlock?(change.zoneID) }
            for change in page.deletions { tell(change) }
            position = (page.changeToken, page.moreComing)
            changeTokenUpdatedBlock?(page.changeToken)
            guard page.moreComing, fetchAllChanges else { return }
        }
    }

    private func tell(_ deletion: CKDatabase.DatabaseChange.Deletion) {
        let block =
            switch deletion.reason {
            case .deleted: recordZoneWithIDWasDeletedBlock
            case .purged: recordZoneWithIDWasPurgedBlock ?? recordZoneWithIDWasDeletedBlock
            case .encryptedDataReset:
                recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock
                    ?? recordZoneWithIDWasDeletedBlock
            }
        block?(deletion.zoneID)
    }

    override func conclude(_ error: CKError?) {
        if let error {
            fetchDatabaseChangesResultBlock?(.failure(error))
        } else if let position {
            fetchDatabaseChangesResultBlock?(.success((position.token, position.moreComing)))
        }
        fetchDatabaseChangesCompletionBlock?(
            position?.token,
            position?.moreComing ?? false,
            error
        )
    }
}
