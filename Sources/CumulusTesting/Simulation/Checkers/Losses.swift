// The costs of concurrent changes, computed from the commits alone: values that must be in a node's
// conflict log, and values that may be.
//
// Used by the checker of that name. A value is lost if nobody who knew it replaced it, and no life
// holds it in the end. Equal values of one field are no loss, and what increments add up to is
// everybody's.

import CumulusModel
import CumulusStorage

struct Losses {
    private struct Write {
        let commit: Commit
        let put: Commit.Put
    }

    private var writes: [Life: [Write]] = [:]
    /// Commits that ended a zone with all lives.
    private var zoneEnds: [Commit] = []
    private var commits: [Dot: Commit] = [:]
    /// Fields that somebody increments, of any record: they show more than was said.
    private var counted: Set<String> = []
    private let history: LifeHistory

    init(_ commits: some Sequence<Commit>, known: [Dot: VersionVector]) {
        history = LifeHistory(commits, known: known)
        for commit in commits { add(commit) }
    }

    private mutating func add(_ commit: Commit) {
        commits[commit.stamp.dot] = commit
        guard let zone = commit.zone else { return }
        for operation in commit.operations {
            switch operation {
            case .put(let put):
                counted.formUnion(put.increments.map(\.field))
                let life = history.lives.life(of: put, in: commit, zone)
                writes[life, default: []].append(Write(commit: commit, put: put))
            case .zoneDelete: zoneEnds.append(commit)
            case .delete, .zoneCreate, .register, .access: break
            }
        }
    }

    private func knows(_ commit: Commit, _ dot: Dot) -> Bool { history.knows(commit, dot) }

    // MARK: What must be told

    /// Lost values that a node does not tell.
    func untold(by store: TestStore) throws -> [String] {
        let told = try Told(store)
        let rows = try StoredRecords.all(in: store.reader)
        var standing: [Life: RecordRow] = [:]
        for (place, row) in rows where !row.isDead {
            standing[history.lives.life(place, of: row)] = row
        }
        var untold: [String] = []
        for (life, all) in writes {
            for write in all {
                for (field, value) in lost(of: write, in: life, all, standing[life]) {
                    let stamp = write.commit.stamp
                    if told.holds(value, of: field, life.place, stamp) { continue }
                    untold.append(
                        "'\(field)' of '\(life.place.name)' as \(stamp.dot) set it is lost"
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
            (history.ends[life] ?? []).contains { knows($0, dot) }
            || zoneEnds.contains { end in
                end.zone?.database == life.place.database && end.zone?.name == life.place.zone
                    && end.zone?.generation ?? 0 >= life.place.generation && knows(end, dot)
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
            if knows(winner, conflict.loser.dot) {
                return ["\(what): \(conflict.winner.dot) knew \(conflict.loser.dot)"]
            }
            return isSaid(conflict, by: loser) ? [] : ["\(what): that was never said"]
        }
    }

    /// Whether what is told to be lost was said: of one field by the commit that lost, of a whole
    /// record by any that wrote to it.
    private func isSaid(_ conflict: Conflict, by loser: Commit) -> Bool {
        guard conflict.field != SystemField.parent.rawValue,
            let body = try? RecordBody(stored: conflict.lost)
        else { return true }
        let place = conflict.zone.place(of: conflict.recordName)
        let all = writes.filter { $0.key.place == place }.flatMap(\.value)
        let said = conflict.field.isEmpty ? all : all.filter { $0.commit.stamp == loser.stamp }
        return body.entries.allSatisfy { entry in
            let field = body.name(of: entry)
            let value = Bytes(body.bytes[entry.whole])
            return counted.contains(field) || said.contains { $0.put.value(of: field) == value }
        }
    }
}

/// The content of a node's conflict log.
private struct Told {
    private struct Field: Hashable {
        var place: RecordRow.Place
        var name: String
    }

    private var values: [Field: Set<Bytes>] = [:]
    private var losers: [Field: Set<Stamp>] = [:]

    init(_ store: TestStore) throws {
        for conflict in try Told.entries(of: store) {
            let body = try RecordBody(stored: conflict.lost)
            for entry in body.entries {
                let place = conflict.zone.place(of: conflict.recordName)
                let field = Field(place: place, name: body.name(of: entry))
                if conflict.field.isEmpty {
                    values[field, default: []].insert(Bytes(body.bytes[entry.whole]))
                } else {
                    losers[field, default: []].insert(conflict.loser)
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
    func holds(
        _ value: Bytes,
        of name: String,
        _ place: RecordRow.Place,
        _ stamp: Stamp
    ) -> Bool {
        let field = Field(place: place, name: name)
        return losers[field]?.contains(stamp) == true || values[field]?.contains(value) == true
    }
}

extension Commit.Put {
    fileprivate func names(_ field: String) -> Bool { fields.entry(named: field) != nil }

    fileprivate func value(of field: String) -> Bytes? {
        fields.entry(named: field).map { Bytes(fields.bytes[$0.whole]) }
    }
}
