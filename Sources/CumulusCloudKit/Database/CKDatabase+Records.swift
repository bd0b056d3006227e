// Records: fetch, save, delete, with `await`.

internal import Cumulus
internal import Foundation

extension CKDatabase {
    /// The record of that name, with the files of its assets.
    @discardableResult
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        let results = try await records(for: [recordID])
        return try CKDatabase.only(results[recordID])
    }

    /// The records of these names; each has a result of its own.
    ///
    /// - Parameters:
    ///   - ids: Ids of records; a repeated id is fetched once.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    public func records(
        for ids: [CKRecord.ID],
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        try await call { try await $0.fetch(ids, desiredKeys: desiredKeys) }
    }

    /// Saves and deletes records; each has a result of its own.
    ///
    /// - Parameters:
    ///   - recordsToSave: New records, and changed ones; they become what was saved.
    ///   - recordIDsToDelete: Names of records; one that isn't there is no error.
    ///   - savePolicy: When a save may overwrite the server's record.
    ///   - atomically: In custom zones all of a zone's items succeed, or none. Elsewhere it
    ///     means nothing.
    public func modifyRecords(
        saving recordsToSave: [CKRecord],
        deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
        deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        try await call { database in
            try await database.modify(
                saving: recordsToSave,
                deleting: recordIDsToDelete,
                savePolicy: savePolicy.model,
                atomically: atomically
            )
        }
    }

    /// Saves a record: a new one, or one that did not change on the server since it was
    /// fetched.
    ///
    /// - Returns: The same record, with its new change tag.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        let results = try await modifyRecords(saving: [record], deleting: [])
        return try CKDatabase.only(results.saveResults[record.recordID])
    }

    /// Deletes a record, and what refers to it with `deleteSelf`.
    ///
    /// Deleting one that isn't there succeeds.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        let results = try await modifyRecords(saving: [], deleting: [recordID])
        try CKDatabase.only(results.deleteResults[recordID])
        return recordID
    }

    // MARK: - Queries

    /// The first records that a query finds; each has a result of its own.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone that is searched; nil: all zones of the private database, the
    ///     default zone of the public one.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    ///   - resultsLimit: Most records of the page; `maximumResults`: the server decides.
    /// - Returns: The records in their order, and where the next page begins; nil at the end.
    public func records(
        matching query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
        queryCursor: CKQueryOperation.Cursor?
    ) {
        try await call { database in
            try await database.find(
                query,
                in: zoneID,
                desiredKeys: desiredKeys,
                resultsLimit: resultsLimit
            )
        }
    }

    /// The records after the ones of an earlier page.
    ///
    /// - Parameters:
    ///   - queryCursor: The cursor of that page.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    ///   - resultsLimit: Most records of the page; `maximumResults`: the server decides.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
        queryCursor: CKQueryOperation.Cursor?
    ) {
        try await call { database in
            try await database.find(
                from: queryCursor,
                desiredKeys: desiredKeys,
                resultsLimit: resultsLimit
            )
        }
    }

    /// The records of the first page that a query finds.
    ///
    /// A call is this one only if its result is taken as an array of records.
    @available(*, deprecated, renamed: "records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    @_disfavoredOverload
    public func records(
        matching query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID?
    ) async throws -> [CKRecord] {
        let page: QueryPage = try await records(matching: query, inZoneWith: zoneID)
        return try page.matchResults.map { try $0.1.get() }
    }

    /// The records of the first page that a query finds.
    @available(*, deprecated, renamed: "records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    @discardableResult
    public func perform(
        _ query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID?
    ) async throws -> [CKRecord] {
        let page: QueryPage = try await records(matching: query, inZoneWith: zoneID)
        return try page.matchResults.map { try $0.1.get() }
    }
}
