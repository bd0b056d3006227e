// What an operator is told of a damaged row of a node's store.
//
// Part of `VerifyResponse` in `operator.proto`.

package import CumulusModel

extension WireVerdict {
    /// `DamagedRow`.
    package struct DamagedRow: Coded, Hashable {
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
        package var kind = Kind.record
        package var outcome = Outcome.notAsked
        /// The key of the row in the store, or of the first one that can't be read.
        package var key: Bytes = []

        package init() {}

        package init(_ kind: Kind, key: Bytes, outcome: Outcome) {
            self.kind = kind
            self.key = key
            self.outcome = outcome
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.text(1, &container)
            try coder.number(2, &environment)
            var place = WireDatabase(database)
            try place.code(3, 4, &coder)
            database = try place.id
            try coder.text(5, &zone)
            try coder.text(6, &recordName)
            try coder.known(7, &kind)
            try coder.known(8, &outcome)
            try coder.bytes(9, &key)
        }
    }
}

/// A database as two fields: its kind, and its owner.
struct WireDatabase {
    /// A `DatabaseScope`; 0: none.
    private var kind: UInt32
    private var owner: String

    init(_ id: DatabaseID?) {
        kind = UInt32(id?.kind.rawValue ?? 0)
        owner = id?.owner ?? ""
    }

    mutating func code(
        _ kindField: Int,
        _ ownerField: Int,
        _ coder: inout some Coder
    ) throws(MalformedBytes) {
        try coder.number(kindField, &kind)
        try coder.text(ownerField, &owner)
    }

    var id: DatabaseID? {
        get throws(MalformedBytes) {
            if kind == 0 { return nil }
            guard let scope = DatabaseScope(rawValue: UInt8(clamping: kind)) else {
                throw MalformedBytes("a database of an unknown kind")
            }
            return DatabaseID(kind: scope, owner: owner)
        }
    }
}

extension Coder {
    /// An enum of which every number has to be known.
    mutating func known<Kind: RawRepresentable<UInt32>>(
        _ field: Int,
        _ value: inout Kind
    ) throws(MalformedBytes) {
        var number = value.rawValue
        try self.number(field, &number)
        guard let known = Kind(rawValue: number) else {
            throw MalformedBytes("a number names nothing known")
        }
        value = known
    }
}
