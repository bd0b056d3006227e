// What concurrent changes cost, as callers see it.
//
// `records.proto`.

import CCumulusWire
package import CumulusModel

package struct WireConflict: Sendable {
    /// A commit and when it was made.
    package struct Change: Hashable, Sendable {
        /// Milliseconds since 1970 UTC.
        package var time: Int64
        package var incarnation: UInt64
        package var seq: UInt64

        package init(time: Int64, incarnation: UInt64, seq: UInt64) {
            self.time = time
            self.incarnation = incarnation
            self.seq = seq
        }

        fileprivate func encode(to writer: inout CanonicalWriter) {
            writer.field(1, signed: time)
            writer.field(2, fixed64: incarnation)
            writer.field(3, varint: seq)
        }

        fileprivate init(wire raw: Cumulus__V1__Change?) {
            time = raw?.time ?? 0
            incarnation = raw?.incarnation ?? 0
            seq = raw?.seq ?? 0
        }
    }

    package var id: Bytes
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    package var owner: String
    /// Holds the record's id and the lost fields.
    package var lost: Record
    /// Empty: the record as a whole.
    package var field: String
    package var winner: Change
    package var loser: Change
    package var isWithheld: Bool

    fileprivate init?(wire raw: Cumulus__V1__Conflict) {
        guard let lost = raw.lost.flatMap({ Record(wire: $0.pointee) }) else { return nil }
        id = raw.id.swiftBytes
        database = UInt32(raw.database.rawValue)
        owner = raw.owner.swiftText
        self.lost = lost
        field = raw.field.swiftText
        winner = Change(wire: raw.winner?.pointee)
        loser = Change(wire: raw.loser?.pointee)
        isWithheld = raw.is_withheld != 0
    }
}

package enum ListConflictsResponse {
    /// Writes one element.
    ///
    /// - Parameter lost: An encoded `Record`.
    package static func add(
        id: Bytes,
        database: DatabaseID,
        lost: Bytes,
        field: String,
        winner: WireConflict.Change,
        loser: WireConflict.Change,
        isWithheld: Bool,
        to writer: inout CanonicalWriter
    ) {
        writer.message(1) { writer in
            writer.field(1, bytes: id)
            writer.field(2, varint: UInt64(database.kind.rawValue))
            writer.field(3, text: database.owner)
            writer.present(4, bytes: lost)
            writer.field(5, text: field)
            writer.message(6) { winner.encode(to: &$0) }
            writer.message(7) { loser.encode(to: &$0) }
            writer.field(8, varint: isWithheld ? 1 : 0)
        }
    }

    package static func conflicts(wire bytes: Bytes) throws(MalformedMessage) -> [WireConflict] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_conflicts_response__unpack)
        return elements(message.raw.n_conflicts, message.raw.conflicts)
            .compactMap(WireConflict.init(wire:))
    }
}
