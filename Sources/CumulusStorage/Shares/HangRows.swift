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
