// The former parents of records: a row for each parent that a life had and lost, and for the life's
// end.
//
// A commit that moves or ends a life in a private custom zone writes them, even if nothing is
// shared there: a node may learn of a move before it learns of the share. The records themselves
// hold the present parents. From these rows a participant's device learns what a shared tree
// contained when its token was made. They reach back to the zone's *hang floor*: a token that does
// not cover it has expired.

package import CumulusModel

/// What happened to a life of a record.
package struct HangRow: RowValue, Hashable, Sendable {
    package enum Event: Hashable, Sendable {
        /// The life got this parent; nil means none.
        case hung(under: String?)
        /// The life ended; holds the key of the life, if it has one.
        case ended(LifeKey?)

        package var isEnd: Bool { if case .ended = self { true } else { false } }
    }

    package var event: Event

    package init(_ event: Event) { self.event = event }

    package func write(to writer: inout CanonicalWriter) {
        switch event {
        case .hung(nil): writer.varint(0)
        case .hung(let parent?):
            writer.varint(1)
            writer.delimited(parent.utf8)
        case .ended(nil): writer.varint(2)
        case .ended(let key?):
            writer.varint(3)
            writer.key(key)
        }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        switch try reader.varint() {
        case 0: event = .hung(under: nil)
        case 1: event = .hung(under: try reader.text())
        case 2: event = .ended(nil)
        case 3: event = .ended(try reader.key())
        default: throw MalformedBytes("a record hung in an unknown way")
        }
    }
}

/// An event of a record's past.
package struct HangEvent: Hashable, Sendable {
    /// The birth of the life.
    package let birth: Stamp
    package let stamp: Stamp
    package let event: HangRow.Event
}

extension RowKey {
    static func hang(
        _ zone: ZoneNumber,
        _ name: String,
        _ birth: Stamp,
        _ stamp: Stamp
    ) -> RowKey {
        RowKey(.hang) {
            $0.add(zone)
            $0.add(name)
            $0.add(birth.time.value)
            $0.add(birth.dot)
            $0.add(stamp.time.value)
            $0.add(stamp.dot)
        }
    }

    package static func hangFloor(_ zone: ZoneNumber) -> RowKey {
        RowKey(.hangFloor) { $0.add(zone) }
    }
}

extension KeyRange {
    package static func hanging(of zone: ZoneNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.hang) { $0.add(zone) }.bytes)
    }

    package static func hanging(of zone: ZoneNumber, _ name: String) -> KeyRange {
        let prefix = RowKey(.hang) {
            $0.add(zone)
            $0.add(name)
        }
        return KeyRange(prefix: prefix.bytes)
    }
}

/// The commits before which former parents are not known.
package struct HangFloor: RowValue, Hashable, Sendable {
    package var vector: VersionVector

    package init(_ vector: VersionVector) { self.vector = vector }

    package func write(to writer: inout CanonicalWriter) { writer.vector(vector) }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        vector = try reader.vector()
    }
}

// MARK: - Writing

extension WriteTransaction {
    /// Remembers that lives ended, and their parents.
    ///
    /// - Parameters:
    ///   - births: Births of the lives that the commit ends.
    ///   - ended: The ones among them that lived here until now.
    mutating func noteEnds(
        of births: [Dot],
        _ ended: [RecordRow],
        named name: String,
        _ stamp: Stamp,
        at place: ZonePlace
    ) throws(EngineError) {
        guard place.zone.keepsHanging else { return }
        for life in ended {
            if let parent = life.parent {
                note(.hung(under: parent.name), of: life, name, parent.stamp, at: place)
            }
            note(.ended(life.key), of: life, name, stamp, at: place)
        }
        // Concurrent commits may end the same life, and a token may cover either.
        let others = births.filter { birth in !ended.contains { $0.isBorn(at: birth) } }
        if others.isEmpty || state.broken.contains(.laterEnds) { return }
        for birth in others {
            for end in try ends(of: birth, named: name, at: place) {
                note(end.event, of: end.birth, name, stamp, at: place)
            }
        }
    }

    /// Remembers a parent that a put took from a life, or did not give because it lost.
    mutating func noteMove(
        of put: Commit.Put,
        of life: RecordRow,
        from before: RecordRow.NamedTarget?,
        _ stamp: Stamp,
        at place: ZonePlace
    ) {
        guard place.zone.keepsHanging else { return }
        let name = put.recordName
        if let before, before != life.parent {
            note(.hung(under: before.name), of: life, name, before.stamp, at: place)
            // A put of the whole record removed the parent.
            if life.parent == nil {
                note(.hung(under: nil), of: life, name, stamp, at: place)
            }
        }
        guard put.setsParent, life.parent?.stamp != stamp else { return }
        // The put lost, also if it is of the whole record and names no parent. Or it is a repeated
        // creation, which doesn't count.
        let isRepeat = put.birth == nil && !life.twins.isEmpty
        if isRepeat || life.parent.map({ $0.stamp > stamp }) == true {
            note(.hung(under: put.parentName), of: life, name, stamp, at: place)
        }
    }

    /// Remembers a parent that a put gave to a life that had already ended here.
    ///
    /// The life had that parent where the put was made.
    mutating func noteLateMove(
        of put: Commit.Put,
        of birth: Dot,
        _ stamp: Stamp,
        at place: ZonePlace
    ) throws(EngineError) {
        guard place.zone.keepsHanging, put.setsParent, !state.broken.contains(.lateMoves) else {
            return
        }
        for end in try ends(of: birth, named: put.recordName, at: place) {
            note(.hung(under: put.parentName), of: end.birth, put.recordName, stamp, at: place)
        }
    }

    /// Copies the past of a life to each of its births, since a token may name any.
    mutating func copyHanging(
        of name: String,
        from old: Stamp,
        to new: Stamp,
        at place: ZonePlace
    ) throws(EngineError) {
        guard place.zone.keepsHanging else { return }
        for event in try hangEvents(of: name, in: place.number) where event.birth == old {
            note(event.event, of: new, name, event.stamp, at: place)
        }
    }

    /// The ends of a life, one for each of its births; empty if they are not remembered.
    ///
    /// The hang floor covers an end without a row, so for every token the life is over.
    private borrowing func ends(
        of birth: Dot,
        named name: String,
        at place: ZonePlace
    ) throws(EngineError) -> [HangEvent] {
        let ends = try hangEvents(of: name, in: place.number).filter(\.event.isEnd)
        guard let end = ends.first(where: { $0.birth.dot == birth }) else { return [] }
        if end.event == .ended(nil) { return [end] }
        return ends.filter { $0.stamp == end.stamp && $0.event == end.event }
    }

    /// Notes a creation of a life that had ended, since a token may cover this birth alone.
    ///
    /// If a counter ended several times, it belongs to the first life whose end the creation
    /// missed.
    mutating func noteLateBirth(
        _ birth: Stamp,
        of key: LifeKey,
        unknownTo cut: CausalCut,
        named name: String,
        at place: ZonePlace
    ) throws(EngineError) {
        guard place.zone.keepsHanging else { return }
        let ends = try hangEvents(of: name, in: place.number)
            .filter { $0.event == .ended(key) && !cut.covers($0.stamp.dot) }
        guard let end = ends.min(by: { $0.stamp < $1.stamp }) else { return }
        try copyHanging(of: name, from: end.birth, to: birth, at: place)
    }

    private mutating func note(
        _ event: HangRow.Event,
        of life: RecordRow,
        _ name: String,
        _ stamp: Stamp,
        at place: ZonePlace
    ) {
        for birth in life.creations { note(event, of: birth, name, stamp, at: place) }
    }

    private mutating func note(
        _ event: HangRow.Event,
        of birth: Stamp,
        _ name: String,
        _ stamp: Stamp,
        at place: ZonePlace
    ) {
        put(.hang(place.number, name, birth, stamp), HangRow(event))
    }

    /// Drops the past of a record that is forgotten.
    mutating func forgetHanging(of name: String, at place: ZonePlace) {
        if place.zone.keepsHanging { deleteRange(.log, .hanging(of: place.number, name)) }
    }

    /// Raises the hang floor: these commits came as state, without former parents.
    package mutating func raiseHangFloor(
        of zone: ZoneNumber,
        to vector: VersionVector
    ) throws(EngineError) {
        var floor: HangFloor = try row(.hangFloor(zone)) ?? HangFloor(VersionVector())
        floor.vector.merge(vector)
        put(.hangFloor(zone), floor)
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

// MARK: - Reading

extension RowReader where Self: ~Copyable {
    /// A record's past, ordered by birth and then by stamp.
    package borrowing func hangEvents(
        of name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> [HangEvent] {
        try rows(.log, .hanging(of: zone, name)).map { (key, value) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            _ = try parts.content()
            let birth = Stamp(HybridTime(try parts.number()), try parts.dot())
            let stamp = Stamp(HybridTime(try parts.number()), try parts.dot())
            let row = try decoding(key) { () throws(MalformedBytes) in try HangRow(row: value) }
            return HangEvent(birth: birth, stamp: stamp, event: row.event)
        }
    }

    /// The commits that a token must cover for the former content of a tree to be known.
    package borrowing func hangFloor(of zone: ZoneNumber) throws(EngineError) -> VersionVector {
        let floor: HangFloor? = try row(.hangFloor(zone))
        return floor?.vector ?? VersionVector()
    }
}
