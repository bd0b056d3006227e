// The small rows that the writer has read: scopes, databases, zones, registers. Every save needs
// some, and they hardly ever change.
//
// Belongs to the writer. Holds committed values only: a row that a batch writes is dropped here and
// found in the overlay, later in the engine. hot: several times per save.

import CumulusModel

final class MetaCache: @unchecked Sendable {
    // Only the thread that runs write transactions touches it; there is one at a time.

    private var rows: [HashedKey: Bytes?] = [:]
    private static let capacity = 20_000

    /// The value of `key`, nil if it has none; read from the engine if it is not here.
    func get(
        _ key: Bytes,
        orRead read: () throws(EngineError) -> Bytes?
    ) throws(EngineError) -> Bytes? {
        let hashed = HashedKey(key)
        if let known = rows[hashed] { return known }
        let value = try read()
        if rows.count >= MetaCache.capacity { rows = [:] }
        rows[hashed] = .some(value)
        return value
    }

    func drop(_ key: Bytes) {
        rows[HashedKey(key)] = nil
    }
}
