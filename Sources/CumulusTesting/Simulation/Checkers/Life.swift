// One life of a record, as checkers name it, and what the commits say of its end.

import CumulusModel
import CumulusStorage

struct Life: Hashable {
    var place: RecordRow.Place
    var birth: Dot

    init(place: RecordRow.Place, birth: Dot) {
        self.place = place
        self.birth = birth
    }

    init(_ zone: Commit.Zone, _ name: String, _ birth: Dot) {
        place = RecordRow.Place(
            database: zone.database,
            zone: zone.name,
            generation: zone.generation,
            name: name
        )
        self.birth = birth
    }
}

extension Commit {
    /// Lives that it ends, by name; those of a zone that it deletes are not told.
    var endedLives: [Life] {
        guard let zone else { return [] }
        return operations.flatMap { operation -> [Life] in
            let (name, births): (String, [Dot]) =
                switch operation {
                case .delete(let name, let births): (name, births)
                case .put(let put): (put.recordName, put.absorbed)
                default: ("", [])
                }
            return births.map { Life(zone, name, $0) }
        }
    }
}
