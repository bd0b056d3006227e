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

        fileprivate func life(_ birth: Dot) -> RecordRow? {
            rows.first { !$0.isDead && $0.birth.dot == birth }
        }
    }

    /// The joined rows, unsealed, the shown one first.
    ///
    /// `doubled`: increments of the record that both sides hold, made by one request.
    package static func join(
        _ one: Side,
        _ other: Side,
        doubled: [DoubledIncrement] = []
    ) throws(MalformedBytes) -> [RecordRow] {
        var lives = try survivors(of: one, beside: other)
        lives += other.lives.filter { life in
            one.life(life.birth.dot) == nil && !one.vector.covers(life.birth.dot)
        }
        lives.sort { $0.birth > $1.birth }
        if lives.isEmpty { lives = [tombstone(one, other)] }
        let frontier = frontier(one, other)
        for index in lives.indices {
            try lives[index].void(doubled)
            lives[index].hasSiblings = index == 0 && lives.count > 1
            lives[index].frontier = index == 0 ? frontier : []
        }
        return lives
    }

    /// Our lives, joined with the other's: one that the other side doesn't hold is dead if the
    /// other side had read its birth.
    private static func survivors(
        of one: Side,
        beside other: Side
    ) throws(MalformedBytes) -> [RecordRow] {
        var survivors: [RecordRow] = []
        for life in one.lives {
            if let twin = other.life(life.birth.dot) {
                var joined = life
                try joined.join(twin)
                survivors.append(joined)
            } else if !other.vector.covers(life.birth.dot) {
                survivors.append(life)
            }
        }
        return survivors
    }

    /// A commit stays in the frontier unless the other side had read it and holds a later one.
    private static func frontier(_ one: Side, _ other: Side) -> [Stamp] {
        func kept(_ stamps: [Stamp], beside other: Side) -> [Stamp] {
            stamps.filter { other.frontier.contains($0) || !other.vector.covers($0.dot) }
        }
        let stamps = kept(one.frontier, beside: other) + kept(other.frontier, beside: one)
        return Set(stamps).sorted()
    }

    /// What is left of a record whose last lives ended, on one side or by the two together.
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
