// What an index takes of a store, as far as a look of some milliseconds can tell.
//
// Operators see it beside each index: one that nobody queries is written with every save, too.

package struct IndexCost: Hashable, Sendable {
    /// The number of rows; nil if the index has too many to count them.
    package private(set) var rows: UInt64?
    /// Bytes of the counted rows, or of the tables on the disk if that is more.
    package private(set) var bytes: UInt64 = 0

    private static let mostRows: UInt64 = 10_000
    private static let mostZones = 1_000

    /// - Parameters:
    ///   - zones: Where to look: not beyond the first 1,000.
    ///   - tables: Bytes on the disk of a range of the family `index`.
    package init(
        of index: IndexNumber,
        in zones: [ZoneNumber],
        _ reader: ReadTransaction,
        tables: (KeyRange) throws(EngineError) -> UInt64
    ) throws(EngineError) {
        var (count, counted, onDisk) = (UInt64(0), UInt64(0), UInt64(0))
        for zone in zones.prefix(IndexCost.mostZones) {
            let range = KeyRange.indexRows(of: zone, index)
            onDisk += try tables(range)
            if count > IndexCost.mostRows { continue }
            try reader.lendRows(.index, range) { key, value in
                count += 1
                counted += UInt64(key.count + value.count)
                return count <= IndexCost.mostRows
            }
        }
        bytes = max(counted, onDisk)
        if count <= IndexCost.mostRows, zones.count <= IndexCost.mostZones { rows = count }
    }
}
