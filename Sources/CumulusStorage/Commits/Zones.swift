// What is fixed about zones: their capabilities, and which generations may follow each other.

package import CumulusModel

/// What is fixed about zones.
package enum Zones {
    /// Custom zones of private databases can do everything, default zones nothing beyond holding
    /// records.
    package static func capabilities(of name: String, in database: DatabaseScope) -> UInt32 {
        let isCustom = database == .private && name != Names.defaultZone
        return isCustom ? RecordZone.Capabilities.custom.rawValue : 0
    }

    /// The highest generation that a peer may name, so that one more always fits.
    package static let lastGeneration: UInt64 = (1 << 48) - 1

    /// Whether a commit may name a generation where `row` stands, or nothing: the zone was made
    /// before, as far as its origin knew, or is made by it.
    package static func isReachable(_ generation: UInt64, from row: ZoneRow?) -> Bool {
        generation <= max(row?.generation ?? 0, nextGeneration(after: row) ?? 0)
    }

    /// The generation of a new zone in the place of `row`; nil if there can be no more.
    package static func nextGeneration(after row: ZoneRow?) -> UInt64? {
        let dead = row?.deadThrough ?? 0
        return dead < lastGeneration ? dead + 1 : nil
    }
}
