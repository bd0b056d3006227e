// What a node holds zone by zone, as operators see it.
//
// `operator.proto`.

import CCumulusWire
package import CumulusModel

package struct WireZoneStatus: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    package var owner: String
    package var zone: String
    package var records: UInt64
    package var bytes: UInt64
    package var digest: Bytes
    package var horizon: VersionVector
    /// Of the assets that the records name.
    package var assetBytes: UInt64

    package init(
        database: UInt32,
        owner: String,
        zone: String,
        records: UInt64,
        bytes: UInt64,
        digest: Bytes,
        horizon: VersionVector,
        assetBytes: UInt64 = 0
    ) {
        self.database = database
        self.owner = owner
        self.zone = zone
        self.records = records
        self.bytes = bytes
        self.digest = digest
        self.horizon = horizon
        self.assetBytes = assetBytes
    }

    /// A `ZoneStatusResponse`.
    package static func answer(_ zones: [WireZoneStatus]) -> Bytes {
        var writer = CanonicalWriter()
        for zone in zones { writer.message(1) { zone.encode(to: &$0) } }
        return writer.bytes
    }

    package static func list(wire bytes: Bytes) throws(MalformedMessage) -> [WireZoneStatus] {
        let message = try CMessage(answer: bytes, cumulus__v1__zone_status_response__unpack)
        return elements(message.raw.n_zones, message.raw.zones).map(WireZoneStatus.init(wire:))
    }

    private func encode(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(database))
        writer.field(2, text: owner)
        writer.field(3, text: zone)
        writer.field(4, varint: records)
        writer.field(5, varint: bytes)
        writer.field(6, bytes: digest)
        writer.vector(7, horizon)
        writer.field(8, varint: assetBytes)
    }

    private init(wire raw: Cumulus__V1__ZoneStatus) {
        database = UInt32(raw.database)
        owner = raw.owner.swiftText
        zone = raw.zone.swiftText
        records = raw.records
        bytes = raw.bytes
        digest = raw.digest.swiftBytes
        horizon = VersionVector(wire: elements(raw.n_horizon, raw.horizon))
        assetBytes = raw.asset_bytes
    }
}
