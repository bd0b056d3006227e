// Lists what concurrent changes cost, newest first, a page at a time, from one snapshot.
//
// Driven by the session that streams the pages. An operator sees all of a container, but no values
// of private databases; a user sees what befell the private database of its own. The log is this
// node's: it holds what was met here.

package import CumulusModel
package import CumulusStorage

package struct ListConflicts: Sendable {
    package init() {}

    package struct Item: Sendable {
        /// Names the entry on this node.
        package var id: Bytes
        package var conflict: Conflict
        /// There were values that this caller doesn't see.
        package var isWithheld: Bool
    }

    package struct Page: Sendable {
        package var items: [Item]
        /// Where the next page begins; nil means this was the last one.
        package var next: Bytes?
    }

    /// Rows that a page looks at, at most.
    private static let pageRows = 400

    /// The entries before `end`, until `byteLimit` is reached.
    package func page(
        of scope: ScopeNumber,
        by caller: Caller,
        before end: Bytes?,
        byteLimit: Int,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Page {
        do {
            if caller.role == .anonymous { throw Authorisation.signInNeeded }
            var range = KeyRange.conflicts(of: scope)
            if let end { range.end = end }
            let rows = try reader.rows(
                .log,
                range,
                backwards: true,
                limit: ListConflicts.pageRows
            )
            let lens = try RecordLens(of: scope, in: reader)
            var page = Page(items: [], next: nil)
            var byteCount = 0
            for (key, value) in rows {
                if byteCount >= byteLimit { return page }
                let conflict = try reader.decoding(key) { () throws(MalformedBytes) in
                    try Conflict(row: value)
                }
                page.next = key
                guard lens.tells(conflict),
                    try !ListConflicts.isReset(conflict.zone, of: scope, reader)
                else { continue }
                let shown = try reader.decoding(key) { () throws(MalformedBytes) in
                    try item(key, conflict, for: caller, by: lens)
                }
                guard let item = shown else { continue }
                byteCount += 256 + item.conflict.lost.count
                page.items.append(item)
            }
            if rows.count < ListConflicts.pageRows { page.next = nil }
            return page
        } catch {
            throw ReadFailure(error)
        }
    }

    /// Whether a reset took the zone: of what was before it nothing is told. (A zone that was
    /// deleted is another matter: there a conflict tells what the deletion cost.)
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

    /// An entry as its caller may see it; nil means not at all.
    private func item(
        _ key: Bytes,
        _ conflict: Conflict,
        for caller: Caller,
        by lens: RecordLens
    ) throws(MalformedBytes) -> Item? {
        let database = conflict.zone.database
        // Behind the subspace and the scope's number, which are this node's own.
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
    /// Whether what a conflict is about is there for callers.
    fileprivate func tells(_ conflict: Conflict) -> Bool {
        !hides(conflict.recordType) && !hides(conflict.field, of: conflict.recordType)
    }
}
