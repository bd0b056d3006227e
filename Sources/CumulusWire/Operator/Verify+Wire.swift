// What an operator is told who lets a node compare itself with a peer.
//
// `operator.proto`.

import CCumulusWire
package import CumulusModel

/// `VerifyRequest`.
package struct VerifyRequest: Hashable, Sendable {
    package var nodeID: Bytes
    /// What differs is replaced by what the peer holds.
    package var repairs: Bool

    package init(nodeID: Bytes, repairs: Bool) {
        self.nodeID = nodeID
        self.repairs = repairs
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: nodeID)
        writer.field(2, varint: repairs ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__verify_request__unpack)
        nodeID = message.raw.node_id.swiftBytes
        repairs = message.raw.repairs != 0
    }
}

/// `VerifyResponse`: what a comparison found so far; the lists hold what is new.
package struct WireVerdict: Hashable, Sendable {
    /// A record that two nodes hold differently though both have read the same about it.
    package struct Difference: Hashable, Sendable {
        /// `DifferenceKind`.
        package enum Kind: UInt32, Sendable {
            case otherContent = 0
            case missingHere = 1
            case missingThere = 2
        }

        package var container: String
        package var environment: UInt32
        package var database: DatabaseID
        package var zone: String
        package var recordName: String
        package var kind: Kind

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
    }

    /// Compared.
    package var records: UInt64 = 0
    /// One node had read more about them than the other.
    package var unsettled: UInt64 = 0
    package var different: UInt64 = 0
    package var repaired: UInt64 = 0
    /// The first of them.
    package var differences: [Difference] = []
    /// Of assets of the node that was asked: read and checked.
    package var chunks: UInt64 = 0
    package var damagedChunks: UInt64 = 0
    /// Which records name, and which lack chunks.
    package var incompleteAssets: UInt64 = 0
    /// Rows of the store of the node that was asked: read, damaged, and those that were mended.
    package var rows: UInt64 = 0
    package var damaged: UInt64 = 0
    package var mended: UInt64 = 0
    /// The first that are damaged.
    package var damagedRows: [DamagedRow] = []

    package init() {}

    /// Adds the next message: its counts are those of all, its lists what is new.
    package mutating func add(_ next: WireVerdict) {
        let (differences, damagedRows) = (differences, damagedRows)
        self = next
        self.differences = differences + next.differences
        self.damagedRows = damagedRows + next.damagedRows
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: records)
        writer.field(2, varint: unsettled)
        writer.field(3, varint: different)
        writer.field(4, varint: repaired)
        for difference in differences { writer.message(5) { difference.encode(to: &$0) } }
        writer.field(6, varint: chunks)
        writer.field(7, varint: damagedChunks)
        writer.field(8, varint: incompleteAssets)
        writer.field(9, varint: rows)
        writer.field(10, varint: damaged)
        writer.field(11, varint: mended)
        for row in damagedRows { writer.message(12) { row.encode(to: &$0) } }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__verify_response__unpack)
        records = message.raw.records
        unsettled = message.raw.unsettled
        different = message.raw.different
        repaired = message.raw.repaired
        chunks = message.raw.chunks
        damagedChunks = message.raw.damaged_chunks
        incompleteAssets = message.raw.incomplete_assets
        rows = message.raw.rows
        damaged = message.raw.damaged
        mended = message.raw.mended
        damagedRows = try elements(message.raw.n_damaged_rows, message.raw.damaged_rows)
            .map { raw throws(MalformedMessage) in try DamagedRow(wire: raw) }
        differences = try elements(message.raw.n_differences, message.raw.differences)
            .map { raw throws(MalformedMessage) in try Difference(wire: raw) }
    }
}

extension WireVerdict.Difference {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, text: container)
        writer.field(2, varint: UInt64(environment))
        writer.field(3, varint: UInt64(database.kind.rawValue))
        writer.field(4, text: database.owner)
        writer.field(5, text: zone)
        writer.field(6, text: recordName)
        writer.field(7, varint: UInt64(kind.rawValue))
    }

    fileprivate init(wire raw: Cumulus__V1__Difference) throws(MalformedMessage) {
        guard let scope = DatabaseScope(rawValue: UInt8(clamping: raw.database)),
            let kind = Kind(rawValue: UInt32(raw.kind.rawValue))
        else { throw MalformedMessage(message: "a difference of an unknown kind") }
        container = raw.container.swiftText
        environment = UInt32(raw.environment.rawValue)
        database = DatabaseID(kind: scope, owner: raw.owner.swiftText)
        zone = raw.zone.swiftText
        recordName = raw.record_name.swiftText
        self.kind = kind
    }
}

extension OperatorMessages {
    /// `TruncateRequest`.
    package static func truncate(endsSessions: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: endsSessions ? 1 : 0)
        return writer.bytes
    }

    /// Whether all sessions are to end.
    package static func truncatedSessions(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        try CMessage(bytes[...], cumulus__v1__truncate_request__unpack).raw.ends_sessions != 0
    }

    /// `TruncateResponse`.
    package static func truncated(scopes: Int) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(scopes))
        return writer.bytes
    }

    package static func truncated(wire bytes: Bytes) throws(MalformedMessage) -> Int {
        let message = try CMessage(answer: bytes, cumulus__v1__truncate_response__unpack)
        return Int(message.raw.scopes)
    }
}
