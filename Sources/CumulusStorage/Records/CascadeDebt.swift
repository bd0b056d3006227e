// The deletions that a long cascade still has to make. They are local rows, written in the
// transaction that leaves deletions for later, and removed in the one that makes them.
//
// The operation that deletes a record writes them; `CascadeCompensation` writes and pays them. They
// survive the process, so an interrupted cascade goes on after the next start.

package import CumulusModel

/// A record around which something is left to delete.
package struct CascadeDebt: RowValue, Equatable {
    package var zone: Commit.Zone
    /// Births of the ended lives, the shown one first: everything that refers to them is deleted.
    ///
    /// Empty if another node ended them: then only the deletions that this node owes are made.
    package var births: [Dot]
    /// When the lives ended; a reference without a life that is not older means another record.
    package var ended: Stamp
    /// The user who made the deletion.
    package var user: String
    package var device: Bytes
    /// Until this time another node may still make the deletion, in milliseconds since 1970 UTC.
    package var due: Int64

    package init(
        zone: Commit.Zone,
        births: [Dot] = [],
        ended: Stamp = .zero,
        user: String = "",
        device: Bytes = [],
        due: Int64 = 0
    ) {
        self.zone = zone
        self.births = births
        self.ended = ended
        self.user = user
        self.device = device
        self.due = due
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(zone.database.kind.rawValue))
        writer.delimited(zone.database.owner.utf8)
        writer.delimited(zone.name.utf8)
        writer.varint(zone.generation)
        writer.varint(UInt64(births.count))
        for birth in births { writer.dot(birth) }
        writer.stamp(ended)
        writer.delimited(user.utf8)
        writer.delimited(device)
        writer.varint(zigzag(due))
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let kind = DatabaseScope(rawValue: UInt8(try reader.count(limit: 255)))
        guard let kind else { throw MalformedBytes("a cascade in an unknown database") }
        let database = DatabaseID(kind: kind, owner: try reader.text())
        zone = Commit.Zone(
            database: database,
            name: try reader.text(),
            generation: try reader.varint()
        )
        births = try reader.list { (reader) throws(MalformedBytes) in try reader.dot() }
        ended = try reader.stamp()
        user = try reader.text()
        device = try reader.delimitedBytes()
        due = try reader.signed()
    }
}

extension CascadeDebt {
    /// Adds the debts of another one.
    mutating func join(_ other: CascadeDebt) {
        due = min(due, other.due)
        guard !other.births.isEmpty else { return }
        births += other.births.filter { !births.contains($0) }
        ended = max(ended, other.ended)
        (user, device) = (other.user, other.device)
    }
}

/// The debts of a scope's cascades, as the writer keeps them.
package struct CascadeDebts: Sendable {
    let scope: ScopeNumber

    package init(of scope: ScopeNumber) { self.scope = scope }

    /// Adds a debt around a record to the debts that already exist there.
    package func owe(
        _ debt: CascadeDebt,
        around name: String,
        of zone: ZoneNumber,
        for cascade: Dot,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if transaction.state.broken.contains(.debts) { return }
        let key = RowKey.cascadeDebt(scope, cascade, zone, name)
        var sum = debt
        if let known: CascadeDebt = try transaction.row(key) { sum.join(known) }
        transaction.put(key, sum)
        transaction.state.cascadeVersion += 1
    }
}

extension RowReader where Self: ~Copyable {
    /// The next cascade of a scope with due debts, ordered by name; nil if none follows `last`.
    package borrowing func cascade(
        of scope: ScopeNumber,
        after last: Dot?,
        due now: Int64
    ) throws(EngineError) -> Dot? {
        var range = KeyRange.cascadeDebts(of: scope)
        if let last { range.start = KeyRange.cascadeDebts(of: scope, last).end }
        while let (key, value) = try rows(.log, range, limit: 1).first {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let cascade = try parts.dot()
            let debt = try decoding(key) { () throws(MalformedBytes) in
                try CascadeDebt(row: value)
            }
            if debt.due <= now { return cascade }
            range.start = KeyRange.cascadeDebts(of: scope, cascade).end
        }
        return nil
    }

    /// Whether a cascade that one of these commits began is unfinished.
    package borrowing func owes(
        _ cascades: [Dot],
        in scope: ScopeNumber
    ) throws(EngineError) -> Bool {
        for cascade in cascades {
            if try !rows(.log, .cascadeDebts(of: scope, cascade), limit: 1).isEmpty { return true }
        }
        return false
    }
}
