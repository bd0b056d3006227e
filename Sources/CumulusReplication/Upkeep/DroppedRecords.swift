// Deletes the records of types that the schema dropped. They are hidden from the moment when a node
// hears of it; here they go, and what refers to them with deleteSelf goes along.
//
// The node whose run made a record deletes it, or its heir, so that one node does and not all.
// Since no node makes records of a dropped type once it has heard, one walk after hearing finds
// all of one's own. Walked by `SchemaKeeper`, a bounded step at a time.

import CumulusModel
package import CumulusStorage

package enum DroppedRecords {
    /// Names of records of a zone that may have lives of dropped types, and the name to go on from,
    /// nil at the zone's end; looks at some records, at fewer if they are large.
    ///
    /// Read from a snapshot: `delete` looks again.
    package static func find(
        in zone: Commit.Zone,
        of scope: ScopeNumber,
        after name: String?,
        limit: Int,
        byteLimit: Int = .max,
        by lens: RecordLens,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (names: [String], last: String?) {
        guard let zone = try reader.number(of: zone, in: scope) else { return ([], nil) }
        var range = KeyRange.records(of: zone)
        if let name { range.start = RowKey.record(zone, name).bytes + [0] }
        let page = try reader.page(.records, range, limit: limit, byteLimit: byteLimit)
        var names: [String] = []
        var last: String?
        for (key, value) in page.rows {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let name = try parts.text()
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try RecordRow(value)
            }
            if !row.isDead, row.hasSiblings || lens.hides(row.type) { names.append(name) }
            last = name
        }
        return (names, page.isLast ? nil : last)
    }

    /// Deletes the part of them that this node owes, in commits of bounded size.
    package static func delete(
        _ names: [String],
        of zone: Commit.Zone,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let number = try transaction.number(of: zone, in: scope) else { return }
        var deleted: [String] = []
        var deletes: [Commit.Operation] = []
        for name in names {
            let lives = try owed(name, in: number, of: scope, &transaction)
            if lives.isEmpty { continue }
            deletes.append(NamedLives(lives).deletion(of: name))
            deleted.append(name)
        }
        if deletes.isEmpty { return }
        _ = try transaction.perform(deletes, in: scope, zone: zone, author: Author())
        try CascadeCompensation.run(after: deleted, of: zone, in: scope, &transaction)
    }

    /// The lives of dropped types that this node's runs made.
    private static func owed(
        _ name: String,
        in zone: ZoneNumber,
        of scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [RecordRow] {
        let lens = try transaction.lens(of: scope)
        let state = transaction.state
        return try transaction.lives(zone, name).filter {
            !$0.isDead && lens.hides($0.type) && state.owes(for: $0.birth.dot.incarnation)
        }
    }
}
