// The client library's calls for zones, subscriptions and changes, with CloudKit's objects.
//
// Called by `CKDatabase` and by operations, as `Database+Records` is.

internal import Cumulus
internal import CumulusModel

/// Results of zones by their names.
typealias ZoneResults = [CKRecordZoneID: Result<CKRecordZone, any Error>]
/// Results of deletions of zones by their names.
typealias ZoneDeleteResults = [CKRecordZoneID: Result<Void, any Error>]
/// A page of the changes of a database.
typealias DatabasePage = (
    modifications: [CKDatabase.DatabaseChange.Modification],
    deletions: [CKDatabase.DatabaseChange.Deletion],
    changeToken: CKServerChangeToken,
    moreComing: Bool
)
/// A page of the changes of a zone.
typealias ZonePage = (
    modificationResultsByID: [CKRecordID: Result<
        CKDatabase.RecordZoneChange.Modification, any Error
    >],
    deletions: [CKDatabase.RecordZoneChange.Deletion],
    changeToken: CKServerChangeToken,
    moreComing: Bool
)

extension Database {
    func allZones() async throws -> [CKRecordZone] {
        let zones = try await allRecordZones()
        let shared = try await sharedZones(among: zones)
        return zones.map { CKRecordZone($0, isShared: shared.contains($0.zoneID)) }
    }

    func fetchZones(_ ids: [CKRecordZoneID]) async throws -> ZoneResults {
        let results = try await recordZones(for: ids.map(\.model))
        let found = results.values.compactMap { try? $0.get() }
        return Database.zones(results, shared: try await sharedZones(among: found))
    }

    func modifyZones(
        saving zones: [CKRecordZone],
        deleting ids: [CKRecordZoneID]
    ) async throws -> (saveResults: ZoneResults, deleteResults: ZoneDeleteResults) {
        let results = try await modifyRecordZones(
            saving: zones.map(\.model),
            deleting: ids.map(\.model)
        )
        let saved = results.saveResults.values.compactMap { try? $0.get() }
        // The zones are saved, also if nobody can be asked for their shares now.
        let shared = (try? await sharedZones(among: saved)) ?? []
        return (
            Database.zones(results.saveResults, shared: shared),
            results.deleteResults.objects { CKRecordZoneID($0) }
        )
    }

    /// Finds the zones that are shared as a whole.
    ///
    /// A zone does not come with its share: the share's record is looked up in all zones that can
    /// have one, in one call.
    private func sharedZones(among zones: [RecordZone]) async throws -> Set<RecordZone.ID> {
        let ids = zones.filter { $0.capabilities.contains(.zoneWideSharing) }
            .map { Record.ID(recordName: Share.zoneWideRecordName, zoneID: $0.zoneID) }
        guard !ids.isEmpty else { return [] }
        let found = try await records(for: ids, desiredKeys: [])
        return Set(ids.filter { found[$0]?.isSuccess ?? false }.map(\.zoneID))
    }

    private static func zones(
        _ results: [RecordZone.ID: Result<RecordZone, any Error>],
        shared: Set<RecordZone.ID>
    ) -> ZoneResults {
        results.reduce(into: [:]) { zones, entry in
            zones[CKRecordZoneID(entry.key)] =
                entry.value.map { CKRecordZone($0, isShared: shared.contains($0.zoneID)) }
                .mapError { CKError(any: $0) }
        }
    }

    // MARK: - Changes

    func changes(since token: CKServerChangeToken?, limit: Int?) async throws -> DatabasePage {
        let page = try await databaseChanges(since: token?.changes(), resultsLimit: limit)
        return (
            page.modifications.map { CKDatabase.DatabaseChange.Modification($0) },
            page.deletions.map { CKDatabase.DatabaseChange.Deletion($0) },
            CKServerChangeToken(page.changeToken),
            page.moreComing
        )
    }

    func changes(
        in zone: CKRecordZoneID,
        since token: CKServerChangeToken?,
        desiredKeys: [String]?,
        limit: Int?
    ) async throws -> ZonePage {
        let page = try await recordZoneChanges(
            inZoneWith: zone.model,
            since: token?.changes(),
            desiredKeys: desiredKeys,
            resultsLimit: limit
        )
        let records = page.modificationResultsByID.map { ($0.key, $0.value.map(\.record)) }
        let results = await delivered(records).map { id, result in
            (
                CKRecordID(id),
                Database.object(of: result).map {
                    CKDatabase.RecordZoneChange.Modification(record: $0)
                }
            )
        }
        return (
            Dictionary(results) { $1 },
            page.deletions.map { CKDatabase.RecordZoneChange.Deletion($0) },
            CKServerChangeToken(page.changeToken),
            page.moreComing
        )
    }
}
