// The content of the store of a node that has ended, read without the node.

import CumulusModel
import CumulusStorage
import RocksDBStorage

struct StoreContent {
    /// Names of all records, of all zones.
    var names: Set<String> = []

    init(_ engine: RocksDBEngine) throws {
        let reader = ReadTransaction(engine, reach: .disk)
        for (key, value) in try reader.rows(.records, .all(.record)) {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let name = try parts.text()
            let row = try RecordRow(value)
            if !row.isDead { names.insert(name) }
        }
    }
}
