// Applies a commit to records: puts, deletions, and every row that is derived from a record. hot:
// once per saved record.
//
// Called by `apply`, once per operation.

import CumulusModel

extension WriteTransaction {
    mutating func apply(
        _ put: Commit.Put,
        _ application: inout CommitApplication
    ) throws(EngineError) {
        let commit = application.commit
        guard let place = try place(of: &application) else {
            return try application.noteLoss(
                of: put,
                put.type,
                to: try zoneEnd(of: application)
            )
        }
        var record = try record(place, put.recordName)
        var merge = FieldMerge(put, commit, application.cut, state.broken)
        let born = put.birth ?? commit.stamp.dot
        let isLatest = application.cut.covers(record.frontier)
        if put.birth == nil {
            merge.twins = try create(by: put, in: &record, &application, at: place)
        }
        let past = FormerParents(at: place)
        let absorbing = put.absorbed.filter { record.life(born)?.isBorn(at: $0) != true }
        let absorbed = record.end(absorbing, put.endedKeys, by: commit)
        application.noteLoss(of: absorbed, named: put.recordName)
        try past?.noteEnds(of: absorbing, absorbed, named: put.recordName, commit.stamp, &self)
        let hung = record.life(born)?.parent
        if let life = record.life(born) {
            try application.noteHidden(put, of: life, behind: record.shown)
            merge.doubled = try enterIncrements(of: put, commit, to: life, in: application.scope)
        }
        let isThere = try decoding(RowKey.record(place.number, put.recordName).bytes) {
            () throws(MalformedBytes) in
            try record.change(born) { (row) throws(MalformedBytes) in
                try merge.run(on: &row, isLatest: isLatest)
            }
        }
        if let life = record.life(born) {
            past?.noteMove(of: put, of: life, from: hung, commit.stamp, &self)
        } else {
            try past?.noteLateMove(of: put, of: born, commit.stamp, &self)
        }
        let type = record.type(of: born) ?? put.type
        application.note(merge.clashes, of: put.recordName, type)
        // A request whose other creation was deleted loses nothing: its record was known.
        let isRepeat = put.birth == nil && put.origin == .request
        if !isThere, !isRepeat {
            let winner = record.frontier.last ?? .zero
            try application.noteLoss(of: put, type, to: winner)
        }
        if isThere || !state.broken.contains(.frontier) { record.enter(commit, application.cut) }
        application.rows.append(try store(record, application, at: place))
        application.names.append(put.recordName)
    }

    /// Creates a life, or adds a birth to the life that the put's key names.
    ///
    /// Does nothing if that life was ended by a commit unknown to this commit's origin.
    ///
    /// Returns the other births of the life.
    private mutating func create(
        by put: Commit.Put,
        in record: inout RecordLives,
        _ application: inout CommitApplication,
        at place: ZonePlace
    ) throws(EngineError) -> [Stamp] {
        let commit = application.commit
        let key = state.key(of: put, in: commit)
        if let key, record.ended.holdsEnd(of: key, unknownTo: application.cut) {
            application.creations[put.recordName] = .late(put.type)
            let name = put.recordName
            let cut = application.cut
            let past = FormerParents(at: place)
            try past?.noteLateBirth(commit.stamp, of: key, unknownTo: cut, named: name, &self)
            return []
        }
        if let life = record.life(key) {
            let twins = life.creations
            if put.origin == .request {
                application.creations[put.recordName] = .repeated(twins.map(\.dot))
            }
            let creation = (by: commit.user, type: put.type)
            record.addBirth(commit.stamp, creation, to: life.birth.dot)
            let past = FormerParents(at: place)
            try past?.copy(of: put.recordName, from: life.birth, to: commit.stamp, &self)
            return twins
        }
        let created = RecordRow(
            type: put.type,
            birth: commit.stamp,
            createdBy: commit.user,
            key: key
        )
        if let shown = record.shown, !application.cut.covers(shown.birth.dot) {
            try application.noteTwin(put, created, of: shown)
        }
        record.add(created)
        return []
    }

    mutating func applyDelete(
        _ name: String,
        _ births: [Dot],
        _ keys: [LifeKey],
        _ application: inout CommitApplication
    ) throws(EngineError) {
        guard let place = try place(of: &application) else { return }
        var record = try record(place, name)
        let keys = state.broken.contains(.carriedKeys) ? [] : keys
        let ended = record.end(births, keys, by: application.commit)
        application.noteLoss(of: ended, named: name)
        let (past, stamp) = (FormerParents(at: place), application.commit.stamp)
        try past?.noteEnds(of: births, ended, named: name, stamp, &self)
        if !ended.isEmpty || !state.broken.contains(.frontier) {
            record.enter(application.commit, application.cut)
        }
        _ = try store(record, application, at: place)
    }

    /// Remembers the increments of a request.
    ///
    /// Returns the increments that were applied twice. If two commits stem from one request, the
    /// later one does not count.
    mutating func enterIncrements(
        of put: Commit.Put,
        _ commit: Commit,
        to life: RecordRow,
        in scope: ScopeNumber
    ) throws(EngineError) -> [DoubledIncrement] {
        guard let request = RequestID(commit.requestID) else { return [] }
        var doubled: [DoubledIncrement] = []
        for increment in put.increments {
            let key = RowKey.increment(
                scope,
                request,
                life.identity,
                put.recordName,
                increment.field
            )
            let row = IncrementRow(
                stamp: commit.stamp,
                delta: increment.delta,
                birth: life.key == nil ? nil : put.birth ?? commit.stamp.dot
            )
            // A row of an earlier life with this key does not concern this life.
            guard let known: IncrementRow = try self.row(key),
                known.isOf(life) || state.broken.contains(.doubledLives)
            else {
                self.put(key, row)
                continue
            }
            if let second = known.second(beside: row) {
                doubled.append(
                    DoubledIncrement(
                        birth: life.birth.dot,
                        field: increment.field,
                        dot: second.stamp.dot,
                        delta: second.delta
                    )
                )
            }
            if row.stamp < known.stamp { self.put(key, row) }
        }
        return doubled
    }

    mutating func record(
        _ place: ZonePlace,
        _ name: String
    ) throws(EngineError) -> RecordLives {
        RecordLives(name: name, stored: try lives(place.number, name), broken: state.broken)
    }

    /// A record's rows, the shown one first; empty if the record is unknown.
    package mutating func lives(
        _ zone: ZoneNumber,
        _ name: String
    ) throws(EngineError) -> [RecordRow] {
        guard let shown = try load(zone, name) else { return [] }
        return try [shown] + siblings(of: shown, named: name, in: zone)
    }

    /// - Parameter isTold: The commit already changed the record, and feeds know of it.
    mutating func store(
        _ record: consuming RecordLives,
        _ application: CommitApplication,
        at place: ZonePlace,
        isTold: Bool = false
    ) throws(EngineError) -> RecordRow {
        let (name, stored) = (record.name, record.stored)
        let rows = record.rows(application.commit)
        let hidden = (stored.dropFirst() + rows.dropFirst()).map(\.type)
        let shown = try replace(stored, with: rows, of: name, at: place)
        if isTold { return shown }
        let feeds = ScopeFeeds(of: place.scope)
        try feeds.noteRecord(name, stored.first, shown, hidden, application, at: place, &self)
        return shown
    }

    /// Writes the rows of a record, the shown one first, and all rows that are derived from them.
    ///
    /// `before` holds the rows as they stand now. Returns the row that is shown.
    package mutating func replace(
        _ before: [RecordRow],
        with rows: consuming [RecordRow],
        of name: String,
        at place: ZonePlace
    ) throws(EngineError) -> RecordRow {
        var state = try zoneState(place.number)
        // Rows are changed in place, by index: copying a row retains each of its many parts.
        do throws(MalformedBytes) {
            for index in before.indices {
                try state.count(before[index], sign: -1, isShown: index == 0)
            }
        } catch {
            throw .corrupt("record '\(name)' can't be counted: \(error.reason)")
        }
        for index in rows.indices {
            let key =
                index == 0
                ? RowKey.record(place.number, name)
                : RowKey.sibling(place.number, name, rows[index].birth.dot)
            let bytes: Bytes
            do throws(MalformedBytes) {
                bytes = try rows[index].seal(at: place.record(name))
                try state.count(rows[index], sign: 1, isShown: index == 0)
            } catch {
                throw .corrupt("the row \(key.bytes.hex) can't be written: \(error.reason)")
            }
            put(key, bytes)
        }
        setZoneState(place.number, state)
        let births = Set(rows[1...].map(\.birth.dot))
        for old in before.dropFirst() where !births.contains(old.birth.dot) {
            put(.sibling(place.number, name, old.birth.dot), nil)
        }
        try storeDerivedRows(of: name, before, rows, at: place)
        return rows[0]
    }

    /// Writes the rows that are derived from a record where they differ from the earlier ones.
    mutating func storeDerivedRows(
        of name: String,
        _ before: [RecordRow],
        _ rows: [RecordRow],
        at place: ZonePlace
    ) throws(EngineError) {
        storeChanges(of: name, before.first?.frontier ?? [], rows[0].frontier, at: place)
        try storeBackReferences(of: name, before.first, rows[0], at: place)
        let (scope, zone) = (place.scope, place.number)
        try ScopeIndexes(of: scope).storeRows(of: name, before.first, rows[0], in: zone, &self)
        try DatabaseAssets(of: place.database).storeUses(of: name, before, rows, in: zone, &self)
        try ScopeShares(of: scope).storeRows(of: name, before, rows, at: place, &self)
    }

    /// Remembers only these of a record's ended lives.
    package mutating func keepEnds(
        _ kept: [EndedLife],
        of name: String,
        at place: ZonePlace
    ) throws(EngineError) {
        let stored = try lives(place.number, name)
        guard !stored.isEmpty else { return }
        var rows = stored
        rows[0].ended = kept
        _ = try replace(stored, with: rows, of: name, at: place)
    }

    /// Drops a record and all rows that are derived from it, without a tombstone.
    ///
    /// The caller raises the zone's horizon by the dots of the record's frontier.
    package mutating func erase(
        _ stored: [RecordRow],
        of name: String,
        at place: ZonePlace
    ) throws(EngineError) {
        guard let shown = stored.first else { return }
        var state = try zoneState(place.number)
        for (index, old) in stored.enumerated() {
            try decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
                try state.count(old, sign: -1, isShown: index == 0)
            }
            put(
                index == 0
                    ? .record(place.number, name)
                    : .sibling(place.number, name, old.birth.dot),
                nil
            )
        }
        setZoneState(place.number, state)
        storeChanges(of: name, shown.frontier, [], at: place)
        FormerParents(at: place)?.forget(of: name, &self)
        for gone in try backReferences(of: shown) {
            put(gone.key(in: place.number, child: name), nil)
        }
        let (scope, zone) = (place.scope, place.number)
        try ScopeIndexes(of: scope).storeRows(of: name, shown, nil, in: zone, &self)
        try DatabaseAssets(of: place.database).storeUses(of: name, stored, [], in: zone, &self)
    }

    mutating func storeChanges(
        of name: String,
        _ old: [Stamp],
        _ new: [Stamp],
        at place: ZonePlace
    ) {
        for stamp in old where !new.contains(stamp) {
            put(.change(place.number, stamp.dot, name), nil)
        }
        for stamp in new where !old.contains(stamp) {
            put(.change(place.number, stamp.dot, name), Bytes())
        }
    }

    mutating func storeBackReferences(
        of name: String,
        _ old: RecordRow?,
        _ new: RecordRow,
        at place: ZonePlace
    ) throws(EngineError) {
        if let old, old.refersLike(new) { return }
        var before: Set<BackReference> = []
        if let old { before = try backReferences(of: old) }
        let after = try backReferences(of: new)
        for gone in before.subtracting(after) {
            put(gone.key(in: place.number, child: name), nil)
        }
        for added in after.subtracting(before) {
            put(added.key(in: place.number, child: name), added.value)
        }
    }

    borrowing func backReferences(
        of row: RecordRow
    ) throws(EngineError) -> Set<BackReference> {
        try decoding([]) { () throws(MalformedBytes) in try row.backReferences() }
    }
}
