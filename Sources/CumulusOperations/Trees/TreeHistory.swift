// Which records hung in shared trees when a token was made: a walk like that of `TreeWalk`, over
// the records' parents at a vector.
//
// Made by `TreeChanges` for each page. Living records and the rows of their past tell what hung
// where, see `LifePast`; they reach back to the zone's hang floor. hot: once per record that
// changed, and per link above it.

import CumulusModel
import CumulusStorage

struct TreeHistory {
    private let vector: VersionVector
    private let zone: ZoneNumber
    /// The dots of the roots' lives, by name.
    private let roots: [String: Dot]
    private let shares: Set<String>
    /// The lives that were shown at the vector, by name.
    private var lives: [String: LifePast.Life?] = [:]

    /// The most lives that are kept, as each turn of a long search copies them.
    private static let mostLives = 4_096

    /// - Parameters:
    ///   - roots: The roots of the trees that the caller saw.
    ///   - vector: A whole vector.
    init(_ roots: [ChangeToken.Root], in zone: ZoneNumber, at vector: VersionVector) {
        self.vector = vector
        self.zone = zone
        self.roots = Dictionary(roots.map { ($0.name, $0.birth) }) { first, _ in first }
        shares = Set(roots.map(\.share))
    }

    /// Whether a record was in one of the trees, or is a share that was seen with its root.
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
    ) throws(EngineError) -> LifePast.Life? {
        if let known = lives[name] { return known }
        let life = try read(name, reader)
        if lives.count >= TreeHistory.mostLives { lives.removeAll() }
        lives[name] = .some(life)
        return life
    }

    /// Reads the life that was shown.
    private func read(
        _ name: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> LifePast.Life? {
        try LifePast.all(of: name, in: zone, reader).compactMap { $0.life(at: vector) }
            .max { $1.isShown(before: $0) }
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

    /// Whether a record came, went or moved to another parent after a vector.
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
