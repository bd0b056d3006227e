// The invariants of a node at every instant: its vector covers all dependencies of its commits,
// nothing is stored from beyond it, no horizon lies beyond it, and dead lives stay dead.
//
// Looks after each step of a simulated history at the nodes that took part in it, or now and then
// at the nodes of a simulated world, and remembers what was wrong.

import CumulusModel
import CumulusStorage

package struct Watch {
    /// Commits that ended a life.
    private var ends: [Life: [Dot]] = [:]
    private var lives = Lives()
    /// The vector of each commit's maker.
    private var known: [Dot: VersionVector] = [:]
    /// The same with all that this stands for, as far as that is known.
    private(set) var knowledge: [Dot: VersionVector] = [:]
    /// Unfinished checks, by their checkers.
    private(set) var open: [String] = []
    private(set) var beyond: [String] = []
    private(set) var risen: [String] = []

    /// A commit was made somewhere.
    ///
    /// - Parameters:
    ///   - others: The vector of its maker.
    ///   - all: The vector that a short one stands for; nil means that it is told later.
    mutating func note(
        _ commit: Commit,
        after others: VersionVector,
        knowing all: VersionVector?
    ) {
        known[commit.stamp.dot] = others
        knowledge[commit.stamp.dot] = all
        lives.note(commit)
        for life in lives.ended(by: commit) { ends[life, default: []].append(commit.stamp.dot) }
    }

    /// All that the maker of a commit had is known now.
    mutating func learn(_ all: VersionVector, of dot: Dot) { knowledge[dot] = all }

    mutating func look(at number: Int, _ store: TestStore) throws {
        let reader = store.reader
        try look(at: number, store.vector(), StoredRecords.all(in: reader), reader)
    }

    /// - Parameters:
    ///   - vector: The node's vector of its only container.
    ///   - records: All of them.
    mutating func look(
        at number: Int,
        _ vector: VersionVector,
        _ records: [(place: RecordRow.Place, row: RecordRow)],
        _ reader: ReadTransaction
    ) throws {
        // A maker never has less than it had: the last commit of each run says all.
        for dot in vector.dots where !(known[dot].map { vector.covers($0) } ?? true) {
            open.append("node \(number) has \(dot), and not all that its maker had")
        }
        beyond += try Watch.beyond(vector, records, reader).map { "node \(number): \($0)" }
        for (place, row) in records where !row.isDead {
            let life = lives.life(place, of: row)
            let ends = ends[life] ?? []
            if let end = ends.first(where: { end in
                vector.covers(end)
                    && !(life.isBlind && row.births.allSatisfy { knows($0, end) })
            }) {
                risen.append("node \(number) holds '\(place.name)', which \(end) ended")
            }
        }
    }

    /// If it can't be told, the maker is assumed to have known the other commit.
    private func knows(_ own: Dot, _ dot: Dot) -> Bool {
        own.incarnation == dot.incarnation
            ? dot.seq <= own.seq : knowledge[own]?.covers(dot) ?? true
    }

    /// The rows that a store of one container holds from beyond its vector.
    static func beyond(
        _ vector: VersionVector,
        _ records: [(place: RecordRow.Place, row: RecordRow)],
        _ reader: ReadTransaction
    ) throws -> [String] {
        let zones = try reader.rows(.meta, .all(.zone)).filter { _, value in
            try !vector.covers(ZoneRow(row: value).horizon)
        }
        let rows = records.filter { _, row in
            let named = [row.birth, row.modified] + row.frontier + row.fieldStamps
            return !named.allSatisfy { vector.covers($0.dot) }
        }
        return zones.map { "the horizon of the zone of row \($0.key.hex) is beyond its vector" }
            + rows.map { "'\($0.place.name)' is from beyond its vector" }
    }
}
