// The schema as operators read, import and deploy it.
//
// `schema.proto`. The schema travels as text in the schema language, which the node reads.

import CCumulusWire
package import CumulusModel

package enum ReadSchemaResponse {
    package static func encoded(ckdb: Bytes) -> Bytes {
        var writer = CanonicalWriter(reserving: ckdb.count + 8)
        writer.field(1, bytes: ckdb)
        return writer.bytes
    }

    package static func ckdb(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(answer: bytes, cumulus__v1__read_schema_response__unpack)
        return message.raw.ckdb.swiftBytes
    }
}

package struct ImportSchemaRequest: Hashable, Sendable {
    /// Text in the schema language.
    package var ckdb: Bytes
    /// Nothing is to be changed.
    package var onlyValidates: Bool
    /// What the text lacks is to go.
    package var drops: Bool

    package init(ckdb: Bytes, onlyValidates: Bool, drops: Bool) {
        self.ckdb = ckdb
        self.onlyValidates = onlyValidates
        self.drops = drops
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: ckdb.count + 8)
        writer.field(1, bytes: ckdb)
        writer.field(2, varint: onlyValidates ? 1 : 0)
        writer.field(3, varint: drops ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__import_schema_request__unpack)
        ckdb = message.raw.ckdb.swiftBytes
        onlyValidates = message.raw.only_validates != 0
        drops = message.raw.drops != 0
    }
}

package enum DeploySchemaRequest {
    package static func encoded(onlyShows: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: onlyShows ? 1 : 0)
        return writer.bytes
    }

    package static func onlyShows(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        let message = try CMessage(bytes[...], cumulus__v1__deploy_schema_request__unpack)
        return message.raw.only_shows != 0
    }
}

/// The answers of imports and deployments, which are of the same form.
package enum SchemaChanges {
    package static func encoded(_ changes: [String]) -> Bytes {
        var writer = CanonicalWriter()
        for change in changes { writer.present(1, bytes: change.utf8) }
        return writer.bytes
    }

    package static func changes(wire bytes: Bytes) throws(MalformedMessage) -> [String] {
        let message = try CMessage(answer: bytes, cumulus__v1__import_schema_response__unpack)
        return elements(message.raw.n_changes, message.raw.changes).map(\.swiftText)
    }
}

package enum ResetSchemaRequest {
    package static func encoded(onlyShows: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: onlyShows ? 1 : 0)
        return writer.bytes
    }

    package static func onlyShows(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        let message = try CMessage(bytes[...], cumulus__v1__reset_schema_request__unpack)
        return message.raw.only_shows != 0
    }
}

package struct ResetSchemaResponse: Hashable, Sendable {
    package var changes: [String]
    package var zones: UInt64
    package var roles: UInt64

    package init(changes: [String], zones: UInt64, roles: UInt64) {
        self.changes = changes
        self.zones = zones
        self.roles = roles
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        for change in changes { writer.present(1, bytes: change.utf8) }
        writer.field(2, varint: zones)
        writer.field(3, varint: roles)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__reset_schema_response__unpack)
        changes = elements(message.raw.n_changes, message.raw.changes).map(\.swiftText)
        zones = message.raw.zones
        roles = message.raw.roles
    }
}
