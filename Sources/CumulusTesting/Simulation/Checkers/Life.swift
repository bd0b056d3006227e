// One life of a record, as checkers name it, and what the commits say of its end.
//
// It decides which creations are one life from the commits alone, without the keys that the nodes
// compute: creations that carry out one request, and creations by increments.

import CumulusModel
import CumulusStorage

struct Life: Hashable {
    enum Origin: Hashable {
        case birth(Dot)
        /// The request, with the user.
        case request(Bytes, String)
        /// Increments, with the type.
        case increments(String)
    }

    var place: RecordRow.Place
    var origin: Origin

    init(place: RecordRow.Place, _ origin: Origin) {
        self.place = place
        self.origin = origin
    }

    /// Whether increments began it: it can begin again.
    var isBlind: Bool { if case .increments = origin { true } else { false } }
}

extension Commit.Zone {
    func place(of name: String) -> RecordRow.Place {
        RecordRow.Place(database: database, zone: self.name, generation: generation, name: name)
    }
}

/// The lives that commits created, by their births.
struct Lives {
    private struct Birth: Hashable {
        var place: RecordRow.Place
        var dot: Dot
    }

    private var origins: [Birth: Life.Origin] = [:]
    private var created: [RecordRow.Place: Set<String>] = [:]

    init(_ commits: some Sequence<Commit> = []) {
        for commit in commits { note(commit) }
    }

    mutating func note(_ commit: Commit) {
        guard let zone = commit.zone else { return }
        for case .put(let put) in commit.operations where put.birth == nil {
            let place = zone.place(of: put.recordName)
            let dot = commit.stamp.dot
            origins[Birth(place: place, dot: dot)] =
                switch put.origin {
                case .request: .request(commit.requestID, commit.user)
                case .increments: .increments(put.type)
                case nil: .birth(dot)
                }
            if put.origin == .increments { created[place, default: []].insert(put.type) }
        }
    }

    /// A commit whose creation is not known stands for itself.
    func life(_ place: RecordRow.Place, born dot: Dot) -> Life {
        Life(place: place, origins[Birth(place: place, dot: dot)] ?? .birth(dot))
    }

    /// The life that a put writes.
    func life(of put: Commit.Put, in commit: Commit, _ zone: Commit.Zone) -> Life {
        life(zone.place(of: put.recordName), born: put.birth ?? commit.stamp.dot)
    }

    func life(_ place: RecordRow.Place, of row: RecordRow) -> Life {
        life(place, born: row.birth.dot)
    }

    /// Lives that a commit ends, by name, without lives of a zone that it deletes.
    func ended(by commit: Commit) -> Set<Life> {
        guard let zone = commit.zone else { return [] }
        var ended: Set<Life> = []
        for operation in commit.operations {
            let (name, births, keys): (String, [Dot], [LifeKey]) =
                switch operation {
                case .delete(let name, let births, let keys): (name, births, keys)
                case .put(let put): (put.recordName, put.absorbed, put.endedKeys)
                default: ("", [], [])
                }
            let place = zone.place(of: name)
            ended.formUnion(births.map { life(place, born: $0) })
            // A deletion names such lives by their keys, also those whose births it does not know.
            for type in created[place] ?? [] where keys.contains(.init(counterOf: type, in: zone)) {
                ended.insert(Life(place: place, .increments(type)))
            }
        }
        return ended
    }
}

/// What commits did to each life.
///
/// A put into a life counts if its maker knew all commits that ended the life.
struct LifeHistory {
    let lives: Lives
    /// The ends of lives, with the commits that ended them.
    private(set) var ends: [Life: [Commit]] = [:]
    /// The vector of each commit's maker.
    private let known: [Dot: VersionVector]

    init(_ commits: some Sequence<Commit>, known: [Dot: VersionVector]) {
        self.known = known
        lives = Lives(commits)
        for commit in commits {
            for life in lives.ended(by: commit) { ends[life, default: []].append(commit) }
        }
    }

    /// Whether the maker of a commit had another one, or made it.
    func knows(_ commit: Commit, _ dot: Dot) -> Bool { knows(commit.stamp.dot, dot) }

    func knows(_ own: Dot, _ dot: Dot) -> Bool {
        if own.incarnation == dot.incarnation { return dot.seq <= own.seq }
        return known[own]?.covers(dot) ?? false
    }

    /// Whether a commit's put into a life counts; only counters begin again after an end.
    ///
    /// A commit's put into a life that it ends itself does not count: deletions come last.
    func counts(_ dot: Dot, in life: Life) -> Bool {
        let ends = (ends[life] ?? []).map(\.stamp.dot)
        return life.isBlind ? ends.allSatisfy { $0 != dot && knows(dot, $0) } : ends.isEmpty
    }
}
