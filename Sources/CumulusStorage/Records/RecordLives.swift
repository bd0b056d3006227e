// All lives of one record together: the one that is shown, those that wait behind it, or the
// tombstone that is left.
//
// A name can have several lives when nodes that didn't know of each other created it. The one born
// last is shown; the next save that saw them ends the others. Made by `ApplyCommit` from a record's
// rows, changed by the operations of a commit, and written back as rows. hot: once per saved
// record.

package import CumulusModel

package struct RecordLives {
    package let name: String
    /// The rows as they were read, the shown one first.
    let stored: [RecordRow]
    /// In no order, and without their frontiers.
    private var lives: [RecordRow]
    private var tombstone: RecordRow?
    /// The causally latest commits that name this record, in whichever life.
    private(set) var frontier: [Stamp]

    init(name: String, stored: [RecordRow]) {
        self.name = name
        self.stored = stored
        // Only a tombstone stands alone and is dead.
        let isDead = stored.first?.isDead == true
        lives = isDead ? [] : stored
        tombstone = isDead ? stored.first : nil
        frontier = stored.first?.frontier ?? []
    }

    /// The life that was born last; nil means nothing lives.
    var shown: RecordRow? { lives.max { $0.birth < $1.birth } }

    /// The type of a life, or of what a tombstone is left of.
    func type(of birth: Dot) -> String? {
        if let index = lives.firstIndex(where: { $0.birth.dot == birth }) {
            return lives[index].type
        }
        return tombstone?.birth.dot == birth ? tombstone?.type : nil
    }

    /// A life that is there.
    func life(_ birth: Dot) -> RecordRow? { lives.first { $0.birth.dot == birth } }

    /// A life begins.
    mutating func add(_ life: RecordRow) {
        lives.append(life)
    }

    /// Changes the life with that birth; false if it is not there any more.
    mutating func change(
        _ birth: Dot,
        _ body: (inout RecordRow) throws(MalformedBytes) -> Void
    ) throws(MalformedBytes) -> Bool {
        guard let index = lives.firstIndex(where: { $0.birth.dot == birth }) else { return false }
        try body(&lives[index])
        return true
    }

    /// Ends the lives with these births, and returns what they were.
    @discardableResult
    mutating func end(_ births: [Dot], by commit: Commit) -> [RecordRow] {
        if births.isEmpty { return [] }
        let ended = lives.filter { births.contains($0.birth.dot) }
        guard let last = ended.max(by: { $0.birth < $1.birth }) else { return [] }
        lives.removeAll { births.contains($0.birth.dot) }
        var grave = RecordRow(type: last.type, birth: last.birth, createdBy: last.createdBy)
        grave.isDead = true
        grave.modified = commit.stamp
        grave.modifiedBy = commit.user
        tombstone = grave
        return ended
    }

    /// A commit names this record: what it has seen is no longer in the frontier.
    mutating func enter(_ commit: Commit, _ cut: CausalCut) {
        frontier.removeAll { cut.covers($0.dot) }
        frontier.append(commit.stamp)
        frontier.sort()
    }

    /// The record as rows, the shown one first; a tombstone if nothing lives.
    consuming func rows(_ commit: Commit) -> [RecordRow] {
        let (tombstone, frontier) = (tombstone, frontier)
        var rows = lives
        if rows.isEmpty {
            var grave = tombstone ?? RecordRow(type: "", birth: commit.stamp, createdBy: "")
            grave.isDead = true
            rows = [grave]
        }
        if rows.count > 1 { rows.sort { $0.birth > $1.birth } }
        for index in rows.indices {
            rows[index].hasSiblings = index == 0 && rows.count > 1
            rows[index].frontier = index == 0 ? frontier : []
        }
        return rows
    }
}

extension RowReader where Self: ~Copyable {
    /// Births of the lives that wait behind a record's shown one, ascending.
    package borrowing func siblings(
        of row: RecordRow?,
        named name: String,
        in zone: ZoneNumber?
    ) throws(EngineError) -> [Dot] {
        guard let zone, row?.hasSiblings == true else { return [] }
        return try rows(.records, .siblings(of: zone, name)).map { (key, _) throws(EngineError) in
            var reader = KeyReader(key)
            _ = try reader.number(ZoneNumber.self)
            _ = try reader.content()
            return Dot(Incarnation(try reader.number()), try reader.number())
        }
    }
}
