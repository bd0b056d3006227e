// The size of a database: the sum of its zones' states, which change with each applied commit.
//
// `SavePlanner` checks it against the quota, and the status shows it. It depends on commits alone:
// nodes that have applied the same commits find the same sum.

import CumulusModel

package struct DatabaseUsage: Hashable, Sendable {
    package private(set) var records: UInt64 = 0
    /// Bytes of the records' fields.
    package private(set) var bytes: UInt64 = 0
    /// Plain bytes of the assets that the records name.
    package private(set) var assetBytes: UInt64 = 0

    package init() {}

    /// All bytes that count for a quota.
    package var total: Int { Int(clamping: bytes.addingClamped(assetBytes)) }

    /// Adds the size of another database.
    package mutating func add(_ other: DatabaseUsage) {
        records = records.addingClamped(other.records)
        bytes = bytes.addingClamped(other.bytes)
        assetBytes = assetBytes.addingClamped(other.assetBytes)
    }

    mutating func add(_ zone: ZoneState) {
        records = records.addingClamped(UInt64(clamping: zone.records))
        bytes = bytes.addingClamped(UInt64(clamping: zone.bytes))
        assetBytes = assetBytes.addingClamped(UInt64(clamping: zone.assetBytes))
    }
}

extension UInt64 {
    fileprivate func addingClamped(_ other: UInt64) -> UInt64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}

// MARK: - In the writer

extension WriteTransaction {
    /// The size of a database, with the changes of this batch.
    ///
    /// It sums at most `zonesPerDatabase` states, which are in memory.
    package mutating func knownUsage(
        of database: DatabaseNumber
    ) throws(EngineError) -> DatabaseUsage {
        var usage = DatabaseUsage()
        for zone in try knownZones(of: database) { usage.add(try zoneState(zone)) }
        return usage
    }

    /// The numbers of a database's zones that exist.
    private mutating func knownZones(
        of database: DatabaseNumber
    ) throws(EngineError) -> [ZoneNumber] {
        // Zones that this batch makes or deletes are known once it ends.
        if !holdsZones, let known = state.livingZones[database] { return known }
        let zones = try zoneRows(of: database).filter(\.row.exists).map(\.row.number)
        if !holdsZones { state.livingZones[database] = zones }
        return zones
    }
}
