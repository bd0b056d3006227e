// A digest of each zone: nodes that have applied the same commits show the same.
//
// Listed for operators who want to know where two nodes differ, a page at a time from one snapshot.

package import CumulusModel
package import CumulusStorage

package struct ZoneDigest: Equatable, Sendable {
    package var database: DatabaseID
    package var zone: String
    package var records: UInt64
    /// Bytes of the records' fields.
    package var bytes: UInt64
    /// Plain bytes of the assets that they name.
    package var assetBytes: UInt64
    /// 16 bytes, big-endian: the sum of the records' digests modulo 2^128.
    package var digest: Bytes
    /// Deletions up to there are forgotten.
    package var horizon: VersionVector

    /// The position in the list from which to go on.
    package struct Position: Sendable {
        fileprivate let databases: [(id: DatabaseID, number: DatabaseNumber)]
        fileprivate var database = 0
        fileprivate var zone = 0

        /// The first zone of a scope.
        package init(_ scope: ScopeNumber, in reader: ReadTransaction) throws(EngineError) {
            databases = try reader.databases(of: scope)
        }
    }

    /// The zones that exist, database by database; `next` is nil with the last ones.
    ///
    /// - Parameter limit: The most zones on the page.
    package static func page(
        from position: Position,
        limit: Int,
        in reader: ReadTransaction
    ) throws(EngineError) -> (zones: [ZoneDigest], next: Position?) {
        var (zones, position) = ([ZoneDigest](), position)
        while position.database < position.databases.count {
            let (database, number) = position.databases[position.database]
            for (name, row) in try reader.zoneRows(of: number).dropFirst(position.zone) {
                if zones.count == limit { return (zones, position) }
                position.zone += 1
                guard row.exists else { continue }
                zones.append(try ZoneDigest(database, name, row, in: reader))
            }
            position.database += 1
            position.zone = 0
        }
        return (zones, nil)
    }

    private init(
        _ database: DatabaseID,
        _ name: String,
        _ row: ZoneRow,
        in reader: ReadTransaction
    ) throws(EngineError) {
        let state: ZoneState = try reader.row(.zoneState(row.number)) ?? ZoneState()
        self.database = database
        zone = name
        records = UInt64(clamping: state.records)
        bytes = UInt64(clamping: state.bytes)
        assetBytes = UInt64(clamping: state.assetBytes)
        digest = state.digest.bigEndianBytes
        horizon = row.horizon
    }
}

extension UInt128 {
    /// 16 of them.
    var bigEndianBytes: Bytes {
        (0..<16).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}
