// Writes the rows by which shares are found, and drops the rows of ended shares.
//
// `ApplyCommit` writes them with the record of a share. The node's collector drops old ones, a few
// rows at a time, and fewer where it has to read large records.

package import CumulusModel

/// The rows that lead to the shares of a scope, as the writer keeps them.
package struct ScopeShares: Sendable {
    let scope: ScopeNumber

    package init(of scope: ScopeNumber) { self.scope = scope }

    /// Writes the rows by which a share is found.
    func storeRows(
        of name: String,
        _ before: [RecordRow],
        _ rows: [RecordRow],
        at place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let shares = (before + rows).filter { !$0.access.isEmpty || $0.share != nil }
        guard !shares.isEmpty, place.zone.database.kind == .private else { return }
        // The change may bring a share into force or end it.
        transaction.state.sharesVersion += 1
        var entries = AccessEntries()
        for row in shares {
            entries.join(row.access)
            // Lives that two nodes made from one request have a root each.
            if let root = row.access.root {
                try noteShareID(of: name, root, at: place, &transaction)
            }
        }
        let was = Self.access(of: before).usersLetIn
        let now = Self.access(of: rows).usersLetIn
        for user in entries.users {
            let isOut = was.contains(user) && !now.contains(user)
            let ended = isOut ? rows.first?.frontier.map(\.dot) : nil
            try noteVisible(place, share: name, to: user, ended: ended, &transaction)
        }
    }

    /// What the living lives of a share let users do, joined.
    private static func access(of rows: [RecordRow]) -> AccessEntries {
        var access = AccessEntries()
        for row in rows where !row.isDead { access.join(row.access) }
        return access
    }

    private func noteShareID(
        of share: String,
        _ root: AccessEntries.Root,
        at place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let id = ShareID(root, in: place.zone)
        let known = try transaction.shareIDRow(id, in: scope)?.recordNames ?? []
        if known.contains(share) { return }
        transaction.put(
            .shareIDRow(scope, id),
            ShareIDRow(zone: place.zone, recordNames: (known + [share]).sorted())
        )
    }

    private func noteVisible(
        _ place: ZonePlace,
        share: String,
        to user: String,
        ended: [Dot]?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let owner = place.zone.database.owner
        let key = RowKey.visibleZone(scope, user, owner: owner, place.zone.name)
        let generation = place.zone.generation
        let new = VisibleZone(generation: generation, shares: [], changed: 0)
        var row: VisibleZone = try transaction.row(key) ?? new
        if row.generation > generation { return }
        if row.generation < generation { row = new }
        if !row.shares.contains(share) { row.shares = (row.shares + [share]).sorted() }
        row.changed = transaction.now
        if let ended { row.ended = ended }
        transaction.put(key, row)
    }

    // MARK: Forgetting

    /// Drops the rows by which users found ended shares, for users who left before a time.
    ///
    /// Visits some rows after a key; returns the key to go on from, nil at the end.
    ///
    /// - Parameter time: In milliseconds since 1970 UTC.
    package func forgetVisibleZones(
        before time: Int64,
        after key: Bytes?,
        limit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bytes? {
        var range = KeyRange(prefix: RowKey(.visibleZone) { $0.add(scope) }.bytes)
        if let key { range.start = key + [0] }
        let page = try transaction.rows(.meta, range, limit: limit)
        var last: Bytes?
        for (key, value) in page {
            if let last, transaction.hasReadEnough { return last }
            last = key
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let (user, owner, zone) = (try parts.text(), try parts.text(), try parts.text())
            let row = try transaction.decoding(key) { () throws(MalformedBytes) in
                try VisibleZone(row: value)
            }
            if row.changed >= time { continue }
            if try isVisible(row, zone, of: owner, to: user, transaction) { continue }
            transaction.put(.visibleZone(scope, user, owner: owner, zone), nil)
        }
        return page.count < limit ? nil : page.last?.key
    }

    private func isVisible(
        _ row: VisibleZone,
        _ zone: String,
        of owner: String,
        to user: String,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        let id = DatabaseID(kind: .private, owner: owner)
        guard let database = try transaction.database(scope, id),
            let known = try transaction.zone(database, zone), known.exists,
            known.generation == row.generation
        else { return false }
        for name in row.shares {
            guard let share = try transaction.share(name, in: known.number) else { continue }
            if share.entries.permission(of: user) != nil { return true }
        }
        return false
    }

    /// Drops, in the same way, the rows that lead to shares whose record is gone.
    package func forgetIDRows(
        after key: Bytes?,
        limit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bytes? {
        var range = KeyRange(prefix: RowKey(.shareIDRow) { $0.add(scope) }.bytes)
        if let key { range.start = key + [0] }
        let page = try transaction.rows(.meta, range, limit: limit)
        var last: Bytes?
        for (key, value) in page {
            if let last, transaction.hasReadEnough { return last }
            last = key
            var row = try transaction.decoding(key) { () throws(MalformedBytes) in
                try ShareIDRow(row: value)
            }
            let names = row.recordNames
            row.recordNames = try living(names, in: row.zone, transaction)
            if row.recordNames == names { continue }
            let bytes = row.recordNames.isEmpty ? nil : row.rowBytes
            transaction.put(RowKey(.shareIDRow, bytes: key), bytes)
        }
        return page.count < limit ? nil : page.last?.key
    }

    /// The names of the shares whose records exist.
    private func living(
        _ shares: [String],
        in zone: Commit.Zone,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [String] {
        guard let database = try transaction.database(scope, zone.database),
            let known = try transaction.zone(database, zone.name), known.exists,
            known.generation == zone.generation
        else { return [] }
        var living: [String] = []
        for name in shares {
            if try transaction.share(name, in: known.number) != nil { living.append(name) }
        }
        return living
    }
}
