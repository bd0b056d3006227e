// An outside view of a simulated world's nodes: every commit that was in one of their logs, and the
// records that their readers were shown after each change.
//
// A `SimulatedWorld` looks at its nodes every few hundred milliseconds and after each replicated
// save, and asks for the faults in the end. `Watch` and `Outcome` judge the findings, as in a
// simulated cluster.

import CumulusModel
import CumulusOperations
import CumulusStorage

struct WorldWatch {
    private let scope: ScopeID
    private var watch = Watch()
    private var archive: [Dot: Commit] = [:]
    /// How far each run is in the archive, and what the maker of its last commit there had.
    private var archived = VersionVector()
    private var known: [Incarnation: VersionVector] = [:]
    /// Vectors of commits' makers that were not fully seen yet.
    private var unexplained: [Dot: VersionVector] = [:]
    /// The vector of each machine's node when its records were last looked at.
    private var seen: [Int: VersionVector] = [:]
    private var torn: [String] = []
    /// How often both of a pair were there.
    private(set) var pairsFound = 0

    /// The pause between two looks: logs keep commits longer after all nodes have them.
    static let pauseMilliseconds: Int64 = 400

    init(of scope: ScopeID) {
        self.scope = scope
    }

    /// - Parameter reader: The view that callers of the node have.
    mutating func look(at machine: Int, _ reader: ReadTransaction) throws {
        guard let scope = try reader.scope(scope) else { return }
        let vector = try reader.vector(of: scope)
        guard seen[machine] != vector else { return }
        try keepLog(reader)
        seen[machine] = vector
        let records = try StoredRecords.all(in: reader)
        try watch.look(at: machine, vector, records, reader)
        lookAtPairs(of: machine, records)
    }

    // MARK: The archive

    /// Keeps the commits that a node has in its log, in their order.
    mutating func keepLog(_ reader: ReadTransaction) throws {
        guard let scope = try reader.scope(scope) else { return }
        for last in try reader.vector(of: scope).dots where !archived.covers(last) {
            for seq in archived[last.incarnation] + 1...last.seq {
                let dot = Dot(last.incarnation, seq)
                // If this node took a commit as state, another one has it in its log.
                guard let bytes = try reader.get(.commit(scope, dot)) else { break }
                keep(try Commit(bytes))
            }
        }
        explain()
    }

    private mutating func keep(_ commit: Commit) {
        let dot = commit.stamp.dot
        archive[dot] = commit
        archived.cover(dot)
        for dependency in commit.dep {
            known[dot.incarnation, default: VersionVector()].cover(dependency)
        }
        let short = known[dot.incarnation] ?? VersionVector()
        watch.note(commit, after: short, knowing: nil)
        unexplained[dot] = short
    }

    /// Works out what short vectors stand for, where all of it is in the archive by now.
    private mutating func explain() {
        for (dot, short) in unexplained {
            guard let whole = whole(short) else { continue }
            watch.learn(whole, of: dot)
            unexplained[dot] = nil
        }
    }

    // MARK: Pairs

    private mutating func lookAtPairs(
        of machine: Int,
        _ records: [(place: RecordRow.Place, row: RecordRow)]
    ) {
        var shown: [RecordRow.Place: RecordRow] = [:]
        for (place, row) in records where PairLoad.names.contains(place.name) && !row.isDead {
            if shown[place].map({ row.isShown(before: $0) }) ?? true { shown[place] = row }
        }
        for zone in Set(shown.keys.map { WorldWatch.place($0, "") }) {
            let both = PairLoad.names.map { shown[WorldWatch.place(zone, $0)]?.body.bytes }
            if both[0] == both[1] {
                pairsFound += 1
            } else {
                let texts = both.map { $0?.hex ?? "nothing" }
                torn.append("node \(machine) shows \(texts) of one batch in '\(zone.zone)'")
            }
        }
    }

    private static func place(_ place: RecordRow.Place, _ name: String) -> RecordRow.Place {
        var place = place
        place.name = name
        return place
    }

    // MARK: What is asked

    /// Commits that gave a record one of these values.
    func dots(of name: String, _ values: ClosedRange<Int64>) throws -> [Dot] {
        try archive.filter { _, commit in
            try commit.operations.contains { operation in
                guard case .put(let put) = operation, put.recordName == name else { return false }
                return try put.fields.value.map { values.contains($0) } ?? false
            }
        }.map(\.key)
    }

    /// The values of the records that a caller holds with this token of a zone, by the commits that
    /// it covers.
    ///
    /// nil if one of them was never seen.
    func shown(to token: ChangeToken) throws -> [String: Int64]? {
        guard case .records(let zone) = token.subject, let vector = whole(token.base) else {
            return nil
        }
        let commits = archive.values.filter { $0.zone == zone && vector.covers($0.stamp.dot) }
        var born: [String: Stamp] = [:]
        var shown: [String: Int64] = [:]
        for (life, standing) in try Outcome(commits, known: watch.knowledge).standing() {
            let name = life.place.name
            if standing.born < born[name] ?? .zero { continue }
            born[name] = standing.born
            shown[name] = try standing.fields["value"].flatMap { try RecordBody(stored: $0).value }
        }
        return shown
    }

    /// The vector that a short one stands for; nil if not all of it is in the archive.
    private func whole(_ short: VersionVector) -> VersionVector? {
        var whole = VersionVector()
        var open = short.dots
        while let dot = open.popLast() {
            guard archived.covers(dot) else { return nil }
            let known = whole[dot.incarnation]
            guard known < dot.seq else { continue }
            whole.cover(dot)
            if known == 0 { open += archive[Dot(dot.incarnation, 1)]?.dep ?? [] }
        }
        return whole
    }

    /// The faults at any instant, each once.
    var violations: [(checker: String, text: String)] {
        let found = [
            ("closed", watch.open), ("vectors", watch.beyond), ("risen", watch.risen),
            ("batches", torn),
        ]
        return found.flatMap { checker, texts in Set(texts).sorted().map { (checker, $0) } }
    }

    /// The differences between a node that has everything and its commits.
    ///
    /// nil if one of them was never seen: a node whose clock leaps drops what it has just made.
    func outcome(of reader: ReadTransaction) throws -> [String]? {
        guard let scope = try reader.scope(scope) else { return nil }
        let vector = try reader.vector(of: scope)
        guard archived.covers(vector) else { return nil }
        let commits = archive.values.filter { vector.covers($0.stamp.dot) }
        return try Outcome(commits, known: watch.knowledge).differences(
            from: StoredRecords.all(in: reader)
        )
    }
}

extension RecordBody {
    /// The number that clients of simulated worlds save; nil if it has none.
    fileprivate var value: Int64? {
        get throws { try entry(named: "value").flatMap { try int64($0) } }
    }
}
