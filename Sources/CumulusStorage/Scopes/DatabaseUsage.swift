// How much a database holds: the sum of its zones' states, which move with each commit that is
// applied.
//
// Held against the quota where a save is made (`SavePlanner`), and told in the status. It is
// measured, so nodes that have applied the same commits find the same sum.

import CumulusModel

package struct DatabaseUsage: Hashable, Sendable {
    package private(set) var records: UInt64 = 0
    /// Of the records' fields.
    package private(set) var bytes: UInt64 = 0
    /// Plain bytes of the assets that they name.
    package private(set) var assetBytes: UInt64 = 0

    package init() {}

    /// All that counts for a quota.
    package var total: Int { Int(clamping: bytes.addingClamped(assetBytes)) }

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
    /// The same, with the changes of this batch.
    ///
    /// The sum of at most `zonesPerDatabase` states, which are in memory.
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
        // What a batch makes of zones is known once it is made.
        if !holdsZones, let known = state.livingZones[database] { return known }
        let zones = try zoneRows(of: database).filter(\.row.exists).map(\.row.number)
        if !holdsZones { state.livingZones[database] = zones }
        return zones
    }
}
