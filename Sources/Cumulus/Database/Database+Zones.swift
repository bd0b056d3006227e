// Zones: list, fetch, save, delete.

public import CumulusModel
import CumulusWire

extension Database {
    /// All zones of the database, the default zone among them.
    public func allRecordZones() async throws -> [RecordZone] {
        let request = ListZonesRequest(database: databaseScope).encoded()
        let messages = try await core.read(.zonesList, request)
        return try decoding { try messages.flatMap { try ListZonesResponse(wire: $0).zones } }
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
        var found: [RecordZone.ID: Result<RecordZone, any Error>] = [:]
        let limit = try await core.hello().limits.itemsPerRequest
        for part in Array(Set(ids)).parts(of: limit) {
            let wanted = part.map { WireZoneID($0) }
            let request = FetchZonesRequest(database: databaseScope, ids: wanted)
            let messages = try await core.read(.zonesFetch, request.encoded())
            let results = try decoding {
                try messages.flatMap { try FetchZonesResponse(wire: $0).results }
            }
            try Database.check(results.count, of: part.count)
            for (id, result) in zip(part, results) {
                found[id] = result.mapError { $0 as any Error }
            }
        }
        return found
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
    ///
    /// A request that exceeds the server's limits is sent in parts. If the first part fails as a
    /// whole, the call throws. If a later part does, its zones fail, and so do the zones after it.
    public func modifyRecordZones(
        saving recordZonesToSave: [RecordZone],
        deleting recordZoneIDsToDelete: [RecordZone.ID]
    ) async throws -> (
        saveResults: [RecordZone.ID: Result<RecordZone, any Error>],
        deleteResults: [RecordZone.ID: Result<Void, any Error>]
    ) {
        var saveResults: [RecordZone.ID: Result<RecordZone, any Error>] = [:]
        var deleteResults: [RecordZone.ID: Result<Void, any Error>] = [:]
        let limit = try await core.hello().limits.itemsPerRequest
        let items =
            recordZonesToSave.map { ZoneItem.save($0.zoneID) }
            + recordZoneIDsToDelete.map { ZoneItem.delete($0) }
        var failure: ServiceError?
        for (number, part) in items.parts(of: limit).enumerated() {
            var (saves, deletes) = ([RecordZone.ID](), [RecordZone.ID]())
            for item in part {
                switch item {
                case .save(let id): saves.append(id)
                case .delete(let id): deletes.append(id)
                }
            }
            do {
                if let failure { throw Database.unsent(after: failure) }
                let answer = try await modify(saves, deletes)
                for (id, result) in zip(saves, answer.saves) {
                    saveResults[id] = result.mapError { $0 as any Error }
                }
                for (id, error) in zip(deletes, answer.deletes) {
                    deleteResults[id] = error.map { .failure($0) } ?? .success(())
                }
            } catch let error as ServiceError where number > 0 {
                failure = failure ?? error
                for id in saves { saveResults[id] = .failure(error) }
                for id in deletes { deleteResults[id] = .failure(error) }
            }
        }
        return (saveResults, deleteResults)
    }

    private enum ZoneItem {
        case save(RecordZone.ID)
        case delete(RecordZone.ID)
    }

    /// One request, within the server's limits.
    private func modify(
        _ saving: [RecordZone.ID],
        _ deleting: [RecordZone.ID]
    ) async throws -> (saves: [ZoneResult], deletes: [ServiceError?]) {
        let request = ModifyZonesRequest(
            database: databaseScope,
            saves: saving.map { WireZoneID($0) },
            deletes: deleting.map { WireZoneID($0) }
        )
        let messages = try await core.change(.zonesModify, request.encoded())
        var answer: (saves: [ZoneResult], deletes: [ServiceError?]) = ([], [])
        for message in messages {
            let part = try decoding { try ModifyZonesResponse(wire: message) }
            answer.saves += part.saves
            answer.deletes += part.deletes
        }
        try Database.check(answer.saves.count, of: saving.count)
        try Database.check(answer.deletes.count, of: deleting.count)
        return answer
    }
}
