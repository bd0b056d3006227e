// All lives of one record: the shown one, the hidden ones behind it, or the tombstone that is left.
//
// A name can have several lives if nodes that didn't know of each other created it. One is shown,
// see `isShown`; the next save that saw the others ends them. Creations with one key are one life.
// Once a life with a key has ended, a creation with that key that did not know the end creates
// nothing. `ApplyCommit` makes it from a record's rows, the operations of a commit change it, and
// it is written back as rows. hot: once per saved record.
//
// Folder: which creations of a name are one life, and which life is shown. Read `RecordLives`, then
// `LifeKey` and `RecordRow+Births`.

package import CumulusModel

package struct RecordLives {
    package let name: String
    /// The rows as they were read, the shown one first.
    let stored: [RecordRow]
    /// Unordered; only the life that was shown has a frontier, which is the stored one.
    private var lives: [RecordRow]
    private var tombstone: RecordRow?
    /// The causally latest commits that name this record, in any of its lives.
    private(set) var frontier: [Stamp]
    /// Ended lives with keys, ascending.
    private(set) var ended: [EndedLife]
    private let broken: BrokenRules

    init(name: String, stored: [RecordRow], broken: BrokenRules = []) {
        self.name = name
        self.stored = stored
        self.broken = broken
        // A tombstone stands alone and is the only dead row.
        let isDead = stored.first?.isDead == true
        lives = isDead ? [] : stored
        tombstone = isDead ? stored.first : nil
        frontier = stored.first?.frontier ?? []
        ended = stored.first?.ended ?? []
    }

    /// The shown life; nil if none is alive.
    var shown: RecordRow? { lives.max { $1.isShown(before: $0, broken) } }

    /// The type of a life, or of the life that a tombstone stands for.
    func type(of birth: Dot) -> String? {
        if let life = life(birth) { return life.type }
        return tombstone?.birth.dot == birth ? tombstone?.type : nil
    }

    /// The living life with that birth.
    func life(_ birth: Dot) -> RecordRow? { lives.first { $0.isBorn(at: birth) } }

    /// The living life with that key; nil if the key is nil.
    func life(_ key: LifeKey?) -> RecordRow? {
        key.flatMap { key in lives.first { $0.key == key } }
    }

    /// Adds a creation to a life.
    mutating func addBirth(
        _ stamp: Stamp,
        _ creation: (by: String, type: String),
        to birth: Dot
    ) {
        guard let index = lives.firstIndex(where: { $0.isBorn(at: birth) }) else { return }
        lives[index].take(births: [stamp], creation)
    }

    /// Adds a new life.
    mutating func add(_ life: RecordRow) {
        lives.append(life)
    }

    /// Changes the life with that birth; returns false if it has ended.
    mutating func change(
        _ birth: Dot,
        _ body: (inout RecordRow) throws(MalformedBytes) -> Void
    ) throws(MalformedBytes) -> Bool {
        guard let index = lives.firstIndex(where: { $0.isBorn(at: birth) }) else { return false }
        try body(&lives[index])
        return true
    }

    /// Ends the lives with these births or keys, and returns them.
    mutating func end(_ births: [Dot], _ keys: [LifeKey], by commit: Commit) -> [RecordRow] {
        if births.isEmpty && keys.isEmpty { return [] }
        let over = lives.filter { $0.isNamed(by: births, keys) }
        let ends = Set(over.compactMap(\.key) + keys).map { EndedLife(key: $0, end: commit.stamp) }
        if !broken.contains(.ends) { ended.join(ends) }
        guard let last = over.max(by: { $0.birth < $1.birth }) else { return [] }
        lives.removeAll { $0.isNamed(by: births, keys) }
        var grave = RecordRow(type: last.type, birth: last.birth, createdBy: last.createdBy)
        grave.isDead = true
        grave.modified = commit.stamp
        grave.modifiedBy = commit.user
        tombstone = grave
        return over
    }

    /// Notes that a commit names this record: the frontier loses the commits that it has seen.
    mutating func enter(_ commit: Commit, _ cut: CausalCut) {
        frontier.removeAll { cut.covers($0.dot) }
        frontier.append(commit.stamp)
        frontier.sort()
    }

    /// The record as rows, the shown one first; a tombstone if no life is left.
    consuming func rows(_ commit: Commit) -> [RecordRow] {
        let (tombstone, frontier, ended, broken) = (tombstone, frontier, ended, broken)
        var rows = lives
        if rows.isEmpty {
            var grave = tombstone ?? RecordRow(type: "", birth: commit.stamp, createdBy: "")
            grave.isDead = true
            rows = [grave]
        }
        if rows.count > 1 { rows.sort { $0.isShown(before: $1, broken) } }
        for index in rows.indices {
            rows[index].hasSiblings = index == 0 && rows.count > 1
            rows[index].frontier = index == 0 ? frontier : []
            rows[index].ended = index == 0 ? ended : []
        }
        return rows
    }
}

extension RecordRow {
    fileprivate func isNamed(by births: [Dot], _ keys: [LifeKey]) -> Bool {
        births.contains(where: isBorn) || (key.map(keys.contains) ?? false)
    }
}

extension RowReader where Self: ~Copyable {
    /// The hidden lives of a record, in the order of their births' dots.
    package borrowing func siblings(
        of row: RecordRow?,
        named name: String,
        in zone: ZoneNumber?
    ) throws(EngineError) -> [RecordRow] {
        guard let zone, row?.hasSiblings == true else { return [] }
        return try rows(.records, .siblings(of: zone, name)).map {
            (key, value) throws(EngineError) in
            try decoding(key) { () throws(MalformedBytes) in try RecordRow(value) }
        }
    }
}

/// How a commit names lives that it ends.
package struct NamedLives: Hashable, Sendable {
    /// All births of each life, in the order of the lives.
    package var births: [Dot]
    /// Keys of the lives that increments began, ascending.
    package var keys: [LifeKey]

    package init(_ lives: [RecordRow]) {
        births = lives.flatMap(\.births)
        keys = Set(lives.compactMap(\.key).filter(\.isBlind)).sorted()
    }

    /// The deletion of the lives.
    package func deletion(of name: String) -> Commit.Operation {
        .delete(recordName: name, births: births, keys: keys)
    }
}
