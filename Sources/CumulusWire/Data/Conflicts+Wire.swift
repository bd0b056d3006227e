// What concurrent changes cost, as callers see it.
//
// `records.proto`.

package import CumulusModel

/// `Conflict`.
package struct WireConflict: Coded {
    /// A commit and when it was made.
    package struct Change: Coded, Hashable {
        /// Milliseconds since 1970 UTC.
        package var time: Int64 = 0
        package var incarnation: UInt64 = 0
        package var seq: UInt64 = 0

        package init() {}

        package init(time: Int64, incarnation: UInt64, seq: UInt64) {
            self.time = time
            self.incarnation = incarnation
            self.seq = seq
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.signed(1, &time)
            try coder.fixed64(2, &incarnation)
            try coder.number(3, &seq)
        }
    }

    package var id: Bytes = []
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    package var owner = ""
    /// Holds the record's id and the lost fields.
    package var lost: Embedded<WireRecord>?
    /// Empty: the record as a whole.
    package var field = ""
    package var winner = Change()
    package var loser = Change()
    package var isWithheld = false

    package init() {}

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.number(2, &database)
        try coder.text(3, &owner)
        try coder.message(4, &lost)
        try coder.text(5, &field)
        try coder.message(6, &winner)
        try coder.message(7, &loser)
        try coder.flag(8, &isWithheld)
    }

    /// The client's form of what was lost.
    package var lostRecord: Record? { lost?.record }
}

package typealias ListConflictsResponse = MessageList<WireConflict>
