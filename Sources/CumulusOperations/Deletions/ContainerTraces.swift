// What is in a scope of a deleted container, and how it goes: a few zones or registers in each turn
// of the writer.
//
// `DeletionKeeper` of the node walks through it page by page: it finds a page on a reader thread,
// and lets the writer delete it. Zones, subscriptions and roles go by commits. Conflicts and marks
// of what was read go on each node by itself. A walk that ends in the middle is begun again.

package import CumulusModel
package import CumulusStorage

package struct ContainerTraces: Sendable {
    /// Databases, or registers, that one page looks at.
    private static let looksAtOnce = 200
    /// Zones that one turn of the writer deletes.
    package static let zonesAtOnce = 20
    /// The reason that apps are told for the deletion of zones: they were purged.
    private static let purged: UInt8 = 1

    private let deletion: Stamp
    private let scope: ScopeNumber

    /// - Parameter deletion: The commit that deleted the container.
    package init(of deletion: Stamp, _ scope: ScopeNumber) {
        self.deletion = deletion
        self.scope = scope
    }

    /// Whether this node deletes what is left; in the writer.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isDue(now: Int64, _ transaction: borrowing WriteTransaction) -> Bool {
        DeletionTurns.isDue(deletion, now: now, transaction.state)
    }

    // MARK: Looking

    /// The zones that exist in the next databases after a key, and the key to go on from; nil at
    /// the end.
    package func zones(
        after last: Bytes?,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (zones: [Commit.Zone], last: Bytes?) {
        let page = try rows(.databases(of: scope), after: last, reader)
        var zones: [Commit.Zone] = []
        for (key, value) in page.rows {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            guard let kind = DatabaseScope(rawValue: try parts.number(UInt8.self)) else {
                throw .corrupt("a database of an unknown kind")
            }
            let database = DatabaseID(kind: kind, owner: try parts.text())
            let number = try reader.decoding(key) { () throws(MalformedBytes) in
                try NumberRow(row: value).number
            }
            for (name, row) in try reader.zoneRows(of: number) where row.exists {
                zones.append(
                    Commit.Zone(database: database, name: name, generation: row.generation)
                )
            }
        }
        return (zones, page.last)
    }

    /// The keys of subscriptions among the next registers after a key, and the key to go on from;
    /// nil at the end.
    package func subscriptions(
        after last: Bytes?,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (keys: [[Bytes]], last: Bytes?) {
        let range = KeyRange.registers(scope, StoredSubscription.namespace)
        let page = try rows(range, after: last, reader)
        var keys: [[Bytes]] = []
        for (key, value) in page.rows {
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try RegisterRow(row: value)
            }
            if row.value == nil { continue }
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.content()
            var rest: [Bytes] = []
            while !parts.isAtEnd { rest.append(try parts.content()) }
            keys.append(rest)
        }
        return (keys, page.last)
    }

    /// The next marks of what users have read, and addresses of their devices, at most so many.
    package func marks(_ reader: ReadTransaction) throws(EngineError) -> [RowKey] {
        var keys: [RowKey] = []
        for namespace in ReadMarks.namespaces + [StoredPush.namespace] {
            let range = KeyRange.registers(scope, namespace)
            for (key, _) in try reader.rows(.meta, range, limit: ContainerTraces.looksAtOnce) {
                keys.append(RowKey(.register, bytes: key))
            }
        }
        return keys
    }

    /// Whether there are conflicts, or roles that users have.
    package func hasRest(_ reader: ReadTransaction) throws(EngineError) -> Bool {
        if try !reader.rows(.log, .conflicts(of: scope), limit: 1).isEmpty { return true }
        return try reader.roleAssignments(in: scope).contains(where: \.assignment.isGiven)
    }

    private func rows(
        _ range: KeyRange,
        after last: Bytes?,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (rows: [(key: Bytes, value: Bytes)], last: Bytes?) {
        var range = range
        if let last { range.start = last + [0] }
        let limit = ContainerTraces.looksAtOnce
        let rows = try reader.rows(.meta, range, limit: limit)
        return (rows, rows.count < limit ? nil : rows.last?.key)
    }

    // MARK: Deleting

    /// Deletes zones that still exist.
    package func delete(
        _ zones: some Sequence<Commit.Zone>,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for zone in zones where try transaction.number(of: zone, in: scope) != nil {
            _ = try transaction.perform(
                [.zoneDelete(reason: ContainerTraces.purged)],
                in: scope,
                zone: zone,
                author: Author()
            )
        }
    }

    /// Ends subscriptions.
    package func end(
        _ subscriptions: [[Bytes]],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let registers = subscriptions.map {
            Commit.Register(namespace: StoredSubscription.namespace, key: $0, value: nil)
        }
        if !registers.isEmpty { try ScopeRegisters(of: scope).set(registers, &transaction) }
    }

    /// Drops the conflict log, and takes the roles away.
    package func deleteRest(_ transaction: inout WriteTransaction) throws(EngineError) {
        transaction.deleteRange(.log, .conflicts(of: scope))
        _ = try AssignedRoles.takeAll(in: scope, &transaction)
    }
}
