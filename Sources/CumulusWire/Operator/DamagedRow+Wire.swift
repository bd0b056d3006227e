// What an operator is told of a damaged row of a node's store.
//
// Part of `VerifyResponse` in `operator.proto`.

import CCumulusWire
package import CumulusModel

extension WireVerdict {
    /// `DamagedRow`.
    package struct DamagedRow: Hashable, Sendable {
        /// `RowKind`.
        package enum Kind: UInt32, Sendable {
            case record = 0
            case commit = 1
            case derived = 2
            case asset = 3
            case other = 4
        }

        /// `MendingOutcome`.
        package enum Outcome: UInt32, Sendable {
            case notAsked = 0
            case mended = 1
            case notSettled = 2
            case notMendable = 3
        }

        /// Where the record is; empty where nobody can tell.
        package var container = ""
        package var environment: UInt32 = 0
        /// nil if nobody can tell.
        package var database: DatabaseID?
        package var zone = ""
        package var recordName = ""
        package var kind: Kind
        package var outcome: Outcome
        /// Of the row in the store, or the first that can't be read.
        package var key: Bytes

        package init(_ kind: Kind, key: Bytes, outcome: Outcome) {
            self.kind = kind
            self.key = key
            self.outcome = outcome
        }

        func encode(to writer: inout CanonicalWriter) {
            writer.field(1, text: container)
            writer.field(2, varint: UInt64(environment))
            writer.field(3, varint: UInt64(database?.kind.rawValue ?? 0))
            writer.field(4, text: database?.owner ?? "")
            writer.field(5, text: zone)
            writer.field(6, text: recordName)
            writer.field(7, varint: UInt64(kind.rawValue))
            writer.field(8, varint: UInt64(outcome.rawValue))
            writer.field(9, bytes: key)
        }

        init(wire raw: Cumulus__V1__DamagedRow) throws(MalformedMessage) {
            guard let kind = Kind(rawValue: UInt32(raw.kind.rawValue)),
                let outcome = Outcome(rawValue: UInt32(raw.outcome.rawValue))
            else { throw MalformedMessage(message: "a damaged row of an unknown kind") }
            self.init(kind, key: raw.key.swiftBytes, outcome: outcome)
            container = raw.container.swiftText
            environment = UInt32(raw.environment.rawValue)
            zone = raw.zone.swiftText
            recordName = raw.record_name.swiftText
            if raw.database == 0 { return }
            guard let scope = DatabaseScope(rawValue: UInt8(clamping: raw.database)) else {
                throw MalformedMessage(message: "a damaged row in an unknown database")
            }
            database = DatabaseID(kind: scope, owner: raw.owner.swiftText)
        }
    }
}
