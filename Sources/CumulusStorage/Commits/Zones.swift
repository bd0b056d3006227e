// The fixed rules of zones: their capabilities, and which generations may follow each other.

package import CumulusModel

/// The fixed rules of zones.
package enum Zones {
    /// Custom zones of private databases have all capabilities; default zones only hold records.
    package static func capabilities(of name: String, in database: DatabaseScope) -> UInt32 {
        let isCustom = database == .private && name != Names.defaultZone
        return isCustom ? RecordZone.Capabilities.custom.rawValue : 0
    }

    /// The highest generation that a peer may name: one more must always fit.
    package static let lastGeneration: UInt64 = (1 << 48) - 1

    /// Whether a commit may name a generation, given the zone's row, or none.
    ///
    /// The commit's origin must have known the zone, or the commit must make it.
    package static func isReachable(_ generation: UInt64, from row: ZoneRow?) -> Bool {
        generation <= max(row?.generation ?? 0, nextGeneration(after: row) ?? 0)
    }

    /// The generation of a new zone that follows `row`; nil if there can be no more.
    package static func nextGeneration(after row: ZoneRow?) -> UInt64? {
        let dead = row?.deadThrough ?? 0
        return dead < lastGeneration ? dead + 1 : nil
    }
}
