// The small rows that the writer has read: scopes, databases, zones, registers. Every save needs
// some, and they hardly ever change.
//
// The cache belongs to the writer and holds committed values only. A row that a batch writes is
// dropped here; it is found in the overlay, and later in the engine. hot: several times per save.

import CumulusModel

final class MetaCache: @unchecked Sendable {
    // Only the thread that runs write transactions touches it, and there is one such thread at a
    // time.

    private var rows: [HashedKey: Bytes?] = [:]
    private static let capacity = 20_000

    /// Returns the value of `key`, from the engine if it is not cached; nil if there is none.
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

    func knows(_ key: Bytes) -> Bool { rows[HashedKey(key)] != nil }

    func drop(_ key: Bytes) {
        rows[HashedKey(key)] = nil
    }
}
