// Two nodes' states of one record become one: the state of a node that applied the commits of both.
//
// Used where a node takes over state instead of commits, because a log was truncated or the node is
// new. Commutative, associative and idempotent; equal to applying the missing commits, which is how
// it is tested.

package import CumulusModel
package import CumulusStorage

package enum RecordJoin {
    /// One side of a join: what a node holds of a record, and how far it had read by then.
    package struct Side {
        /// The shown life or the tombstone, then the lives behind it; empty: the record is unknown
        /// here.
        package var rows: [RecordRow]
        package var vector: VersionVector

        package init(rows: [RecordRow], vector: VersionVector) {
            self.rows = rows
            self.vector = vector
        }

        fileprivate var lives: [RecordRow] { rows.filter { !$0.isDead } }
        fileprivate var frontier: [Stamp] { rows.first?.frontier ?? [] }
        fileprivate var ended: [EndedLife] { rows.first?.ended ?? [] }

        /// This side's counterpart of another side's life.
        fileprivate func life(like other: RecordRow) -> RecordRow? {
            lives.first { $0.isSameLife(as: other) }
        }

        /// Whether this side knows that a life of the other side ended: it remembers an end that
        /// the other side had not read, or had read a birth of the life and does not hold that
        /// birth.
        fileprivate func knowsEnd(of life: RecordRow, on other: Side) -> Bool {
            let mine = self.life(like: life)
            if life.births.contains(where: { vector.covers($0) && mine?.isBorn(at: $0) != true }) {
                return true
            }
            return ended.contains { $0.key == life.key && !other.vector.covers($0.end.dot) }
        }
    }

    /// The joined rows, unsealed, the shown one first.
    ///
    /// `doubled`: increments of the record that both sides hold, made by one request.
    package static func join(
        _ one: Side,
        _ other: Side,
        doubled: ([RecordRow]) throws(MalformedBytes) -> [DoubledIncrement] = { _ in [] },
        broken: BrokenRules = []
    ) throws(MalformedBytes) -> [RecordRow] {
        var (one, other) = (one, other)
        let ended = Set(one.ended + other.ended).sorted()
        if broken.contains(.joinedEnds) {
            one.forgetEnds()
            other.forgetEnds()
        }
        var lives = one.lives.filter { !other.knowsEnd(of: $0, on: one) }
        for life in other.lives where !one.knowsEnd(of: life, on: other) {
            if let index = lives.firstIndex(where: { $0.isSameLife(as: life) }) {
                try lives[index].join(life)
            } else {
                lives.append(life)
            }
        }
        lives.sort { $0.isShown(before: $1, broken) }
        let voids = try doubled(lives)
        if lives.isEmpty { lives = [tombstone(one, other)] }
        let frontier = frontier(one, other)
        for index in lives.indices {
            try lives[index].void(voids)
            lives[index].hasSiblings = index == 0 && lives.count > 1
            lives[index].frontier = index == 0 ? frontier : []
            lives[index].ended = index == 0 ? ended : []
        }
        return lives
    }

    /// A commit stays in the frontier unless the other side had read it and holds a later one.
    private static func frontier(_ one: Side, _ other: Side) -> [Stamp] {
        func kept(_ stamps: [Stamp], beside other: Side) -> [Stamp] {
            stamps.filter { other.frontier.contains($0) || !other.vector.covers($0.dot) }
        }
        let stamps = kept(one.frontier, beside: other) + kept(other.frontier, beside: one)
        return Set(stamps).sorted()
    }

    /// The tombstone of a record whose last lives ended, on one side or by both together.
    private static func tombstone(_ one: Side, _ other: Side) -> RecordRow {
        let last = (one.rows + other.rows).max { $0.birth < $1.birth }
        let modified = (one.rows + other.rows).max { $0.modified < $1.modified }
        var tombstone = RecordRow(
            type: last?.type ?? "",
            birth: last?.birth ?? .zero,
            createdBy: last?.createdBy ?? ""
        )
        tombstone.isDead = true
        tombstone.modified = modified?.modified ?? .zero
        tombstone.modifiedBy = modified?.modifiedBy ?? ""
        return tombstone
    }
}

extension RecordJoin.Side {
    /// A broken rule.
    fileprivate mutating func forgetEnds() {
        if !rows.isEmpty { rows[0].ended = [] }
    }
}
