// The calls on changes: of a database's zones, and of a zone's records.
//
// `changes.proto`. Requests are decoded as they came: the session judges them.

import CCumulusWire
package import CumulusModel

// MARK: - Zones

package struct FetchDatabaseChangesRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    /// Empty: from the beginning.
    package var token: Bytes
    /// Most zones of the answer; 0: the node decides.
    package var limit: UInt32
    /// The answer has a token of now, and no zones.
    package var onlyToken = false

    package init(database: DatabaseScope, token: Bytes, limit: UInt32) {
        self.database = UInt32(database.rawValue)
        self.token = token
        self.limit = limit
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database))
        writer.field(2, bytes: token)
        writer.field(3, varint: UInt64(limit))
        writer.field(4, varint: onlyToken ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(
            bytes[...],
            cumulus__v1__fetch_database_changes_request__unpack
        )
        database = UInt32(message.raw.database.rawValue)
        token = message.raw.token.swiftBytes
        limit = message.raw.limit
        onlyToken = message.raw.only_token != 0
    }
}

package struct FetchDatabaseChangesResponse: Hashable, Sendable {
    package struct Deletion: Hashable, Sendable {
        package var id: WireZoneID
        /// 0 deleted, 1 purged, 2 encrypted data reset.
        package var cause: UInt32

        package init(id: WireZoneID, cause: UInt32) {
            self.id = id
            self.cause = cause
        }
    }

    package var changed: [WireZoneID]
    package var deleted: [Deletion]
    package var token: Bytes
    package var moreComing: Bool

    package init(changed: [WireZoneID], deleted: [Deletion], token: Bytes, moreComing: Bool) {
        self.changed = changed
        self.deleted = deleted
        self.token = token
        self.moreComing = moreComing
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        for id in changed { id.encode(1, to: &writer) }
        for deletion in deleted {
            writer.message(2) { writer in
                deletion.id.encode(1, to: &writer)
                writer.field(2, varint: UInt64(deletion.cause))
            }
        }
        writer.field(3, bytes: token)
        writer.field(4, varint: moreComing ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(
            answer: bytes,
            cumulus__v1__fetch_database_changes_response__unpack
        )
        let raw = message.raw
        changed = elements(raw.n_changed, raw.changed).map(WireZoneID.init(wire:))
        deleted = elements(raw.n_deleted, raw.deleted).map { raw in
            let id = raw.id.map { WireZoneID(wire: $0.pointee) }
            return Deletion(
                id: id ?? WireZoneID(name: [], owner: []),
                cause: UInt32(raw.cause.rawValue)
            )
        }
        token = raw.token.swiftBytes
        moreComing = raw.more_coming != 0
    }
}

// MARK: - Records

package struct FetchZoneChangesRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    /// nil means the default zone.
    package var zone: WireZoneID?
    /// Empty: from the beginning.
    package var token: Bytes
    /// Most records and deletions of the answer; 0: the node decides.
    package var limit: UInt32
    /// nil means all fields.
    package var keys: [Bytes]?
    /// The answer has a token of now, and no records.
    package var onlyToken = false

    package init(
        database: DatabaseScope,
        zone: WireZoneID?,
        token: Bytes,
        limit: UInt32,
        keys: [Bytes]? = nil
    ) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
        self.token = token
        self.limit = limit
        self.keys = keys
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database))
        zone?.encode(2, to: &writer)
        writer.field(3, bytes: token)
        writer.field(4, varint: UInt64(limit))
        writer.keys(keys, flag: 5, list: 6)
        writer.field(7, varint: onlyToken ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_zone_changes_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        token = raw.token.swiftBytes
        limit = raw.limit
        keys = raw.only_keys == 0 ? nil : elements(raw.n_keys, raw.keys).map(\.swiftBytes)
        onlyToken = raw.only_token != 0
    }
}

package struct FetchZoneChangesResponse: Sendable {
    package struct Deletion: Hashable, Sendable {
        package var id: WireRecordID
        package var type: Bytes

        package init(id: WireRecordID, type: Bytes) {
            self.id = id
            self.type = type
        }
    }

    package var changed: [Record]
    package var deleted: [Deletion]
    package var token: Bytes
    package var moreComing: Bool

    /// - Parameter changed: Each an encoded `Record`.
    package static func encoded(
        changed: [Bytes],
        deleted: [Deletion],
        token: Bytes,
        moreComing: Bool
    ) -> Bytes {
        var writer = CanonicalWriter(reserving: 1_024)
        for record in changed { writer.present(1, bytes: record) }
        for deletion in deleted {
            writer.message(2) { writer in
                deletion.id.encode(1, to: &writer)
                writer.field(2, bytes: deletion.type)
            }
        }
        writer.field(3, bytes: token)
        writer.field(4, varint: moreComing ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(
            answer: bytes,
            cumulus__v1__fetch_zone_changes_response__unpack
        )
        let raw = message.raw
        changed = elements(raw.n_changed, raw.changed).compactMap(Record.init(wire:))
        deleted = elements(raw.n_deleted, raw.deleted).map { raw in
            let id = raw.id.map { WireRecordID(wire: $0.pointee) }
            return Deletion(
                id: id ?? WireRecordID(name: [], zone: nil),
                type: raw.type.swiftBytes
            )
        }
        token = raw.token.swiftBytes
        moreComing = raw.more_coming != 0
    }
}
