// What concurrent changes cost, told from the commits alone: which values must stand in a node's
// conflict log, and what may stand there.
//
// Used by the checker of that name. A value is lost if nobody who knew it replaced it, and no life
// holds it in the end. Equal values of one field are no loss, and what increments add up to is
// everybody's.

import CumulusModel
import CumulusStorage

struct Losses {
    /// One life of a record.
    private struct Life: Hashable {
        var zone: Commit.Zone
        var name: String
        var birth: Dot
    }

    private struct Write {
        let commit: Commit
        let put: Commit.Put
    }

    private var writes: [Life: [Write]] = [:]
    /// Commits that ended a life, or a zone with all of them.
    private var ends: [Life: [Commit]] = [:]
    private var zoneEnds: [Commit] = []
    private var commits: [Dot: Commit] = [:]
    /// Fields that somebody increments, of any record: they show more than was said.
    private var counted: Set<String> = []
    /// What the maker of a commit had of others.
    private let known: [Dot: VersionVector]

    init(_ commits: some Sequence<Commit>, known: [Dot: VersionVector]) {
        self.known = known
        for commit in commits { add(commit) }
    }

    private mutating func add(_ commit: Commit) {
        commits[commit.stamp.dot] = commit
        guard let zone = commit.zone else { return }
        for operation in commit.operations {
            switch operation {
            case .put(let put):
                counted.formUnion(put.increments.map(\.field))
                let birth = put.birth ?? commit.stamp.dot
                writes[Life(zone: zone, name: put.recordName, birth: birth), default: []]
                    .append(Write(commit: commit, put: put))
                for birth in put.absorbed {
                    ends[Life(zone: zone, name: put.recordName, birth: birth), default: []]
                        .append(commit)
                }
            case .delete(let name, let births):
                for birth in births {
                    ends[Life(zone: zone, name: name, birth: birth), default: []].append(commit)
                }
            case .zoneDelete: zoneEnds.append(commit)
            case .zoneCreate, .register: break
            }
        }
    }

    /// Whether who made a commit had another one, or made that.
    private func knows(_ commit: Commit, _ dot: Dot) -> Bool {
        let own = commit.stamp.dot
        if own.incarnation == dot.incarnation { return dot.seq <= own.seq }
        return known[own]?.covers(dot) ?? false
    }

    // MARK: What must be told

    /// Lost values that a node does not tell.
    func untold(by store: TestStore) throws -> [String] {
        let told = try Told(store)
        let rows = try StoredRecords.all(in: store.reader)
        var standing: [Life: RecordRow] = [:]
        for (place, row) in rows where !row.isDead {
            let zone = Commit.Zone(
                database: place.database,
                name: place.zone,
                generation: place.generation
            )
            standing[Life(zone: zone, name: place.name, birth: row.birth.dot)] = row
        }
        var untold: [String] = []
        for (life, all) in writes {
            for write in all {
                for (field, value) in lost(of: write, in: life, all, standing[life]) {
                    if told.holds(value, of: field, life.name, write.commit.stamp) { continue }
                    untold.append(
                        "'\(field)' of '\(life.name)' as \(write.commit.stamp.dot) set it is lost"
                    )
                }
            }
        }
        return untold.sorted()
    }

    /// Values of a write that stand nowhere, and that nobody replaced who knew them.
    private func lost(
        of write: Write,
        in life: Life,
        _ all: [Write],
        _ row: RecordRow?
    ) -> [(field: String, value: Bytes)] {
        let (commit, put) = (write.commit, write.put)
        let dot = commit.stamp.dot
        let isEnded =
            (ends[life] ?? []).contains { knows($0, dot) }
            || zoneEnds.contains { end in
                end.zone?.database == life.zone.database && end.zone?.name == life.zone.name
                    && end.zone?.generation ?? 0 >= life.zone.generation && knows(end, dot)
            }
        if isEnded { return [] }
        return put.fields.entries.compactMap { entry in
            let field = put.fields.name(of: entry)
            let value = Bytes(put.fields.bytes[entry.whole])
            guard entry.type != nil, !counted.contains(field),
                row?.stamp(of: field) != commit.stamp
            else { return nil }
            let others = all.filter { $0.commit.stamp != commit.stamp }
            let isReplaced = others.contains { other in
                knows(other.commit, dot) && (other.put.isFull || other.put.names(field))
            }
            let isRepeated = others.contains { $0.put.value(of: field) == value }
            return isReplaced || isRepeated ? nil : (field, value)
        }
    }

    // MARK: What may be told

    /// Entries of a node's conflict log that are not true.
    func untrue(of store: TestStore) throws -> [String] {
        try Told.entries(of: store).flatMap { conflict -> [String] in
            let what = "'\(conflict.field)' of '\(conflict.recordName)'"
            guard let loser = commits[conflict.loser.dot] else {
                return ["\(what): there is no commit \(conflict.loser.dot)"]
            }
            guard let winner = commits[conflict.winner.dot] else {
                // A zone's end, or a life's, may be older than the history.
                return conflict.field.isEmpty ? [] : ["\(what): nobody made the winner"]
            }
            if !conflict.field.isEmpty, knows(winner, conflict.loser.dot) {
                return ["\(what): \(conflict.winner.dot) knew \(conflict.loser.dot)"]
            }
            return isSaid(conflict, by: loser) ? [] : ["\(what): that was never said"]
        }
    }

    /// Whether a losing value of one field is what its commit said.
    private func isSaid(_ conflict: Conflict, by loser: Commit) -> Bool {
        guard !conflict.field.isEmpty, conflict.field != SystemField.parent.rawValue,
            !counted.contains(conflict.field),
            let body = try? RecordBody(stored: conflict.lost),
            let entry = body.entry(named: conflict.field)
        else { return true }
        let value = Bytes(body.bytes[entry.whole])
        return loser.operations.contains { operation in
            guard case .put(let put) = operation, put.recordName == conflict.recordName else {
                return false
            }
            return put.value(of: conflict.field) == value
        }
    }
}

/// What a node's conflict log holds.
private struct Told {
    private struct Place: Hashable {
        var name: String
        var field: String
    }

    private var values: [Place: Set<Bytes>] = [:]
    private var losers: [Place: Set<Stamp>] = [:]

    init(_ store: TestStore) throws {
        for conflict in try Told.entries(of: store) {
            let body = try RecordBody(stored: conflict.lost)
            for entry in body.entries {
                let place = Place(name: conflict.recordName, field: body.name(of: entry))
                if conflict.field.isEmpty {
                    values[place, default: []].insert(Bytes(body.bytes[entry.whole]))
                } else {
                    losers[place, default: []].insert(conflict.loser)
                }
            }
        }
    }

    static func entries(of store: TestStore) throws -> [Conflict] {
        try store.reader.rows(.log, .conflicts(of: store.scopeNumber())).map { _, value in
            try Conflict(row: value)
        }
    }

    /// A record that was lost as a whole says nothing of each field's commit.
    func holds(_ value: Bytes, of field: String, _ name: String, _ stamp: Stamp) -> Bool {
        let place = Place(name: name, field: field)
        return losers[place]?.contains(stamp) == true || values[place]?.contains(value) == true
    }
}

extension Commit.Put {
    fileprivate func names(_ field: String) -> Bool { fields.entry(named: field) != nil }

    fileprivate func value(of field: String) -> Bytes? {
        fields.entry(named: field).map { Bytes(fields.bytes[$0.whole]) }
    }
}
