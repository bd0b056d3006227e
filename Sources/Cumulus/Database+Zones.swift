// Zones: list, fetch, save, delete.

public import CumulusModel
import CumulusWire

extension Database {
    /// All zones of the database, the default zone among them.
    public func allRecordZones() async throws -> [RecordZone] {
        let request = ListZonesRequest.encoded(database: databaseScope)
        let messages = try await core.read(.zonesList, request)
        return try decoding { try messages.flatMap { try ListZonesResponse.zones(wire: $0) } }
    }

    /// The zone with that name.
    public func recordZone(for zoneID: RecordZone.ID) async throws -> RecordZone {
        let results = try await recordZones(for: [zoneID])
        guard let result = results[zoneID] else { throw Database.missingResult }
        return try result.get()
    }

    /// The zones with these names; each has a result of its own.
    public func recordZones(
        for ids: [RecordZone.ID]
    ) async throws -> [RecordZone.ID: Result<RecordZone, any Error>] {
        let request = FetchZonesRequest(database: databaseScope, ids: ids.map { WireZoneID($0) })
        let messages = try await core.read(.zonesFetch, request.encoded())
        let results = try decoding {
            try messages.flatMap { try FetchZonesResponse.results(wire: $0) }
        }
        try Database.check(results.count, of: ids.count)
        return Dictionary(
            zip(ids, results.map { $0.mapError { $0 as any Error } }),
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Makes a zone.
    ///
    /// Saving one that exists changes nothing.
    @discardableResult
    public func save(_ zone: RecordZone) async throws -> RecordZone {
        let results = try await modifyRecordZones(saving: [zone], deleting: [])
        guard let result = results.saveResults[zone.zoneID] else {
            throw Database.missingResult
        }
        return try result.get()
    }

    /// Deletes a zone with all its records.
    @discardableResult
    public func deleteRecordZone(withID zoneID: RecordZone.ID) async throws -> RecordZone.ID {
        let results = try await modifyRecordZones(saving: [], deleting: [zoneID])
        try results.deleteResults[zoneID]?.get()
        return zoneID
    }

    /// Makes and deletes zones, in this order; each has a result of its own.
    public func modifyRecordZones(
        saving recordZonesToSave: [RecordZone],
        deleting recordZoneIDsToDelete: [RecordZone.ID]
    ) async throws -> (
        saveResults: [RecordZone.ID: Result<RecordZone, any Error>],
        deleteResults: [RecordZone.ID: Result<Void, any Error>]
    ) {
        let request = ModifyZonesRequest(
            database: databaseScope,
            saves: recordZonesToSave.map { WireZoneID($0.zoneID) },
            deletes: recordZoneIDsToDelete.map { WireZoneID($0) }
        )
        let messages = try await core.change(.zonesModify, request.encoded())
        var saves: [ZoneResult] = []
        var deletes: [ServiceError?] = []
        for message in messages {
            let answer = try decoding { try ModifyZonesResponse(wire: message) }
            saves += answer.saves
            deletes += answer.deletes
        }
        try Database.check(saves.count, of: recordZonesToSave.count)
        try Database.check(deletes.count, of: recordZoneIDsToDelete.count)
        var saveResults: [RecordZone.ID: Result<RecordZone, any Error>] = [:]
        for (zone, result) in zip(recordZonesToSave, saves) {
            saveResults[zone.zoneID] = result.mapError { $0 as any Error }
        }
        var deleteResults: [RecordZone.ID: Result<Void, any Error>] = [:]
        for (id, error) in zip(recordZoneIDsToDelete, deletes) {
            deleteResults[id] = error.map { .failure($0) } ?? .success(())
        }
        return (saveResults, deleteResults)
    }
}
