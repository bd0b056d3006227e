// One life of a record with its past: what was known of it at a node that had read certain commits.
//
// Made by `TreeHistory` from the rows of living records and the rows of their past, see `HangRows`.
// hot: once per record that changed, and per link above it.

import CumulusModel
import CumulusStorage

struct LifePast {
    /// The stamps of all commits that created it, in no order.
    private var births: [Stamp]
    private var key: LifeKey?
    private let livesNow: Bool
    /// The commits that ended it.
    private var ends: Set<Stamp> = []
    /// The parents that it got, with the commits that set them; a name is nil if it got none.
    private var parents: [(name: String?, stamp: Stamp)] = []

    /// A life as a node saw it that had read certain commits.
    struct Life {
        /// Its births, and the dot of its key.
        let dots: [Dot]
        let parent: String?
        fileprivate let birth: Stamp
        fileprivate let isBlind: Bool

        /// Whether this life is shown and not the other one, see `RecordRow.isShown`.
        func isShown(before other: Life) -> Bool {
            isBlind == other.isBlind ? birth > other.birth : other.isBlind
        }
    }

    /// All lives of a record, including ended ones.
    static func all(
        of name: String,
        in zone: ZoneNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [LifePast] {
        var lives = try reader.livingRows(of: name, in: zone).map(LifePast.init)
        var over: [Stamp: LifePast] = [:]
        for event in try reader.hangEvents(of: name, in: zone) {
            if let index = lives.firstIndex(where: { $0.births.contains(event.birth) }) {
                lives[index].take(event)
            } else {
                over[event.birth, default: LifePast(event.birth)].take(event)
            }
        }
        for past in over.values {
            if let index = lives.firstIndex(where: { $0.isSameLife(as: past) }) {
                lives[index].take(past)
            } else {
                lives.append(past)
            }
        }
        return lives
    }

    private init(_ birth: Stamp) {
        births = [birth]
        livesNow = false
    }

    private init(_ row: RecordRow) {
        births = row.creations
        key = row.key
        livesNow = true
        if let parent = row.parent { parents = [(parent.name, parent.stamp)] }
    }

    private mutating func take(_ event: HangEvent) {
        switch event.event {
        case .ended(let key):
            self.key = key
            ends.insert(event.stamp)
        case .hung(let parent): parents.append((parent, event.stamp))
        }
    }

    /// Whether two ended lives are the same one; a counter begins a new life after its end.
    private func isSameLife(as other: LifePast) -> Bool {
        guard let key, key == other.key else { return false }
        return !key.isBlind || ends == other.ends
    }

    private mutating func take(_ other: LifePast) {
        births += other.births
        ends.formUnion(other.ends)
        parents += other.parents
    }

    /// The life as a node saw it that knew all commits within a vector, and no others; nil if there
    /// was none.
    ///
    /// A life that ended within a state of another node has no row of its end. The hang floor
    /// covers that state, and the vector covers the floor, so the life had ended.
    func life(at vector: VersionVector) -> Life? {
        let known = births.filter { vector.covers($0.dot) }
        guard let birth = known.min(), livesNow || !ends.isEmpty,
            !ends.contains(where: { vector.covers($0.dot) })
        else { return nil }
        let isBlind = key?.isBlind == true
        // If one request created the life several times, only the earliest creation counts.
        let last = parents.filter { _, stamp in
            let isRepeat = key != nil && !isBlind && stamp != birth && births.contains(stamp)
            return vector.covers(stamp.dot) && !isRepeat
        }.max { $0.stamp < $1.stamp }
        return Life(
            dots: known.map(\.dot) + [key?.dot].compactMap(\.self),
            parent: last?.name,
            birth: birth,
            isBlind: isBlind
        )
    }
}
