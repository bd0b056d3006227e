// Fetches zones, and makes and deletes them.

internal import Cumulus
internal import Foundation

/// Fetches zones by their names, or all zones.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The zones to fetch; nil means all.
    @_Guarded public var recordZoneIDs: [CKRecordZone.ID]? = nil
    /// Called once for each zone.
    @_Block
    public var perRecordZoneResultBlock:
        ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? = nil
    /// Called at the end.
    @_Block
    public var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of both: with all zones.
    @_Block
    public var fetchRecordZonesCompletionBlock:
        (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? = nil

    @_Guarded private var results: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]

    /// Fetches all zones.
    public override init() {}

    /// Fetches these zones.
    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
    }

    /// Fetches all zones.
    public class func fetchAllRecordZonesOperation() -> CKFetchRecordZonesOperation {
        CKFetchRecordZonesOperation()
    }

    override func run() async throws {
        let ids = recordZoneIDs
        do {
            results = try await call { database in
                if let ids { return try await database.fetchZones(ids) }
                return try await database.allZones().reduce(into: [:]) {
                    $0[$1.zoneID] = .success($1)
                }
            }
        } catch {
            for id in ids ?? [] { results[id] = .failure(error) }
            tell()
            throw error
        }
        tell()
    }

    private func tell() {
        for (id, result) in results { perRecordZoneResultBlock?(id, result) }
    }

    override func conclude(_ error: CKError?) {
        fetchRecordZonesResultBlock?(error.map { .failure($0) } ?? .success(()))
        let zones = results.compactMapValues { try? $0.get() }
        fetchRecordZonesCompletionBlock?(zones, error ?? CKError.partial(failures(results)))
    }
}

/// Makes and deletes zones.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The zones to make.
    @_Guarded public var recordZonesToSave: [CKRecordZone]? = nil
    /// The zones to delete, with all their records.
    @_Guarded public var recordZoneIDsToDelete: [CKRecordZone.ID]? = nil
    /// Called once for each zone to make.
    @_Block
    public var perRecordZoneSaveBlock:
        ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)? = nil
    /// Called once for each zone to delete.
    @_Block
    public var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)? = nil
    /// Called at the end; a `partialFailure` has the errors of the zones that failed.
    @_Block
    public var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `modifyRecordZonesResultBlock`: with what was made and deleted.
    @_Block
    public var modifyRecordZonesCompletionBlock:
        (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? = nil

    @_Guarded private var saves: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
    @_Guarded private var deletes: [CKRecordZone.ID: Result<Void, any Error>] = [:]

    /// An operation without inputs.
    public override init() {}

    /// Makes and deletes these zones.
    public convenience init(
        recordZonesToSave: [CKRecordZone]? = nil,
        recordZoneIDsToDelete: [CKRecordZone.ID]? = nil
    ) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    override func run() async throws {
        let (zones, ids) = (recordZonesToSave ?? [], recordZoneIDsToDelete ?? [])
        do {
            (saves, deletes) = try await call { database in
                try await database.modifyZones(saving: zones, deleting: ids)
            }
        } catch {
            for zone in zones { saves[zone.zoneID] = .failure(error) }
            for id in ids { deletes[id] = .failure(error) }
            tell()
            throw error
        }
        tell()
    }

    private func tell() {
        for (id, result) in saves { perRecordZoneSaveBlock?(id, result) }
        for (id, result) in deletes { perRecordZoneDeleteBlock?(id, result) }
    }

    override func conclude(_ error: CKError?) {
        let error = error ?? CKError.partial(failures(saves).merging(failures(deletes)) { $1 })
        modifyRecordZonesResultBlock?(error.map { .failure($0) } ?? .success(()))
        guard let modifyRecordZonesCompletionBlock else { return }
        let saved = saves.values.compactMap { try? $0.get() }
        let deleted = deletes.filter(\.value.isSuccess).keys
        modifyRecordZonesCompletionBlock(saved, Array(deleted), error)
    }
}
