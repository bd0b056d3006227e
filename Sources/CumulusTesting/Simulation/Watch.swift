// What must hold of a node at every instant, not only once all is quiet: nothing is stored from
// beyond its vector, no horizon lies beyond it, and what died stays dead.
//
// Looks after each step of a simulated history at the nodes that took part in it, and remembers
// what was wrong.

import CumulusModel
import CumulusStorage

package struct Watch {
    private struct Life: Hashable {
        var place: RecordRow.Place
        var birth: Dot
    }

    /// Commits that ended a life.
    private var ends: [Life: [Dot]] = [:]
    /// By the checker whose they are.
    private(set) var beyond: [String] = []
    private(set) var risen: [String] = []

    /// A commit was made somewhere.
    mutating func note(_ commit: Commit) {
        guard let zone = commit.zone else { return }
        for operation in commit.operations {
            let (name, births): (String, [Dot]) =
                switch operation {
                case .delete(let name, let births): (name, births)
                case .put(let put): (put.recordName, put.absorbed)
                default: ("", [])
                }
            let place = RecordRow.Place(
                database: zone.database,
                zone: zone.name,
                generation: zone.generation,
                name: name
            )
            for birth in births {
                ends[Life(place: place, birth: birth), default: []].append(commit.stamp.dot)
            }
        }
    }

    mutating func look(at number: Int, _ store: TestStore) throws {
        let vector = try store.vector()
        for (place, horizon) in try Watch.horizons(in: store.reader)
        where !vector.covers(horizon) {
            beyond.append("node \(number): the horizon of '\(place)' is beyond its vector")
        }
        for (place, row) in try StoredRecords.all(in: store.reader) {
            if !row.namedStamps.allSatisfy({ vector.covers($0.dot) }) {
                beyond.append("node \(number) holds '\(place.name)' from beyond its vector")
            }
            if row.isDead { continue }
            let ends = ends[Life(place: place, birth: row.birth.dot)] ?? []
            if let end = ends.first(where: { vector.covers($0) }) {
                risen.append("node \(number) holds '\(place.name)', which \(end) ended")
            }
        }
    }

    /// Of all zones, by database and name.
    static func horizons(
        in reader: ReadTransaction
    ) throws -> [(zone: String, horizon: VersionVector)] {
        try reader.rows(.meta, .all(.zone)).map { key, value in
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            return (try parts.text(), try ZoneRow(row: value).horizon)
        }
    }
}

extension RecordRow {
    /// Of every commit that the row names.
    var namedStamps: [Stamp] { [birth, modified] + frontier + fieldStamps }
}
