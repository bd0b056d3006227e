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
    func fetchZones(_ ids: [CKRecordZoneID]) async throws -> ZoneResults {
        Database.zones(try await recordZones(for: ids.map(\.model)))
    }

    func modifyZones(
        saving zones: [CKRecordZone],
        deleting ids: [CKRecordZoneID]
    ) async throws -> (saveResults: ZoneResults, deleteResults: ZoneDeleteResults) {
        let results = try await modifyRecordZones(
            saving: zones.map(\.model),
            deleting: ids.map(\.model)
        )
        return (
            Database.zones(results.saveResults),
            results.deleteResults.objects { CKRecordZoneID($0) }
        )
    }

    private static func zones(
        _ results: [RecordZone.ID: Result<RecordZone, any Error>]
    ) -> ZoneResults {
        results.reduce(into: [:]) { zones, entry in
            zones[CKRecordZoneID(entry.key)] =
                entry.value.map { CKRecordZone($0) }.mapError { CKError(any: $0) }
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
