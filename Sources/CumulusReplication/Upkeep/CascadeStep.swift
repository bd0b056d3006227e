// Deletes along deleteSelf references in one turn of the writer: a bounded number of records, and
// of their bytes, in one commit. The rest is written down as a debt, in the same transaction.
//
// Made by `CascadeCompensation`, which finds out where to begin.

import CumulusModel
import CumulusStorage

struct CascadeStep {
    /// Another node's deletion, whose cascade continues in that node's commits.
    struct Other {
        /// The lives that its commit ended, by the names of their records.
        let ended: [String: Dot]
        /// What the deletion knew: it does not concern records that were saved without its
        /// knowledge.
        let cut: CausalCut
    }

    private enum Verdict {
        case stays
        case goes
        /// Unless another node deletes it.
        case later
    }

    /// Looks at records that stay, for each that is deleted at most.
    private static let looksPerRecord = 4
    /// How long another node has for its cascade before this one pays the debts.
    private static let patience: Int64 = 60_000

    private let scope: ScopeNumber
    private let zone: Commit.Zone
    private let number: ZoneNumber
    private let other: Other?
    private let limit: Int
    private let byteLimit: Int
    /// What the request had read before.
    private let start: Int
    private var looks = 0
    /// Bytes of the fields of records to delete.
    private var bytes = 0
    /// Records to delete, in the order in which they were found.
    private var deletions: [(name: String, lives: NamedLives)] = []
    private var dying: Set<String> = []
    /// The number of them whose children were looked for.
    private var followed = 0
    /// Records around which something may be left to delete.
    private var rest: [String] = []
    /// Records that show another life after this.
    private var reshown: [String] = []

    init(
        in zone: Commit.Zone,
        _ number: ZoneNumber,
        of scope: ScopeNumber,
        beside other: Other? = nil,
        limit: Int,
        _ transaction: borrowing WriteTransaction
    ) {
        (self.zone, self.number, self.scope) = (zone, number, scope)
        (self.other, self.limit) = (other, limit)
        (byteLimit, start) = (transaction.state.storedBytesPerTurn, transaction.recordBytes)
    }

    /// Nothing more is to be begun in this turn.
    func isFull(_ transaction: borrowing WriteTransaction) -> Bool {
        !hasRoom || looks >= limit * CascadeStep.looksPerRecord
            || transaction.recordBytes - start >= byteLimit
    }

    /// Whether another record may be deleted; the first one always may.
    private var hasRoom: Bool { deletions.count < limit && bytes < byteLimit }

    // MARK: What goes

    /// Takes along what refers to lives of a record that ended; false: not all of it had room.
    ///
    /// - Parameter end: When they did, if not just now. A reference that names no life and was not
    ///   written before means another record.
    mutating func follow(
        _ name: String,
        _ births: [Dot],
        before end: Stamp? = nil,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        var pages = ReferrerPages(to: name, born: births, .deleteSelf, in: number)
        while let children = try pages.next(in: transaction) {
            try transaction.readAhead(children.map { .record(number, $0.name) })
            for child in children where !dying.contains(child.name) {
                guard let row = try transaction.load(number, child.name), !row.isDead,
                    try !transaction.lens(of: scope).hides(child.field, of: row.type)
                else { continue }
                if let end, try !refers(row, child.field, to: name, before: end, transaction) {
                    continue
                }
                guard hasRoom else { return false }
                let others = try transaction.siblings(of: row, named: child.name, in: number)
                delete(child.name, [row] + others)
                try deleteShare(of: row, named: child.name, transaction)
            }
        }
        return true
    }

    /// Deletes the orphans of a changed record that this node owes; returns false if not all of
    /// them had room.
    mutating func look(
        around name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        var isLater = false
        var candidates = [name]
        var pages = ReferrerPages(to: name, born: nil, .deleteSelf, in: number)
        while true {
            for candidate in candidates where !dying.contains(candidate) {
                looks += 1
                guard let row = try transaction.load(number, candidate), !row.isDead else {
                    continue
                }
                switch try verdict(on: row, &transaction) {
                case .stays: break
                case .later: isLater = true
                case .goes:
                    guard hasRoom else { return false }
                    if row.hasSiblings { reshown.append(candidate) }
                    delete(candidate, [row])
                    try deleteShare(of: row, named: candidate, transaction)
                }
            }
            guard let children = try pages.next(in: transaction) else { break }
            candidates = children.map(\.name)
            try transaction.readAhead(candidates.map { .record(number, $0) })
        }
        if isLater { rest.append(name) }
        return true
    }

    /// Begins the deletions for which there is room, and leaves the others.
    mutating func begin(
        around name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if isFull(transaction) {
            rest.append(name)
        } else if try !look(around: name, &transaction) {
            rest.append(name)
        }
    }

    private mutating func delete(_ name: String, _ lives: [RecordRow]) {
        dying.insert(name)
        deletions.append((name, NamedLives(lives)))
        bytes += lives.reduce(0) { $0 + $1.body.bytes.count }
    }

    /// The root of a share takes the share with it.
    private mutating func deleteShare(
        of row: RecordRow,
        named root: String,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) {
        guard let name = row.share?.name, !dying.contains(name),
            let share = try transaction.share(name, in: number),
            share.root?.isLife(row, named: root) == true
        else { return }
        let others = try transaction.siblings(of: share.row, named: name, in: number)
        delete(name, [share.row] + others)
    }

    /// Whether a field that holds a reference to `name` named a life, or was written before it
    /// ended.
    private func refers(
        _ row: RecordRow,
        _ field: String,
        to name: String,
        before end: Stamp,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        if row.stamp(of: field) ?? .zero < end { return true }
        return try transaction.decoding([]) { () throws(MalformedBytes) in
            try row.backReferences().contains { reference in
                reference.kind == .deleteSelf && reference.field == field
                    && reference.target == name && reference.birth != nil
            }
        }
    }

    /// Whether the life that is shown refers, by our doing, to a life that is not there.
    private func verdict(
        on row: RecordRow,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Verdict {
        let owners = try transaction.decoding([]) { () throws(MalformedBytes) in
            try row.backReferences().filter { $0.kind == .deleteSelf }
        }
        var verdict = Verdict.stays
        for owner in owners {
            guard let birth = owner.birth, let stamp = row.stamp(of: owner.field),
                transaction.state.owes(for: stamp.dot.incarnation),
                // The reference is not visible.
                try !transaction.lens(of: scope).hides(owner.field, of: row.type)
            else { continue }
            if try isAlive(owner.target, birth, &transaction) { continue }
            guard let other, other.ended[owner.target] == birth, other.cut.covers(stamp.dot) else {
                return .goes
            }
            verdict = .later
        }
        return verdict
    }

    private func isAlive(
        _ name: String,
        _ birth: Dot,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard let row = try transaction.load(number, name), !row.isDead else { return false }
        if row.isBorn(at: birth) { return true }
        return try transaction.siblings(of: row, named: name, in: number)
            .contains { $0.isBorn(at: birth) }
    }

    // MARK: The end of the turn

    /// Follows the deletions as far as there is room, makes the commit, and writes down the rest.
    ///
    /// Returns the records that now show another life, to be checked again.
    ///
    /// - Parameter cascade: The commit that began it; nil: the next one does.
    mutating func perform(
        for cascade: Dot?,
        by author: Author,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String] {
        while followed < deletions.count {
            let (name, lives) = deletions[followed]
            guard try follow(name, lives.births, &transaction) else { break }
            followed += 1
        }
        let first = try transaction.nextDot(scope)
        let cascade = cascade ?? first
        let due = other == nil ? 0 : transaction.now + CascadeStep.patience
        let debts = CascadeDebts(of: scope)
        for name in rest {
            let debt = CascadeDebt(zone: zone, due: due)
            try debts.owe(debt, around: name, of: number, for: cascade, &transaction)
        }
        guard !deletions.isEmpty else { return [] }
        let operations = deletions.map { $0.lives.deletion(of: $0.name) }
        let (commit, _) = try transaction.perform(
            operations,
            in: scope,
            zone: zone,
            author: author
        )
        for (name, lives) in deletions[followed...] {
            guard try transaction.owns(name, in: number) else { continue }
            let debt = CascadeDebt(
                zone: zone,
                births: lives.births,
                ended: commit.stamp,
                user: author.user,
                device: author.device
            )
            try debts.owe(debt, around: name, of: number, for: cascade, &transaction)
        }
        return reshown
    }

    /// Whether this node may have to delete that record, or records that go with it.
    mutating func isOwed(
        around name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if let row = try transaction.load(number, name), !row.isDead,
            try verdict(on: row, &transaction) == .goes
        {
            return true
        }
        return try transaction.owns(name, in: number)
    }
}
