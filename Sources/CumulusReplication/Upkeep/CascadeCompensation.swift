// Pays the deletions that a node owes: children whose owner was deleted by a commit that didn't
// know of them.
//
// The node whose run wrote the child's reference deletes the child, or that node's heir does, so
// that one node acts and not all. Children that the deletion's origin knew are deleted by the
// origin, if they are many in further commits. If those commits don't come for a minute, the writer
// of the reference deletes the children. It is called after each commit that a node applies. A
// deletion cascades to what the deleted record owned. A hidden life is handled when it is shown.
//
// One turn of the writer deletes so many records, and so many bytes of them (`CascadeStep`). The
// rest is a debt in the store, which `CascadeKeeper` pays in further turns.

package import CumulusModel
package import CumulusStorage

package enum CascadeCompensation {
    /// Deletes the orphans of this request's own commits, which ended hidden lives.
    package static func run(_ transaction: inout WriteTransaction) throws(EngineError) {
        for (scope, commit) in transaction.takeUncompensated() {
            try run(after: commit, leaving: [], in: scope, &transaction)
        }
    }

    /// Deletes the orphans of a commit.
    ///
    /// Children that the origin knew are deleted by the origin's own commits; this node waits for
    /// them.
    ///
    /// - Parameter rows: The rows that the commit's puts left, as `apply` returns them. It is empty
    ///   for a commit of this node's own: its creations add no birth to a life.
    package static func run(
        after commit: Commit,
        leaving rows: [RecordRow],
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let zone = commit.zone, mayLeaveOrphans(commit, rows, transaction.state) else {
            return
        }
        var other: CascadeStep.Other?
        if !transaction.state.owes(for: commit.stamp.dot.incarnation) {
            other = CascadeStep.Other(
                ended: endedLives(of: commit),
                cut: try transaction.cut(of: commit, in: scope)
            )
        }
        try run(after: names(in: commit), of: zone, in: scope, beside: other, &transaction)
    }

    /// The lives with which a commit's origin deletes what refers to them.
    ///
    /// For each record it is the shown life, which is named first: hidden lives own nothing.
    private static func endedLives(of commit: Commit) -> [String: Dot] {
        var ended: [String: Dot] = [:]
        for case .delete(let name, let births, _) in commit.operations {
            ended[name] = births.first
        }
        return ended
    }

    /// Whether a commit ends lives, may show one that waited behind another, or brings back
    /// references that this node wrote in a run that it forgot.
    ///
    /// A creation that adds an earlier birth to a shown life may show another one in its place.
    private static func mayLeaveOrphans(
        _ commit: Commit,
        _ rows: [RecordRow],
        _ state: WriterState
    ) -> Bool {
        if state.owes(for: commit.stamp.dot.incarnation) { return true }
        let hasSiblings = rows.contains(where: \.hasSiblings)
        return commit.operations.contains { operation in
            switch operation {
            case .put(let put): !put.absorbed.isEmpty || put.birth == nil && hasSiblings
            case .delete: true
            case .zoneCreate, .zoneDelete, .register, .access: false
            }
        }
    }

    /// Deletes the orphans that changes of these records left, and everything that those owned;
    /// deletions beyond one turn of the writer become a debt.
    package static func run(
        after names: [String],
        of zone: Commit.Zone,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        try run(after: names, of: zone, in: scope, beside: nil, &transaction)
    }

    private static func run(
        after names: [String],
        of zone: Commit.Zone,
        in scope: ScopeNumber,
        beside other: CascadeStep.Other?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if transaction.state.broken.contains(.compensation) { return }
        guard let number = try transaction.number(of: zone, in: scope) else { return }
        let limit = transaction.state.cascadeRecords
        var names = names
        while !names.isEmpty {
            var step = CascadeStep(
                in: zone,
                number,
                of: scope,
                beside: other,
                limit: limit,
                transaction
            )
            for name in names {
                try step.begin(around: name, &transaction)
            }
            names = try step.perform(for: nil, by: Author(), &transaction)
        }
    }

    // MARK: Debts

    /// Pays a part of a cascade's debts; returns whether that was the rest.
    ///
    /// - Parameter cascade: The commit that began it.
    package static func pay(
        _ cascade: Dot,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let limit = transaction.state.turnRecords
        guard let debts = try debts(of: cascade, in: scope, limit: limit, transaction) else {
            return true
        }
        let zone = debts.zone
        // A state that brought the zone in full meanwhile gave it another number than the debts'.
        guard let number = try transaction.number(of: zone, in: scope) else {
            // The zone is gone, with everything in it.
            for (key, _, _) in debts.rows { transaction.put(key, nil) }
            return try !transaction.owes([cascade], in: scope)
        }
        var step = CascadeStep(in: zone, number, of: scope, limit: limit, transaction)
        for (key, name, debt) in debts.rows {
            if step.isFull(transaction) { break }
            guard try step.follow(name, debt.births, before: debt.ended, &transaction),
                try step.look(around: name, &transaction)
            else { break }
            transaction.put(key, nil)
        }
        let author = Author(user: debts.rows[0].debt.user, device: debts.rows[0].debt.device)
        let owed = CascadeDebts(of: scope)
        for name in try step.perform(for: cascade, by: author, &transaction) {
            let debt = CascadeDebt(zone: zone)
            try owed.owe(debt, around: name, of: number, for: cascade, &transaction)
        }
        return try !transaction.owes([cascade], in: scope)
    }

    /// The debts of a cascade in one zone.
    private struct Debts {
        let zone: Commit.Zone
        /// The zone's number when they were written down.
        let number: ZoneNumber
        /// The debts, at least one.
        var rows: [(key: RowKey, name: String, debt: CascadeDebt)]
    }

    /// A part of a cascade's debts, in the first of its zones; nil if no zone has any.
    private static func debts(
        of cascade: Dot,
        in scope: ScopeNumber,
        limit: Int,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Debts? {
        var debts: Debts?
        let range = KeyRange.cascadeDebts(of: scope, cascade)
        for (key, value) in try transaction.rows(.log, range, limit: limit) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.dot()
            let number = try parts.number(ZoneNumber.self)
            guard debts.map({ $0.number == number }) ?? true else { break }
            let name = try parts.text()
            let debt = try transaction.decoding(key) { () throws(MalformedBytes) in
                try CascadeDebt(row: value)
            }
            let row = (RowKey(.cascadeDebt, bytes: key), name, debt)
            if debts == nil { debts = Debts(zone: debt.zone, number: number, rows: []) }
            debts?.rows.append(row)
        }
        return debts
    }

    // MARK: Sweeps

    /// Children of a zone whose owner is not there, of all nodes, and the key to go on from,
    /// nil at the zone's end; looks at some references.
    ///
    /// It reads from a snapshot: `run` checks again, and also who owes the deletions. It finds
    /// children that were not deleted when due because the node that owed the deletion was gone. An
    /// owner without a row counts as dead only if the zone forgets tombstones; otherwise its row
    /// was lost, and its children must stay.
    package static func findOrphans(
        in zone: ZoneRow,
        after key: Bytes?,
        limit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (names: [String], last: Bytes?) {
        let number = zone.number
        var range = KeyRange.backReferences(of: number)
        if let key { range.start = key + [0] }
        let rows = try reader.rows(.index, range, limit: limit)
        var names: Set<String> = []
        for (key, value) in rows where !value.isEmpty {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let target = try parts.text()
            guard try parts.number(UInt8.self) == BackReferenceKind.deleteSelf.rawValue else {
                continue
            }
            let birth = try reader.decoding(key) { () throws(MalformedBytes) in
                var reader = CanonicalReader(value)
                return try reader.dot()
            }
            let owner = try reader.record(number, target)
            if owner == nil, zone.horizon.isEmpty { continue }
            let others = try reader.siblings(of: owner, named: target, in: number)
            let isThere = owner.map { !$0.isDead && $0.isBorn(at: birth) } ?? false
            if !isThere && !others.contains(where: { $0.isBorn(at: birth) }) {
                names.insert(try parts.text())
            }
        }
        return (names.sorted(), rows.count < limit ? nil : rows.last?.key)
    }

    /// The records that a commit names.
    static func names(in commit: Commit) -> [String] {
        commit.operations.compactMap { operation in
            switch operation {
            case .put(let put): put.recordName
            case .delete(let name, _, _): name
            case .zoneCreate, .zoneDelete, .register, .access: nil
            }
        }
    }

    /// Whether this node may have to delete that record, or records that go with it.
    package static func isOwed(
        around name: String,
        in zone: Commit.Zone,
        _ number: ZoneNumber,
        of scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        var step = CascadeStep(in: zone, number, of: scope, limit: 1, transaction)
        return try step.isOwed(around: name, &transaction)
    }
}
