// Finds the records of a type without an index. It lists all records of the zones, and keeps the
// ones with the type.
//
// Used by `cumulus query` without a predicate. A user may list what it may read, in every database.

import Cumulus
import CumulusModel

struct TypeScan {
    /// How many records are looked at where not all are asked for.
    static let mostLooks = 20_000
    /// How many records are shown where nobody says how many; as many as a node's first page has.
    static let usualLimit = 100

    /// How a scan ended.
    enum End: Equatable {
        /// All zones were read to their ends.
        case complete
        /// There are more records of the type than were asked for.
        case more
        /// Nobody knows whether there are more.
        case cut
    }

    var recordType: String
    /// Records of the type, at most; nil means all of them.
    var limit: Int?
    /// Records of any type; nil means as many as there are.
    var looks: Int?

    /// Goes through the records of some zones, in the order of the zones and of their names.
    ///
    /// - Parameter show: Called with each record of the type, `limit` times at most.
    func run<Records: AsyncSequence>(
        through zones: [Records],
        _ show: (Record) throws -> Void
    ) async throws -> End where Records.Element == Record {
        var (shown, looked) = (0, 0)
        for records in zones {
            for try await record in records {
                if record.recordType == recordType {
                    if shown == limit { return .more }
                    try show(record)
                    shown += 1
                }
                looked += 1
                if looked == looks { return .cut }
            }
        }
        return .complete
    }
}

extension Database {
    /// The records of a zone, or of all zones that a query without a zone would search.
    func zonesToScan(_ zoneID: RecordZone.ID?, keys: [String]?) async throws -> [RecordSequence] {
        var ids = [zoneID ?? .default]
        if zoneID == nil, databaseScope == .private {
            ids = try await allRecordZones().map(\.zoneID).sorted { $0.zoneName < $1.zoneName }
        }
        return ids.map { allRecords(inZoneWith: $0, desiredKeys: keys) }
    }
}
