// Records: fetch, save, delete and query, with handlers.
//
// A handler is called once, on a thread of the system.

internal import Foundation

extension CKDatabase {
    /// Fetches the record of that name, with the files of its assets.
    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        start({ try await $0.record(for: recordID) }, pair(completionHandler))
    }

    /// Fetches the records of these names; each has a result of its own.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID],
        desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>
            ) -> Void
    ) {
        start(
            { try await $0.records(for: recordIDs, desiredKeys: desiredKeys) },
            completionHandler
        )
    }

    /// Saves a record: a new one, or one that did not change on the server since it was
    /// fetched.
    @preconcurrency
    public func save(
        _ record: CKRecord,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        start({ try await $0.save(record) }, pair(completionHandler))
    }

    /// Deletes a record, and what refers to it with `deleteSelf`.
    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        start({ try await $0.deleteRecord(withID: recordID) }, pair(completionHandler))
    }

    /// Saves and deletes records; each has a result of its own.
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord],
        deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                        deleteResults: [CKRecord.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            { database in
                try await database.modifyRecords(
                    saving: recordsToSave,
                    deleting: recordIDsToDelete,
                    savePolicy: savePolicy,
                    atomically: atomically
                )
            },
            completionHandler
        )
    }

    // MARK: - Queries

    /// Fetches the first records that a query finds; each has a result of its own.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            { database in
                try await database.records(
                    matching: query,
                    inZoneWith: zoneID,
                    desiredKeys: desiredKeys,
                    resultsLimit: resultsLimit
                )
            },
            completionHandler
        )
    }

    /// Fetches the records after the ones of an earlier page.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            { database in
                try await database.records(
                    continuingMatchFrom: queryCursor,
                    desiredKeys: desiredKeys,
                    resultsLimit: resultsLimit
                )
            },
            completionHandler
        )
    }

    /// Fetches the records of the first page that a query finds.
    ///
    /// Deprecated in CloudKit: `fetch(withQuery:inZoneWith:desiredKeys:resultsLimit:)` goes on.
    @preconcurrency
    public func perform(
        _ query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        start(
            { database in
                let page: QueryPage = try await database.records(
                    matching: query,
                    inZoneWith: zoneID
                )
                return try page.matchResults.map { try $0.1.get() }
            },
            pair(completionHandler)
        )
    }

    /// Makes a call in a task of its own, and hands its outcome over.
    func start<Value: Sendable>(
        _ body: @escaping @Sendable (CKDatabase) async throws -> Value,
        _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        CallSettings.start(settings, { try await body(self) }, handler)
    }
}
