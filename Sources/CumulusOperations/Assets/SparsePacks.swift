// Finds packs that are less than half in use, so that the used rest can move into a new pack.
//
// The collector looks for them on a snapshot and copies the bytes; the writer then looks again
// (`Packs.move`).

package import CumulusModel
package import CumulusStorage

package enum SparsePacks {
    /// A chunk in use, in a pack that is mostly unused.
    package struct Survivor: Sendable {
        package let database: DatabaseNumber
        package let digest: Bytes
        package let row: ChunkRow
    }

    /// The chunks in use in the next sparse packs, and the last pack that was looked at; nil if
    /// there are no more.
    package static func find(
        after pack: PackNumber,
        limit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (survivors: [Survivor], last: PackNumber?) {
        var range = KeyRange.all(.pack)
        range.start = RowKey.pack(pack).bytes + [0]
        let rows = try reader.rows(.records, range, limit: limit)
        var survivors: [Survivor] = []
        var last: PackNumber?
        for (key, value) in rows {
            var parts = KeyReader(key)
            let number: PackNumber = try parts.number()
            let length = try reader.decoding(key) { () throws(MalformedBytes) in
                try PackRow(row: value).length
            }
            last = number
            let left = try contents(of: number, reader)
            if 2 * left.reduce(0, { $0 + $1.row.length }) < length { survivors += left }
        }
        return (survivors, rows.count < limit ? nil : last)
    }

    private static func contents(
        of pack: PackNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [Survivor] {
        var left: [Survivor] = []
        for (key, value) in try reader.rows(.index, .packed(pack)) {
            let packed = try reader.decoding(key) { () throws(MalformedBytes) in
                try PackedRow(row: value)
            }
            guard let row = try reader.chunk(packed.digest, in: packed.database) else { continue }
            left.append(Survivor(database: packed.database, digest: packed.digest, row: row))
        }
        return left
    }
}
