// The calls on zones: list, fetch, modify.
//
// `zones.proto`.

import CCumulusWire
package import CumulusModel

package enum ListZonesRequest {
    package static func encoded(database: DatabaseScope) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database.rawValue))
        return writer.bytes
    }

    /// The database, as a number.
    package static func database(wire bytes: Bytes) throws(MalformedMessage) -> UInt32 {
        let message = try CMessage(bytes[...], cumulus__v1__list_zones_request__unpack)
        return UInt32(message.raw.database.rawValue)
    }
}

package enum ListZonesResponse {
    package static func zones(wire bytes: Bytes) throws(MalformedMessage) -> [RecordZone] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_zones_response__unpack)
        return elements(message.raw.n_zones, message.raw.zones).compactMap(RecordZone.init(wire:))
    }
}

package struct FetchZonesRequest: Hashable, Sendable {
    package var database: UInt32
    package var ids: [WireZoneID]

    package init(database: DatabaseScope, ids: [WireZoneID]) {
        self.database = UInt32(database.rawValue)
        self.ids = ids
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database))
        for id in ids { id.encode(2, to: &writer) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_zones_request__unpack)
        database = UInt32(message.raw.database.rawValue)
        ids = elements(message.raw.n_ids, message.raw.ids).map(WireZoneID.init(wire:))
    }
}

package typealias ZoneResult = Result<RecordZone, ServiceError>

package enum FetchZonesResponse {
    package static func results(wire bytes: Bytes) throws(MalformedMessage) -> [ZoneResult] {
        let message = try CMessage(answer: bytes, cumulus__v1__fetch_zones_response__unpack)
        return elements(message.raw.n_results, message.raw.results).map(zoneResult)
    }
}

private func zoneResult(_ raw: Cumulus__V1__ZoneResult) -> ZoneResult {
    if raw.result_case == CUMULUS__V1__ZONE_RESULT__RESULT_ZONE, let wire = raw.zone,
        let zone = RecordZone(wire: wire.pointee)
    {
        return .success(zone)
    }
    if raw.result_case == CUMULUS__V1__ZONE_RESULT__RESULT_ERROR, let error = raw.error {
        return .failure(ServiceError(wire: error.pointee))
    }
    return .failure(ServiceError(.internalError, "the server's answer holds an empty result"))
}

package struct ModifyZonesRequest: Hashable, Sendable {
    package var database: UInt32
    package var saves: [WireZoneID]
    package var deletes: [WireZoneID]

    package init(database: DatabaseScope, saves: [WireZoneID], deletes: [WireZoneID]) {
        self.database = UInt32(database.rawValue)
        self.saves = saves
        self.deletes = deletes
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database))
        for id in saves { writer.message(2) { id.encode(1, to: &$0) } }
        for id in deletes { id.encode(3, to: &writer) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__modify_zones_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        saves = elements(raw.n_saves, raw.saves).map { zone in
            zone.id.map { WireZoneID(wire: $0.pointee) } ?? WireZoneID(name: [], owner: [])
        }
        deletes = elements(raw.n_deletes, raw.deletes).map(WireZoneID.init(wire:))
    }
}

package struct ModifyZonesResponse: Sendable {
    package var saves: [ZoneResult]
    package var deletes: [ServiceError?]

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__modify_zones_response__unpack)
        let raw = message.raw
        saves = elements(raw.n_saves, raw.saves).map(zoneResult)
        deletes = elements(raw.n_deletes, raw.deletes).map { result in
            result.error.map { ServiceError(wire: $0.pointee) }
        }
    }
}

extension RecordZone {
    init?(wire raw: Cumulus__V1__Zone) {
        guard let id = raw.id else { return nil }
        self.init(
            zoneID: WireZoneID(wire: id.pointee).id,
            capabilities: Capabilities(rawValue: raw.capabilities)
        )
    }
}

extension CanonicalWriter {
    /// A `Zone`.
    package mutating func zone(_ field: Int, _ id: WireZoneID, capabilities: UInt32) {
        message(field) { writer in
            id.encode(1, to: &writer)
            writer.field(2, varint: UInt64(capabilities))
        }
    }

    /// One element of `results` or `saves`: `ZoneResult` holding a `Zone`.
    package mutating func result(_ field: Int, zone id: WireZoneID, capabilities: UInt32) {
        message(field) { $0.zone(1, id, capabilities: capabilities) }
    }
}
