// Lists what concurrent changes cost, newest first, a page at a time, from one snapshot.
//
// Called by the session that streams the pages. An operator sees the conflicts of a whole
// container, but no values of private databases. A user sees the conflicts in its own private
// database. The log is this node's: it holds the conflicts that were found here.

package import CumulusModel
package import CumulusStorage

package struct ListConflicts: Sendable {
    package init() {}

    package struct Item: Sendable {
        /// The name of the entry on this node.
        package var id: Bytes
        package var conflict: Conflict
        /// Whether there were values that this caller doesn't see.
        package var isWithheld: Bool
    }

    package struct Page: Sendable {
        package private(set) var items: [Item] = []
        /// Where the next page begins; nil if this was the last page.
        package fileprivate(set) var next: Bytes?
        fileprivate private(set) var byteCount = 0

        /// - Parameter end: Where the page before ended; nil if there was none.
        package init(before end: Bytes? = nil) { next = end }

        fileprivate mutating func add(_ item: Item) {
            byteCount += 256 + item.conflict.lost.count
            items.append(item)
        }
    }

    /// The most rows that one turn on a reader thread looks at.
    private static let turn = 400

    /// Reads for one turn; returns whether the page is done.
    ///
    /// Only what is told fills a page, so a page says nothing of other users' conflicts.
    package func read(
        _ page: inout Page,
        of scope: ScopeNumber,
        by caller: Caller,
        byteLimit: Int,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Bool {
        do {
            if caller.role == .anonymous { throw Authorisation.signInNeeded }
            var range = KeyRange.conflicts(of: scope)
            if let end = page.next { range.end = end }
            let rows = try reader.rows(.log, range, backwards: true, limit: ListConflicts.turn)
            let lens = try RecordLens(of: scope, in: reader)
            for (key, value) in rows {
                let item = try item(key, value, of: scope, for: caller, by: lens, reader)
                if item != nil, page.byteCount >= byteLimit { return true }
                page.next = key
                if let item { page.add(item) }
            }
            if rows.count == ListConflicts.turn { return false }
            page.next = nil
            return true
        } catch {
            throw ReadFailure(error)
        }
    }

    /// The entries before `end`, until `byteLimit` is reached.
    package func page(
        of scope: ScopeNumber,
        by caller: Caller,
        before end: Bytes?,
        byteLimit: Int,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Page {
        var page = Page(before: end)
        while !(try read(&page, of: scope, by: caller, byteLimit: byteLimit, in: reader)) {}
        return page
    }

    /// What a row tells the caller; nil if it tells nothing.
    private func item(
        _ key: Bytes,
        _ row: Bytes,
        of scope: ScopeNumber,
        for caller: Caller,
        by lens: RecordLens,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Item? {
        let conflict = try reader.decoding(key) { () throws(MalformedBytes) in
            try Conflict(row: row)
        }
        guard lens.tells(conflict),
            try !ListConflicts.isReset(conflict.zone, of: scope, reader)
        else { return nil }
        return try reader.decoding(key) { () throws(MalformedBytes) in
            try item(key, conflict, for: caller, by: lens)
        }
    }

    /// Whether a reset deleted the zone: then nothing of what was before it is told.
    ///
    /// After an ordinary deletion of a zone, conflicts still tell what the deletion cost.
    private static func isReset(
        _ zone: Commit.Zone,
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        guard let database = try reader.database(scope, zone.database),
            let row = try reader.zone(database, zone.name)
        else { return false }
        return row.reason == SchemaReset.purged && zone.generation <= row.deadThrough
    }

    /// An entry as the caller may see it; nil if it may not see it at all.
    private func item(
        _ key: Bytes,
        _ conflict: Conflict,
        for caller: Caller,
        by lens: RecordLens
    ) throws(MalformedBytes) -> Item? {
        let database = conflict.zone.database
        // The key begins with the subspace and the scope's number, which are this node's own.
        let id = Bytes(key.dropFirst(1 + MemoryLayout<ScopeNumber>.size))
        var item = Item(id: id, conflict: conflict, isWithheld: false)
        item.conflict.field = StoredName.shown(conflict.field)
        if lens.hasDrops {
            let lost = try RecordBody(stored: conflict.lost)
            item.conflict.lost = lens.showing(lost, of: conflict.recordType).bytes
        }
        switch caller.role {
        case .operator:
            if database.kind != .public, !conflict.lost.isEmpty {
                item.conflict.lost = []
                item.isWithheld = true
            }
            return item
        case .user(let name):
            return database == DatabaseID(kind: .private, owner: name) ? item : nil
        case .server, .anonymous: return nil
        }
    }
}

extension RecordLens {
    /// Whether the record type and the field of a conflict still exist for callers.
    fileprivate func tells(_ conflict: Conflict) -> Bool {
        !hides(conflict.recordType) && !hides(conflict.field, of: conflict.recordType)
    }
}
