// What an operator is told who lets a node compare itself with a peer.
//
// `operator.proto`.

package import CumulusModel

/// `VerifyRequest`.
package struct VerifyRequest: Coded, Hashable {
    package var nodeID: Bytes = []
    /// What differs is replaced by what the peer holds.
    package var repairs = false

    package init() {}

    package init(nodeID: Bytes, repairs: Bool) {
        self.nodeID = nodeID
        self.repairs = repairs
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &nodeID)
        try coder.flag(2, &repairs)
    }
}

/// `VerifyResponse`: what a comparison found so far; the lists hold what is new.
package struct WireVerdict: WireMessage, Hashable {
    /// `Difference`: a record that two nodes hold differently though both have read the same about
    /// it.
    package struct Difference: Coded, Hashable {
        /// `DifferenceKind`.
        package enum Kind: UInt32, Sendable {
            case otherContent = 0
            case missingHere = 1
            case missingThere = 2
        }

        package var container = ""
        package var environment: UInt32 = 0
        package var database = DatabaseID(kind: .public, owner: "")
        package var zone = ""
        package var recordName = ""
        package var kind = Kind.otherContent

        package init() {}

        package init(
            container: String,
            environment: UInt32,
            database: DatabaseID,
            zone: String,
            recordName: String,
            kind: Kind
        ) {
            self.container = container
            self.environment = environment
            self.database = database
            self.zone = zone
            self.recordName = recordName
            self.kind = kind
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.text(1, &container)
            try coder.number(2, &environment)
            var place = WireDatabase(database)
            try place.code(3, 4, &coder)
            guard let database = try place.id else { throw MalformedBytes("it names no database") }
            self.database = database
            try coder.text(5, &zone)
            try coder.text(6, &recordName)
            try coder.known(7, &kind)
        }
    }

    /// Compared.
    package var records: UInt64 = 0
    /// One node had read more about them than the other.
    package var unsettled: UInt64 = 0
    package var different: UInt64 = 0
    package var repaired: UInt64 = 0
    /// The first of them.
    package var differences: [Difference] = []
    /// Chunks that the node which was asked has read and checked.
    package var chunks: UInt64 = 0
    package var damagedChunks: UInt64 = 0
    /// Assets that records name and that lack chunks.
    package var incompleteAssets: UInt64 = 0
    /// Rows of the store of the node that was asked: read, damaged, and those that were mended.
    package var rows: UInt64 = 0
    package var damaged: UInt64 = 0
    package var mended: UInt64 = 0
    /// The first that are damaged.
    package var damagedRows: [DamagedRow] = []

    package init() {}

    /// Adds the next message: its counts stand for all so far, its lists hold what is new.
    package mutating func add(_ next: WireVerdict) {
        let (differences, damagedRows) = (differences, damagedRows)
        self = next
        self.differences = differences + next.differences
        self.damagedRows = damagedRows + next.damagedRows
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &records)
        try coder.number(2, &unsettled)
        try coder.number(3, &different)
        try coder.number(4, &repaired)
        try coder.list(5, &differences)
        try coder.number(6, &chunks)
        try coder.number(7, &damagedChunks)
        try coder.number(8, &incompleteAssets)
        try coder.number(9, &rows)
        try coder.number(10, &damaged)
        try coder.number(11, &mended)
        try coder.list(12, &damagedRows)
    }
}

// MARK: - Truncation

/// Whether all sessions are to end.
package typealias TruncateRequest = FlagRequest

package struct TruncateResponse: WireMessage, Hashable {
    package var scopes: UInt32 = 0

    package init() {}

    package init(scopes: Int) {
        self.scopes = UInt32(scopes)
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &scopes)
    }
}
