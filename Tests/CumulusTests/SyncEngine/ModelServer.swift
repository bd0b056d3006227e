// A server as a value: the calls of a sync engine, answered at once and in memory.
//
// It has conditional saves, an error per item, atomic zones, change tokens with pages and expiry,
// and zones that are deleted and made again. Tests of `SyncState` use it in place of a node.

import CumulusModel

@testable import Cumulus

struct ModelServer {
    struct Zone {
        /// Another one each time that the zone is made.
        var life: Int
        var records: [String: Record] = [:]
        /// Position of each record's last change, including deleted records.
        var positions: [String: Int] = [:]
    }

    var user: String? = "ada"
    private(set) var zones: [RecordZone.ID: Zone] = [:]
    /// Position of the last change in or of each zone, including deleted zones.
    private var zonePositions: [RecordZone.ID: Int] = [:]
    /// Position of the last change of all.
    private(set) var position = 0
    /// Tokens of earlier epochs have expired.
    private var epoch = 0
    /// Zones, records and deletions of a page.
    var pageSize = 2
    /// Saves and deletes of a request.
    var itemLimit = 400
    /// What the server answers for these records, once.
    var refusals: [Record.ID: ServiceError] = [:]

    mutating func answer(_ call: SyncState.Call) -> SyncState.Answer {
        do throws(ServiceError) {
            switch call {
            case .identify:
                let limits = SyncEngine.BatchLimits(itemCount: itemLimit, byteCount: 1 << 20)
                return .identity(user: user, limits)
            case .databaseChanges(let token): return .zones(try changes(since: token))
            case .zoneChanges(let zone, let token):
                return .records(try changes(in: zone, since: token))
            case .modifyZones(let saves, let deletes): return .sentZones(modify(saves, deletes))
            case .modifyRecords(let batch):
                defer { refusals = [:] }
                return .sentRecords(try modify(batch))
            }
        } catch {
            return .failed(error)
        }
    }

    /// From now on, what was handed out so far has expired.
    mutating func expireTokens() {
        epoch += 1
    }

    // MARK: Changes

    private func token(_ life: Int, _ position: Int) -> ServerChangeToken {
        ServerChangeToken(Bytes("\(epoch) \(life) \(position)".utf8))
    }

    private func read(_ token: ServerChangeToken?, _ life: Int) throws(ServiceError) -> Int? {
        guard let token else { return nil }
        let parts = String(decoding: token.bytes, as: UTF8.self).split(separator: " ")
        guard parts.count == 3, Int(parts[0]) == epoch, Int(parts[1]) == life,
            let position = Int(parts[2])
        else { throw ServiceError(.changeTokenExpired, "begin without a token") }
        return position
    }

    private func changes(
        since token: ServerChangeToken?
    ) throws(ServiceError) -> SyncState.DatabasePage {
        let start = try read(token, 0)
        let changed = zonePositions.filter { zone, position in
            position > start ?? 0 && (start != nil || zones[zone] != nil)
        }.sorted { $0.value < $1.value }
        let told = changed.prefix(pageSize)
        let moreComing = told.count < changed.count
        return SyncState.DatabasePage(
            modifications: told.filter { zones[$0.key] != nil }.map { .init(zoneID: $0.key) },
            deletions: told.filter { zones[$0.key] == nil }.map {
                .init(zoneID: $0.key, reason: .deleted)
            },
            // Deletions from before need not be told to a client that begins.
            token: self.token(0, moreComing ? told.last?.value ?? 0 : position),
            moreComing: moreComing
        )
    }

    private func changes(
        in id: RecordZone.ID,
        since token: ServerChangeToken?
    ) throws(ServiceError) -> SyncState.ZonePage {
        guard let zone = zones[id] else { throw ServiceError(.zoneNotFound, "no zone") }
        let start = try read(token, zone.life)
        let changed = zone.positions.filter { name, position in
            position > start ?? 0 && (start != nil || zone.records[name] != nil)
        }.sorted { $0.value < $1.value }
        let told = changed.prefix(pageSize)
        let moreComing = told.count < changed.count
        return SyncState.ZonePage(
            modifications: told.compactMap { zone.records[$0.key] }.map { .init(record: $0) },
            deletions: told.filter { zone.records[$0.key] == nil }.map {
                .init(recordID: Record.ID(recordName: $0.key, zoneID: id), recordType: "Note")
            },
            token: self.token(zone.life, moreComing ? told.last?.value ?? 0 : position),
            moreComing: moreComing
        )
    }

    // MARK: Modifying

    private mutating func modify(
        _ saves: [RecordZone],
        _ deletes: [RecordZone.ID]
    ) -> SyncState.ZoneOutcome {
        var outcome = SyncState.ZoneOutcome(saves: [], deletes: [])
        for zone in saves {
            if zones[zone.zoneID] == nil {
                touch(zone.zoneID)
                zones[zone.zoneID] = Zone(life: position)
            }
            outcome.saves.append(.success(RecordZone(zoneID: zone.zoneID, capabilities: .custom)))
        }
        for id in deletes {
            let isThere = zones.removeValue(forKey: id) != nil
            if isThere { touch(id) }
            outcome.deletes.append(isThere ? nil : ServiceError(.zoneNotFound, "no zone"))
        }
        return outcome
    }

    private mutating func touch(_ zone: RecordZone.ID) {
        position += 1
        zonePositions[zone] = position
    }

    private mutating func modify(
        _ batch: SyncEngine.RecordZoneChangeBatch
    ) throws(ServiceError) -> SyncState.RecordOutcome {
        let count = batch.recordsToSave.count + batch.recordIDsToDelete.count
        guard count <= itemLimit else { throw ServiceError(.limitExceeded, "too many items") }
        let before = self
        var outcome = SyncState.RecordOutcome(saves: [], deletes: [])
        for record in batch.recordsToSave { outcome.saves.append(save(record)) }
        for id in batch.recordIDsToDelete { outcome.deletes.append(delete(id)) }
        guard batch.atomicByZone else { return outcome }
        undo(batch, &outcome, before)
        return outcome
    }

    private mutating func save(_ record: Record) -> Result<Record, ServiceError> {
        let id = record.recordID
        if let error = refusals[id] { return .failure(error) }
        guard let zone = zones[id.zoneID] else {
            return .failure(ServiceError(.zoneNotFound, "no zone"))
        }
        let current = zone.records[id.recordName]
        guard record.recordChangeTag == current?.recordChangeTag else {
            guard let current else { return .failure(ServiceError(.unknownItem, "no record")) }
            var error = ServiceError(.serverRecordChanged, "it changed")
            error.serverRecord = current
            return .failure(error)
        }
        touch(id.zoneID)
        var stored = current ?? Record(recordType: record.recordType, recordID: id)
        for key in record.changedKeys() { stored[key] = record[key] }
        stored.recordChangeTag = "\(position)"
        stored.markSaved()
        zones[id.zoneID]?.records[id.recordName] = stored
        zones[id.zoneID]?.positions[id.recordName] = position
        var saved = record
        saved.recordChangeTag = stored.recordChangeTag
        saved.markSaved()
        return .success(saved)
    }

    private mutating func delete(_ id: Record.ID) -> ServiceError? {
        if let error = refusals[id] { return error }
        guard zones[id.zoneID] != nil else { return ServiceError(.zoneNotFound, "no zone") }
        if zones[id.zoneID]?.records.removeValue(forKey: id.recordName) != nil {
            touch(id.zoneID)
            zones[id.zoneID]?.positions[id.recordName] = position
        }
        return nil
    }

    /// If one item of a zone failed, the others fail too, and nothing is done.
    private mutating func undo(
        _ batch: SyncEngine.RecordZoneChangeBatch,
        _ outcome: inout SyncState.RecordOutcome,
        _ before: ModelServer
    ) {
        var failed: Set<RecordZone.ID> = []
        for (record, result) in zip(batch.recordsToSave, outcome.saves) {
            if case .failure = result { failed.insert(record.recordID.zoneID) }
        }
        for (id, error) in zip(batch.recordIDsToDelete, outcome.deletes) where error != nil {
            failed.insert(id.zoneID)
        }
        let error = ServiceError(.batchRequestFailed, .atomicFailure, "another item failed")
        for (index, record) in batch.recordsToSave.enumerated() {
            guard failed.contains(record.recordID.zoneID) else { continue }
            if case .success = outcome.saves[index] { outcome.saves[index] = .failure(error) }
        }
        for (index, id) in batch.recordIDsToDelete.enumerated() where failed.contains(id.zoneID) {
            outcome.deletes[index] = outcome.deletes[index] ?? error
        }
        for zone in failed {
            zones[zone] = before.zones[zone]
            zonePositions[zone] = before.zonePositions[zone]
        }
    }
}
