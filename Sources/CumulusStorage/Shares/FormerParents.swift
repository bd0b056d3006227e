// Writes and drops the former parents of records, see `HangRows`.
//
// The steps of `ApplyCommit` note what a commit does to a life; the node's collector drops what is
// a month old, a few rows at a time, and fewer where it has to read large records. Dropping rows of
// the past raises the zone's hang floor: an older token has expired.

package import CumulusModel

/// The former parents of a zone's records, as the writer keeps them.
package struct FormerParents: Sendable {
    let zone: ZoneNumber

    package init(of zone: ZoneNumber) { self.zone = zone }

    /// Returns nil in a zone in which no trees can be shared: nothing is remembered there.
    init?(at place: ZonePlace) {
        guard place.zone.keepsHanging else { return nil }
        zone = place.number
    }

    // MARK: What a commit does

    /// Remembers that lives ended, and their parents.
    ///
    /// - Parameters:
    ///   - births: Births of the lives that the commit ends.
    ///   - ended: The ones among them that lived here until now.
    func noteEnds(
        of births: [Dot],
        _ ended: [RecordRow],
        named name: String,
        _ stamp: Stamp,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for life in ended {
            if let parent = life.parent {
                note(.hung(under: parent.name), of: life, name, parent.stamp, &transaction)
            }
            note(.ended(life.key), of: life, name, stamp, &transaction)
        }
        // Concurrent commits may end the same life, and a token may cover either.
        let others = births.filter { birth in !ended.contains { $0.isBorn(at: birth) } }
        if others.isEmpty || transaction.state.broken.contains(.laterEnds) { return }
        for birth in others {
            for end in try ends(of: birth, named: name, transaction) {
                note(end.event, of: end.birth, name, stamp, &transaction)
            }
        }
    }

    /// Remembers a parent that a put took from a life, or did not give because it lost.
    func noteMove(
        of put: Commit.Put,
        of life: RecordRow,
        from before: RecordRow.NamedTarget?,
        _ stamp: Stamp,
        _ transaction: inout WriteTransaction
    ) {
        let name = put.recordName
        if let before, before != life.parent {
            note(.hung(under: before.name), of: life, name, before.stamp, &transaction)
            // A put of the whole record removed the parent.
            if life.parent == nil {
                note(.hung(under: nil), of: life, name, stamp, &transaction)
            }
        }
        guard put.setsParent, life.parent?.stamp != stamp else { return }
        // The put lost, also if it is of the whole record and names no parent. Or it is a repeated
        // creation, which doesn't count.
        let isRepeat = put.birth == nil && !life.twins.isEmpty
        if isRepeat || life.parent.map({ $0.stamp > stamp }) == true {
            note(.hung(under: put.parentName), of: life, name, stamp, &transaction)
        }
    }

    /// Remembers a parent that a put gave to a life that had already ended here.
    ///
    /// The life had that parent where the put was made.
    func noteLateMove(
        of put: Commit.Put,
        of birth: Dot,
        _ stamp: Stamp,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard put.setsParent, !transaction.state.broken.contains(.lateMoves) else { return }
        for end in try ends(of: birth, named: put.recordName, transaction) {
            note(.hung(under: put.parentName), of: end.birth, put.recordName, stamp, &transaction)
        }
    }

    /// Copies the past of a life to each of its births, since a token may name any.
    func copy(
        of name: String,
        from old: Stamp,
        to new: Stamp,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for event in try transaction.hangEvents(of: name, in: zone) where event.birth == old {
            note(event.event, of: new, name, event.stamp, &transaction)
        }
    }

    /// The ends of a life, one for each of its births; empty if they are not remembered.
    ///
    /// The hang floor covers an end without a row, so for every token the life is over.
    private func ends(
        of birth: Dot,
        named name: String,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [HangEvent] {
        let ends = try transaction.hangEvents(of: name, in: zone).filter(\.event.isEnd)
        guard let end = ends.first(where: { $0.birth.dot == birth }) else { return [] }
        if end.event == .ended(nil) { return [end] }
        return ends.filter { $0.stamp == end.stamp && $0.event == end.event }
    }

    /// Notes a creation of a life that had ended, since a token may cover this birth alone.
    ///
    /// If a counter ended several times, it belongs to the first life whose end the creation
    /// missed.
    func noteLateBirth(
        _ birth: Stamp,
        of key: LifeKey,
        unknownTo cut: CausalCut,
        named name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let ends = try transaction.hangEvents(of: name, in: zone)
            .filter { $0.event == .ended(key) && !cut.covers($0.stamp.dot) }
        guard let end = ends.min(by: { $0.stamp < $1.stamp }) else { return }
        try copy(of: name, from: end.birth, to: birth, &transaction)
    }

    private func note(
        _ event: HangRow.Event,
        of life: RecordRow,
        _ name: String,
        _ stamp: Stamp,
        _ transaction: inout WriteTransaction
    ) {
        for birth in life.creations { note(event, of: birth, name, stamp, &transaction) }
    }

    private func note(
        _ event: HangRow.Event,
        of birth: Stamp,
        _ name: String,
        _ stamp: Stamp,
        _ transaction: inout WriteTransaction
    ) {
        transaction.put(.hang(zone, name, birth, stamp), HangRow(event))
    }

    /// Drops the past of a record that is forgotten.
    func forget(of name: String, _ transaction: inout WriteTransaction) {
        transaction.deleteRange(.log, .hanging(of: zone, name))
    }

    /// Raises the hang floor: these commits came as state, without former parents.
    package func raiseFloor(
        to vector: VersionVector,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        var floor: HangFloor = try transaction.row(.hangFloor(zone)) ?? HangFloor(VersionVector())
        floor.vector.merge(vector)
        transaction.put(.hangFloor(zone), floor)
    }

    // MARK: Forgetting

    /// Drops the former parents of the zone's records from before a time.
    ///
    /// Visits some rows after a key; returns the key to go on from, nil at the end.
    ///
    /// For each life the parent at that time stays, and all later ones.
    package func forget(
        before time: Int64,
        after key: Bytes?,
        limit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bytes? {
        var range = KeyRange.hanging(of: zone)
        if let key { range.start = key + [0] }
        let page = try transaction.rows(.log, range, limit: limit)
        var names: [(name: String, last: Bytes)] = []
        for (key, _) in page {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let name = try parts.text()
            if names.last?.name == name { names.removeLast() }
            names.append((name, key))
        }
        var floor = VersionVector()
        var end = page.count < limit ? nil : page.last?.key
        for (name, last) in names {
            try forget(of: name, before: time, &floor, &transaction)
            if transaction.hasReadEnough, last != page.last?.key {
                end = last
                break
            }
        }
        if floor != VersionVector() { try raiseFloor(to: floor, &transaction) }
        return end
    }

    private func forget(
        of name: String,
        before time: Int64,
        _ floor: inout VersionVector,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let lives = try transaction.lives(zone, name).filter { !$0.isDead }
        let pasts = Dictionary(
            grouping: try transaction.hangEvents(of: name, in: zone),
            by: \.birth
        )
        for (birth, events) in pasts {
            // Once the floor covers a life's end, the rows of the life are not needed.
            let ends = events.filter(\.event.isEnd).map(\.stamp)
            if let end = ends.min(), end.time.milliseconds < time {
                for event in events { transaction.put(.hang(zone, name, birth, event.stamp), nil) }
                floor.merge(VersionVector(end.dot))
                continue
            }
            let life = lives.first { $0.isBorn(at: birth.dot) }
            let births = life?.creations ?? Self.births(of: events, pasts)
            let repeats = Set(births).subtracting([births.min() ?? birth])
            let stamps = events.map(\.stamp) + [life?.parent?.stamp].compactMap(\.self)
            // An event that a later event followed doesn't count after that later one. A repeated
            // creation doesn't count if the first one is known.
            let counting = stamps.filter { $0.time.milliseconds < time && !repeats.contains($0) }
            guard let last = counting.max() else { continue }
            for event in events where event.stamp < last {
                transaction.put(.hang(zone, name, birth, event.stamp), nil)
                floor.merge(VersionVector(last.dot))
                if repeats.contains(event.stamp), let first = births.min() {
                    floor.merge(VersionVector(first.dot))
                }
            }
        }
    }

    /// The births of an ended life, whose end is recorded under each of them.
    private static func births(
        of events: [HangEvent],
        _ pasts: [Stamp: [HangEvent]]
    ) -> [Stamp] {
        let ends = Set(events.filter { $0.event.isEnd && $0.event != .ended(nil) }.map(\.event))
        return pasts.filter { $0.value.contains { ends.contains($0.event) } }.map(\.key)
    }
}

extension Commit.Zone {
    /// Whether trees of records can be shared in this zone.
    package var keepsHanging: Bool { database.kind == .private && name != Names.defaultZone }
}

extension Commit.Put {
    /// Whether the put sets the record's parent.
    fileprivate var setsParent: Bool { parent != nil || isFull }

    /// nil means no parent.
    fileprivate var parentName: String? {
        parent.flatMap { $0.recordName.isEmpty ? nil : $0.recordName }
    }
}

extension VersionVector {
    fileprivate init(_ dot: Dot) {
        self.init()
        self[dot.incarnation] = dot.seq
    }
}
