// Zones: list, fetch, save, delete, with `await` and with handlers.

internal import Cumulus
internal import Foundation

extension CKDatabase {
    /// All zones of the database, the default zone among them.
    @discardableResult
    public func allRecordZones() async throws -> [CKRecordZone] {
        try await call { try await $0.allZones() }
    }

    /// The zone of that name.
    @discardableResult
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try CKDatabase.only(try await recordZones(for: [zoneID])[zoneID])
    }

    /// The zones of these names; each has a result of its own.
    public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await call { try await $0.fetchZones(ids) }
    }

    /// Makes and deletes zones; each has a result of its own.
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone],
        deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        try await call { database in
            try await database.modifyZones(
                saving: recordZonesToSave,
                deleting: recordZoneIDsToDelete
            )
        }
    }

    /// Makes a zone; saving one that exists changes nothing.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        let results = try await modifyRecordZones(saving: [zone], deleting: [])
        return try CKDatabase.only(results.saveResults[zone.zoneID])
    }

    /// Deletes a zone with all its records.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        let results = try await modifyRecordZones(saving: [], deleting: [zoneID])
        try CKDatabase.only(results.deleteResults[zoneID])
        return zoneID
    }

    // MARK: - Handlers

    /// Fetches all zones of the database, the default zone among them.
    @preconcurrency
    public func fetchAllRecordZones(
        completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void
    ) {
        start({ try await $0.allRecordZones() }, pair(completionHandler))
    }

    /// Fetches the zone of that name.
    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        start({ try await $0.recordZone(for: zoneID) }, pair(completionHandler))
    }

    /// Fetches the zones of these names; each has a result of its own.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs recordZoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>
            ) -> Void
    ) {
        start({ try await $0.recordZones(for: recordZoneIDs) }, completionHandler)
    }

    /// Makes a zone.
    @preconcurrency
    public func save(
        _ zone: CKRecordZone,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        start({ try await $0.save(zone) }, pair(completionHandler))
    }

    /// Deletes a zone with all its records.
    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        start({ try await $0.deleteRecordZone(withID: zoneID) }, pair(completionHandler))
    }

    /// Makes and deletes zones; each has a result of its own.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone],
        deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            { database in
                try await database.modifyRecordZones(
                    saving: recordZonesToSave,
                    deleting: recordZoneIDsToDelete
                )
            },
            completionHandler
        )
    }
}
