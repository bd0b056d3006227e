// Which records hung in shared trees when a token was made: the same walk as `TreeWalk`, over how
// records hung at a vector.
//
// Made by `TreeChanges` for each page. What hung then is told by the records that live and by the
// rows of their past, see `HangRows`; it reaches back as far as the zone's hang floor. hot: once
// per record that changed, and per link above it.

import CumulusModel
import CumulusStorage

struct TreeHistory {
    private let vector: VersionVector
    private let zone: ZoneNumber
    /// What stands for the roots' lives, by name.
    private let roots: [String: Dot]
    private let shares: Set<String>
    /// Lives that were shown at the vector.
    private var lives: [String: Life?] = [:]

    private struct Life {
        /// Its births, and what stands for its key.
        let dots: [Dot]
        let parent: String?
    }

    /// - Parameters:
    ///   - roots: Of the trees that the caller saw.
    ///   - vector: Whole.
    init(_ roots: [ChangeToken.Root], in zone: ZoneNumber, at vector: VersionVector) {
        self.vector = vector
        self.zone = zone
        self.roots = Dictionary(roots.map { ($0.name, $0.birth) }) { first, _ in first }
        shares = Set(roots.map(\.share))
    }

    /// Whether a record was in one of the trees, or its share was seen with it.
    mutating func holds(
        _ name: String,
        isShare: Bool,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        if isShare { return shares.contains(name) }
        if roots.isEmpty { return false }
        var seen: Set<String> = []
        var next: String? = name
        for _ in 0...TreeWalk.mostLinks {
            guard let name = next, seen.insert(name).inserted, let life = try life(name, reader)
            else { return false }
            if let root = roots[name], life.dots.contains(root) { return true }
            next = life.parent
        }
        return false
    }

    private mutating func life(
        _ name: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Life? {
        if let known = lives[name] { return known }
        let life = try read(name, reader)
        lives[name] = .some(life)
        return life
    }

    /// The life that was shown, with the parent that it had.
    private func read(
        _ name: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Life? {
        var found: [Stamp: Past] = [:]
        for event in try reader.hangEvents(of: name, in: zone) {
            found[event.birth, default: Past()].take(event, vector)
        }
        for row in try reader.livingRows(of: name, in: zone) {
            for birth in [row.birth] + row.twins {
                found[birth, default: Past()].live(under: row.parent, row.key, vector)
            }
        }
        // Of several lives the one that was born last is shown. The births of one life have one
        // past.
        let known = found.filter { vector.covers($0.key.dot) && $0.value.isShown }
        guard let past = known.max(by: { $0.key < $1.key })?.value else { return nil }
        let births = known.filter { $0.value == past }.map(\.key.dot)
        return Life(dots: births + [past.key?.dot].compactMap(\.self), parent: past.parent)
    }

    /// How one life hung at the vector.
    private struct Past: Equatable {
        private var livesNow = false
        private var endedBefore = false
        private var endedLater = false
        private(set) var key: LifeKey?
        private(set) var parent: String?
        private var stamp: Stamp?

        /// Whether the life had not ended.
        ///
        /// A life that ended within a state of another node has no row of its end. The hang floor
        /// covers that state, and the vector covers the floor: the life had ended.
        var isShown: Bool { !endedBefore && (livesNow || endedLater) }

        mutating func take(_ event: HangEvent, _ vector: VersionVector) {
            let isKnown = vector.covers(event.stamp.dot)
            switch event.event {
            case .ended(let key):
                self.key = key
                if isKnown { endedBefore = true } else { endedLater = true }
            case .hung(let under): if isKnown { hang(under, event.stamp) }
            }
        }

        mutating func live(
            under parent: RecordRow.NamedTarget?,
            _ key: LifeKey?,
            _ vector: VersionVector
        ) {
            (livesNow, self.key) = (true, key)
            guard let parent, vector.covers(parent.stamp.dot) else { return }
            hang(parent.name, parent.stamp)
        }

        private mutating func hang(_ under: String?, _ new: Stamp) {
            if let stamp, stamp >= new { return }
            (parent, stamp) = (under, new)
        }
    }
}

extension ReadTransaction {
    /// The living lives of a record, the shown one first.
    func livingRows(
        of name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> [RecordRow] {
        guard let shown = try record(zone, name), !shown.isDead else { return [] }
        return try [shown] + siblings(of: shown, named: name, in: zone)
    }

    /// Whether a record came, went or got another parent after a vector.
    func moved(
        _ name: String,
        in zone: ZoneNumber,
        since vector: VersionVector
    ) throws(EngineError) -> Bool {
        for row in try livingRows(of: name, in: zone) {
            if !row.births.contains(where: vector.covers) { return true }
            if let parent = row.parent, !vector.covers(parent.stamp.dot) { return true }
        }
        return try hangEvents(of: name, in: zone).contains { !vector.covers($0.stamp.dot) }
    }
}
