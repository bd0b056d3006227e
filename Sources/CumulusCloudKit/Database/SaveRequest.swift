// Splits a save into the records that can be sent and the ones that fail before: a field was set to
// a value that no field can hold, or the file of an asset is missing.
//
// Made by `Database+Records`. Such an item gets its own error; in an atomic zone the others get
// `batchRequestFailed`, as if the server had found it.

internal import CumulusModel
internal import Foundation

struct SaveRequest {
    /// The objects to save, and what is sent of them.
    private(set) var sent: [(object: CKRecord, record: Record)] = []
    /// The records to delete.
    private(set) var ids: [CKRecordID] = []
    /// Results of what is not sent.
    private(set) var saveResults: RecordResults = [:]
    /// Results of what is not sent.
    private(set) var deleteResults: DeleteResults = [:]

    /// - Parameter isAtomic: Whether an item fails all others of its zone, by the zone.
    init(
        saving records: [CKRecord],
        deleting ids: [CKRecordID],
        isAtomic: (CKRecordZoneID) -> Bool
    ) {
        var failedZones: Set<CKRecordZoneID> = []
        for object in records {
            do throws(ServiceError) {
                let record = try object.prepared()
                sent.append((object, record))
            } catch {
                let id = object.recordID
                saveResults[id] = .failure(CKError(error, saving: object))
                if isAtomic(id.zoneID) { failedZones.insert(id.zoneID) }
            }
        }
        let other = CKError(
            ServiceError(
                .batchRequestFailed,
                .atomicFailure,
                "another item of the zone could not be sent; mend it and send all of them again"
            )
        )
        for (object, _) in sent where failedZones.contains(object.recordID.zoneID) {
            saveResults[object.recordID] = .failure(other)
        }
        sent.removeAll { failedZones.contains($0.object.recordID.zoneID) }
        for id in ids {
            if failedZones.contains(id.zoneID) {
                deleteResults[id] = .failure(other)
            } else {
                self.ids.append(id)
            }
        }
    }

    /// Whether nothing is left of a request that had something.
    var isRefused: Bool { sent.isEmpty && ids.isEmpty && !saveResults.isEmpty }
}
