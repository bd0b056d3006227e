// Changes: which zones changed since a token, and what changed in a zone.

internal import Cumulus
internal import Foundation

extension CKDatabase {
    /// The zones that changed since a token; the default zone is never among them.
    ///
    /// - Parameters:
    ///   - changeToken: The token of the last fetch of this database's changes; nil means from the
    ///     beginning.
    ///   - resultsLimit: Most zones to tell; nil means the server decides.
    /// - Returns: The changes, and the token for the next fetch. If `moreComing`, fetch on at
    ///   once.
    public func databaseChanges(
        since changeToken: CKServerChangeToken?,
        resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [DatabaseChange.Modification],
        deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken,
        moreComing: Bool
    ) {
        try await call { try await $0.changes(since: changeToken, limit: resultsLimit) }
    }

    /// The changes in a zone since a token: records as they are now, each once, and deletions.
    ///
    /// - Parameters:
    ///   - zoneID: A custom zone; the default zone keeps no changes.
    ///   - changeToken: The token of the last fetch of this zone's changes; nil means from the
    ///     beginning.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    ///   - resultsLimit: Most records and deletions to tell; nil means the server decides.
    /// - Returns: The changes, and the token for the next fetch. If `moreComing`, fetch on at
    ///   once.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID,
        since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<
            RecordZoneChange.Modification, any Error
        >],
        deletions: [RecordZoneChange.Deletion],
        changeToken: CKServerChangeToken,
        moreComing: Bool
    ) {
        try await call { database in
            try await database.changes(
                in: zoneID,
                since: changeToken,
                desiredKeys: desiredKeys,
                limit: resultsLimit
            )
        }
    }

    // MARK: - Handlers

    /// Fetches the zones that changed since a token.
    @preconcurrency
    public func fetchDatabaseChanges(
        since changeToken: CKServerChangeToken?,
        resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modifications: [DatabaseChange.Modification],
                        deletions: [DatabaseChange.Deletion],
                        changeToken: CKServerChangeToken,
                        moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            { try await $0.databaseChanges(since: changeToken, resultsLimit: resultsLimit) },
            completionHandler
        )
    }

    /// Fetches what changed in a zone since a token.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID,
        since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modificationResultsByID: [CKRecord.ID: Result<
                            RecordZoneChange.Modification, any Error
                        >],
                        deletions: [RecordZoneChange.Deletion],
                        changeToken: CKServerChangeToken,
                        moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            { database in
                try await database.recordZoneChanges(
                    inZoneWith: zoneID,
                    since: changeToken,
                    desiredKeys: desiredKeys,
                    resultsLimit: resultsLimit
                )
            },
            completionHandler
        )
    }
}
