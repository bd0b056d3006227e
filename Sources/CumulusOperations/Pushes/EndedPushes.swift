// Finds and drops what is left of ended push addresses, so that devices that come and go leave
// nothing: the removals, and the marks of what the devices were told.
//
// Run by the collector, a bounded step at a time. Each node forgets by itself, without a commit: a
// mark can't be removed by one, and no reader looks at the mark of an address that has ended. Both
// go once every member has read them: nothing that made them comes late then. Addresses of sessions
// that are over are ended by the node that pushes, see `PushAddresses`.

package import CumulusModel
package import CumulusStorage

package struct EndedPushes: Sendable {
    /// What every member has read of the scope.
    private let stable: VersionVector
    private let scope: ScopeNumber

    /// The namespaces that it looks through.
    package static let namespaces = [StoredPush.namespace, ReadMarks.webhookNamespace]

    /// - Parameter stable: What every member has read of the scope. This node has read all commits
    ///   that a member made before the member had read that.
    package init(in scope: ScopeNumber, stable: VersionVector) {
        self.scope = scope
        self.stable = stable
    }

    /// Looks at registers of a namespace after a key.
    ///
    /// Returns the keys of registers that may go, and the key to go on from, nil at the end.
    ///
    /// This reads a snapshot, so `drop` looks again.
    package func find(
        in namespace: String,
        after last: Bytes?,
        limit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (keys: [[Bytes]], last: Bytes?) {
        var range = KeyRange.registers(scope, namespace)
        if let last { range.start = last + [0] }
        let rows = try reader.rows(.meta, range, limit: limit)
        var keys: [[Bytes]] = []
        for (rowKey, _) in rows {
            var parts = KeyReader(rowKey)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.content()
            var key: [Bytes] = []
            while !parts.isAtEnd { key.append(try parts.content()) }
            if try mayGo(namespace, key, reader) { keys.append(key) }
        }
        return (keys, rows.count < limit ? nil : rows.last?.key)
    }

    /// Drops the registers that may still go.
    package func drop(
        _ keys: [[Bytes]],
        of namespace: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for key in keys where try mayGo(namespace, key, transaction) {
            transaction.put(.register(scope, namespace, key), nil)
        }
    }

    private func mayGo<Reader: RowReader & ~Copyable>(
        _ namespace: String,
        _ key: [Bytes],
        _ reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        if namespace == StoredPush.namespace { return try hasEnded(key, reader) ?? false }
        guard let address = StoredPush.key(ofMarked: key),
            let mark = try reader.register(scope, namespace, key)
        else { return false }
        let isOver = try hasEnded(address, reader) != false
        return isOver && stable.covers(mark.stamp.dot)
    }

    /// Whether every member knows that an address has ended; nil if nothing is left of it.
    private func hasEnded<Reader: RowReader & ~Copyable>(
        _ key: [Bytes],
        _ reader: borrowing Reader
    ) throws(EngineError) -> Bool? {
        guard let row = try reader.register(scope, StoredPush.namespace, key) else { return nil }
        return row.value == nil && stable.covers(row.stamp.dot)
    }
}
