// The calls of the client library with CloudKit's objects: records are taken from them and put into
// them, assets are downloaded, and each item's error is a `CKError`.
//
// Called by `CKDatabase`, by operations and by the sync engine. An error of a whole call leaves
// here as it is.

internal import Cumulus
internal import CumulusModel

/// Results of records by their names.
typealias RecordResults = [CKRecordID: Result<CKRecord, any Error>]
/// Results of deletions by the names of what was to be deleted.
typealias DeleteResults = [CKRecordID: Result<Void, any Error>]
/// A page of a query.
typealias QueryPage = (
    matchResults: [(CKRecordID, Result<CKRecord, any Error>)], queryCursor: CKQueryCursor?
)
/// Is told the name of a record, and how much of its assets was moved, 0 to 1.
typealias AssetReport = @Sendable (CKRecordID, Double) -> Void

extension Database {
    func fetch(
        _ ids: [CKRecordID],
        desiredKeys: [String]? = nil,
        progress: AssetReport? = nil
    ) async throws -> RecordResults {
        let found = try await records(for: ids.map(\.model), desiredKeys: desiredKeys)
        let results = await delivered(found.map { ($0.key, $0.value) }, progress: progress)
        return results.reduce(into: [:]) { $0[CKRecordID($1.0)] = Database.object(of: $1.1) }
    }

    /// Saves and deletes records; saved objects become what was saved.
    ///
    /// - Throws: `zoneNotFound` if the zones of all items are missing. Otherwise each item has an
    ///   error of its own.
    func modify(
        saving records: [CKRecord],
        deleting ids: [CKRecordID],
        savePolicy: RecordSavePolicy,
        atomically: Bool,
        progress: AssetReport? = nil
    ) async throws -> (saveResults: RecordResults, deleteResults: DeleteResults) {
        let isAtomic = atomically && databaseScope != .public
        let request = SaveRequest(saving: records, deleting: ids) { zone in
            isAtomic && zone.zoneName != CKRecordZoneDefaultName
        }
        var (saves, deletes) = (request.saveResults, request.deleteResults)
        if request.isRefused { return (saves, deletes) }
        let uploaded = try await uploaded(request.sent.map(\.record), progress)
        let results = try await modifyRecords(
            saving: uploaded,
            deleting: request.ids.map(\.model),
            savePolicy: savePolicy,
            atomically: atomically
        )
        for (object, sent) in request.sent {
            switch results.saveResults[sent.recordID] {
            case .success(let saved):
                object.become(saved, sent: sent)
                saves[object.recordID] = .success(object)
            case .failure(let error):
                saves[object.recordID] = .failure(CKError(any: error, saving: object))
            case nil: break
            }
        }
        for (id, result) in results.deleteResults {
            deletes[CKRecordID(id)] = result.mapError { CKError(any: $0) }
        }
        if let error = Database.missingZone(saves, deletes) { throw error }
        return (saves, deletes)
    }

    /// Why a request failed as a whole: the zones of all its items don't exist; nil otherwise.
    private static func missingZone(_ saves: RecordResults, _ deletes: DeleteResults) -> CKError? {
        let errors = failures(saves).merging(failures(deletes)) { $1 }
        guard errors.count == saves.count + deletes.count else { return nil }
        let missing = errors.values.compactMap { $0 as? CKError }.filter { error in
            error.code == .zoneNotFound
        }
        return missing.count == errors.count ? missing.first : nil
    }

    /// The same records with their assets on the server, if anybody follows the uploads.
    ///
    /// Otherwise the save uploads them, several at once.
    private func uploaded(
        _ records: [Record],
        _ report: AssetReport?
    ) async throws -> [Record] {
        guard let report else { return records }
        var uploaded: [Record] = []
        for record in records {
            guard record.holdsAssets else {
                uploaded.append(record)
                continue
            }
            let id = CKRecordID(record.recordID)
            let progress = AssetProgress()
            async let upload = uploadAssets(of: [record], progress: progress)
            for await step in progress where step.fractionCompleted < 1 {
                report(id, step.fractionCompleted)
            }
            uploaded += try await upload
            report(id, 1)
        }
        return uploaded
    }

    func find(
        _ query: CKQuery,
        in zone: CKRecordZoneID?,
        desiredKeys: [String]?,
        resultsLimit: Int
    ) async throws -> QueryPage {
        let page = try await records(
            matching: query.model(),
            inZoneWith: zone?.model,
            desiredKeys: desiredKeys,
            resultsLimit: resultsLimit
        )
        return await objects(of: page.matchResults, page.queryCursor)
    }

    func find(
        from cursor: CKQueryCursor,
        desiredKeys: [String]?,
        resultsLimit: Int
    ) async throws -> QueryPage {
        let page = try await records(
            continuingMatchFrom: cursor.model,
            desiredKeys: desiredKeys,
            resultsLimit: resultsLimit
        )
        return await objects(of: page.matchResults, page.queryCursor)
    }

    private func objects(
        of results: [(Record.ID, Result<Record, any Error>)],
        _ cursor: QueryCursor?
    ) async -> QueryPage {
        let delivered = await delivered(results)
        return (
            delivered.map { (CKRecordID($0.0), Database.object(of: $0.1)) },
            cursor.map(CKQueryCursor.init)
        )
    }

    /// The object for a record from the server, or its error.
    static func object(of result: Result<Record, any Error>) -> Result<CKRecord, any Error> {
        result.map { CKRecord.object(for: $0) }.mapError { CKError(any: $0) }
    }
}

extension Dictionary where Value == Result<Void, any Error> {
    /// The same results under CloudKit's names of the items, with `CKError`s.
    func objects<ID: Hashable>(_ name: (Key) -> ID) -> [ID: Result<Void, any Error>] {
        reduce(into: [:]) { $0[name($1.key)] = $1.value.mapError { CKError(any: $0) } }
    }
}
